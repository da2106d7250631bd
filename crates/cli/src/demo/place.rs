//! Where a demo happens: a directory of its own that is kept, with a small real project in it whose
//! test fails, and a store beside it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The project, file by file.
const PROJECT: &[(&str, &str)] = &[
    ("README.md", include_str!("project/README.md")),
    ("src/lib.rs", include_str!("project/src/lib.rs")),
    ("test.sh", include_str!("project/test.sh")),
];
/// The definition of the researcher, which says what it speaks.
const RESEARCHER: &str = include_str!("project/researcher.md");
/// The demo's configuration.
const CONFIGURATION: &str =
    "# A demo is configured by nothing: everything is as it is by default.\n";
/// How long the project's test may take: it compiles a page of code.
const TEST_WITHIN: Duration = Duration::from_secs(60);

/// What the members of a demo speak with their model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Wires {
    /// The lead and the implementer chat completions, the researcher Anthropic messages
    Both,
    /// Chat completions
    OpenaiChat,
    /// Anthropic messages
    Anthropic,
}

impl Wires {
    /// The provider of the Lead's model, and of those that take their model from it.
    pub(super) fn of_lead(self) -> &'static str {
        match self {
            Self::Both | Self::OpenaiChat => "demo",
            Self::Anthropic => "demo-anthropic",
        }
    }

    fn of_researcher(self) -> &'static str {
        match self {
            Self::Both | Self::Anthropic => "demo-anthropic",
            Self::OpenaiChat => "demo",
        }
    }
}

/// The directories of one demo.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// All of it.
    pub(crate) root: PathBuf,
    /// The configuration file.
    pub(crate) configuration: PathBuf,
    /// The project: the team's workspace.
    pub(crate) workspace: PathBuf,
    /// The file of the store.
    pub(crate) store: PathBuf,
}

/// What the project's own test says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TestVerdict {
    /// It passes.
    Passed,
    /// It was built and fails, or does not build.
    Failed {
        /// The last line it printed.
        said: String,
    },
    /// It could not be run, or did not end.
    NotRun {
        /// Why.
        reason: String,
    },
}

impl Place {
    /// Makes a new place below `parent`, or below the system's directory for temporary files. It is
    /// never removed by this process.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn make(parent: Option<&Path>, wires: Wires) -> io::Result<Self> {
        let mut name = tempfile::Builder::new();
        name.prefix("longboat-demo-");
        let directory = match parent {
            Some(parent) => {
                fs::create_dir_all(parent)?;
                name.tempdir_in(parent)?
            }
            None => name.tempdir()?,
        };
        let root = directory.keep().canonicalize()?;
        let place = Self {
            configuration: root.join("longboat.toml"),
            workspace: root.join("bill"),
            store: root.join("longboat.db"),
            root,
        };
        fs::create_dir(&place.workspace)?;
        fs::write(&place.configuration, CONFIGURATION)?;
        for (file, text) in PROJECT {
            place.put(file, text)?;
        }
        let model = format!("{}/researcher", wires.of_researcher());
        place.put(".longboat/agents/researcher.md", &RESEARCHER.replace("{model}", &model))?;
        make_executable(&place.workspace.join("test.sh"))?;
        Ok(place)
    }

    fn put(&self, file: &str, text: &str) -> io::Result<()> {
        let path = self.workspace.join(file);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(path, text)
    }

    /// Runs the project's test, as anybody would.
    pub(crate) async fn test(&self) -> TestVerdict {
        let mut command = tokio::process::Command::new("./test.sh");
        command.current_dir(&self.workspace).kill_on_drop(true).stdin(std::process::Stdio::null());
        let output = match tokio::time::timeout(TEST_WITHIN, command.output()).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return TestVerdict::NotRun { reason: error.to_string() },
            Err(_) => {
                let reason = format!("it took more than {} s", TEST_WITHIN.as_secs());
                return TestVerdict::NotRun { reason };
            }
        };
        if output.status.success() {
            return TestVerdict::Passed;
        }
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        let said = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        TestVerdict::Failed { said: said.to_owned() }
    }
}

fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_project_fails_as_it_is_and_passes_when_its_rule_is_kept() {
        let parent = tempfile::tempdir().unwrap();
        let place = Place::make(Some(parent.path()), Wires::Both).unwrap();
        let failed = place.test().await;
        assert!(
            matches!(&failed, TestVerdict::Failed { said } if said.contains("1 failed")),
            "{failed:?}"
        );
        let file = place.workspace.join("src/lib.rs");
        let code = fs::read_to_string(&file).unwrap();
        let (old, new) = crate::demo::script::REPAIR;
        assert_eq!(code.matches(old).count(), 1);
        fs::write(&file, code.replace(old, new)).unwrap();
        assert_eq!(place.test().await, TestVerdict::Passed);
    }
}
