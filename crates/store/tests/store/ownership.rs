//! One process owns a store; others are told who, and may read.

use crate::place::{Place, holder, payloads, put};
use longboat_store::contract::{append, record};
use longboat_store::{Holder, OpenError, SqliteStore, Store, StoreError};

#[tokio::test]
async fn a_second_opener_is_told_who_holds_the_store_and_what_to_do() {
    let place = Place::new();
    let _owner = place.open();
    let other = Holder { pid: 1, command: "another".to_owned(), ..holder() };
    let refused = SqliteStore::open(place.path(), &other).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "{} is in use by process {} (\"longboat run\") since 2025-12-01T14:00:00Z: stop it, or \
             use a command that only reads or speaks to it (longboat send, tasks, show --follow), \
             or give another --store",
            place.path().display(),
            std::process::id()
        )
    );
}

#[tokio::test]
async fn a_second_opener_is_refused_under_another_spelling_too() {
    let place = Place::new();
    let _owner = place.open();
    let link = place.dir().join("link.db");
    std::os::unix::fs::symlink(place.path(), &link).unwrap();
    let dots = place.dir().join("new").join("..").join("store.db");
    std::fs::create_dir(place.dir().join("new")).unwrap();
    for spelling in [link, dots] {
        let refused = SqliteStore::open(&spelling, &holder());
        assert!(matches!(refused, Err(OpenError::Held { .. })), "{spelling:?}: {refused:?}");
    }
}

#[tokio::test]
async fn a_holder_that_has_not_said_who_it_is_is_still_one() {
    let place = Place::new();
    let _owner = place.open();
    for said in ["", "{\"pid\":", "\u{0}\u{1}"] {
        std::fs::write(place.beside(".lock"), said).unwrap();
        let refused = SqliteStore::open(place.path(), &holder()).unwrap_err();
        assert!(matches!(refused, OpenError::Held { holder: None, .. }), "{refused:?}");
        assert!(refused.to_string().contains("another process"), "{refused}");
    }
}

#[tokio::test]
async fn a_closed_store_is_free_for_the_next_owner() {
    let place = Place::new();
    let first = place.open();
    first.close().await;
    let second = place.open();
    drop(first);
    let refused = SqliteStore::open(place.path(), &holder());
    assert!(matches!(refused, Err(OpenError::Held { .. })), "the second one owns it now");
    drop(second);
    place.open().close().await;
}

#[tokio::test]
async fn a_reader_beside_the_owner_sees_each_commit_and_cannot_commit() {
    let place = Place::new();
    let owner = place.open();
    put(&owner, "a", vec![record(1, "one")]).await;
    let reader = SqliteStore::open_read_only(place.path()).unwrap();
    assert_eq!(payloads(&reader, "a").await, ["one"]);
    put(&owner, "a", vec![record(2, "two")]).await;
    assert_eq!(payloads(&reader, "a").await, ["one", "two"]);

    let refused = reader.commit(vec![append("a", vec![record(3, "three")])]).await;
    let Err(error @ StoreError::Io { retryable: false, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        error.to_string(),
        "committing failed: the store was opened to read only: open it as its owner to write"
    );
    owner.close().await;
    assert_eq!(payloads(&reader, "a").await, ["one", "two"]);
}

#[tokio::test]
async fn a_store_that_was_removed_or_replaced_under_its_owner_keeps_no_promise_and_says_so() {
    for file in ["", ".lock", "-wal"] {
        for replaced in [false, true] {
            let place = Place::new();
            let owner = place.open();
            put(&owner, "a", vec![record(1, "one")]).await;
            let away = place.beside(".away");
            std::fs::rename(place.beside(file), &away).unwrap();
            if replaced {
                std::fs::copy(&away, place.beside(file)).unwrap();
            }
            let refused =
                owner.commit(vec![append("a", vec![record(1, "two")])]).await.unwrap_err();
            assert!(matches!(refused, StoreError::Io { retryable: false, .. }), "{refused:?}");
            assert!(refused.to_string().contains("was removed or replaced"), "{refused}");
            std::fs::rename(&away, place.beside(file)).unwrap();
            put(&owner, "b", vec![record(1, "three")]).await;
        }
    }
}
