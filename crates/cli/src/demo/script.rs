//! What the demo's model says, member by member. The texts are made up; all that they set in motion
//! is real. The holds put what several members do into one order, by events and never by time, so
//! that the same demo leaves the same logs on every machine.

use longboat_scripted::{Agent, Hold, Point, Script, Step};
use serde_json::{Value, json};

/// What the user asks for.
pub(crate) const PROMPT: &str = "./test.sh fails. Make a team: a researcher who finds the cause and \
                                 an implementer who repairs it. Tell me when the test passes.";

/// The edit that repairs the project: what is replaced, and by what.
pub(super) const REPAIR: (&str, &str) = (
    "    (0..people).map(|_| each).collect()\n",
    "    let left_over = cents % people;\n    (0..people).map(|person| each + u64::from(person < left_over)).collect()\n",
);

/// Milliseconds before a reply that people can follow.
const WATCHED_DELAY_MS: u64 = 350;
/// Milliseconds a hold lasts at most. Only a member that never comes could make one last.
const HELD_AT_MOST_MS: u64 = 60_000;

/// How fast the model speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// So that people can follow.
    Watched,
    /// At once.
    Swift,
}

/// The whole script.
pub(super) fn script(pace: Pace) -> Script {
    let mut agents = vec![lead(), researcher(), implementer()];
    if pace == Pace::Watched {
        for agent in &mut agents {
            for step in &mut agent.steps {
                step.delay_ms = WATCHED_DELAY_MS;
            }
        }
    }
    Script::of(agents)
}

fn lead() -> Agent {
    let steps = vec![
        saying("I put the work on the board: the cause first, then the repair.")
            .and_call(
                "team_task_create",
                json!({
                    "description": "Find why ./test.sh fails and which rule the code breaks.",
                    "subject": "Find the cause",
                }),
            )
            .and_call(
                "team_task_create",
                json!({
                    "blocked_by": ["t1"],
                    "description": "Repair src/lib.rs so that ./test.sh passes.",
                    "subject": "Repair it",
                    "write_scopes": ["src/lib.rs"],
                }),
            ),
        saying("Now the two who do it.")
            .and_call(
                "spawn_teammate",
                json!({
                    "description": "changes the code and runs the test",
                    "name": "implementer",
                    "prompt": "Task t2 is yours once t1 is completed. Read src/lib.rs and run \
                               ./test.sh meanwhile. The researcher will tell you the cause; \
                               repair it then and tell me what you changed.",
                }),
            )
            .and_call(
                "spawn_teammate",
                json!({
                    "description": "finds causes, changes nothing",
                    "name": "researcher",
                    "prompt": "Claim task t1 and find out why ./test.sh fails. Tell implementer \
                               what is wrong and where, and tell me in one line.",
                    "role": "researcher",
                }),
            ),
        held(saying("Let me see who is at work."), ("implementer", 0, Point::Arrived))
            .and_call("list_agents", json!({}))
            .then_held(("researcher", 0, Point::Arrived)),
        wait("I wait for the first news."),
        held(wait("The researcher is on it. I wait on."), ("researcher", 3, Point::Arrived)),
        wait("The cause is known. I wait for the two to go on."),
        wait("The researcher is done. I wait for the implementer."),
        held(wait("t2 is claimed. I wait for its end."), ("implementer", 6, Point::Arrived)),
        wait("The implementer says that the test passes. I wait for its turn to end."),
        saying("Both should be done. I look before I answer.")
            .and_call("list_agents", json!({}))
            .and_call("team_task_list", json!({})),
        Step::text(
            "Done: ./test.sh passes.\n\nshares() dropped the cents that are left over when a bill \
             cannot be divided\nevenly; now they go one each to the first at the table, as the \
             README says.\nThe researcher found it, the implementer repaired src/lib.rs. Nothing \
             is left\nopen.",
        ),
    ];
    Agent::member("lead", steps)
}

fn researcher() -> Agent {
    let steps = vec![
        held(saying("I take t1."), ("lead", 3, Point::Answered))
            .and_call("team_task_update", task("t1", 1, "claim")),
        thinking(
            "A test about a bill that cannot be divided fails. What does the project promise?",
            "What is the rule, and where is it kept?",
        )
        .and_call("read", json!({"path": "README.md"}))
        .and_call("grep", json!({"path": "src", "pattern": "cents / people"})),
        held(saying("Found it."), ("lead", 4, Point::Arrived))
            .and_call("team_task_update", task("t1", 2, "complete"))
            .and_call(
                "send_message",
                json!({
                    "message": "The cause is in src/lib.rs, shares(): `cents / people` drops the \
                                remainder. README.md: the cents left over go one each to the \
                                first ones. So the first `cents % people` people pay one more.",
                    "target": "implementer",
                }),
            )
            .and_call(
                "send_message",
                json!({
                    "message": "t1 is completed: shares() drops the cents left over. I told \
                                implementer where and what the README wants.",
                    "target": "lead",
                }),
            )
            .then_held(("implementer", 1, Point::Arrived)),
        held(
            Step::text("The cause is found and told: shares() drops the remainder."),
            ("implementer", 2, Point::Arrived),
        )
        .then_held(("lead", 5, Point::Answered)),
    ];
    Agent::member("researcher", steps)
}

