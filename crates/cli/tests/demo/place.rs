//! A directory for demos, and the binary run in it.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// What a process printed and ended with.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A directory that one demo is made in.
#[derive(Debug)]
pub(crate) struct Place {
    directory: tempfile::TempDir,
}

/// The binary, without what the machine's own environment sets for it.
fn longboat() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longboat"));
    for variable in ["LONGBOAT_STORE", "LONGBOAT_CONFIG", "LONGBOAT_MODEL", "LONGBOAT_BASE_URL"] {
        command.env_remove(variable);
    }
    command.stdin(Stdio::null());
    command
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// The demo's own directory.
    fn root(&self) -> PathBuf {
        let mut found = fs::read_dir(self.directory.path()).unwrap();
        let root = found.next().unwrap().unwrap().path();
        assert!(found.next().is_none(), "one demo a place");
        root.canonicalize().unwrap()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root().join("bill")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.root().join("longboat.db")
    }

    fn demo_command(&self, arguments: &[&str]) -> Command {
        let mut command = longboat();
        command.arg("demo").arg("--within").arg(self.directory.path()).args(arguments);
        command
    }

    /// Runs a demo to its end.
    pub(crate) fn demo(&self, arguments: &[&str]) -> Done {
        done(self.demo_command(arguments).output().unwrap())
    }

    /// Starts a demo and lets it go until it prints an event that fits.
    pub(crate) fn demo_until(&self, fits: impl Fn(&Value) -> bool) -> Child {
        let mut child = self.demo_command(&["--json"]).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for line in lines {
            if fits(&serde_json::from_str(&line.unwrap()).unwrap()) {
                return child;
            }
        }
        panic!("the demo ended before it: {:?}", child.wait());
    }

    /// Starts a demo that stays, and lets it go until it says on standard error that it does.
    pub(crate) fn demo_served(&self) -> (Child, Vec<String>) {
        let arguments = ["--web", "--quiet"];
        let mut child = self.demo_command(&arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = Vec::new();
        for line in BufReader::new(child.stderr.take().unwrap()).lines() {
            said.push(line.unwrap());
            if said.last().is_some_and(|line| line.contains("still served")) {
                return (child, said);
            }
        }
        panic!("the demo ended: {:?}, {said:?}", child.wait());
    }

    /// Runs another command on the demo's store, from a directory that has nothing to do with it.
    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        run_on(&self.store(), arguments)
    }

    /// The same, for a command that succeeds with JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let done = self.run(arguments);
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{arguments:?}");
        serde_json::from_str(&done.out).unwrap()
    }

    /// The id of the Lead's session.
    pub(crate) fn lead(&self) -> String {
        self.json(&["show", "--json"])["team"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn run_on(store: &Path, arguments: &[&str]) -> Done {
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = longboat();
    command.current_dir(elsewhere.path()).args(arguments).arg("--store").arg(store);
    done(command.output().unwrap())
}

fn done(output: Output) -> Done {
    Done {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}
