//! Reports over records made by hand, and over stores that are damaged.

mod made;

use super::export::Flaw;
use super::log::{SessionLog, TeamLogs, read_team};
use super::page::{Page, test_page};
use super::{Detail, TeamStory, Transcript, export_session, list_sessions};
use longboat_core::id::{EventKey, Seq};
use longboat_core::log::{Record, Scope, SessionKind, encode};
use longboat_core::price::{Price, Prices};
use longboat_core::time::Timestamp;
use longboat_store::{Append, Holder, MemoryStore, NewRecord, SqliteStore, Store};
use made::{START, created, implementer_log, lead_log, log, session, step_started};

fn logs() -> TeamLogs {
    TeamLogs { lead: lead_log(), teammates: vec![implementer_log()] }
}

fn assert_fits(page: &Page, text: &str) {
    use unicode_width::UnicodeWidthStr as _;
    for line in text.lines() {
        assert!(line.width() <= page.width, "{} columns: {line}", line.width());
        assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
    }
}

#[test]
fn a_team_whose_models_have_prices_is_told_what_it_cost() {
    let price = Price { input: 2.0, output: 10.0, cached: Some(0.5), cache_write: None };
    let prices = Prices::new([("".to_owned(), price)].into());
    let story = TeamStory::of(&logs(), &prices);
    let shown = story.text(&test_page(), "longboat show boat-1 --member");
    assert!(shown.contains("in all, at the prices that are set"), "{shown}");
    let costs: Vec<_> = story.members.iter().map(|member| member.cost_usd).collect();
    assert!(costs.iter().any(Option::is_some), "{costs:?}");
    for cost in costs.into_iter().flatten() {
        assert!(shown.contains(&format!("cost {cost}")), "{shown}");
    }
    assert_fits(&test_page(), &shown);
}

#[test]
fn a_team_is_shown_with_members_tasks_and_the_way_of_every_message() {
    let page = test_page();
    let shown =
        TeamStory::of(&logs(), &Prices::default()).text(&page, "longboat show boat-1 --member");
    assert_fits(&page, &shown);
    insta::assert_snapshot!(shown);
}

#[test]
fn a_team_is_told_to_programs_with_whole_texts_and_times_in_utc() {
    insta::assert_json_snapshot!(TeamStory::of(&logs(), &Prices::default()));
}

#[test]
fn a_transcript_folds_thoughts_and_cuts_results() {
    let page = test_page();
    let shown = Transcript::of(&implementer_log()).text(&page, Detail::Short);
    assert_fits(&page, &shown);
    insta::assert_snapshot!(shown);
}

#[test]
fn a_full_transcript_leaves_nothing_out() {
    let page = test_page();
    let shown = Transcript::of(&implementer_log()).text(&page, Detail::Full);
    assert_fits(&page, &shown);
    insta::assert_snapshot!(shown);
}

#[test]
fn colours_are_the_only_escape_sequences_on_a_page_that_has_them() {
    let page = Page { colour: true, ..test_page() };
    let shown =
        TeamStory::of(&logs(), &Prices::default()).text(&page, "longboat show boat-1 --member");
    let transcript = Transcript::of(&implementer_log()).text(&page, Detail::Full);
    for sequence in format!("{shown}{transcript}").split('\u{1b}').skip(1) {
        let colour = sequence.split('m').next().unwrap_or_default();
        assert!(["[0", "[1", "[2", "[31", "[32", "[33", "[36"].contains(&colour), "{sequence:?}");
    }
    let without = format!("{shown}{transcript}");
    let without = ["[0m", "[1m", "[2m", "[31m", "[32m", "[33m", "[36m"]
        .iter()
        .fold(without, |text, code| text.replace(&format!("\u{1b}{code}"), ""));
    let black = test_page();
    let expected = TeamStory::of(&logs(), &Prices::default())
        .text(&black, "longboat show boat-1 --member")
        + &Transcript::of(&implementer_log()).text(&black, Detail::Full);
    assert_eq!(without, expected);
}

async fn stored(logs: &[&SessionLog]) -> MemoryStore {
    let store = MemoryStore::default();
    put(&store, logs).await;
    store
}

/// Puts logs into a store, as they are.
async fn put(store: &dyn Store, logs: &[&SessionLog]) {
    for log in logs {
        let records = log.records.iter().map(|record| NewRecord {
            at: record.at,
            kind: record.event.kind().to_owned(),
            key: record.key.clone(),
            data: encode(&record.event).unwrap(),
        });
        let records = records.collect();
        let append = Append { session: log.session.clone(), expected_head: None, records };
        store.commit(vec![append]).await.unwrap();
    }
}