fn implementer() -> Agent {
    let (old, new) = REPAIR;
    let steps = vec![
        saying("I read the code first.").and_call("read", json!({"path": "src/lib.rs"})),
        // It runs, in the middle of a step, when the researcher's message reaches it.
        held(saying("Now the test as it is."), ("lead", 5, Point::Arrived))
            .and_call("bash", json!({"command": "./test.sh"})),
        held(
            thinking(
                "The researcher's message came while the test ran, and it explains the 333: 1000 \
                 cents among 3 leave one cent. t1 is completed, so t2 is ready.",
                "The researcher's message explains it. t2 is ready, so I take it.",
            ),
            ("lead", 6, Point::Answered),
        )
        .and_call("team_task_update", task("t2", 1, "claim")),
        // Others may have changed the file meanwhile, and an edit wants to know its version.
        saying("I look at it again; then the first ones at the table pay one cent more.")
            .and_call("read", json!({"path": "src/lib.rs"}))
            .and_call("edit", json!({"new": new, "old": old, "path": "src/lib.rs"})),
        saying("And the test again.").and_call("bash", json!({"command": "./test.sh"})),
        held(saying("It passes."), ("lead", 7, Point::Arrived))
            .and_call("team_task_update", task("t2", 2, "complete"))
            .and_call(
                "send_message",
                json!({
                    "message": "t2 is completed: in src/lib.rs the first `cents % people` people \
                                pay one cent more. ./test.sh passes, 2 of 2.",
                    "target": "lead",
                }),
            ),
        held(
            Step::text("src/lib.rs is repaired and ./test.sh passes."),
            ("lead", 8, Point::Answered),
        ),
    ];
    Agent::member("implementer", steps)
}

fn saying(text: &str) -> Step {
    Step::text(text)
}

fn thinking(reasoning: &str, text: &str) -> Step {
    Step { reasoning: reasoning.to_owned(), ..Step::text(text) }
}

fn wait(text: &str) -> Step {
    let arguments = json!({"since": {"recall": "revision"}, "timeout_ms": 60_000});
    saying(text).and_call("wait_agent", arguments)
}

fn task(id: &str, revision: u64, action: &str) -> Value {
    json!({"action": action, "expected_revision": revision, "task_id": id})
}

/// A member, its step from 0, and whether its request or its reply counts.
type Moment = (&'static str, usize, Point);

fn until((agent, step, point): Moment) -> Hold {
    Hold { at_most_ms: HELD_AT_MOST_MS, ..Hold::until(agent, step, point) }
}

fn held(step: Step, moment: Moment) -> Step {
    step.held(until(moment))
}

/// A second hold, between what a step says and what it does.
trait ThenHeld {
    fn then_held(self, moment: Moment) -> Self;
}

impl ThenHeld for Step {
    fn then_held(self, moment: Moment) -> Self {
        Self { hold_after_text: Some(until(moment)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// All moments that come, when a request is made as soon as the reply before is there.
    fn moments(script: &Script) -> BTreeSet<(String, usize, Point)> {
        let mut come = BTreeSet::new();
        loop {
            let before = come.len();
            for agent in &script.agents {
                let called =
                    agent.name == "lead" || come.contains(&("lead".into(), 1, Point::Answered));
                for (step, n) in agent.steps.iter().zip(0..) {
                    let name = agent.name.clone();
                    let asks = match n {
                        0 => called,
                        n => come.contains(&(name.clone(), n - 1, Point::Answered)),
                    };
                    if !asks {
                        break;
                    }
                    come.insert((name.clone(), n, Point::Arrived));
                    let open = |hold: &Hold| {
                        let until = hold.until.clone().unwrap();
                        come.contains(&(until.agent, until.step, until.point))
                    };
                    if step.hold.iter().chain(&step.hold_after_text).all(open) {
                        come.insert((name, n, Point::Answered));
                    }
                }
            }
            if come.len() == before {
                return come;
            }
        }
    }

    #[test]
    fn every_hold_ends_by_an_event_and_everybody_comes_to_an_end() {
        let script = script(Pace::Swift);
        let come = moments(&script);
        for agent in &script.agents {
            for n in 0..agent.steps.len() {
                let answered = (agent.name.clone(), n, Point::Answered);
                assert!(come.contains(&answered), "{} is stuck at {n}", agent.name);
            }
        }
    }
}
