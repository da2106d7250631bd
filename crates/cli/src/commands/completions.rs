//! `longboat completions`: for the shell.

use crate::args::CommandLine;
use crate::exit;
use clap::CommandFactory;
use clap_complete::Shell;

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

/// Prints them.
pub(crate) fn run(args: &CompletionsArgs) -> u8 {
    let mut command = CommandLine::command();
    clap_complete::generate(args.shell, &mut command, "longboat", &mut std::io::stdout());
    exit::DONE
}
