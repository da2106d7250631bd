//! How long a durable send to a resident target takes, next to what the disk itself takes: a raw
//! append with fdatasync, measured in the same run and in the same directory.
//!
//! `cargo run --release --package longboat-engine --example send_benchmark [DIRECTORY]`

use longboat_core::id::{MemberName, MessageId};
use longboat_engine::{Acceptance, MemberHandle, TeamHandle};
use longboat_scripted::{Agent, Hold, Step};
use longboat_testkit::{World, follow, say, until};
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Sends one after the other, and raw appends.
const SEQUENTIAL: u32 = 1_000;
/// Senders at once, and the sends of each.
const SENDERS: u32 = 64;
const SENDS_EACH: u32 = 100;
/// Bytes of a message and of a raw append.
const BYTES: usize = 512;

type Failed = Box<dyn Error + Send + Sync>;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "a benchmark prints its numbers")]
async fn main() -> Result<(), Failed> {
    let before = raw_sync(&std::env::temp_dir())?;
    let (sequential, concurrent) = sends().await?;
    let after = raw_sync(&std::env::temp_dir())?;
    let raw = (before + after) / 2;
    let ratio = |time: Duration| time.as_secs_f64() / raw.as_secs_f64();
    println!("raw append + fdatasync      {raw:>10.1?}   (before {before:.1?}, after {after:.1?})");
    println!("send, one after the other   {sequential:>10.1?}   {:.2} × raw", ratio(sequential));
    println!(
        "send, {SENDERS} at once           {concurrent:>10.1?}   {:.3} × raw",
        ratio(concurrent)
    );
    Ok(())
}

/// The mean time of an append with fdatasync.
fn raw_sync(directory: &Path) -> Result<Duration, Failed> {
    let mut file = tempfile::tempfile_in(directory)?;
    let record = [b'x'; BYTES];
    let append = |file: &mut File| -> Result<(), Failed> {
        file.write_all(&record)?;
        Ok(file.sync_data()?)
    };
    append(&mut file)?;
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
    let start = Instant::now();
    for _ in 0..SEQUENTIAL {
        append(&mut file)?;
    }
    Ok(start.elapsed() / SEQUENTIAL)
}

/// The mean times of a send: alone, and among many.
async fn sends() -> Result<(Duration, Duration), Failed> {
    // The target is in the middle of a step for the whole measurement.
    let spawn = serde_json::json!({"name": "worker", "description": "d", "prompt": "p"});
    let world = World::of(vec![
        Agent::member("lead", vec![Step::call("spawn_teammate", spawn), Step::text("done")]),
        Agent::member(
            "worker",
            vec![Step::text("done").held(Hold { at_most_ms: 3_600_000, ..Hold::gate("end") })],
        ),
    ])
    .await
    .holding_pending(1_000_000);
    let life = world.live();
    let team = life.create(&world.workspace(), "chat").await;
    let mut follower = follow(&team).await;
    say(&team, "lead", "p1", "go").await;
    world.server.arrived("worker", 0).await;
    until(&mut follower, |session, event| {
        session.as_str() == "s-1" && event.kind() == "turn/ended"
    })
    .await;
    drop(follower);
    let sequential = one_after_the_other(&team).await?;
    let concurrent = at_once(&team).await?;
    world.server.open_gate("end");
    life.end(&team).await;
    Ok((sequential, concurrent))
}

async fn send(member: &MemberHandle, call: String) -> Result<(), Failed> {
    let text = "x".repeat(BYTES);
    let sent: (MessageId, Acceptance) = member.send(&call, "worker".to_owned(), text).await?;
    if sent.1 == Acceptance::Accepted { Ok(()) } else { Err(format!("{sent:?}").into()) }
}

async fn one_after_the_other(team: &TeamHandle) -> Result<Duration, Failed> {
    let lead = team.member(MemberName::lead());
    send(&lead, "warm".to_owned()).await?;
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
    let start = Instant::now();
    for n in 0..SEQUENTIAL {
        send(&lead, format!("one/{n}")).await?;
    }
    Ok(start.elapsed() / SEQUENTIAL)
}

async fn at_once(team: &TeamHandle) -> Result<Duration, Failed> {
    let lead = team.member(MemberName::lead());
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
    let start = Instant::now();
    let senders = (0..SENDERS).map(|sender| {
        let lead = lead.clone();
        async move {
            for n in 0..SENDS_EACH {
                send(&lead, format!("many/{sender}/{n}")).await?;
            }
            Ok::<(), Failed>(())
        }
    });
    futures::future::try_join_all(senders).await?;
    Ok(start.elapsed() / (SENDERS * SENDS_EACH))
}
