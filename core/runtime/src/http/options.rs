//! Options of the HTTP listener, each with the reason for its default.

use crate::options::Error;
use ferromcp_engine::LocalError;
use ferromcp_engine::http::HttpConfig;
use serde::Deserialize;
use std::time::Duration;

/// Where and how a server listens.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The address or name to listen on. 127.0.0.1: nobody else's machine gets in unless somebody wants that
    /// (`basic/transports`, "Security Warning": SHOULD).
    pub host: String,
    /// The port; 0 for any that is free. 8000.
    pub port: u16,
    /// A file with the server's certificate, and those that lead to one which clients trust, in PEM. With it and the key the
    /// listener speaks TLS (1.2 and 1.3), and HTTP/2 where the client wants it.
    pub tls_cert_file: Option<String>,
    /// A file with the private key of that certificate, in PEM.
    pub tls_key_file: Option<String>,
    /// Connections at once; further ones wait to be accepted. 20,000: what one process may usually open.
    pub max_connections: usize,
    /// How long a connection may take to send a request's head, and may be idle before it. 60 s.
    pub header_timeout: Duration,
    /// How long a request's body may take. 30 s.
    pub body_timeout: Duration,
    /// How long the end waits for calls that run and responses that are being sent. 2 s.
    pub shutdown: Duration,
    /// Whether a line on stderr says where the server listens. On.
    pub announce: bool,
    /// What is served, and to whom.
    pub config: HttpConfig,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 8000,
            tls_cert_file: None,
            tls_key_file: None,
            max_connections: 20_000,
            header_timeout: Duration::from_secs(60),
            body_timeout: Duration::from_secs(30),
            shutdown: Duration::from_secs(2),
            announce: true,
            config: HttpConfig::default(),
        }
    }
}

/// The listener's own members of the JSON form.
#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Listener {
    host: String,
    port: u16,
    tls_cert_file: Option<String>,
    tls_key_file: Option<String>,
    max_connections: usize,
    header_timeout_ms: u64,
    body_timeout_ms: u64,
    shutdown_ms: u64,
    announce: bool,
}

const OWN: [&str; 9] = [
    "host",
    "port",
    "tlsCertFile",
    "tlsKeyFile",
    "maxConnections",
    "headerTimeoutMs",
    "bodyTimeoutMs",
    "shutdownMs",
    "announce",
];

impl Default for Listener {
    fn default() -> Self {
        let options = HttpOptions::default();
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self {
            host: options.host,
            port: options.port,
            tls_cert_file: options.tls_cert_file,
            tls_key_file: options.tls_key_file,
            max_connections: options.max_connections,
            header_timeout_ms: ms(options.header_timeout),
            body_timeout_ms: ms(options.body_timeout),
            shutdown_ms: ms(options.shutdown),
            announce: options.announce,
        }
    }
}

impl HttpOptions {
    /// Reads a JSON object with the names in camel case, durations in milliseconds (`headerTimeoutMs`), and the members of
    /// [`HttpConfig`] beside the listener's own.
    ///
    /// # Errors
    /// [`Error::Engine`] naming what is wrong.
    pub fn from_json(json: &str) -> Result<Self, Error> {
        let wrong = |error: serde_json::Error| LocalError::Config(format!("http: {error}"));
        let mut all: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).map_err(wrong)?;
        let own = OWN.iter().filter_map(|name| all.remove_entry(*name)).collect();
        let own: Listener = serde_json::from_value(serde_json::Value::Object(own)).map_err(wrong)?;
        let config = serde_json::from_value(serde_json::Value::Object(all)).map_err(wrong)?;
        Ok(Self {
            host: own.host,
            port: own.port,
            tls_cert_file: own.tls_cert_file,
            tls_key_file: own.tls_key_file,
            max_connections: own.max_connections.max(1),
            header_timeout: Duration::from_millis(own.header_timeout_ms),
            body_timeout: Duration::from_millis(own.body_timeout_ms),
            shutdown: Duration::from_millis(own.shutdown_ms),
            announce: own.announce,
            config,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // requirement: http-bind-localhost
    #[test]
    fn both_kinds_of_members_are_read() {
        let options =
            HttpOptions::from_json(r#"{"port":0,"path":"/x","sessions":false,"shutdownMs":5}"#).expect("fine");
        assert_eq!((options.port, options.config.path.as_deref()), (0, Some("/x")));
        assert!(!options.config.sessions && options.host == "127.0.0.1");
        assert_eq!(options.shutdown, Duration::from_millis(5));
        for wrong in ["[]", r#"{"prot":1}"#, r#"{"port":-1}"#, r#"{"sessions":1}"#] {
            assert!(HttpOptions::from_json(wrong).is_err(), "{wrong}");
        }
    }
}
