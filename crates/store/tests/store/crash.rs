//! Real processes killed in the middle of committing.

use crate::child::{self, Part};
use crate::place::{Place, head, holder, payloads, put};
use longboat_core::time::Timestamp;
use longboat_store::contract::{append, record};
use longboat_store::{Holder, OpenError, SqliteStore, Store};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;
use tokio::task::JoinSet;

const TASKS: usize = 8;

/// The child: every commit adds one number to each of three logs, and is told when it was answered.
pub(crate) async fn commit_for_ever(store: SqliteStore) {
    let store = Arc::new(store);
    let first = head(&store, "a").await;
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            for n in first.. {
                let data = format!("{task}/{n}");
                // Long enough that the kill also falls into writes and checkpoints.
                let long = format!("{data}/{}", "x".repeat(20_000));
                let appends = vec![
                    append("a", vec![record(n, &data)]),
                    append("b", vec![record(n, &long)]),
                    append("c", vec![record(n, &data)]),
                ];
                store.commit(appends).await.unwrap();
                let mut out = std::io::stdout().lock();
                writeln!(out, "answered {data}").unwrap();
                out.flush().unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

#[tokio::test]
async fn p2_a_process_killed_while_committing_leaves_whole_commits_and_every_answered_one() {
    let place = Place::new();
    let mut answered = Vec::new();
    for round in 0..5 {
        let mut child = child::command(Part::CommitForEver, &place.path()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = 0;
        while seen < 40 + round * 150 {
            let line = lines.next().expect("the child goes on until it is killed").unwrap();
            if let Some(data) = line.strip_prefix("answered ") {
                answered.push(data.to_owned());
                seen += 1;
            }
        }
        if round == 0 {
            beside_a_live_owner(&place, child.id()).await;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let rest = lines.map(Result::unwrap);
        answered.extend(rest.filter_map(|line| Some(line.strip_prefix("answered ")?.to_owned())));

        assert!(place.beside("-wal").exists(), "there is something to recover");
        // First as one who only reads would find it, then as the next owner does.
        let reader = SqliteStore::open_read_only(place.path()).unwrap();
        check(&reader, &answered).await;
        reader.close().await;
        let owner = place.open();
        check(&owner, &answered).await;
        owner.close().await;
        assert!(!place.beside("-wal").exists(), "closing leaves one file");
    }
}

async fn beside_a_live_owner(place: &Place, pid: u32) {
    match SqliteStore::open(place.path(), &holder()) {
        Err(OpenError::Held { holder: Some(held), .. }) => assert_eq!(held.pid, pid),
        other => panic!("{other:?}"),
    }
    let reader = SqliteStore::open_read_only(place.path()).unwrap();
    assert!(!payloads(&reader, "a").await.is_empty());
    reader.close().await;
}

/// All logs have the same commits in the same order, and the answered ones are among them.
async fn check(store: &SqliteStore, answered: &[String]) {
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    let a = payloads(store, "a").await;
    assert_eq!(a, payloads(store, "c").await);
    let b = payloads(store, "b").await;
    assert!(b.iter().map(|long| long.rsplit_once('/').unwrap().0).eq(&a));
    let mut times = BTreeMap::new();
    for data in &a {
        *times.entry(data.as_str()).or_insert(0) += 1;
    }
    let lost: Vec<_> = answered.iter().filter(|data| !times.contains_key(data.as_str())).collect();
    assert_eq!(lost, Vec::<&String>::new());
    assert!(times.values().all(|times| *times == 1), "nothing is recorded twice");
}

#[tokio::test]
async fn what_was_committed_is_there_after_a_drop_without_close() {
    let place = Place::new();
    let store = place.open();
    put(&store, "a", vec![record(1, "kept")]).await;
    drop(store);
    let store = place.open();
    assert_eq!(payloads(&store, "a").await, ["kept"]);
    assert!(place.beside("-wal").exists());
    drop(store);
    assert!(!place.beside("-wal").exists(), "a drop leaves one file, as closing does");
}

#[tokio::test]
async fn the_lock_of_a_dead_owner_is_taken_over_and_its_words_replaced() {
    let place = Place::new();
    let dead = Holder {
        pid: 4_000_000,
        started: Timestamp(1),
        command: "a much longer command line than the one that comes after it".to_owned(),
    };
    std::fs::write(place.beside(".lock"), serde_json::to_string(&dead).unwrap()).unwrap();
    let _store = place.open();
    match SqliteStore::open(place.path(), &holder()) {
        Err(OpenError::Held { holder: held, .. }) => assert_eq!(held, Some(holder())),
        other => panic!("{other:?}"),
    }
}
