//! Everything that CI runs, in order, each step with its headline and its time. The first step that
//! fails ends it. The last line says how many tests passed.

use crate::{root, say, setup, show, tidy};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

/// What a step does.
enum Work {
    /// Runs a command line.
    Run(&'static [&'static str]),
    /// Runs a command line that ends by saying how many tests passed.
    Test(&'static [&'static str]),
    /// Calls another chore.
    Tidy,
}

/// One step after the other. Another end-to-end run is another line at the end.
const STEPS: &[(&str, Work)] = &[
    ("formatting", Work::Run(&["cargo", "fmt", "--all", "--check"])),
    ("tidy", Work::Tidy),
    (
        "lints",
        Work::Run(&[
            "cargo",
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ]),
    ),
    (
        "bans, licenses and sources",
        Work::Run(&[
            "cargo",
            "deny",
            "check",
            "--hide-inclusion-graph",
            "bans",
            "licenses",
            "sources",
        ]),
    ),
    ("tests", Work::Test(&["cargo", "nextest", "run", "--workspace", "--locked"])),
    ("doc tests", Work::Test(&["cargo", "test", "--doc", "--workspace", "--locked"])),
    ("the demo", Work::Run(&["cargo", "run", "--release", "--locked", "--", "demo"])),
    ("foreign servers", Work::Test(&["bash", "tests/foreign/run.sh"])),
    ("MCP servers", Work::Test(&["bash", "tests/mcp/run.sh"])),
    ("the pages in a browser", Work::Test(&["bash", "tests/browser/run.sh"])),
];

/// What `cargo xtask ci --help` says: the steps as they are.
pub(crate) fn help() -> String {
    let steps = STEPS.iter().map(|(name, work)| match work {
        Work::Run(command) | Work::Test(command) => format!("  {name}: {}", command.join(" ")),
        Work::Tidy => format!("  {name}: cargo xtask tidy"),
    });
    let steps: Vec<String> = steps.collect();
    format!(
        "cargo xtask ci: set up what is missing, then run, up to the first that fails:\n{}",
        steps.join("\n")
    )
}

pub(crate) fn run() -> Result<(), String> {
    setup::run()?;
    let mut passed = 0;
    for (name, work) in STEPS {
        match work {
            Work::Run(command) => drop(step(name, command)?),
            Work::Tidy => timed(name, "cargo xtask tidy", tidy::run)?,
            Work::Test(command) => match step(name, command)? {
                Some(tests) => passed += tests,
                None => return Err(format!("ci: {name} does not say how many tests passed")),
            },
        }
    }
    show(&format!("{passed} passed, 0 failed"));
    Ok(())
}

/// Runs a command line at the checkout's root and shows what it says; returns the tests that it says
/// have passed, when it says so.
pub(crate) fn step(name: &str, command: &[&str]) -> Result<Option<u64>, String> {
    let line = command.join(" ");
    timed(name, &line, || {
        let Some((program, arguments)) = command.split_first() else { return Ok(None) };
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(root())
            .env("CARGO_TERM_COLOR", "never")
            // Nothing is built twice, so there is nothing to gain from it.
            .env("CARGO_INCREMENTAL", "0")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("ci: {name} could not be run: {error}: {line}"))?;
        let errors = child.stderr.take().map(|errors| thread::spawn(|| relay(errors, say)));
        let mut tests = child.stdout.take().and_then(|output| relay(output, show));
        if let Some(Ok(Some(more))) = errors.map(thread::JoinHandle::join) {
            tests = Some(tests.unwrap_or(0) + more);
        }
        match child.wait() {
            Ok(status) if status.success() => Ok(tests),
            Ok(status) => Err(format!("ci: {name} failed ({status}): {line}")),
            Err(error) => Err(format!("ci: {name} could not be waited for: {error}: {line}")),
        }
    })
}

fn timed<T>(name: &str, line: &str, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    say(&format!("\n── {name}: {line}"));
    #[expect(clippy::disallowed_methods, reason = "a chore tells how long its steps take")]
    let start = Instant::now();
    let done = work()?;
    say(&format!("── {name}: ok in {} s", start.elapsed().as_secs()));
    Ok(done)
}

/// Passes lines on as they come, and adds up the tests that they say have passed.
fn relay(from: impl Read, to: fn(&str)) -> Option<u64> {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    let mut sum = None;
    while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        to(text);
        if let Some(passed) = passed(text) {
            sum = Some(sum.unwrap_or(0) + passed);
        }
        line.clear();
    }
    sum
}

/// The number of tests that passed, from a line that sums up: nextest's, cargo's, or a script's.
fn passed(line: &str) -> Option<u64> {
    let line = line.trim_start();
    let sums_up = line.starts_with("Summary [")
        || line.starts_with("test result: ok.")
        || line.ends_with(" passed, 0 failed");
    let (before, _) = line.split_once(" passed").filter(|_| sums_up)?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passed_tests_are_counted_from_the_lines_that_sum_up() {
        let nextest = "     Summary [   4.581s] 48 tests run: 47 passed (1 slow), 1 skipped";
        assert_eq!(passed(nextest), Some(47));
        let cargo = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(passed(cargo), Some(3));
        assert_eq!(passed("4 passed, 0 failed"), Some(4));
        for line in ["ok: everything passed", "12 passed through here", "", "passed, 0 failed"] {
            assert_eq!(passed(line), None, "{line}");
        }
    }

    #[test]
    fn a_step_says_what_passed_and_how_it_failed() {
        let says = "echo 2 passed, 0 failed; echo 'test result: ok. 3 passed; 0 failed' >&2";
        assert_eq!(step("both", &["bash", "-c", says]), Ok(Some(5)));
        assert_eq!(step("nothing", &["true"]), Ok(None));
        let failed = "ci: bad failed (exit status: 1): false".to_owned();
        assert_eq!(step("bad", &["false"]), Err(failed));
        let absent = step("absent", &["no-such-program-anywhere"]).unwrap_err();
        assert!(absent.starts_with("ci: absent could not be run: "), "{absent}");
    }

    #[test]
    fn help_names_every_step() {
        let help = help();
        assert!(STEPS.iter().all(|(name, _)| help.contains(name)), "{help}");
    }
}
