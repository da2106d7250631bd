//! The project's own chores: `cargo xtask ci` runs everything that CI runs, `cargo xtask tidy` checks
//! what no other tool does. Nothing of this is shipped.

mod ci;
mod setup;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask ci     set up what is missing and run everything that CI runs
cargo xtask tidy   check layout, arrows between crates, and cited promises

With --help after it, each says more.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["ci"] => ci::run(),
        ["tidy"] => tidy::run(),
        ["ci", "--help" | "-h"] => shown(&ci::help()),
        ["tidy", "--help" | "-h"] => shown(tidy::HELP),
        ["--help" | "-h" | "help"] => shown(HELP),
        _ => {
            say(HELP);
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            say(&problem);
            ExitCode::FAILURE
        }
    }
}

/// The checkout's root, wherever the command was given.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Tells whoever runs the chores.
#[expect(clippy::print_stderr, reason = "chores speak to people")]
fn say(text: &str) {
    eprintln!("{text}");
}

/// Gives what was asked for.
#[expect(clippy::print_stdout, reason = "help and results go where they can be read by programs")]
fn show(text: &str) {
    println!("{text}");
}

fn shown(text: &str) -> Result<(), String> {
    show(text);
    Ok(())
}
