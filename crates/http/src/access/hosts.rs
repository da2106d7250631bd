//! Names under which this process is asked for. A page of somebody else's can make its own name point
//! here (DNS rebinding), but it cannot make a browser send another name than that one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Says whether a `Host` names the address that is listened on: itself, or, where this machine
/// reaches it that way, `localhost`, 127.0.0.1 and `[::1]`.
pub(super) fn names(address: SocketAddr, host: &str) -> bool {
    let Some((name, port)) = split(host) else { return false };
    if port != address.port() {
        return false;
    }
    let here = address.ip();
    let local = here.is_loopback() || here.is_unspecified();
    if name.eq_ignore_ascii_case("localhost") {
        return local;
    }
    let Ok(asked) = name.trim_matches(['[', ']']).parse::<IpAddr>() else { return false };
    // Whoever listens everywhere cannot know all its addresses; but no name can be made to point
    // here that way, since an address is no name.
    let own = asked == here || here.is_unspecified();
    own || local && [IpAddr::V4(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()].contains(&asked)
}

/// Says whether an `Origin` is that of the page which this process itself gave out under `host`.
pub(super) fn is_own_origin(origin: &str, host: &str) -> bool {
    origin.strip_prefix("http://").is_some_and(|rest| rest.eq_ignore_ascii_case(host))
}

fn split(host: &str) -> Option<(&str, u16)> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port.parse().ok()?),
        _ => (host, 80),
    };
    let bracketed = name.starts_with('[') && name.ends_with(']');
    (bracketed || !name.contains([':', '[', ']'])).then_some((name, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_names_are_its_names() {
        let loopback: SocketAddr = "127.0.0.1:4711".parse().unwrap();
        for good in ["127.0.0.1:4711", "localhost:4711", "LOCALHOST:4711", "[::1]:4711"] {
            assert!(names(loopback, good), "{good}");
        }
        let bad = [
            "",
            "127.0.0.1",
            "127.0.0.1:4712",
            "evil.example:4711",
            "evil.example",
            "[::1]",
            "127.0.0.1.evil.example:4711",
            "localhost.:4711",
            "::1:4711",
            "192.168.0.7:4711",
            "localhost:4711@evil.example",
            "127.0.0.1:4711:4711",
            "127.0.0.1:+4711 ",
        ];
        for bad in bad {
            assert!(!names(loopback, bad), "{bad}");
        }
    }

    #[test]
    fn who_listens_everywhere_is_named_by_address_only() {
        let everywhere: SocketAddr = "0.0.0.0:4711".parse().unwrap();
        assert!(names(everywhere, "192.168.0.7:4711"));
        assert!(names(everywhere, "localhost:4711"));
        assert!(!names(everywhere, "evil.example:4711"));
        let one: SocketAddr = "192.168.0.7:4711".parse().unwrap();
        assert!(names(one, "192.168.0.7:4711"));
        assert!(!names(one, "localhost:4711"));
        assert!(!names(one, "127.0.0.1:4711"));
    }

    #[test]
    fn an_origin_is_own_only_with_scheme_host_and_port() {
        assert!(is_own_origin("http://127.0.0.1:1", "127.0.0.1:1"));
        for other in
            ["null", "https://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:1.evil"]
        {
            assert!(!is_own_origin(other, "127.0.0.1:1"), "{other}");
        }
    }
}
