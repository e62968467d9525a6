//! Which hosts and origins may use the server: the guard against DNS rebinding (`basic/transports`, "Security Warning").
//!
//! A page of another site can make a browser send requests to an address of this machine under a name of its own; it can't
//! make it send another `Host` or `Origin` than that name. So local names and addresses are safe, and names have to be known.

use super::HttpConfig;
use core::net::{IpAddr, Ipv6Addr};

/// Who may come in.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    hosts: Vec<String>,
    any_host: bool,
    origins: Vec<String>,
    any_origin: bool,
    /// Listening on every address of the machine.
    everywhere: bool,
}

impl Guard {
    /// `bound`: the address or name that is listened on, where that is known.
    pub(crate) fn new(config: &HttpConfig, bound: Option<&str>) -> Self {
        let mut hosts: Vec<_> = config.allowed_hosts.iter().map(|host| bare(host).to_ascii_lowercase()).collect();
        let bound = bound.map(bare);
        let address: Option<IpAddr> = bound.and_then(|bound| bound.parse().ok());
        hosts.extend(bound.map(str::to_ascii_lowercase));
        Self {
            any_host: hosts.iter().any(|host| host == "*"),
            hosts,
            origins: config
                .allowed_origins
                .iter()
                .map(|origin| origin.trim_end_matches('/').to_ascii_lowercase())
                .collect(),
            any_origin: config.allowed_origins.iter().any(|origin| origin == "*"),
            everywhere: address.is_some_and(|address| address.is_unspecified()),
        }
    }

    pub(crate) fn allow_host(&mut self, host: &str) {
        self.hosts.push(bare(host).to_ascii_lowercase());
    }

    /// Whether a `Host`, with or without a port, is one of ours. A request without one comes from no browser.
    pub(crate) fn allows_host(&self, host: Option<&str>) -> bool {
        let Some(host) = host else { return true };
        let Some(name) = host_of(host) else { return false };
        self.any_host || self.knows(&name)
    }

    /// Whether pages of an origin may use the server.
    pub(crate) fn allows_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        if self.any_origin || self.origins.contains(&origin) {
            return true;
        }
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.and_then(host_of).is_some_and(|host| self.knows(&host))
    }

    fn knows(&self, name: &str) -> bool {
        if name == "localhost" || self.hosts.iter().any(|host| host == name) {
            return true;
        }
        // An address can't be rebound: where we listen on all of them, each may be the machine's.
        name.parse::<IpAddr>().is_ok_and(|address| is_loopback(address) || self.everywhere)
    }
}

fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(address) => {
            address == Ipv6Addr::LOCALHOST || address.to_ipv4_mapped().is_some_and(|mapped| mapped.is_loopback())
        }
    }
}

/// The host of `host:port`, in lower case; None where it is no such thing.
fn host_of(authority: &str) -> Option<String> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            (host, port)
        }
        None => match authority.find(':') {
            Some(at) => authority.split_at(at),
            None => (authority, ""),
        },
    };
    let port_is_right = match port.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => port.is_empty(),
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':' | b'%');
    if host.is_empty() || !port_is_right || !host.bytes().all(is_name) {
        return None;
    }
    Some(host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase())
}

/// An address without brackets.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(bound: Option<&str>, hosts: &[&str], origins: &[&str]) -> Guard {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let config = HttpConfig { allowed_hosts: list(hosts), allowed_origins: list(origins), ..HttpConfig::default() };
        Guard::new(&config, bound)
    }

    #[test]
    fn local_names_are_allowed_and_others_are_not() {
        let guard = guard(Some("127.0.0.1"), &[], &[]);
        for host in
            ["localhost", "localhost:80", "LOCALHOST:8000", "127.0.0.1:1", "127.1.2.3", "[::1]:8000", "localhost."]
        {
            assert!(guard.allows_host(Some(host)), "{host}");
            assert!(guard.allows_origin(&format!("http://{host}")), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "[::2]",
            "",
            "a b",
            "localhost:x",
        ] {
            assert!(!guard.allows_host(Some(host)), "{host}");
            assert!(!guard.allows_origin(&format!("http://{host}")), "{host}");
        }
        for origin in ["null", "file://", "localhost", "ftp://localhost", "http://evil.example:8000"] {
            assert!(!guard.allows_origin(origin), "{origin}");
        }
    }

    #[test]
    fn what_is_listened_on_and_configured_is_allowed() {
        let own = guard(Some("192.168.1.5"), &["api.example"], &["https://app.example"]);
        assert!(own.allows_host(Some("192.168.1.5:8000")) && own.allows_host(Some("API.example")));
        assert!(!own.allows_host(Some("192.168.1.6")));
        assert!(own.allows_origin("https://app.example") && own.allows_origin("https://api.example:444"));
        assert!(!own.allows_origin("https://app.example:444"));
        let everywhere = guard(Some("0.0.0.0"), &[], &[]);
        assert!(everywhere.allows_host(Some("10.1.2.3:80")) && everywhere.allows_host(Some("[fe80::1]")));
        assert!(!everywhere.allows_host(Some("evil.example")));
        let open = guard(None, &["*"], &["*"]);
        assert!(open.allows_host(Some("evil.example")) && open.allows_origin("https://evil.example"));
    }
}
