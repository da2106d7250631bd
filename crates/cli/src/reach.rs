//! A look before a run begins: is there anybody at the model's address at all? Retrying for minutes
//! is right in the middle of a run, and wrong when a server was never started.

use crate::assemble::AssemblyError;
use crate::config::{Config, ModelName};
use std::io;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long an answer may take; past it, the run itself will find out.
const WITHIN: Duration = Duration::from_secs(3);
/// With one of these set, the way leads through somebody else.
const PROXIES: [&str; 6] =
    ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];

/// Says so when nobody listens at a model's address.
///
/// # Errors
/// [`AssemblyError::NoServer`] when the connection is refused or the host has no address.
pub(crate) async fn listens(config: &Config, name: &ModelName) -> Result<(), AssemblyError> {
    let Some(base_url) = config.base_url(name) else { return Ok(()) };
    if PROXIES.iter().any(|variable| config.environment.get(variable).is_some()) {
        return Ok(());
    }
    let Some((host, port)) = host_and_port(&base_url) else { return Ok(()) };
    let refused = |cause: io::Error| AssemblyError::NoServer {
        model: name.to_string(),
        base_url: base_url.clone(),
        cause: cause.to_string(),
    };
    match timeout(WITHIN, TcpStream::connect((host.as_str(), port))).await {
        Ok(Err(error)) if nobody(&error) => Err(refused(error)),
        Ok(Ok(_) | Err(_)) | Err(_) => Ok(()),
    }
}

/// Says whether an error means that there is nobody, rather than that it takes long.
fn nobody(error: &io::Error) -> bool {
    // A name without an address has no kind and no number of the system's.
    error.kind() == io::ErrorKind::ConnectionRefused || error.raw_os_error().is_none()
}

fn host_and_port(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    let authority = authority.rsplit('@').next()?;
    let usual = if scheme == "https" { 443 } else { 80 };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (authority, usual),
    };
    Some((host.trim_matches(['[', ']']).to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_of_addresses() {
        let some = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(host_and_port("https://api.example/v1"), some("api.example", 443));
        assert_eq!(host_and_port("http://127.0.0.1:8080/v1"), some("127.0.0.1", 8080));
        assert_eq!(host_and_port("http://[::1]:9/v1"), some("::1", 9));
        assert_eq!(host_and_port("http://[::1]/v1"), some("::1", 80));
        assert_eq!(host_and_port("nonsense"), None);
    }
}
