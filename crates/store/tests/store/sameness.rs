//! Whatever is committed in whatever order, a SQLite store answers and remembers as the reference
//! implementation does.

use crate::place::Place;
use longboat_core::id::Seq;
use longboat_core::time::Timestamp;
use longboat_store::contract::{key, log, session};
use longboat_store::{Append, MemoryStore, NewRecord, Store};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof};
use proptest::{collection, option, proptest};

const SESSIONS: [&str; 3] = ["lead", "lead.a", "lead.b"];
const KEYS: [&str; 4] = ["inbox/1", "inbox/2", "call/lead/1/0", "delivered/m1"];

fn a_record() -> impl Strategy<Value = NewRecord> {
    let keys =
        option::of(collection::vec(0..KEYS.len(), 1).prop_map(|picked| key(KEYS[picked[0]])));
    let times = prop_oneof![0..100u64, Just(i64::MAX as u64), Just(u64::MAX)];
    (times, "[a-z]{0,3}/?[a-z]{0,3}", keys, any::<String>()).prop_map(|(at, kind, key, data)| {
        NewRecord { at: Timestamp(at.min(200 + (at >> 1))), kind, key, data }
    })
}

fn an_append() -> impl Strategy<Value = Append> {
    let heads = option::of(0..6u64);
    (0..SESSIONS.len(), heads, collection::vec(a_record(), 0..4)).prop_map(
        |(name, head, records)| Append {
            session: session(SESSIONS[name]),
            expected_head: head.map(Seq),
            records,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_commits_leave_the_same_logs_in_memory_and_in_sqlite(
        commits in collection::vec(collection::vec(an_append(), 0..4), 0..20),
        reopened_after in 0..20usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let place = Place::new();
            let (memory, mut sqlite) = (MemoryStore::new(), place.open());
            for (n, commit) in commits.into_iter().enumerate() {
                let expected = memory.commit(commit.clone()).await;
                let answered = sqlite.commit(commit).await;
                assert_eq!(format!("{answered:?}"), format!("{expected:?}"));
                if n == reopened_after {
                    drop(sqlite);
                    sqlite = place.open();
                }
            }
            assert_eq!(sqlite.sessions().await.unwrap(), memory.sessions().await.unwrap());
            for name in SESSIONS {
                let id = session(name);
                let expected = log(&memory, name).await.unwrap();
                assert_eq!(log(&sqlite, name).await.unwrap(), expected);
                assert_eq!(sqlite.head(&id).await.unwrap(), memory.head(&id).await.unwrap());
                for name in KEYS {
                    let expected = memory.find(&id, &key(name)).await.unwrap();
                    assert_eq!(sqlite.find(&id, &key(name)).await.unwrap(), expected);
                }
            }
        });
    }
}
