//! Sets up what `cargo xtask ci` needs and the machine lacks. What is there already costs one call
//! that asks for its version; nothing is upgraded and nothing is removed.

use crate::ci::step;
use crate::say;
use std::process::Command;

/// Something that is asked for its version, and what brings it.
type Needed = (&'static [&'static str], &'static str);

/// Programs that builds, tests and the runs with foreign programs call, with their packages.
const PROGRAMS: &[Needed] = &[
    (&["cc", "--version"], "build-essential"),
    (&["git", "--version"], "git"),
    (&["curl", "--version"], "curl"),
    (&["setsid", "--version"], "util-linux"),
    (&["python3", "-c", "import ensurepip, venv"], "python3-venv"),
    (&["pgrep", "--version"], "procps"),
    (&["node", "--version"], "nodejs"),
    (&["npm", "--version"], "npm"),
    (&["chromium", "--version"], "chromium"),
];

/// Tools of cargo that are built when they are missing, with the version that is known to do.
const CARGO_TOOLS: &[(&str, &str)] = &[("nextest", "0.9.143"), ("deny", "0.20.2")];

/// Sets up what is missing, one thing after the other. Packages for Python and node are set up by the
/// scripts that need them.
pub(crate) fn run() -> Result<(), String> {
    let packages = missing(PROGRAMS, answers);
    if !packages.is_empty() {
        let mut install = vec!["apt-get", "install", "--yes", "--no-install-recommends"];
        install.extend(&packages);
        say(&format!("ci: missing: {}", packages.join(", ")));
        step("package lists", &["apt-get", "update"])?;
        step("packages", &install)?;
    }
    for (tool, version) in CARGO_TOOLS {
        if !answers(&["cargo", tool, "--version"]) {
            let name = format!("cargo-{tool}");
            step(&name, &["cargo", "install", "--locked", &name, "--version", version])?;
        }
    }
    Ok(())
}

/// The packages of what does not answer, each once.
fn missing(needed: &[Needed], answers: impl Fn(&[&str]) -> bool) -> Vec<&'static str> {
    let mut packages = Vec::new();
    for (question, package) in needed {
        if !packages.contains(package) && !answers(question) {
            packages.push(*package);
        }
    }
    packages
}

fn answers(command: &[&str]) -> bool {
    let Some((program, arguments)) = command.split_first() else { return false };
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_answer_is_installed_and_once() {
        let needed: &[Needed] =
            &[(&["a"], "one"), (&["b"], "two"), (&["c"], "two"), (&["d"], "three")];
        assert_eq!(missing(needed, |question| question == ["a"]), ["two", "three"]);
        assert_eq!(missing(needed, |_| true), Vec::<&str>::new());
    }

    #[test]
    fn a_program_that_is_not_there_does_not_answer() {
        assert!(answers(&["cargo", "--version"]));
        assert!(!answers(&["cargo", "no-such-command-of-cargo"]));
        assert!(!answers(&["no-such-program-anywhere"]));
    }
}