#[tokio::test]
async fn sessions_are_listed_by_team_and_a_damaged_one_says_what_is_wrong() {
    let mut torn = log("boat-0", vec![(0, created("boat-0", SessionKind::Root))]);
    torn.records.push(Record {
        seq: Seq(1),
        at: Timestamp(START),
        key: None,
        event: step_started(1, 1),
    });
    let fork = SessionKind::Fork { from: session("boat-1"), records: 0, scope: Scope::Team };
    let fork = log("fork-1", vec![(60_000, created("fork-1", fork))]);
    let store = stored(&[&lead_log(), &implementer_log(), &torn, &fork]).await;
    let (listed, left_out) = list_sessions(&store, 10).await.unwrap();
    assert_eq!(left_out, 0);
    let page = test_page();
    let mut shown = String::new();
    for all in [false, true] {
        listed.iter().for_each(|listed| listed.write(&page, &mut shown, all));
        shown.push_str("----\n");
    }
    assert_fits(&page, &shown);
    insta::assert_snapshot!(shown);
    let (newest, left_out) = list_sessions(&store, 1).await.unwrap();
    assert_eq!((newest.len(), left_out), (1, 2));
}

#[tokio::test]
async fn a_team_reads_back_from_a_store_as_it_was_written() {
    let store = stored(&[&lead_log(), &implementer_log()]).await;
    let read = read_team(&store, &session("boat-1")).await.unwrap();
    assert_eq!(read.lead.records, lead_log().records);
    assert_eq!(read.teammates.len(), 1);
    assert_eq!(
        TeamStory::of(&read, &Prices::default()),
        TeamStory::of(&logs(), &Prices::default())
    );
}

#[tokio::test]
async fn an_export_has_one_line_of_json_for_each_event_with_its_payload_as_stored() {
    let store = stored(&[&implementer_log()]).await;
    let odd = "{\n  \"ignorable\": true, \"n\": 1.00, \"big\": 123456789012345678901234567890 }";
    let record = NewRecord {
        at: Timestamp(START + 9),
        kind: "x/new".into(),
        key: Some(EventKey::new("k").unwrap()),
        data: odd.into(),
    };
    let id = session("boat-1.implementer");
    let append = Append { session: id.clone(), expected_head: None, records: vec![record] };
    store.commit(vec![append]).await.unwrap();
    let mut bytes = Vec::new();
    let exported = export_session(&store, &id, &mut bytes).await.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let expected = implementer_log().records.len() + 1;
    assert_eq!((exported.records, exported.flaws), (expected as u64, Vec::new()));
    assert_eq!(text.lines().count(), expected);
    for line in text.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    assert_eq!(
        text.lines().last(),
        Some(
            "{\"session\":\"boat-1.implementer\",\"seq\":20,\"time\":\"2026-12-01T14:05:06.009Z\",\
             \"type\":\"x/new\",\"key\":\"k\",\"data\":{   \"ignorable\": true, \"n\": 1.00, \
             \"big\": 123456789012345678901234567890 }}"
        )
    );
}

/// The team's logs in a file that was changed behind the store's back.
async fn damaged_by(change: &str) -> (tempfile::TempDir, SqliteStore) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store.db");
    let holder = Holder { pid: 1, started: Timestamp(START), command: "test".into() };
    let store = SqliteStore::open(&path, &holder).unwrap();
    put(&store, &[&lead_log(), &implementer_log()]).await;
    store.close().await;
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch(change).unwrap();
    drop(file);
    (place, SqliteStore::open_read_only(&path).unwrap())
}

const IN_LEAD: &str = "session = (SELECT number FROM sessions WHERE id = 'boat-1')";

#[tokio::test]
async fn an_export_says_which_records_are_damaged_and_writes_all_others() {
    let change = format!(
        "UPDATE records SET data = '{{}}' WHERE {IN_LEAD} AND seq = 3;
         DELETE FROM records WHERE {IN_LEAD} AND seq IN (7, 8, 24, 25);"
    );
    let (_place, store) = damaged_by(&change).await;
    let mut bytes = Vec::new();
    let exported = export_session(&store, &session("boat-1"), &mut bytes).await.unwrap();
    let of_checksum = "its checksum does not match: its bytes are not those that were written";
    let flaw = |from, to, what: &str| Flaw { from: Seq(from), to: Seq(to), what: what.into() };
    assert_eq!(
        exported.flaws,
        [
            flaw(3, 3, of_checksum),
            flaw(7, 8, "it is missing; the next one is 9"),
            flaw(24, 25, "it is missing; the log has 26 records"),
        ]
    );
    let text = String::from_utf8(bytes).unwrap();
    let seqs: Vec<u64> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"].as_u64())
        .map(Option::unwrap)
        .collect();
    let expected: Vec<u64> = (0..24).filter(|seq| ![3, 7, 8].contains(seq)).collect();
    assert_eq!(seqs, expected);
}

#[tokio::test]
async fn a_team_whose_lead_is_damaged_is_shown_as_far_as_its_logs_go() {
    let change = format!("UPDATE records SET data = 'x' WHERE {IN_LEAD} AND seq = 8");
    let (_place, store) = damaged_by(&change).await;
    let logs = read_team(&store, &session("boat-1")).await.unwrap();
    let page = test_page();
    let shown =
        TeamStory::of(&logs, &Prices::default()).text(&page, "longboat show boat-1 --member");
    assert_fits(&page, &shown);
    insta::assert_snapshot!(shown);
}
