//! Calls that wait for a person's permission, and the buttons that answer. A person sees all that a
//! call would do before it does it.

use super::compose::answer;
use super::icon::Icon;
use super::tool::readable;
use crate::text::{Moment, Said};
use crate::watch::{Question, TeamWatch};
use longboat_core::id::MemberName;
use maud::{Markup, html};

/// Bytes of what a call would do: longer ones are not to be permitted here unread.
const CALL_BYTES: usize = 32_768;

/// The questions of a team, or of one member.
pub(super) fn panel(
    watch: &TeamWatch,
    only: Option<&MemberName>,
    open: bool,
    moment: &Moment,
) -> Markup {
    let members = watch.members(open).filter(|shown| only.is_none_or(|only| *only == shown.name));
    let asked = members.flat_map(|shown| {
        let questions = shown.watch.map(|watch| watch.questions()).unwrap_or_default();
        questions.iter().map(move |question| (shown.name.clone(), question))
    });
    html! { @for (name, question) in asked { (one(watch, &name, question, moment)) } }
}

fn one(watch: &TeamWatch, name: &MemberName, question: &Question, moment: &Moment) -> Markup {
    let id = format!("{name}.{}.{}", question.step, question.index);
    let path = format!("/api/v1/sessions/{}/questions/{id}", watch.lead());
    let text = readable(&question.arguments);
    let whole = text.len() <= CALL_BYTES;
    html! {
        section class="question banner warn" id={ "question-" (id) } aria-label={ (name) " asks for permission" } {
            div class="asked" {
                p {
                    (Icon::Person.draw()) strong { (name) } " asks to call " code { (Said(&question.tool)) }
                    " " span class="faint" { (moment.since(question.at)) }
                }
                @if whole { pre class="code" tabindex="0" { (Said(&text)) } }
                @else { p { "It is too long to be shown here; read it in " a href={ "/sessions/" (watch.lead()) "/m/" (name) } { "the transcript" } "." } }
            }
            div class="row" {
                (answer(&path, "once", "Allow once", &format!("Allow once: {id}"), "It runs"))
                (answer(&path, "always", "Allow always", &format!("Allow always: {id} and all calls like it"), "It runs, and all calls like it will"))
                (answer(&path, "no", "Refuse", &format!("Refuse: {id}"), "It was refused"))
            }
        }
    }
}
