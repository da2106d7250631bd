//! A file system that takes no more, by a real limit on the size of files.

use crate::child::{self, Part};
use crate::place::{Place, head, payloads, put};
use longboat_store::contract::{append, record};
use longboat_store::{SqliteStore, Store, StoreError};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::sync::Arc;
use tokio::task::JoinSet;

const LIMIT: u64 = 300_000;

/// The child: hits the limit, checks what it is told and what is left, lifts the limit, goes on.
pub(crate) async fn fill_the_disk(store: SqliteStore) {
    let (soft, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, LIMIT, hard).unwrap();

    let store = Arc::new(store);
    let big = "x".repeat(40_000);
    let commit = async |n: u64| {
        store
            .commit(vec![append("a", vec![record(n, &big)]), append("b", vec![record(n, "small")])])
            .await
    };
    let mut kept = 0;
    let failed = loop {
        match commit(kept).await {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
    };
    let StoreError::Io { cause, retryable: false, .. } = failed else { panic!("{failed:?}") };
    assert!(cause.contains("the disk or file system refused"), "{cause}");
    assert!(kept > 0);
    assert_eq!((head(&store, "a").await, head(&store, "b").await), (kept, kept));

    // At once, so that they share a transaction: they all hear of it.
    let mut tasks = JoinSet::new();
    for n in 0..10 {
        let (store, big) = (Arc::clone(&store), big.clone());
        let appends = vec![append(&format!("n{n}"), vec![record(n, &big), record(n, &big)])];
        tasks.spawn(async move { store.commit(appends).await });
    }
    while let Some(done) = tasks.join_next().await {
        let done = done.unwrap();
        assert!(matches!(done, Err(StoreError::Io { .. })), "{done:?}");
    }
    assert_eq!(store.sessions().await.unwrap().len(), 2);
    assert_eq!((head(&store, "a").await, head(&store, "b").await), (kept, kept));

    setrlimit(Resource::RLIMIT_FSIZE, soft, hard).unwrap();
    for n in 0..3 {
        commit(kept + n).await.unwrap();
    }
    put(&store, "end", vec![record(0, &kept.to_string())]).await;
}

#[tokio::test]
async fn p20_a_full_disk_is_told_loses_nothing_and_is_forgotten_when_there_is_room() {
    let place = Place::new();
    let ended = child::command(Part::FillTheDisk, &place.path()).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{said}{}", String::from_utf8_lossy(&ended.stderr));

    let store = place.open();
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    let kept: usize = payloads(&store, "end").await[0].parse().unwrap();
    assert_eq!(payloads(&store, "a").await, vec!["x".repeat(40_000); kept + 3]);
    assert_eq!(payloads(&store, "b").await, vec!["small"; kept + 3]);
    assert_eq!(store.sessions().await.unwrap().len(), 3);
}
