//! Commits at once share a sync, and nobody waits for more than the disk.

use crate::place::{Place, head, put};
use longboat_store::contract::{append, append_at, record};
use longboat_store::{Store, StoreError, WriteCounts};
use std::sync::Arc;
use std::task::Poll;
use tokio::task::JoinSet;

#[tokio::test]
async fn commits_at_once_share_syncs() {
    const COMMITS: u64 = 3_000;
    let place = Place::new();
    let store = Arc::new(place.open());
    let mut tasks = JoinSet::new();
    // More than wait in the queue: some wait for room in it.
    for n in 0..COMMITS {
        let store = Arc::clone(&store);
        let appends = vec![append(&format!("s{}", n % 10), vec![record(n, "x")])];
        tasks.spawn(async move { store.commit(appends).await.unwrap() });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let WriteCounts { commits, transactions } = store.write_counts();
    assert_eq!(commits, COMMITS);
    assert!(transactions < COMMITS / 4, "{transactions} transactions");
    for n in 0..10 {
        assert_eq!(head(&store, &format!("s{n}")).await, COMMITS / 10);
    }
}

#[tokio::test]
async fn commits_one_after_the_other_are_one_transaction_each() {
    let place = Place::new();
    let store = place.open();
    for n in 0..5 {
        put(&store, "a", vec![record(n, "x")]).await;
    }
    assert_eq!(store.write_counts(), WriteCounts { commits: 5, transactions: 5 });
}

#[tokio::test]
async fn a_read_does_not_wait_for_a_commit_that_waits() {
    let place = Place::new();
    let store = place.open();
    put(&store, "a", vec![record(1, "x")]).await;
    let other = rusqlite::Connection::open(place.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();

    let mut commit = store.commit(vec![append("a", vec![record(2, "y")])]);
    let first = std::future::poll_fn(|context| Poll::Ready(commit.as_mut().poll(context))).await;
    assert!(first.is_pending());
    assert_eq!(head(&store, "a").await, 1);

    other.execute_batch("ROLLBACK").unwrap();
    commit.await.unwrap();
    assert_eq!(head(&store, "a").await, 2);
}

#[tokio::test]
async fn closing_finishes_what_waits_and_refuses_what_comes_later() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let mut tasks = JoinSet::new();
    for n in 0..100 {
        let store = Arc::clone(&store);
        let appends = vec![append("a", vec![record(n, "x")])];
        tasks.spawn(async move { store.commit(appends).await });
    }
    // On this runtime nothing runs beside: each task puts its commit in the queue.
    tokio::task::yield_now().await;
    tokio::join!(store.close(), store.close());

    let mut kept = 0;
    while let Some(done) = tasks.join_next().await {
        match done.unwrap() {
            Ok(_) => kept += 1,
            Err(StoreError::Closed) => {}
            Err(error) => panic!("{error}"),
        }
    }
    let late = store.commit(vec![append_at("a", 0, vec![record(1, "late")])]).await;
    assert!(matches!(late, Err(StoreError::Closed)), "{late:?}");
    let late = store.sessions().await;
    assert!(matches!(late, Err(StoreError::Closed)), "{late:?}");
    // The closed store is still there, and yet the place is free.
    assert_eq!(head(&place.open(), "a").await, kept);
    assert!(kept > 0);
}
