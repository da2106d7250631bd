//! Questions on the terminal: which member wants to do what, and the answer of whoever sits there.

use crate::args::ShowingArgs;
use crate::exit::CommandError;
use crate::live::Display;
use crate::report::one_line;
use longboat_core::log::Event;
use longboat_core::permission::{Answer, QuestionId};
use longboat_engine::{CallError, Notice, OpenQuestion, TeamHandle};
use std::io::{self, BufRead, IsTerminal};
use tokio::sync::mpsc;

/// Columns of a question's arguments: what is longer is shown by `show` and in the browser.
const SHOWN_CHARS: usize = 1_000;

const HOW: &str = "  y = yes, once · a = always, for the whole team · n = no";

/// Who answers a run's questions.
#[derive(Debug)]
pub(crate) enum Asking {
    /// Nobody.
    Nobody,
    /// Whoever has the address, in a browser or with `longboat answer`.
    Elsewhere,
    /// Whoever sits at the terminal.
    Here(Here),
}

/// The terminal, read from when there is a first question.
#[derive(Debug, Default)]
pub(crate) struct Here {
    lines: Option<mpsc::UnboundedReceiver<String>>,
    open: Vec<OpenQuestion>,
}

/// Who answers a run that is shown so.
pub(crate) fn asking(showing: ShowingArgs, web: bool) -> Asking {
    let shown = !showing.json && !showing.quiet;
    if shown && io::stderr().is_terminal() && is_ours() {
        Asking::Here(Here::default())
    } else if web {
        Asking::Elsewhere
    } else {
        Asking::Nobody
    }
}

/// Says whether standard input is a terminal that listens to this process: one in the background that
/// read from it would be stopped.
fn is_ours() -> bool {
    let foreground = rustix::termios::tcgetpgrp(io::stdin());
    io::stdin().is_terminal() && foreground.is_ok_and(|group| group == rustix::process::getpgrp())
}

impl Asking {
    /// Says whether somebody is there.
    pub(crate) fn is_answered(&self) -> bool {
        !matches!(self, Self::Nobody)
    }

    /// Asks what is open and was not asked here yet.
    pub(crate) async fn look(
        &mut self,
        team: &TeamHandle,
        display: &mut Display,
    ) -> Result<(), CommandError> {
        let Self::Here(here) = self else { return Ok(()) };
        let members = team.look().await?.members;
        let open: Vec<OpenQuestion> = members.into_iter().flat_map(|m| m.questions).collect();
        let first = open.first().filter(|first| here.open.first() != Some(first)).cloned();
        here.open = open;
        if let Some(first) = first {
            here.lines.get_or_insert_with(read_lines);
            ask(&first, here.open.len() - 1, display);
        }
        Ok(())
    }

    /// Takes a notice that may be of a question, or of its end.
    pub(crate) async fn notice(
        &mut self,
        notice: &Notice,
        team: &TeamHandle,
        display: &mut Display,
    ) -> Result<(), CommandError> {
        let Notice::Committed { record, .. } = notice else { return Ok(()) };
        let Self::Here(here) = &*self else { return Ok(()) };
        let concerns = match &record.event {
            Event::PermissionAsked { .. } | Event::PermissionAnswered { .. } => true,
            // An interrupt answers what was asked.
            Event::ToolResult { .. } => !here.open.is_empty(),
            _ => false,
        };
        if concerns { self.look(team, display).await } else { Ok(()) }
    }

    /// The next line of the terminal; never where nobody is asked.
    pub(crate) async fn line(&mut self) -> String {
        if let Self::Here(Here { lines: Some(lines), .. }) = self
            && let Some(line) = lines.recv().await
        {
            return line;
        }
        std::future::pending().await
    }

    /// Answers the first question with a line.
    pub(crate) async fn answer(
        &mut self,
        line: &str,
        team: &TeamHandle,
        display: &mut Display,
    ) -> Result<(), CommandError> {
        let Self::Here(here) = &*self else { return Ok(()) };
        let Some(question) = here.open.first().map(|open| open.question.clone()) else {
            return Ok(());
        };
        let Some(answer) = read(line) else {
            display.say(HOW);
            return Ok(());
        };
        give(team, question, answer, display).await?;
        self.look(team, display).await
    }
}

async fn give(
    team: &TeamHandle,
    question: QuestionId,
    answer: Answer,
    display: &mut Display,
) -> Result<(), CommandError> {
    match team.answer(question, answer).await {
        Ok(()) => Ok(()),
        // Somebody else was faster.
        Err(CallError::Refused(refused)) => {
            display.say(&refused.to_string());
            Ok(())
        }
        Err(CallError::Fault(fault)) => Err(fault.into()),
    }
}

fn ask(open: &OpenQuestion, more: usize, display: &mut Display) {
    let arguments: String = one_line(&open.arguments).chars().take(SHOWN_CHARS).collect();
    let more = if more > 0 { format!(" ({more} more wait)") } else { String::new() };
    let member = &open.question.member;
    display.say(&format!("{member} asks to call {} {arguments}{more}", open.tool));
    display.say(HOW);
}

fn read(line: &str) -> Option<Answer> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" | "once" => Some(Answer::Once),
        "a" | "always" => Some(Answer::Always),
        "n" | "no" => Some(Answer::No),
        _ => None,
    }
}

/// Reads the terminal on a thread that may wait for ever; it ends with the process.
fn read_lines() -> mpsc::UnboundedReceiver<String> {
    let (tell, told) = mpsc::unbounded_channel();
    let read = move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if tell.send(line).is_err() {
                return;
            }
        }
    };
    // Without the thread the questions can still be answered elsewhere.
    std::thread::Builder::new().name("longboat-terminal".to_owned()).spawn(read).ok();
    told
}
