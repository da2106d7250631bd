//! The project's own chores: `cargo xtask ci` runs everything that CI runs, `cargo xtask tidy` checks
//! what no other tool does.

mod ci;
mod tidy;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask ci     set up what is missing and run everything that CI runs
cargo xtask tidy   check layout, arrows between crates, and cited promises";

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    let done = match command.as_str() {
        "ci" => ci::run(),
        "tidy" => tidy::run(),
        _ => Err(HELP.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            say(&problem);
            ExitCode::FAILURE
        }
    }
}

/// Tells whoever runs the chores.
#[expect(clippy::print_stderr, reason = "chores speak to people")]
fn say(text: &str) {
    eprintln!("{text}");
}
