//! Servers with tasks: over pipes, in memory, in a file whose server is killed, and on a Redis server that processes share.
//!
//! This program is run by `cargo test`, and runs itself once more as each server. An argument chooses the tests whose name
//! holds it.

#[path = "../common/mod.rs"]
mod common;
mod file;
mod memory;
mod peer;
#[path = "../task_stores/redis_server.rs"]
mod redis_server;
mod served;
mod shared;

use std::io::Write;

macro_rules! tests {
    ($($module:ident: $($test:ident),+ $(,)?;)+) => {
        &[$($((concat!(stringify!($module), "::", stringify!($test)), $module::$test as fn())),+),+]
    };
}

const TESTS: &[(&str, fn())] = tests! {
    memory:
        a_modern_client_polls_its_task,
        a_legacy_client_waits_for_its_task,
        a_task_asks_a_modern_client,
        a_task_asks_a_legacy_client,
        a_handler_turns_its_call_into_a_task,
        a_task_is_given_time_when_the_input_ends,
        stopping_ends_a_task;
    file:
        acknowledged_tasks_survive_a_kill,
        a_task_belongs_to_its_principal,
        a_running_task_is_stored_when_the_input_ends,
        a_task_that_takes_too_long_at_the_end_has_failed;
    shared:
        another_process_tells_how_a_task_goes,
        another_process_brings_answers,
        another_process_cancels,
        a_server_that_goes_away_and_comes_back_loses_nothing,
        nobody_is_taken_for_gone_while_the_server_is_away,
        a_task_of_a_killed_process_has_failed,
        a_state_opens_once_among_all_who_share_a_server,
        a_state_opens_once_among_all_who_share_a_file,
        a_state_does_not_open_while_the_server_is_away;
};

fn main() {
    if let Ok(store) = std::env::var(served::STORE) {
        return served::run(&store);
    }
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    for (name, test) in TESTS.iter().filter(|(name, _)| name.contains(&wanted)) {
        test();
        let _ = writeln!(std::io::stdout(), "tasks: {name} ... ok");
    }
}
