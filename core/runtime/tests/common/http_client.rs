//! A client of HTTP that shows what is on the wire.

#![allow(dead_code, unreachable_pub, reason = "each test file is a crate of its own and uses a part of it")]

use ferromcp::Serving;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Far longer than anything should take, so that a loaded machine fails no test.
pub const LONG: Duration = Duration::from_secs(20);

pub const MODERN: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body that Content-Length announces.
    pub fn body(&mut self) -> String {
        let length = self.header("content-length").map_or(0, |length| length.parse().expect("a length"));
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).expect("the body");
        String::from_utf8(body).expect("text")
    }

    pub fn json(&mut self) -> Value {
        let body = self.body();
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body:?}"))
    }

    /// The next chunk of a stream; None at its end.
    pub fn chunk(&mut self) -> Option<String> {
        let mut size = String::new();
        self.reader.read_line(&mut size).expect("a chunk");
        let size = usize::from_str_radix(size.trim(), 16).expect("a size");
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).expect("a chunk");
        chunk.truncate(size);
        (size > 0).then(|| String::from_utf8(chunk).expect("text"))
    }

    /// Reads a stream until `wanted` has come.
    pub fn until(&mut self, wanted: &str) -> String {
        let mut all = String::new();
        while !all.contains(wanted) {
            all.push_str(&self.chunk().unwrap_or_else(|| panic!("the stream ended: {all}")));
        }
        all
    }

    pub fn rest(&mut self) -> String {
        std::iter::from_fn(|| self.chunk()).collect()
    }
}

pub fn send(server: &Serving, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let address = server.local_addr().expect("it listens");
    let mut stream = TcpStream::connect(address).expect("it accepts");
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    let mut text = format!("{method} /mcp HTTP/1.1\r\nHost: {address}\r\n");
    if method == "POST" {
        text.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    stream.write_all(text.as_bytes()).expect("it reads");
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).expect("a status");
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{line:?}"));
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a field");
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    Answer { status, headers, reader }
}
