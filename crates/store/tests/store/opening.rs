//! What is found at a path when a store is opened, and what people are told of it.

use crate::place::{Place, head, holder, put};
use longboat_store::contract::record;
use longboat_store::{OpenError, SqliteStore};
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn both(place: &Place) -> [Result<SqliteStore, OpenError>; 2] {
    [SqliteStore::open_read_only(place.path()), SqliteStore::open(place.path(), &holder())]
}

#[tokio::test]
async fn a_new_store_and_its_directories_are_its_users_own() {
    let place = Place::new();
    let path = place.dir().join("deep").join("down").join("store.db");
    let store = SqliteStore::open(&path, &holder()).unwrap();
    put(&store, "a", vec![record(1, "secret")]).await;
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.dir().join("deep")), 0o700);
    assert_eq!(mode(&place.dir().join("deep").join("down")), 0o700);
    for suffix in ["", "-wal", "-shm", ".lock"] {
        let mut file = path.clone().into_os_string();
        file.push(suffix);
        assert_eq!(mode(file.as_ref()), 0o600, "{file:?}");
    }
}

#[tokio::test]
async fn a_path_is_a_path_whatever_it_looks_like() {
    let place = Place::new();
    for name in ["file:x?mode=memory", ":memory:", "with space ä.db"] {
        let path = place.dir().join(name);
        let store = SqliteStore::open(&path, &holder()).unwrap();
        put(&store, "a", vec![record(1, "x")]).await;
        store.close().await;
        assert_eq!(head(&SqliteStore::open_read_only(&path).unwrap(), "a").await, 1);
        assert!(path.is_file());
    }
}

#[test]
fn a_missing_or_empty_store_cannot_be_read_and_none_is_made() {
    let place = Place::new();
    let missing = SqliteStore::open_read_only(place.path()).unwrap_err();
    assert!(matches!(missing, OpenError::Missing { .. }), "{missing:?}");
    assert!(!place.path().exists());
    fs::write(place.path(), "").unwrap();
    let empty = SqliteStore::open_read_only(place.path()).unwrap_err();
    assert!(matches!(empty, OpenError::Missing { .. }), "{empty:?}");
}

#[test]
fn a_file_that_is_not_a_database_is_refused_and_left_alone() {
    let place = Place::new();
    let text = "dear diary, ".repeat(1_000);
    fs::write(place.path(), &text).unwrap();
    for opened in both(&place) {
        let refused = opened.unwrap_err();
        assert!(matches!(refused, OpenError::NotAStore { .. }), "{refused:?}");
        assert!(refused.to_string().contains("is not a database"), "{refused}");
    }
    assert_eq!(fs::read_to_string(place.path()).unwrap(), text);
}

#[test]
fn the_database_of_another_program_is_refused_and_left_alone() {
    let place = Place::new();
    place.sql("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
    let before = fs::read(place.path()).unwrap();
    for opened in both(&place) {
        let refused = opened.unwrap_err();
        assert!(matches!(refused, OpenError::NotAStore { .. }), "{refused:?}");
        assert!(refused.to_string().contains("another program"), "{refused}");
    }
    assert_eq!(fs::read(place.path()).unwrap(), before);
}

#[test]
fn a_directory_is_not_a_store() {
    let place = Place::new();
    fs::create_dir(place.path()).unwrap();
    for opened in both(&place) {
        let refused = opened.unwrap_err();
        assert!(matches!(refused, OpenError::NotAStore { .. }), "{refused:?}");
    }
}

#[tokio::test]
async fn a_newer_format_is_refused_with_what_where_and_what_to_do() {
    let place = Place::new();
    place.open().close().await;
    place.sql("PRAGMA user_version = 99");
    for opened in both(&place) {
        assert_eq!(
            opened.unwrap_err().to_string(),
            format!(
                "{} has format 99, but this longboat knows formats up to 1: use a newer longboat, \
                 or give another --store",
                place.path().display()
            )
        );
    }
    assert!(!place.beside("-wal").exists());
}

#[tokio::test]
async fn an_older_format_is_not_read_before_an_owner_has_updated_it() {
    let place = Place::new();
    place.open().close().await;
    place.sql("PRAGMA user_version = 0");
    let refused = SqliteStore::open_read_only(place.path()).unwrap_err();
    assert!(matches!(refused, OpenError::OlderFormat { found: 0, known: 1, .. }), "{refused:?}");
}

#[tokio::test]
async fn a_truncated_database_is_refused() {
    let place = Place::new();
    let store = place.open();
    put(&store, "a", (0..500).map(|n| record(n, &"x".repeat(500))).collect()).await;
    store.close().await;
    let whole = fs::read(place.path()).unwrap();
    for length in [whole.len() / 2, 8_192, 4_096, 3_000] {
        fs::write(place.path(), &whole[..length]).unwrap();
        for opened in both(&place) {
            let refused = opened.unwrap_err();
            assert!(matches!(refused, OpenError::Damaged { .. }), "{length}: {refused:?}");
        }
    }
    for length in [511, 99, 1] {
        fs::write(place.path(), &whole[..length]).unwrap();
        for opened in both(&place) {
            let refused = opened.unwrap_err();
            assert!(matches!(refused, OpenError::NotAStore { .. }), "{length}: {refused:?}");
        }
    }
}

#[test]
fn an_empty_database_beside_a_full_write_ahead_log_is_not_taken_for_a_new_one() {
    let place = Place::new();
    fs::write(place.path(), "").unwrap();
    fs::write(place.beside("-wal"), "something").unwrap();
    let refused = SqliteStore::open(place.path(), &holder()).unwrap_err();
    assert!(matches!(refused, OpenError::Damaged { .. }), "{refused:?}");
    assert_eq!(fs::read(place.beside("-wal")).unwrap(), b"something");
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let place = Place::new();
    fs::write(place.path(), "").unwrap();
    let store = place.open();
    put(&store, "a", vec![record(1, "x")]).await;
    assert_eq!(head(&store, "a").await, 1);
}
