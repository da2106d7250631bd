//! Who may make teammates, how names are used up, and who may cancel a turn.

use super::mailbox::{given, member, name, provisioning};
use longboat_core::id::{Revision, SessionId, TeamId, TurnNo};
use longboat_core::limits::Limits;
use longboat_core::log::{
    ActivityChange, Event, MemberChange, TurnOutcome, Worktree, decode, encode,
};
use longboat_core::team::{
    InterruptRefused, SpawnRefused, TeamState, decide_interrupt, decide_spawn,
};

fn spawn(state: &TeamState, by: &str, who: &str) -> Result<(), SpawnRefused> {
    let limits = Limits::default();
    decide_spawn(state.roster(), &limits, &name(by), &name(who), "works", "do it")
}

fn activity(who: &str, change: ActivityChange) -> Event {
    let team = TeamId::of(SessionId::new("s-1").unwrap());
    Event::TeamActivity { team, member: name(who), change }
}

#[test]
fn p13_only_the_lead_spawns() {
    let state = given(&[provisioning("a"), member("a", MemberChange::Active)]);
    assert_eq!(spawn(&state, "a", "b"), Err(SpawnRefused::NotLead));
    assert_eq!(spawn(&state, "lead", "b"), Ok(()));
}

#[test]
fn p12_a_name_is_used_once_even_when_its_teammate_failed() {
    let reason = "no model".to_owned();
    let state = given(&[provisioning("a"), member("a", MemberChange::Failed { reason })]);
    assert_eq!(spawn(&state, "lead", "a"), Err(SpawnRefused::NameTaken { name: name("a") }));
    assert_eq!(spawn(&state, "lead", "lead"), Err(SpawnRefused::NameIsLead));
    assert_eq!(spawn(&state, "lead", "human"), Err(SpawnRefused::NameIsHuman));
}

#[test]
fn a_worktree_is_on_record_where_there_is_one_and_logs_without_any_read_as_before() {
    let shared = provisioning("a");
    let before = encode(&shared).unwrap();
    assert!(!before.contains("isolation"), "{before}");
    assert_eq!(decode("team/member", &before).unwrap(), shared);
    assert_eq!(given(&[shared]).roster().get(&name("a")).unwrap().worktree, None);

    let [path, branch, base] = ["/w/a", "longboat/s-1/a", "abc"].map(str::to_owned);
    let worktree = Worktree { path, branch, base };
    let mut apart = provisioning("a");
    if let Event::TeamMember { change: MemberChange::Provisioning { isolation, .. }, .. } =
        &mut apart
    {
        *isolation = Some(worktree.clone());
    }
    assert_eq!(decode("team/member", &encode(&apart).unwrap()).unwrap(), apart);
    let roster = given(&[apart]);
    assert_eq!(roster.roster().get(&name("a")).unwrap().worktree, Some(worktree));
}

#[test]
fn p11_the_ninth_teammate_is_refused_with_the_limit() {
    let events: Vec<Event> = (1..=8).map(|n| provisioning(&format!("a{n}"))).collect();
    let refused = spawn(&given(&events), "lead", "b").unwrap_err();
    assert_eq!(refused, SpawnRefused::RosterFull { current: 8, limit: 8 });
}

#[test]
fn p13_only_the_lead_or_a_person_interrupts() {
    let state = given(&[provisioning("a"), member("a", MemberChange::Active)]);
    let lead = SessionId::new("s-1").unwrap();
    let ask = |by: Option<&str>, target: &str| {
        decide_interrupt(&lead, state.roster(), by.map(name).as_ref(), target)
    };
    assert_eq!(ask(Some("a"), "lead"), Err(InterruptRefused::NotLead));
    assert_eq!(ask(Some("lead"), "lead"), Err(InterruptRefused::ItIsYou));
    assert_eq!(ask(Some("lead"), "a"), Ok(name("a")));
    assert_eq!(ask(None, "lead"), Ok(name("lead")));
    assert_eq!(ask(None, "nobody").unwrap_err().code(), "unknown_target");
}

#[test]
fn p16_what_a_member_did_itself_is_no_news_to_it() {
    let started = ActivityChange::TurnStarted { turn: TurnNo(1) };
    let state = given(&[
        provisioning("a"),
        member("a", MemberChange::Active),
        activity("a", started.clone()),
        activity("lead", started),
    ]);
    assert_eq!(state.revision_for(Some(&name("lead"))), Revision(3));
    assert_eq!(state.revision_for(Some(&name("a"))), Revision(4));
    assert_eq!(state.revision_for(None), Revision(4));
}

#[test]
fn p18_how_a_turn_ended_stays_on_the_roster() {
    let turn = TurnNo(1);
    let outcome = TurnOutcome::Failed { reason: "401".to_owned() };
    let excerpt = "half".to_owned();
    let state = given(&[
        provisioning("a"),
        member("a", MemberChange::Active),
        activity("a", ActivityChange::TurnStarted { turn }),
        activity("a", ActivityChange::TurnEnded { turn, outcome: outcome.clone(), excerpt }),
    ]);
    let last = state.roster().get(&name("a")).unwrap().activity.last.clone().unwrap();
    assert_eq!((last.outcome, last.excerpt.as_str()), (outcome, "half"));
}
