//! The suite every store must pass: the promises of [`Store`] as tests. A backend's tests give it a
//! [`Home`] and one line of [`store_contract!`](crate::store_contract). It knows no backend.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "this module is tests")]

use crate::limits;
use crate::{Append, Appended, NewRecord, Placed, SessionHead, Store, StoreError, StoredRecord};
use async_trait::async_trait;
use longboat_core::id::{EventKey, Seq, SessionId};
use longboat_core::time::Timestamp;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Where the stores of one test live.
#[async_trait]
pub trait Home: Sized + Send + Sync {
    /// A new place with no logs.
    fn new() -> Self;
    /// Opens the store of this place. Only one is open at a time.
    async fn open(&self) -> Arc<dyn Store>;
}

/// Runs the whole suite on the stores of one [`Home`], one test per rule, in a module of its own.
/// The calling crate needs tokio's `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! store_contract {
    ($module:ident, $home:ty) => {
        $crate::store_contract! { @rules $module, $home,
            a_new_log_begins_at_0_and_is_dense,
            a_commit_to_several_sessions_is_whole,
            a_refused_part_of_a_commit_leaves_nothing_of_it,
            an_append_at_the_expected_head_is_taken,
            an_append_at_another_head_is_refused_with_the_real_one,
            a_key_that_is_there_changes_nothing_and_gives_its_place,
            a_key_twice_in_one_append_is_recorded_once,
            a_key_belongs_to_one_session,
            a_key_is_remembered_when_the_store_is_opened_again,
            a_key_that_is_there_does_not_excuse_a_wrong_head,
            a_log_is_the_same_when_the_store_is_opened_again,
            commits_at_once_keep_each_log_dense_and_each_commit_whole,
            of_appends_at_once_at_one_head_exactly_one_is_taken,
            reading_goes_page_by_page_and_ends,
            a_session_that_does_not_exist_reads_as_empty,
            a_record_is_found_by_its_key,
            payloads_are_kept_byte_for_byte,
            a_head_tells_count_and_times,
            sessions_are_listed_by_their_last_update,
            an_empty_commit_is_invalid,
            an_append_without_records_is_invalid,
            one_session_twice_in_a_commit_is_invalid,
            what_is_over_a_limit_is_invalid,
            a_dropped_commit_is_whole_or_nothing,
        }
    };
    (@rules $module:ident, $home:ty, $($rule:ident,)+) => {
        mod $module {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $rule() {
                    $crate::contract::$rule(<$home as $crate::contract::Home>::new()).await;
                }
            )+
        }
    };
}

/// A session id for tests.
///
/// # Panics
/// When `name` is not one.
#[must_use]
pub fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

/// An event key for tests.
///
/// # Panics
/// When `name` is not one.
#[must_use]
pub fn key(name: &str) -> EventKey {
    EventKey::new(name).unwrap()
}

/// A record without a key, at a time of its own.
#[must_use]
pub fn record(at_ms: u64, data: &str) -> NewRecord {
    NewRecord { at: Timestamp(at_ms), kind: "test/event".into(), key: None, data: data.into() }
}

/// The same with a key.
#[must_use]
pub fn keyed(at_ms: u64, name: &str, data: &str) -> NewRecord {
    NewRecord { key: Some(key(name)), ..record(at_ms, data) }
}

/// An append wherever the head is.
#[must_use]
pub fn append(name: &str, records: Vec<NewRecord>) -> Append {
    Append { session: session(name), expected_head: None, records }
}

/// An append at a head.
#[must_use]
pub fn append_at(name: &str, head: u64, records: Vec<NewRecord>) -> Append {
    Append { expected_head: Some(Seq(head)), ..append(name, records) }
}

/// The whole log of a session, read in pages.
///
/// # Errors
/// As [`Store::read`].
pub async fn log(store: &dyn Store, name: &str) -> Result<Vec<StoredRecord>, StoreError> {
    let mut log = Vec::new();
    loop {
        let page = store.read(&session(name), Seq(log.len() as u64), 100).await?;
        let last = page.len() < 100;
        log.extend(page);
        if last {
            return Ok(log);
        }
    }
}

fn stored(seq: u64, record: &NewRecord) -> StoredRecord {
    let NewRecord { at, kind, key, data } = record.clone();
    StoredRecord { seq: Seq(seq), at, kind, key, data }
}

