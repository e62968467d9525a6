//! A Redis or Valkey server of a test's own.

#![allow(dead_code, reason = "each test that includes this is a crate of its own and uses a part of it")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Far longer than a server needs to start.
const LONG: Duration = Duration::from_secs(20);

/// A server that keeps every write on disk, in a folder that goes with it.
pub(crate) struct RedisServer {
    folder: TempDir,
    shell: Child,
}

impl RedisServer {
    pub(crate) fn start() -> Self {
        let folder = TempDir::new().expect("a folder");
        let shell = spawn(&folder);
        Self { folder, shell }.ready()
    }

    /// The server is killed, and started anew on what it had written.
    pub(crate) fn kill_and_start_again(&mut self) {
        self.kill();
        self.start_again();
    }

    /// Kills the server.
    pub(crate) fn kill(&mut self) {
        drop(self.shell.stdin.take());
        self.shell.wait().expect("a child of ours");
    }

    /// Starts it anew on what it had written.
    pub(crate) fn start_again(&mut self) {
        self.shell = spawn(&self.folder);
        self.wait_until_ready();
    }

    pub(crate) fn url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Sends one command without blanks in its words, and gives the first line of the answer.
    pub(crate) fn ask(&self, command: &str) -> String {
        self.try_ask(command).expect("the server answers")
    }

    fn try_ask(&self, command: &str) -> std::io::Result<String> {
        let mut stream = UnixStream::connect(self.socket())?;
        stream.write_all(format!("{command}\r\n").as_bytes())?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn ready(mut self) -> Self {
        self.wait_until_ready();
        self
    }

    fn wait_until_ready(&mut self) {
        let begun = Instant::now();
        while !self.try_ask("PING").is_ok_and(|answer| answer == "+PONG") {
            let ended = self.shell.try_wait().expect("a child of ours");
            assert!(ended.is_none() && begun.elapsed() < LONG, "the Redis server did not start: {ended:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts the server under a shell that kills it when its own input ends: so it never outlives the test, whatever ends that.
fn spawn(folder: &TempDir) -> Child {
    const SCRIPT: &str = r#"
        server=$(command -v redis-server || command -v valkey-server) || {
            echo "these tests need redis-server or valkey-server; tools/system_packages.sh installs it" >&2
            exit 1
        }
        "$server" --port 0 --unixsocket socket --save "" --appendonly yes --appendfsync always >log 2>&1 &
        read -r _
        kill -9 $!
        wait
    "#;
    Command::new("sh")
        .args(["-c", SCRIPT])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell is there")
}
