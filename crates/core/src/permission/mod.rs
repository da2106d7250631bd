//! Which tool calls run, which are refused, and about which a person is asked: a policy that nothing
//! goes beyond, rules of the deployment under it, and what people have granted to a team.

mod grant;
mod question;
mod rule;
mod subject;

pub use grant::{Answer, Decider, Grant, Grants};
pub use question::{InvalidQuestion, QuestionId};
pub use rule::{Rule, RuleRefused};
pub use subject::Subject;

use serde::{Deserialize, Serialize};

/// What members may change at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Nothing: files are read, and commands run only where the system keeps them from writing.
    ReadOnly,
    /// The workspace.
    #[default]
    WorkspaceWrite,
    /// Whatever the user can who started it.
    Full,
}

impl Policy {
    /// Its name, as people write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::Full => "full",
        }
    }
}

/// How far a tool reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Its own team. What a member may do there are the team's rules.
    Team,
    /// It changes nothing.
    Reads,
    /// It can try anything, and the system keeps it within the policy.
    Confined,
    /// It changes things, and only its own care keeps it from more.
    Changes,
}

/// What becomes of a call that could change something and of which no rule speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unlisted {
    /// It runs.
    #[default]
    Allow,
    /// A person is asked.
    Ask,
    /// It is refused.
    Deny,
}

/// What becomes of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unanswered {
    /// Nobody is there who could be asked: the call is refused.
    #[default]
    Deny,
    /// Nobody is there, and the call runs all the same.
    Allow,
    /// The call waits for an answer, for as long as that takes.
    Wait,
}

/// What a deployment permits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permissions {
    /// Nothing goes beyond it.
    pub policy: Policy,
    /// Calls that are refused.
    pub deny: Vec<Rule>,
    /// Calls about which a person is asked.
    pub ask: Vec<Rule>,
    /// Calls that run.
    pub allow: Vec<Rule>,
    /// Of all others, those that could change something.
    pub unlisted: Unlisted,
    /// What becomes of a question.
    pub unanswered: Unanswered,
}

/// A call that somebody wants to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The tool's name.
    pub tool: String,
    /// How far it reaches.
    pub reach: Reach,
    /// What the call is about, for tools of which that can be said.
    pub subject: Option<Subject>,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person decides.
    Ask,
    /// It is refused.
    Deny {
        /// Why, and what to do, for the model.
        reason: String,
    },
}

impl Permissions {
    /// Decides on a call. A refusal goes before everything, then what the policy forbids; a person's
    /// grant goes before the rules that made the question.
    #[must_use]
    pub fn decide(&self, request: &Request, grants: &Grants) -> Verdict {
        if let Some(rule) = self.deny.iter().find(|rule| rule.touches(request)) {
            let reason = format!("the rule deny = {:?} of this deployment", rule.to_string());
            return denied(&request.tool, &reason);
        }
        if self.policy == Policy::ReadOnly && request.reach == Reach::Changes {
            return denied(&request.tool, "the policy read-only");
        }
        if grants.cover(request) {
            return Verdict::Allow;
        }
        if self.ask.iter().any(|rule| rule.touches(request)) {
            return Verdict::Ask;
        }
        let listed = Rule::cover(&self.allow, request);
        match (request.reach, self.unlisted) {
            (Reach::Team | Reach::Reads, _) | (_, Unlisted::Allow) => Verdict::Allow,
            (Reach::Confined | Reach::Changes, _) if listed => Verdict::Allow,
            (Reach::Confined | Reach::Changes, Unlisted::Ask) => Verdict::Ask,
            (Reach::Confined | Reach::Changes, Unlisted::Deny) => {
                denied(&request.tool, "this deployment, which allows only the calls it lists,")
            }
        }
    }
}