fn appended(places: &[Placed], head: u64) -> Appended {
    Appended { seqs: places.to_vec(), head: Seq(head) }
}

async fn all_logs(store: &dyn Store) -> Vec<(SessionHead, Vec<StoredRecord>)> {
    let mut logs = Vec::new();
    for head in store.sessions().await.unwrap() {
        let log = log(store, head.session.as_str()).await.unwrap();
        logs.push((head, log));
    }
    logs
}

macro_rules! rules {
    ($(async fn $rule:ident($store:ident, $home:ident) $body:block)+) => {
        $(
            #[doc = "A rule of the suite; its name says it."]
            ///
            /// # Panics
            /// When the store breaks it.
            pub async fn $rule($home: impl Home) {
                let $store = $home.open().await;
                $body
            }
        )+
    };
}

rules! {

async fn a_new_log_begins_at_0_and_is_dense(store, _home) {
    let records = [record(1, "a"), record(2, "b"), record(3, "c")];
    let done = store.commit(vec![append("s", records[..2].to_vec())]).await.unwrap();
    assert_eq!(done, [appended(&[Placed::New(Seq(0)), Placed::New(Seq(1))], 2)]);
    let done = store.commit(vec![append("s", records[2..].to_vec())]).await.unwrap();
    assert_eq!(done, [appended(&[Placed::New(Seq(2))], 3)]);
    let expected: Vec<_> = (0..).zip(&records).map(|(seq, record)| stored(seq, record)).collect();
    assert_eq!(log(&*store, "s").await.unwrap(), expected);
}

async fn a_commit_to_several_sessions_is_whole(store, _home) {
    let (one, two) = (record(1, "one"), record(2, "two"));
    let done = store
        .commit(vec![append("b", vec![one.clone()]), append("a", vec![two.clone(), one.clone()])])
        .await
        .unwrap();
    let first = appended(&[Placed::New(Seq(0))], 1);
    let second = appended(&[Placed::New(Seq(0)), Placed::New(Seq(1))], 2);
    assert_eq!(done, [first, second], "answers come in the order of the appends");
    assert_eq!(log(&*store, "b").await.unwrap(), [stored(0, &one)]);
    assert_eq!(log(&*store, "a").await.unwrap(), [stored(0, &two), stored(1, &one)]);
}

async fn a_refused_part_of_a_commit_leaves_nothing_of_it(store, _home) {
    store.commit(vec![append("old", vec![record(1, "kept")])]).await.unwrap();
    let before = all_logs(&*store).await;
    for (name, head) in [("new", 1), ("old", 0)] {
        let wrong = append_at(name, head, vec![record(2, "x")]);
        for wrong_first in [false, true] {
            let mut appends = vec![append("other", vec![keyed(2, "k", "x")]), wrong.clone()];
            if wrong_first {
                appends.reverse();
            }
            let refused = store.commit(appends).await;
            assert!(matches!(refused, Err(StoreError::HeadMoved { .. })), "{refused:?}");
            assert_eq!(all_logs(&*store).await, before);
            assert_eq!(store.find(&session("other"), &key("k")).await.unwrap(), None);
            assert_eq!(store.head(&session("new")).await.unwrap(), None);
        }
    }
}

async fn an_append_at_the_expected_head_is_taken(store, _home) {
    store.commit(vec![append_at("s", 0, vec![record(1, "a")])]).await.unwrap();
    let done = store.commit(vec![append_at("s", 1, vec![record(1, "b")])]).await.unwrap();
    assert_eq!(done, [appended(&[Placed::New(Seq(1))], 2)]);
}

async fn an_append_at_another_head_is_refused_with_the_real_one(store, _home) {
    store.commit(vec![append("s", vec![record(1, "a"), record(1, "b")])]).await.unwrap();
    for believed in [0, 1, 3, u64::MAX] {
        let refused = store.commit(vec![append_at("s", believed, vec![record(1, "c")])]).await;
        let Err(StoreError::HeadMoved { session: refused, expected, actual }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((refused, expected, actual), (session("s"), Seq(believed), Seq(2)));
    }
    assert_eq!(log(&*store, "s").await.unwrap().len(), 2);
}

async fn a_key_that_is_there_changes_nothing_and_gives_its_place(store, _home) {
    let first = keyed(1, "k", "first");
    store.commit(vec![append("s", vec![record(0, "a"), first.clone()])]).await.unwrap();
    let before = all_logs(&*store).await;
    let done = store.commit(vec![append("s", vec![keyed(9, "k", "second")])]).await.unwrap();
    assert_eq!(done, [appended(&[Placed::Existing(Seq(1))], 2)]);
    assert_eq!(all_logs(&*store).await, before, "not even the time of the last update changes");

    let mixed = vec![keyed(3, "k", "third"), record(3, "b"), keyed(3, "l", "c")];
    let done = store.commit(vec![append_at("s", 2, mixed.clone())]).await.unwrap();
    let places = [Placed::Existing(Seq(1)), Placed::New(Seq(2)), Placed::New(Seq(3))];
    assert_eq!(done, [appended(&places, 4)]);
    let expected =
        [stored(0, &record(0, "a")), stored(1, &first), stored(2, &mixed[1]), stored(3, &mixed[2])];
    assert_eq!(log(&*store, "s").await.unwrap(), expected);
}

async fn a_key_twice_in_one_append_is_recorded_once(store, _home) {
    let first = keyed(1, "k", "first");
    let twice = vec![first.clone(), keyed(2, "k", "second")];
    let done = store.commit(vec![append("s", twice)]).await.unwrap();
    assert_eq!(done, [appended(&[Placed::New(Seq(0)), Placed::Existing(Seq(0))], 1)]);
    assert_eq!(log(&*store, "s").await.unwrap(), [stored(0, &first)]);
}

async fn a_key_belongs_to_one_session(store, _home) {
    let one = |name| append(name, vec![keyed(1, "k", "x")]);
    let done = store.commit(vec![one("a"), one("b")]).await.unwrap();
    let new = appended(&[Placed::New(Seq(0))], 1);
    assert_eq!(done, [new.clone(), new]);
}

async fn a_key_is_remembered_when_the_store_is_opened_again(store, home) {
    store.commit(vec![append("s", vec![keyed(1, "k", "first")])]).await.unwrap();
    drop(store);
    let store = home.open().await;
    let done = store.commit(vec![append("s", vec![keyed(2, "k", "second")])]).await.unwrap();
    assert_eq!(done, [appended(&[Placed::Existing(Seq(0))], 1)]);
}

async fn a_key_that_is_there_does_not_excuse_a_wrong_head(store, _home) {
    store.commit(vec![append("s", vec![keyed(1, "k", "first")])]).await.unwrap();
    let refused = store.commit(vec![append_at("s", 0, vec![keyed(1, "k", "first")])]).await;
    assert!(matches!(refused, Err(StoreError::HeadMoved { actual: Seq(1), .. })), "{refused:?}");
}

async fn a_log_is_the_same_when_the_store_is_opened_again(store, home) {
    for n in 0..5 {
        let both = vec![append("a", vec![record(n, "x")]), append("b", vec![keyed(n, "k", "y")])];
        store.commit(both).await.unwrap();
    }
    let before = all_logs(&*store).await;
    drop(store);
    assert_eq!(all_logs(&*home.open().await).await, before);
}

async fn commits_at_once_keep_each_log_dense_and_each_commit_whole(store, _home) {
    const TASKS: usize = 16;
    const COMMITS: usize = 10;
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            for n in 0..COMMITS {
                let data = format!("{task}/{n}");
                let pair = vec![record(1, &data), record(1, &data)];
                // In both orders, so that a store which locks session by session would be stuck.
                let mut appends = vec![append("a", pair.clone()), append("b", pair)];
                if task % 2 == 0 {
                    appends.reverse();
                }
                store.commit(appends).await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let (a, b) = (log(&*store, "a").await.unwrap(), log(&*store, "b").await.unwrap());
    assert_eq!(a.len(), TASKS * COMMITS * 2);
    assert_eq!(a, b, "commits come in one order for all logs");
    for (place, pair) in a.chunks(2).enumerate() {
        assert_eq!(pair[0].seq, Seq(place as u64 * 2));
        assert_eq!(pair[1].seq, Seq(place as u64 * 2 + 1));
        assert_eq!(pair[0].data, pair[1].data, "no commit comes between the records of another");
    }
    for task in 0..TASKS {
        let data = a.iter().map(|one| one.data.clone());
        let own = data.filter(|data| data.starts_with(&format!("{task}/")));
        let sorted = (0..COMMITS).flat_map(|n| [format!("{task}/{n}"), format!("{task}/{n}")]);
        assert!(own.eq(sorted), "a task's commits stay in order");
    }
}

async fn of_appends_at_once_at_one_head_exactly_one_is_taken(store, _home) {
    for head in 0..5 {
        let mut tasks = JoinSet::new();
        for n in 0..8 {
            let store = Arc::clone(&store);
            let one = append_at("s", head, vec![record(1, &n.to_string())]);
            tasks.spawn(async move { store.commit(vec![one]).await });
        }
        let mut taken = 0;
        while let Some(done) = tasks.join_next().await {
            match done.unwrap() {
                Ok(_) => taken += 1,
                Err(StoreError::HeadMoved { actual, .. }) => assert_eq!(actual, Seq(head + 1)),
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(taken, 1);
    }
    assert_eq!(log(&*store, "s").await.unwrap().len(), 5);
}

async fn reading_goes_page_by_page_and_ends(store, _home) {
    let records: Vec<_> = (0..10).map(|n| record(n, &n.to_string())).collect();
    store.commit(vec![append("s", records.clone()), append("t", records.clone())]).await.unwrap();
    let all: Vec<_> = (0..).zip(&records).map(|(seq, record)| stored(seq, record)).collect();
    let s = session("s");
    for (from, limit) in [(0, 4), (4, 4), (8, 4), (0, 10), (0, 11), (9, 1), (10, 5), (3, 0)] {
        let end = all.len().min(from + limit);
        let page = store.read(&s, Seq(from as u64), limit).await.unwrap();
        assert_eq!(page, all[from..end], "from {from}, at most {limit}");
    }
    for from in [11, 1000, u64::MAX] {
        assert_eq!(store.read(&s, Seq(from), 5).await.unwrap(), []);
    }
    assert_eq!(store.read(&s, Seq(0), usize::MAX).await.unwrap(), all);
}

async fn a_session_that_does_not_exist_reads_as_empty(store, _home) {
    store.commit(vec![append("s", vec![keyed(1, "k", "x")])]).await.unwrap();
    let absent = session("s.other");
    assert_eq!(store.read(&absent, Seq(0), 5).await.unwrap(), []);
    assert_eq!(store.find(&absent, &key("k")).await.unwrap(), None);
    assert_eq!(store.head(&absent).await.unwrap(), None);
}

async fn a_record_is_found_by_its_key(store, _home) {
    let records = [record(1, "a"), keyed(2, "k", "b"), keyed(3, "K", "c")];
    store.commit(vec![append("s", records.to_vec())]).await.unwrap();
    let s = session("s");
    assert_eq!(store.find(&s, &key("k")).await.unwrap(), Some(stored(1, &records[1])));
    assert_eq!(store.find(&s, &key("K")).await.unwrap(), Some(stored(2, &records[2])));
    assert_eq!(store.find(&s, &key("other")).await.unwrap(), None);
}

async fn payloads_are_kept_byte_for_byte(store, home) {
    let payloads = [
        "",
        " {\"b\" : 1,\n\t\"a\":1.50e+2, \"a\": 2} ",
        "\"\u{0}\u{1}\u{7f}\u{80}\u{fffd}\u{feff}\u{1f6a3}\"",
        "e\u{301} is not \u{e9}",
        "'; DROP TABLE records; --",
        "not JSON at all \r\n",
        &"long ".repeat(100_000),
    ];
    let mut records: Vec<_> = payloads.iter().map(|data| record(u64::MAX >> 1, data)).collect();
    records[0].key = Some(key("k/ä/'%_\u{1f6a3}"));
    records[0].kind = "kind/ä ' %".into();
    store.commit(vec![append("s", records.clone())]).await.unwrap();
    let expected: Vec<_> = (0..).zip(&records).map(|(seq, record)| stored(seq, record)).collect();
    assert!(log(&*store, "s").await.unwrap() == expected);
    drop(store);
    assert!(log(&*home.open().await, "s").await.unwrap() == expected);
}

async fn a_head_tells_count_and_times(store, _home) {
    // The times are the callers' and may go back.
    store.commit(vec![append("s", vec![record(50, "a"), record(70, "b")])]).await.unwrap();
    store.commit(vec![append("s", vec![record(60, "c")])]).await.unwrap();
    let head = store.head(&session("s")).await.unwrap();
    let (created, updated) = (Timestamp(50), Timestamp(60));
    assert_eq!(head, Some(SessionHead { session: session("s"), head: Seq(3), created, updated }));
}

async fn sessions_are_listed_by_their_last_update(store, _home) {
    assert_eq!(store.sessions().await.unwrap(), []);
    for (name, at) in [("c", 10), ("a", 30), ("d", 20), ("b", 20), ("c", 40)] {
        store.commit(vec![append(name, vec![record(at, "x")])]).await.unwrap();
    }
    let mut expected = Vec::new();
    for (name, head, created, updated) in
        [("c", 2, 10, 40), ("a", 1, 30, 30), ("b", 1, 20, 20), ("d", 1, 20, 20)]
    {
        let (created, updated) = (Timestamp(created), Timestamp(updated));
        expected.push(SessionHead { session: session(name), head: Seq(head), created, updated });
    }
    assert_eq!(store.sessions().await.unwrap(), expected);
}

async fn an_empty_commit_is_invalid(store, _home) {
    let refused = store.commit(vec![]).await;
    assert!(matches!(refused, Err(StoreError::Invalid { .. })), "{refused:?}");
}

async fn an_append_without_records_is_invalid(store, _home) {
    let appends = vec![append("a", vec![record(1, "x")]), append("b", vec![])];
    let refused = store.commit(appends).await;
    assert!(matches!(refused, Err(StoreError::Invalid { .. })), "{refused:?}");
    assert_eq!(store.sessions().await.unwrap(), []);
}

async fn one_session_twice_in_a_commit_is_invalid(store, _home) {
    let one = || append("a", vec![record(1, "x")]);
    let refused = store.commit(vec![one(), append("b", vec![record(1, "x")]), one()]).await;
    assert!(matches!(refused, Err(StoreError::Invalid { .. })), "{refused:?}");
    assert_eq!(store.sessions().await.unwrap(), []);
}

async fn what_is_over_a_limit_is_invalid(store, _home) {
    let long = "x".repeat(limits::RECORD_BYTES + 1);
    let kind = |bytes| NewRecord { kind: "k".repeat(bytes), ..record(1, "") };
    for (records, named) in [
        (vec![record(1, &long)], limits::RECORD_BYTES.to_string()),
        (vec![record(1, ""); limits::COMMIT_RECORDS + 1], limits::COMMIT_RECORDS.to_string()),
        (vec![kind(limits::KIND_BYTES + 1)], limits::KIND_BYTES.to_string()),
        (vec![kind(0)], "no kind".to_owned()),
        (vec![record(u64::MAX, "")], limits::LAST_TIMESTAMP_MS.to_string()),
    ] {
        let refused = store.commit(vec![append("s", records)]).await;
        let Err(StoreError::Invalid { reason }) = refused else { panic!("{refused:?}") };
        assert!(reason.contains(&named), "{reason}");
    }
    assert_eq!(store.sessions().await.unwrap(), []);

    let most = vec![record(1, &long[1..]), kind(limits::KIND_BYTES)];
    store.commit(vec![append("s", most.clone())]).await.unwrap();
    assert!(log(&*store, "s").await.unwrap() == [stored(0, &most[0]), stored(1, &most[1])]);
}

async fn a_dropped_commit_is_whole_or_nothing(store, _home) {
    for n in 0..20 {
        let one = store.commit(vec![
            append("a", vec![record(n, "x"), record(n, "y")]),
            append("b", vec![record(n, "x"), record(n, "y")]),
        ]);
        // Polled at most once, then dropped.
        tokio::select! {
            biased;
            done = one => drop(done.unwrap()),
            () = std::future::ready(()) => {}
        }
    }
    store.commit(vec![append("c", vec![record(99, "last")])]).await.unwrap();
    let (a, b) = (log(&*store, "a").await.unwrap(), log(&*store, "b").await.unwrap());
    assert_eq!(a, b);
    assert_eq!(a.len() % 2, 0);
}

}
