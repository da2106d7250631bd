//! What members are offered.

use crate::place::Place;
use longboat_core::id::MemberName;
use longboat_engine::{Effect, Toolbox};
use serde_json::json;
use std::collections::BTreeSet;

fn set(names: &[&str]) -> Option<BTreeSet<String>> {
    Some(names.iter().map(|name| (*name).to_owned()).collect())
}

#[tokio::test]
async fn tools_are_named_described_and_bounded_as_wires_want_them() {
    let place = Place::of("odd tools").await;
    let tools = place.servers.open(&place.scope().session);
    let names: BTreeSet<String> = tools.iter().map(|tool| tool.spec().name).collect();
    assert_eq!(names.len(), tools.len());
    assert_eq!(names.len(), 6, "{names:?}");
    let fits = |name: &String| {
        name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    };
    assert!(names.iter().all(fits), "{names:?}");
    let look = place.tool("look");
    assert_eq!(look.effect(), Effect::ReadOnly);
    assert_eq!(look.spec().description, "Look around");
    assert_eq!(look.spec().schema, json!({"type": "object", "properties": {}}));
    assert_eq!(place.tool("a_b").effect(), Effect::Ordered);
    assert!(place.tool("wordy").spec().description.len() < 4_200);
    assert_eq!(
        place.servers.states()[0].problems,
        [
            "its tool \"list\" is not offered: its arguments are not an object",
            "its tool \"huge\" is not offered: its schema has 40050 bytes and the limit is 32768"
        ]
    );
}

#[tokio::test]
async fn only_the_tools_that_are_named_are_offered() {
    let place = Place::with("", |server| server.tools = set(&["echo", "nope"])).await;
    let state = &place.servers.states()[0];
    assert_eq!(state.tools, ["hand__echo"]);
    assert_eq!(state.problems, ["it has no tool \"nope\""]);
}

#[tokio::test]
async fn a_list_on_pages_is_followed_to_its_end_and_no_further() {
    let place = Place::of("two pages").await;
    assert_eq!(place.servers.states()[0].tools, ["hand__echo", "hand__pid"]);
    let place = Place::of("endless pages").await;
    let problem = &place.servers.states()[0].problems[0];
    assert!(problem.contains("more than 64 pages"), "{problem}");
}

#[tokio::test]
async fn more_tools_than_wires_take_are_left_out_and_that_is_said() {
    let place = Place::of("many tools").await;
    let state = &place.servers.states()[0];
    assert_eq!(state.tools.len(), 100);
    assert!(state.problems[0].starts_with("30 of its tools are left out"), "{state:?}");
}

#[tokio::test]
async fn a_server_without_tools_is_told() {
    let place = Place::of("no tools").await;
    assert_eq!(place.servers.states()[0].problems, ["it offers no tools"]);
}

#[tokio::test]
async fn members_and_roles_bound_who_is_offered_a_servers_tools() {
    let (lead, worker) = (MemberName::lead(), MemberName::new("worker").unwrap());
    let offers =
        |place: &Place, member: &MemberName, role| place.servers.offers("hand__echo", member, role);
    let all = Place::of("").await;
    assert!(offers(&all, &lead, None) && offers(&all, &worker, Some("reviewer")));
    let some = Place::with("", |server| {
        server.members = set(&["lead"]);
        server.roles = set(&["reviewer"]);
    })
    .await;
    assert!(offers(&some, &lead, None));
    assert!(offers(&some, &worker, Some("reviewer")));
    assert!(!offers(&some, &worker, None) && !offers(&some, &worker, Some("writer")));
    assert!(some.servers.offers("read", &worker, None), "what is not ours is not ours to refuse");
}
