//! Loads a stdio MCP server with calls and prints what each costs, as one line of JSON.
//!
//! usage: load [--tool echo] [--bytes 16] [--window 64] [--calls 200000] [--era modern|legacy] -- COMMAND [ARG...]
//!
//! `seq_us`: one call at a time, median and 99th percentile of the time to its answer. `rps`: calls a second with
//! `window` calls in flight. `cpu_us`: the server's processor time (user and system, all threads) for each of those;
//! `seq_cpu_us` the same one at a time. Processor times come from /proc, so it needs Linux.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::Instant;

struct Options {
    tool: String,
    bytes: usize,
    window: usize,
    calls: usize,
    modern: bool,
    command: Vec<String>,
}

fn options() -> Option<Options> {
    let mut options =
        Options { tool: "echo".into(), bytes: 16, window: 64, calls: 200_000, modern: true, command: Vec::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        match name.as_str() {
            "--" => {
                options.command = arguments.collect();
                break;
            }
            "--tool" => options.tool = arguments.next()?,
            "--bytes" => options.bytes = arguments.next()?.parse().ok()?,
            "--window" => options.window = arguments.next()?.parse().ok()?,
            "--calls" => options.calls = arguments.next()?.parse().ok()?,
            "--era" => options.modern = arguments.next()? == "modern",
            _ => return None,
        }
    }
    (!options.command.is_empty() && options.window > 0).then_some(options)
}

struct Peer {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    buffer: Vec<u8>,
}

impl Peer {
    fn start(options: &Options) -> io::Result<Self> {
        let mut child = Command::new(&options.command[0])
            .args(&options.command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let mut peer = Self { child, input, output, buffer: vec![0; 1 << 20] };
        if !options.modern {
            peer.input.write_all(
                concat!(
                    r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","#,
                    r#""capabilities":{},"clientInfo":{"name":"load","version":"1"}}}"#,
                    "\n"
                )
                .as_bytes(),
            )?;
            peer.answers()?;
            peer.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        }
        Ok(peer)
    }

    /// Reads once; the number of answers that ended in it.
    fn answers(&mut self) -> io::Result<usize> {
        let count = self.output.read(&mut self.buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(self.buffer[..count].iter().filter(|byte| **byte == b'\n').count())
    }

    /// Processor time of the server so far, in microseconds, and its peak memory in kilobytes.
    fn spent(&self) -> io::Result<(f64, u64)> {
        let folder = format!("/proc/{}", self.child.id());
        // Nanoseconds on a processor, for each thread; finer than the ticks of `stat`.
        let mut nanos = 0u64;
        for task in std::fs::read_dir(format!("{folder}/task"))? {
            let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
            nanos += text.split(' ').next().and_then(|number| number.parse::<u64>().ok()).unwrap_or_default();
        }
        let status = std::fs::read_to_string(format!("{folder}/status"))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
        let peak = peak.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_default();
        Ok((nanos as f64 / 1e3, peak))
    }
}

fn request(options: &Options, id: usize, out: &mut String) {
    let text = "x".repeat(options.bytes);
    let meta = if options.modern {
        concat!(
            r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
            r#""io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"},"#,
            r#""io.modelcontextprotocol/clientCapabilities":{}}"#
        )
    } else {
        ""
    };
    // Writing into a String can't fail.
    let _ = writeln!(
        out,
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{}","arguments":{{"text":"{text}"}}{meta}}}}}"#,
        options.tool
    );
}

fn measure(options: &Options) -> io::Result<String> {
    let started = Instant::now();
    let mut peer = Peer::start(options)?;
    let mut text = String::new();
    request(options, 0, &mut text);
    peer.input.write_all(text.as_bytes())?;
    while peer.answers()? == 0 {}
    let cold_ms = started.elapsed().as_secs_f64() * 1e3;

    let singles = (options.calls / 20).clamp(100, 10_000);
    let mut times = Vec::with_capacity(singles);
    let (before, _) = peer.spent()?;
    for id in 0..singles {
        text.clear();
        request(options, id, &mut text);
        let start = Instant::now();
        peer.input.write_all(text.as_bytes())?;
        while peer.answers()? == 0 {}
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let (after, _) = peer.spent()?;
    let seq_cpu_us = (after - before) / singles as f64;
    times.sort_by(f64::total_cmp);

    // Requests are written beforehand, so that the driver has little to do while it measures.
    let mut bounds = Vec::with_capacity(options.calls + 1);
    text.clear();
    for id in 0..options.calls {
        bounds.push(text.len());
        request(options, id, &mut text);
    }
    bounds.push(text.len());
    let (before, _) = peer.spent()?;
    let start = Instant::now();
    let (mut sent, mut received) = (0, 0);
    while received < options.calls {
        let until = options.calls.min(received + options.window);
        if until > sent {
            peer.input.write_all(&text.as_bytes()[bounds[sent]..bounds[until]])?;
            sent = until;
        }
        received += peer.answers()?;
    }
    let took = start.elapsed().as_secs_f64();
    let (after, peak_kb) = peer.spent()?;
    drop(peer.input);
    peer.child.wait()?;
    let calls = options.calls as f64;
    Ok(format!(
        r#"{{"tool":"{}","bytes":{},"window":{},"cold_ms":{cold_ms:.1},"seq_us":[{:.1},{:.1}],"seq_cpu_us":{seq_cpu_us:.2},"rps":{:.0},"cpu_us":{:.3},"peak_kb":{peak_kb}}}"#,
        options.tool,
        options.bytes,
        options.window,
        times[times.len() / 2],
        times[times.len() * 99 / 100],
        calls / took,
        (after - before) / calls,
    ))
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!(
            "usage: load [--tool T] [--bytes B] [--window W] [--calls N] [--era modern|legacy] -- COMMAND [ARG...]"
        );
        return ExitCode::from(2);
    };
    match measure(&options) {
        Ok(line) => {
            let _ = writeln!(io::stdout(), "{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::FAILURE
        }
    }
}
