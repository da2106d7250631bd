//! The secrets of one start of a process, and the address it answers at.

use rand::Rng;
use secrecy::{ExposeSecret, SecretString};
use std::net::SocketAddr;
use subtle::ConstantTimeEq;

/// Letters that need no escape anywhere (Crockford's base 32).
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Letters of a secret: 200 bits.
const SECRET_LETTERS: usize = 40;

/// An address that others can reach was not asked for expressly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{address} can be reached from other machines: whoever has the token can then have this machine's commands run, and nothing on the way is encrypted. Listen on 127.0.0.1, or add --allow-remote"
)]
pub struct NotLoopback {
    /// The address.
    pub address: SocketAddr,
}

/// Who may come in: whoever knows this start's token, at this address.
#[derive(Debug)]
pub struct Access {
    address: SocketAddr,
    token: SecretString,
    /// What a browser gets for the token. Another secret, since browsers show cookies to every
    /// server of the same host, whatever its port.
    cookie: SecretString,
}

impl Access {
    /// Makes new secrets for an address that is listened on.
    ///
    /// # Errors
    /// [`NotLoopback`] when others can reach it and `remote` does not say that they may.
    pub fn new(address: SocketAddr, remote: bool) -> Result<Self, NotLoopback> {
        if !address.ip().is_loopback() && !remote {
            return Err(NotLoopback { address });
        }
        Ok(Self { address, token: secret(), cookie: secret() })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The token, for those who are to come in.
    #[must_use]
    pub fn token(&self) -> &SecretString {
        &self.token
    }

    /// What a browser shows once it was let in.
    #[must_use]
    pub fn cookie(&self) -> &SecretString {
        &self.cookie
    }

    /// Goes on with what browsers show that were let in before. What is no secret of ours is not
    /// taken.
    pub fn keep_cookie(&mut self, cookie: SecretString) {
        let text = cookie.expose_secret();
        if text.len() == SECRET_LETTERS && text.bytes().all(|letter| LETTERS.contains(&letter)) {
            self.cookie = cookie;
        }
    }

    /// The address for a person's browser, with the token.
    #[must_use]
    pub fn url(&self) -> SecretString {
        let mut host = self.address;
        if host.ip().is_unspecified() {
            // Nobody is at "everywhere"; this machine is.
            host.set_ip(match host.ip() {
                std::net::IpAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                std::net::IpAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        format!("http://{host}/?token={}", self.token.expose_secret()).into()
    }

    pub(super) fn is_token(&self, given: &str) -> bool {
        same(&self.token, given)
    }

    pub(super) fn is_cookie(&self, given: &str) -> bool {
        same(&self.cookie, given)
    }

    /// The cookie's name: the port tells processes of one host apart.
    pub(super) fn cookie_name(&self) -> String {
        format!("longboat-{}", self.address.port())
    }

    pub(super) fn set_cookie(&self) -> String {
        let (name, value) = (self.cookie_name(), self.cookie.expose_secret());
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict")
    }
}

fn secret() -> SecretString {
    let mut rng = rand::rng();
    let letters = std::iter::repeat_with(|| LETTERS.get(rng.random_range(0..LETTERS.len())));
    let text: String =
        letters.flatten().take(SECRET_LETTERS).map(|letter| char::from(*letter)).collect();
    text.into()
}

/// Compares without telling by its time how much is right.
fn same(secret: &SecretString, given: &str) -> bool {
    secret.expose_secret().as_bytes().ct_eq(given.as_bytes()).into()
}