fn denied(tool: &str, by: &str) -> Verdict {
    Verdict::Deny {
        reason: format!(
            "not permitted: {by} forbids this call of {tool}; do without it, or say what you would need and why"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<Rule> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn bash(command: &str) -> Request {
        let subject = Some(Subject::command(command));
        Request { tool: "bash".to_owned(), reach: Reach::Confined, subject }
    }

    fn write(named: &str, really: &str) -> Request {
        let subject = Some(Subject::path(named, really));
        Request { tool: "write".to_owned(), reach: Reach::Changes, subject }
    }

    fn decide(permissions: &Permissions, request: &Request) -> Verdict {
        permissions.decide(request, &Grants::default())
    }

    #[test]
    fn a_refusal_goes_before_a_question_and_that_before_a_permission() {
        let permissions = Permissions {
            deny: rules(&["bash(rm *)"]),
            ask: rules(&["bash(git push*)"]),
            allow: rules(&["bash"]),
            unlisted: Unlisted::Deny,
            ..Permissions::default()
        };
        assert_eq!(decide(&permissions, &bash("cargo test")), Verdict::Allow);
        assert_eq!(decide(&permissions, &bash("git push --force")), Verdict::Ask);
        let Verdict::Deny { reason } = decide(&permissions, &bash("rm -rf x")) else { panic!() };
        assert!(reason.contains("bash(rm *)"), "{reason}");
        assert!(matches!(decide(&permissions, &write("a", "a")), Verdict::Deny { .. }));
    }

    #[test]
    fn one_part_of_a_command_is_enough_for_a_refusal_and_all_are_needed_for_a_permission() {
        let permissions = Permissions {
            deny: rules(&["bash(rm *)"]),
            allow: rules(&["bash(cargo *)", "bash(ls *)", "bash(tail *)"]),
            unlisted: Unlisted::Ask,
            ..Permissions::default()
        };
        let allowed = ["cargo test", "ls", "cargo test && ls -l", "cargo test 2>&1 | tail -n 5"];
        for command in allowed {
            assert_eq!(decide(&permissions, &bash(command)), Verdict::Allow, "{command}");
        }
        let asked = [
            "cargo test; curl x",
            "cargo test & curl x",
            "cargo test\ncurl x",
            "cargo test $(curl x)",
            "cargo test `curl x`",
            "cargo test > /etc/passwd",
            "cargo test <(curl x)",
            "cargotest",
            "(cargo test)",
            "cargo () (curl x); cargo test",
            "cargo () { curl x; }",
            "",
        ];
        for command in asked {
            assert_eq!(decide(&permissions, &bash(command)), Verdict::Ask, "{command}");
        }
        for command in ["cargo test && rm -rf x", "ls; rm x", "cargo test | rm x"] {
            let verdict = decide(&permissions, &bash(command));
            assert!(matches!(verdict, Verdict::Deny { .. }), "{command}");
        }
    }

    #[test]
    fn a_file_is_refused_under_every_name_it_has() {
        let permissions = Permissions {
            deny: rules(&["*(secrets/*)"]),
            allow: rules(&["write(src/*)"]),
            unlisted: Unlisted::Ask,
            ..Permissions::default()
        };
        assert_eq!(decide(&permissions, &write("src/a.rs", "src/a.rs")), Verdict::Allow);
        assert_eq!(decide(&permissions, &write("src/link", "docs/a")), Verdict::Ask);
        for (named, really) in [("secrets/a", "secrets/a"), ("src/link", "secrets/a")] {
            let verdict = decide(&permissions, &write(named, really));
            assert!(matches!(verdict, Verdict::Deny { .. }), "{named}");
        }
    }

    #[test]
    fn read_only_lets_run_what_the_system_keeps_from_writing() {
        let permissions = Permissions { policy: Policy::ReadOnly, ..Permissions::default() };
        assert_eq!(decide(&permissions, &bash("make")), Verdict::Allow);
        let unconfined = Request { reach: Reach::Changes, ..bash("make") };
        assert!(matches!(decide(&permissions, &unconfined), Verdict::Deny { .. }));
        // No rule and no grant goes beyond it.
        let grants = Grants::from_iter([Grant::of(&unconfined)]);
        let permissions = Permissions { allow: rules(&["bash"]), ..permissions };
        assert!(matches!(permissions.decide(&unconfined, &grants), Verdict::Deny { .. }));
    }

    #[test]
    fn what_reads_and_the_teams_own_tools_need_a_rule_to_be_refused() {
        let permissions = Permissions {
            deny: rules(&["spawn_teammate"]),
            unlisted: Unlisted::Deny,
            ..Permissions::default()
        };
        let call = |tool: &str, reach| Request { tool: tool.to_owned(), reach, subject: None };
        assert_eq!(decide(&permissions, &call("send_message", Reach::Team)), Verdict::Allow);
        assert_eq!(decide(&permissions, &call("read", Reach::Reads)), Verdict::Allow);
        let spawn = decide(&permissions, &call("spawn_teammate", Reach::Team));
        assert!(matches!(spawn, Verdict::Deny { .. }));
    }

    #[test]
    fn a_grant_is_for_the_very_same_command_or_for_the_whole_of_another_tool() {
        let permissions = Permissions { unlisted: Unlisted::Ask, ..Permissions::default() };
        let grants = Grants::from_iter([Grant::of(&bash("rm *.o")), Grant::of(&write("a", "a"))]);
        assert_eq!(permissions.decide(&bash("rm *.o"), &grants), Verdict::Allow);
        assert_eq!(permissions.decide(&bash("rm main.o"), &grants), Verdict::Ask);
        assert_eq!(permissions.decide(&write("b", "b"), &grants), Verdict::Allow);
    }
}
