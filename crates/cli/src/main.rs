//! The `longboat` binary: reads the command line and hands over to one command.

mod args;
mod assemble;
mod commands;
mod config;
mod demo;
mod door;
mod exit;
mod holder;
mod live;
mod note;
mod reach;
mod report;
mod roles;
mod toolboxes;

use args::{Command, CommandLine};
use clap::Parser;
use commands::follow::coloured;
use commands::look::{Failure, Look};
use config::Config;
use exit::CommandError;
use longboat_engine::Clock;
use longboat_store::SqliteStore;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

fn main() -> ExitCode {
    let line = CommandLine::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(perform(&line)),
        Err(source) => Err(CommandError::Io { doing: "starting the runtime", source }),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => exit::report(&error),
    }
}

async fn perform(line: &CommandLine) -> Result<u8, CommandError> {
    // These need no configuration, and must work where it is broken.
    match &line.command {
        Command::Completions(args) => return Ok(commands::completions::run(args)),
        Command::ScriptedModel(args) => return commands::scripted_model::run(args).await,
        Command::Demo(args) => {
            let page = |config: &Config| page(line, config);
            return commands::demo::run(args, &line.global, page).await;
        }
        _ => {}
    }
    let mut config = Config::read(&line.global)?;
    trace(&config);
    match &line.command {
        Command::Run(args) => commands::run::run(args, &line.global, &config).await,
        Command::Resume(args) => {
            // Lives until the run is over.
            let _model = demo::revive(&mut config, &args.id).await?;
            commands::resume::run(args, &line.global, &config).await
        }
        Command::Fork(args) => commands::fork::run(args, &config).await,
        Command::Serve(args) => commands::serve::run(args, &config).await,
        Command::Send(args) => commands::send::run(args, &config).await,
        Command::Answer(args) => commands::answer::run(args, &config).await,
        Command::Interrupt(args) => commands::interrupt::run(args, &config).await,
        Command::Tasks(args) => commands::tasks::run(args, &config, page(line, &config)).await,
        Command::Show(args) if args.follow => {
            commands::watch::run(args, &line.global, &config).await
        }
        Command::Doctor(args) => commands::doctor::run(args, &config).await,
        command => look(command, line, &config).await,
    }
}

/// Runs a command that only reads the store.
async fn look(command: &Command, line: &CommandLine, config: &Config) -> Result<u8, CommandError> {
    let store = SqliteStore::open_read_only(&config.store)?;
    let mut out = Out;
    let mut look = Look {
        store: &store,
        page: page(line, config),
        out: &mut out,
        prices: config.prices(),
        store_flag: config.store_flag(),
    };
    let done: Result<(), Failure> = match command {
        Command::Sessions(args) => commands::sessions::run(args, &mut look).await,
        Command::Show(args) => commands::show::run(args, &mut look).await,
        Command::Export(args) => commands::export::run(args, &mut look, &mut io::stderr()).await,
        Command::Demo(_)
        | Command::Run(_)
        | Command::Resume(_)
        | Command::Fork(_)
        | Command::Serve(_)
        | Command::Send(_)
        | Command::Answer(_)
        | Command::Interrupt(_)
        | Command::Tasks(_)
        | Command::Doctor(_)
        | Command::Completions(_)
        | Command::ScriptedModel(_) => Ok(()),
    };
    done.map_err(CommandError::Look)?;
    Ok(exit::DONE)
}

/// Standard output, held only while it is written to.
#[derive(Debug)]
struct Out;

impl io::Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().lock().flush()
    }
}

fn page(line: &CommandLine, config: &Config) -> report::Page {
    let terminal = io::stdout().is_terminal();
    let width = terminal_size::terminal_size().map_or(80, |(width, _)| width.0.into());
    report::Page {
        width: if terminal { width } else { 80 },
        colour: coloured(line.global.color, terminal, config),
        zone: jiff::tz::TimeZone::system(),
        now: assemble::SystemClock.now(),
    }
}

/// Diagnostics on standard error, for those who ask for them.
fn trace(config: &Config) {
    if let Some(filter) = config.environment.get("LONGBOAT_LOG") {
        let filter = tracing_subscriber::EnvFilter::new(filter);
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
    }
}
