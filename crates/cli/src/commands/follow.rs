//! Following a run to its end: what `run`, `resume` and `demo` have in common.

use super::asking::Asking;
use crate::args::{Color, ShowingArgs};
use crate::config::Config;
use crate::door::Door;
use crate::exit::{self, CommandError};
use crate::live::{Display, Showing};
use longboat_engine::{Follower, RunEnd, Since, TeamFault, TeamHandle};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often a terminal is drawn anew.
const FRAME: Duration = Duration::from_millis(100);

/// How a run was left.
#[derive(Debug)]
pub(crate) enum Left {
    /// It came to rest.
    Ended(RunEnd),
    /// Somebody stopped it; it can go on.
    Stopped,
}

/// The ways in which people stop a process.
pub(crate) struct Stops {
    interrupt: Signal,
    terminate: Signal,
    /// `None` when whoever started the process had it ignored, as nohup does.
    hang_up: Option<Signal>,
}

impl Stops {
    /// Listens for them from now on.
    pub(crate) fn new() -> Result<Self, CommandError> {
        let listen = |kind| {
            signal(kind)
                .map_err(|source| CommandError::Io { doing: "listening for Ctrl-C", source })
        };
        // Asked first: listening makes an end of ignoring.
        let ignored = hang_up_is_ignored();
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: if ignored { None } else { Some(listen(SignalKind::hangup())?) },
        })
    }

    /// The next wish to stop. A terminal that is closed is one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = hung_up(&mut self.hang_up) => {}
        }
    }
}

async fn hung_up(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Says whether the process was started with SIGHUP ignored; where that cannot be read, it was not.
fn hang_up_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The first bit is the first signal, which is SIGHUP.
    mask.is_some_and(|mask| mask & 1 == 1)
}

/// How a run is to be shown.
pub(crate) fn showing(args: ShowingArgs, color: Color, config: &Config) -> Showing {
    if args.json {
        return Showing::Json;
    }
    if args.quiet {
        return Showing::Quiet;
    }
    if !io::stderr().is_terminal() {
        return Showing::Lines;
    }
    let width =
        terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| width.0.into());
    Showing::Terminal { width, colour: coloured(color, true, config) }
}

/// Says whether to colour what goes to a place that is, or is not, a terminal.
pub(crate) fn coloured(color: Color, terminal: bool, config: &Config) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => terminal && config.environment.get("NO_COLOR").is_none(),
    }
}

/// Follows a team from the beginning or from now, and lets `begin` set it going once nothing it
/// does can be missed.
pub(crate) async fn follow<B>(
    team: &TeamHandle,
    display: &mut Display,
    mut asking: Asking,
    since: Since,
    begin: B,
) -> Result<Left, CommandError>
where
    B: Future<Output = Result<(), CommandError>>,
{
    let mut stops = Stops::new()?;
    let mut follower = team.follow(since).await?;
    begin.await?;
    asking.look(team, display).await?;
    let end = team.quiescent();
    tokio::pin!(end);
    let mut frame = tokio::time::interval(FRAME);
    loop {
        tokio::select! {
            biased;
            () = stops.next() => {
                stop(team, display, &mut stops).await;
                return Ok(Left::Stopped);
            }
            end = &mut end => {
                let end = match end {
                    Ok(end) => end,
                    // Whoever closed it from outside stopped it.
                    Err(TeamFault::Closed) => {
                        display.finish();
                        return Ok(Left::Stopped);
                    }
                    Err(fault) => return Err(fault.into()),
                };
                show_rest(&mut follower, display).await?;
                display.finish();
                return Ok(Left::Ended(end));
            }
            notice = follower.next() => match notice {
                Some(notice) => {
                    display.notice(&notice).map_err(write_error)?;
                    asking.notice(&notice, team, display).await?;
                }
                None => return Err(TeamFault::Closed.into()),
            },
            line = asking.line() => asking.answer(&line, team, display).await?,
            _ = frame.tick() => display.redraw(),
        }
    }
}

fn write_error(source: io::Error) -> CommandError {
    CommandError::Io { doing: "writing the events", source }
}

/// Shows what is known already, so that the end does not overtake the events.
async fn show_rest(follower: &mut Follower, display: &mut Display) -> Result<(), CommandError> {
    while let Some(notice) = follower.next_known().await {
        display.notice(&notice).map_err(write_error)?;
    }
    Ok(())
}

/// Drains a team; a second wish to stop ends the process at once.
async fn stop(team: &TeamHandle, display: &mut Display, stops: &mut Stops) {
    display.finish();
    display.say("stopping: what is decided is being written (once more to stop at once)");
    tokio::select! {
        () = team.close() => {}
        () = stops.next() => std::process::exit(exit::STOPPED.into()),
    }
}

/// Says how a run ended: the lead's answer on standard output, what is amiss on standard error.
/// Returns the exit code.
pub(crate) fn tell(
    left: &Left,
    team: &TeamHandle,
    showing: Showing,
    config: &Config,
) -> Result<u8, CommandError> {
    let (session, flag) = (team.team(), config.store_flag());
    let talks = matches!(showing, Showing::Terminal { .. } | Showing::Lines);
    let (code, reasons) = match left {
        Left::Ended(end) => {
            if showing != Showing::Json && !end.final_text.is_empty() {
                let mut out = io::stdout().lock();
                let text = crate::report::plain(&end.final_text);
                writeln!(out, "{text}")
                    .map_err(|source| CommandError::Io { doing: "writing the answer", source })?;
            }
            exit::of_run(end)
        }
        Left::Stopped => {
            (exit::STOPPED, vec![format!("stopped; go on with: longboat resume {session}{flag}")])
        }
    };
    for reason in &reasons {
        exit::complain(&crate::report::one_line(reason));
    }
    if talks && matches!(left, Left::Ended(_)) {
        // A courtesy: when nobody reads it, the run has ended all the same.
        writeln!(io::stderr().lock(), "look at it with: longboat show {session}{flag}").ok();
    }
    Ok(code)
}

/// Says where a browser shows a run, when that is asked for, and why it cannot be reached.
pub(crate) fn tell_door(
    door: &Result<Door, String>,
    team: &TeamHandle,
    web: bool,
    display: &mut Display,
) {
    match door {
        // Whoever asked for it wants it, however little is shown.
        Ok(door) if web => exit::complain(&format!("see it at {}", door.page_of(team))),
        Ok(_) => {}
        Err(why) => display.say(why),
    }
}

/// Shuts the door of a run that is over.
pub(crate) async fn shut(door: Result<Door, String>) {
    if let Ok(door) = door {
        door.close().await;
    }
}
