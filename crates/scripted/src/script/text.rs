//! Reads scripts from JSON and TOML, and checks that what they say can be played. Called by whoever
//! has a script as text; it opens no files.

use super::{Agent, Hold, Script, Step};

/// Says why a text is not a script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It is not JSON of a script's shape.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It is not TOML of a script's shape.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// Something in it cannot be played.
    #[error("{place}: {problem}")]
    Unplayable {
        /// Where, such as `agents[0] "lead", steps[2]`.
        place: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

/// Characters of an agent's name, which is part of its calls' ids.
const NAME_CHARS: usize = 64;

impl Script {
    /// Reads a script's JSON.
    ///
    /// # Errors
    /// [`ScriptError`], with the place.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        serde_json::from_str::<Self>(text)?.checked()
    }

    /// Reads a script's TOML.
    ///
    /// # Errors
    /// [`ScriptError`], with the place.
    pub fn from_toml(text: &str) -> Result<Self, ScriptError> {
        toml::from_str::<Self>(text)?.checked()
    }

    fn checked(self) -> Result<Self, ScriptError> {
        if self.agents.is_empty() {
            return Err(unplayable("agents", "there is none; nobody could be answered"));
        }
        for (agent, n) in self.agents.iter().zip(0_usize..) {
            let place = format!("agents[{n}] {:?}", agent.name);
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if agent.name.is_empty()
                || agent.name.len() > NAME_CHARS
                || !agent.name.chars().all(fits)
            {
                let rule = format!("`name` must be 1 to {NAME_CHARS} of a-z, A-Z, 0-9, '-', '_'");
                return Err(unplayable(&place, &rule));
            }
            for (step, n) in agent.steps.iter().zip(0_usize..) {
                self.check_step(step, &format!("{place}, steps[{n}]"))?;
            }
            if let Some(after) = &agent.after {
                self.check_step(after, &format!("{place}, after"))?;
            }
        }
        Ok(self)
    }

    fn check_step(&self, step: &Step, place: &str) -> Result<(), ScriptError> {
        if step.forever && step.faults.is_empty() {
            return Err(unplayable(place, "`forever` needs a fault that is played for ever"));
        }
        let holds = [("hold", &step.hold), ("hold_after_text", &step.hold_after_text)];
        for (name, hold) in holds {
            let Some(hold) = hold else { continue };
            self.check_hold(hold, &format!("{place}, {name}"))?;
        }
        Ok(())
    }

    fn check_hold(&self, hold: &Hold, place: &str) -> Result<(), ScriptError> {
        let Some(until) = &hold.until else {
            return match hold.gate {
                Some(_) => Ok(()),
                None => Err(unplayable(place, "it needs `until` or `gate`")),
            };
        };
        if self.agents.iter().any(|agent| agent.name == until.agent) {
            return Ok(());
        }
        let names: Vec<&str> = self.agents.iter().map(|Agent { name, .. }| name.as_str()).collect();
        let problem =
            format!("there is no agent {:?}; there are: {}", until.agent, names.join(", "));
        Err(unplayable(place, &problem))
    }
}

fn unplayable(place: &str, problem: &str) -> ScriptError {
    ScriptError::Unplayable { place: place.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fault, Point, Until};
    use serde_json::json;

    #[test]
    fn json_and_toml_and_rust_say_the_same() {
        let json = r#"{"key": "k", "agents": [{"name": "lead", "when": {"system_contains": "You are `lead`"},
            "steps": [
                {"text": "hi", "reasoning": "hm", "calls": [{"name": "read", "arguments": {"path": "a"}}],
                 "faults": [{"status": {"status": 429, "retry_after": "0"}}, {"cut": {"bytes": 9}}, "hangup"]},
                {"hold": {"until": {"agent": "lead", "step": 0, "point": "answered"}}, "text": "end"}
            ]}]}"#;
        let toml = r#"
            key = "k"
            [[agents]]
            name = "lead"
            when.system_contains = "You are `lead`"
            [[agents.steps]]
            text = "hi"
            reasoning = "hm"
            calls = [{ name = "read", arguments = { path = "a" } }]
            faults = [{ status = { status = 429, retry_after = "0" } }, { cut = { bytes = 9 } }, "hangup"]
            [[agents.steps]]
            text = "end"
            hold.until = { agent = "lead", step = 0, point = "answered" }
        "#;
        let rust = Script {
            key: Some("k".to_owned()),
            ..Script::of(vec![Agent::member(
                "lead",
                vec![
                    Step::text("hi")
                        .thinking("hm")
                        .and_call("read", json!({"path": "a"}))
                        .failing(Fault::Status {
                            status: 429,
                            retry_after: Some("0".to_owned()),
                            body: String::new(),
                        })
                        .failing(Fault::Cut { bytes: 9 })
                        .failing(Fault::Hangup),
                    Step::text("end").held(Hold::until("lead", 0, Point::Answered)),
                ],
            )])
        };
        assert_eq!(Script::from_json(json).unwrap(), rust);
        assert_eq!(Script::from_toml(toml).unwrap(), rust);
        let written = serde_json::to_string(&rust).unwrap();
        assert_eq!(Script::from_json(&written).unwrap(), rust);
    }

    #[test]
    fn an_error_says_where_it_is() {
        let error = |text: &str| Script::from_json(text).unwrap_err().to_string();
        let unknown = error("{\"agents\": [{\"name\": \"a\",\n \"stepz\": []}]}");
        assert!(unknown.contains("stepz") && unknown.contains("line 2"), "{unknown}");
        let toml = Script::from_toml("[[agents]]\nname = 3\n").unwrap_err().to_string();
        assert!(toml.contains("line 2"), "{toml}");
        assert_eq!(error("{}"), "agents: there is none; nobody could be answered");
        let step = |step: serde_json::Value| {
            error(&json!({"agents": [{"name": "a", "steps": [{}, step]}]}).to_string())
        };
        assert_eq!(
            step(json!({"hold": {"until": {"agent": "b", "step": 0}}})),
            "agents[0] \"a\", steps[1], hold: there is no agent \"b\"; there are: a"
        );
        assert_eq!(
            step(json!({"hold_after_text": {}})),
            "agents[0] \"a\", steps[1], hold_after_text: it needs `until` or `gate`"
        );
        assert_eq!(
            step(json!({"forever": true})),
            "agents[0] \"a\", steps[1]: `forever` needs a fault that is played for ever"
        );
        let name = error(r#"{"agents": [{"name": "a b"}]}"#);
        assert!(name.starts_with("agents[0] \"a b\": `name` must be"), "{name}");
    }

    #[test]
    fn a_hold_has_a_bound_without_being_told() {
        let hold: Hold = serde_json::from_str(r#"{"gate": "g"}"#).unwrap();
        assert_eq!(hold, Hold { until: None, gate: Some("g".to_owned()), at_most_ms: 10_000 });
        let until: Until = serde_json::from_str(r#"{"agent": "a", "step": 1}"#).unwrap();
        assert_eq!(until, Until { agent: "a".to_owned(), step: 1, point: Point::Arrived });
    }
}
