//! Bytes that changed behind the store's back are found where they are, and only there.

use crate::place::{Place, payloads, put};
use longboat_core::id::Seq;
use longboat_store::contract::{key, keyed, log, record, session};
use longboat_store::{SqliteStore, Store, StoreError, StoredRecord};
use std::fs;

async fn two_logs(place: &Place) {
    let store = place.open();
    let records =
        (0..20).map(|n| keyed(n, &format!("k{n}"), &format!("payload number {n:02} end")));
    put(&store, "a", records.collect()).await;
    put(&store, "b", (0..20).map(|n| record(n, "all is well")).collect()).await;
    store.close().await;
}

/// Where reading session a fails, and with what; b reads whole.
async fn damage_of_a(place: &Place) -> (Seq, String) {
    let store = place.open();
    assert_eq!(payloads(&store, "b").await, vec!["all is well"; 20]);
    let refused = log(&store, "a").await;
    let Err(StoreError::Damaged { session: damaged, seq, what }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(damaged, session("a"));
    assert_eq!(
        store.read(&damaged, Seq(0), usize::try_from(seq.0).unwrap()).await.unwrap().len(),
        usize::try_from(seq.0).unwrap(),
        "what lies before it is still read"
    );
    (seq, what)
}

#[tokio::test]
async fn a_changed_byte_in_a_payload_is_found_at_its_seq() {
    let place = Place::new();
    two_logs(&place).await;
    let mut bytes = fs::read(place.path()).unwrap();
    let at = bytes.windows(17).position(|text| text == b"payload number 13").unwrap();
    bytes[at] = b'P';
    fs::write(place.path(), bytes).unwrap();

    let (seq, what) = damage_of_a(&place).await;
    assert_eq!(seq, Seq(13));
    assert!(what.contains("checksum"), "{what}");
    let store = place.open();
    let found = store.find(&session("a"), &key("k13")).await;
    assert!(matches!(found, Err(StoreError::Damaged { seq: Seq(13), .. })), "{found:?}");
    assert!(store.find(&session("a"), &key("k12")).await.unwrap().is_some());
}

#[tokio::test]
async fn a_record_that_is_missing_or_moved_or_rewritten_is_found_at_its_seq() {
    let in_a = "session = (SELECT number FROM sessions WHERE id = 'a')";
    let in_b = "(SELECT number FROM sessions WHERE id = 'b')";
    for (change, at, said) in [
        (format!("DELETE FROM records WHERE {in_a} AND seq = 7"), 7, "is missing"),
        (format!("DELETE FROM records WHERE {in_a} AND seq = 0"), 0, "is missing"),
        (format!("DELETE FROM records WHERE {in_a} AND seq = 19"), 19, "is missing"),
        (format!("DELETE FROM records WHERE {in_a}"), 0, "is missing"),
        ("UPDATE sessions SET head = 5 WHERE id = 'a'".to_owned(), 5, "past the log's head"),
        ("UPDATE sessions SET head = 25 WHERE id = 'a'".to_owned(), 20, "is missing"),
        (format!("UPDATE records SET at_ms = 3 WHERE {in_a} AND seq = 7"), 7, "checksum"),
        (format!("UPDATE records SET kind = 'x' WHERE {in_a} AND seq = 7"), 7, "checksum"),
        (format!("UPDATE records SET key = NULL WHERE {in_a} AND seq = 7"), 7, "checksum"),
        (format!("UPDATE records SET key = '' WHERE {in_a} AND seq = 7"), 7, "checksum"),
        (format!("UPDATE records SET seq = 20 WHERE {in_a} AND seq = 7"), 7, "is missing"),
        (
            format!(
                "DELETE FROM records WHERE {in_a} AND seq = 7;
                 INSERT INTO records
                 SELECT (SELECT number FROM sessions WHERE id = 'a'), seq, at_ms, kind, key, data,
                 checksum FROM records WHERE session = {in_b} AND seq = 7"
            ),
            7,
            "checksum",
        ),
    ] {
        let place = Place::new();
        two_logs(&place).await;
        place.sql(&change);
        let (seq, what) = damage_of_a(&place).await;
        assert_eq!(seq, Seq(at), "{change}: {what}");
        assert!(what.contains(said), "{change}: {what}");
    }
}

/// Nothing is ever read that was not written there. One place in 53 is tried.
#[tokio::test]
async fn whatever_byte_of_the_file_is_changed_no_read_gives_a_wrong_record() {
    let place = Place::new();
    two_logs(&place).await;
    let whole = fs::read(place.path()).unwrap();
    let store = place.open();
    let before = (log(&store, "a").await.unwrap(), log(&store, "b").await.unwrap());
    store.close().await;

    let (mut found, mut harmless) = (0, 0);
    for at in (0..whole.len()).step_by(53) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0b0101_0101;
        fs::write(place.path(), bytes).unwrap();
        let Ok(store) = SqliteStore::open_read_only(place.path()) else {
            found += 1;
            continue;
        };
        for (name, written) in [("a", &before.0), ("b", &before.1)] {
            match log(&store, name).await {
                // A session may become unfindable; it is never half there.
                Ok(read) if read == *written || read == Vec::<StoredRecord>::new() => harmless += 1,
                Ok(read) => panic!("byte {at} changed what session {name} reads: {read:?}"),
                Err(StoreError::Damaged { .. } | StoreError::Io { .. }) => found += 1,
                Err(error) => panic!("byte {at}: {error}"),
            }
        }
        store.close().await;
    }
    assert!(found > 10 && harmless > 10, "{found} found, {harmless} harmless");
}

#[tokio::test]
async fn a_check_finds_what_no_read_meets() {
    let place = Place::new();
    two_logs(&place).await;
    let store = place.open();
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    store.close().await;
    place.sql(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema
         SET sql = 'CREATE UNIQUE INDEX records_by_key ON records (session, kind)'
         WHERE name = 'records_by_key'",
    );
    let store = place.open();
    assert_ne!(store.check().await.unwrap(), Vec::<String>::new());
}
