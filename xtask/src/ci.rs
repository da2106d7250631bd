//! Everything that CI runs, in order, each step with its headline and its time.

use crate::say;
use std::process::Command;
use std::time::Instant;

/// One step: what it is, and its command line.
type Step = (&'static str, &'static [&'static str]);

const STEPS: &[Step] = &[
    ("formatting", &["cargo", "fmt", "--all", "--check"]),
    ("tidy", &["cargo", "xtask", "tidy"]),
    (
        "lints",
        &["cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
    ),
    ("bans, licenses and sources", &["cargo", "deny", "check", "bans", "licenses", "sources"]),
    ("tests", &["cargo", "nextest", "run", "--workspace", "--locked"]),
    ("doc tests", &["cargo", "test", "--doc", "--workspace", "--locked"]),
    ("the demo", &["cargo", "run", "--release", "--locked", "--", "demo"]),
    ("foreign servers", &["bash", "tests/foreign/run.sh"]),
];

/// A tool that is installed when it is missing: how to ask for its version, and how to install it.
type ToolSetup = (&'static [&'static str], &'static [&'static str]);

const TOOLS: &[ToolSetup] = &[
    (
        &["cargo", "nextest", "--version"],
        &["cargo", "install", "--locked", "cargo-nextest", "--version", "0.9.143"],
    ),
    (
        &["cargo", "deny", "--version"],
        &["cargo", "install", "--locked", "cargo-deny", "--version", "0.20.2"],
    ),
];

pub(crate) fn run() -> Result<(), String> {
    for (version, install) in TOOLS {
        if !succeeds(version) {
            step(&format!("install {}", version.get(1).unwrap_or(&"")), install)?;
        }
    }
    for (name, command) in STEPS {
        step(name, command)?;
    }
    say("\nci: everything passed");
    Ok(())
}

fn step(name: &str, command: &[&str]) -> Result<(), String> {
    say(&format!("\n── {name}: {}", command.join(" ")));
    #[expect(clippy::disallowed_methods, reason = "a chore tells how long its steps take")]
    let start = Instant::now();
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    let status = Command::new(program).args(arguments).env("CARGO_TERM_COLOR", "never").status();
    let seconds = start.elapsed().as_secs();
    match status {
        Ok(status) if status.success() => {
            say(&format!("── {name}: ok in {seconds} s"));
            Ok(())
        }
        Ok(status) => Err(format!("ci: {name} failed ({status}): {}", command.join(" "))),
        Err(error) => Err(format!("ci: {name} could not be run: {error}")),
    }
}

fn succeeds(command: &[&str]) -> bool {
    let Some((program, arguments)) = command.split_first() else { return false };
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}
