#![no_main]
#[path = "../drivers/mod.rs"]
mod drivers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| drivers::tasks(data));
