//! `longboat answer`: lets a call run that waits for a person's permission, or refuses it.

use super::send::say;
use crate::config::Config;
use crate::exit::{self, CommandError};
use crate::holder::Holding;
use crate::report::one_line;
use clap::ValueEnum;
use longboat_core::permission::{InvalidQuestion, QuestionId};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

/// What can be asked of it.
#[derive(Debug, clap::Args)]
pub(crate) struct AnswerArgs {
    /// The answer; without one, the open questions are listed
    answer: Option<AnswerArg>,
    /// Which question, such as scout.3.0; the oldest if not given
    #[arg(value_parser = parse_question)]
    question: Option<QuestionId>,
    /// The session's id or the beginning of one; the one at work if not given
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// An answer on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AnswerArg {
    /// This call runs
    Once,
    /// This call and all like it run, in the whole team
    Always,
    /// This call is refused
    No,
}

/// A team, as far as it asks.
#[derive(Deserialize)]
struct Team {
    members: Vec<Member>,
}

#[derive(Deserialize)]
struct Member {
    #[serde(default)]
    questions: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    id: String,
    tool: String,
    arguments: String,
}

fn parse_question(text: &str) -> Result<QuestionId, InvalidQuestion> {
    text.parse()
}

/// Answers, or lists what is open.
pub(crate) async fn run(args: &AnswerArgs, config: &Config) -> Result<u8, CommandError> {
    let holding = Holding::of(config, "answer")?;
    let session = holding.session(config, args.session.as_deref()).await?;
    let Team { members } = holding.ask(Method::GET, &format!("/sessions/{session}"), None).await?;
    let open: Vec<Question> = members.into_iter().flat_map(|member| member.questions).collect();
    let Some(answer) = args.answer else { return list(&open) };
    let asked = args.question.as_ref().map(QuestionId::to_string);
    let Some(question) = asked.or_else(|| open.first().map(|question| question.id.clone())) else {
        say("no question is open")?;
        return Ok(exit::UNDONE);
    };
    let word = answer.to_possible_value().map(|value| value.get_name().to_owned());
    let body = json!({"answer": word});
    let path = format!("/sessions/{session}/questions/{question}");
    let _taken: Value = holding.ask(Method::POST, &path, Some(&body)).await?;
    let done = match answer {
        AnswerArg::Once => "may run",
        AnswerArg::Always => "may run, and all calls like it",
        AnswerArg::No => "was refused",
    };
    say(&format!("{question} {done}"))?;
    Ok(exit::DONE)
}

fn list(open: &[Question]) -> Result<u8, CommandError> {
    for question in open {
        let Question { id, tool, arguments } = question;
        say(&format!("{id}  {tool} {}", one_line(arguments)))?;
    }
    if open.is_empty() {
        say("no question is open")?;
    }
    Ok(exit::DONE)
}
