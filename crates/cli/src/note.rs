//! The note that a process leaves beside the store it holds: where it answers, and the token. Only
//! its user can read it.

use longboat_http::Access;
use longboat_store::SqliteStore;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Bytes of a note that are looked at.
const NOTE_BYTES: u64 = 4_096;

/// What it says.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    address: SocketAddr,
    token: String,
    /// What browsers that were let in show.
    cookie: String,
    pid: u32,
}

/// A note that lies there. Dropping it takes it away.
#[derive(Debug)]
pub(crate) struct Note {
    path: PathBuf,
}

/// Where the process that holds a store answers.
#[derive(Debug)]
pub(crate) struct Reach {
    /// The address.
    pub(crate) address: SocketAddr,
    /// The token.
    pub(crate) token: SecretString,
}

impl Note {
    /// Leaves a note beside the store's own file, over one that somebody left who died.
    pub(crate) fn leave(store: &Path, access: &Access) -> io::Result<Self> {
        let mut address = access.address();
        if address.ip().is_unspecified() {
            address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        let token = access.token().expose_secret().to_owned();
        let cookie = access.cookie().expose_secret().to_owned();
        let words = Words { address, token, cookie, pid: std::process::id() };
        let path = beside(store);
        // Whole or not at all, and never readable for others.
        let written = path.with_extension(format!("api.{}", words.pid));
        match fs::remove_file(&written) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&written)?;
        file.write_all(serde_json::to_string(&words)?.as_bytes())?;
        fs::rename(&written, &path)?;
        Ok(Self { path })
    }

    /// Reads the note of whoever holds a store. What a dead process left says nothing.
    pub(crate) fn read(store: &Path) -> Option<Reach> {
        let holder = SqliteStore::holder(store)?;
        let words = words(&store.canonicalize().ok()?)?;
        // The token is for the one who made it: an address may be somebody else's by now.
        (words.pid == holder.pid)
            .then(|| Reach { address: words.address, token: words.token.into() })
    }
}

/// What browsers show that were let in by a process that died at this address: whoever takes over the
/// store there lets them in too, so that a page goes on after a crash. Whoever ends in good order
/// takes this away with its note.
pub(crate) fn cookie_of_the_dead(store: &Path, address: SocketAddr) -> Option<SecretString> {
    let words = words(store)?;
    (words.address == address).then(|| words.cookie.into())
}

fn words(store: &Path) -> Option<Words> {
    let mut text = String::new();
    let file = fs::File::open(beside(store)).ok()?;
    file.take(NOTE_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

impl Drop for Note {
    fn drop(&mut self) {
        // What stays says nothing once its writer is gone.
        fs::remove_file(&self.path).ok();
    }
}

fn beside(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".api");
    PathBuf::from(name)
}
