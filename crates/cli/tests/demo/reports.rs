//! Looking back with the real binary, at the store of a real team run.

use crate::place::{Place, run_on};
use serde_json::Value;
use std::sync::OnceLock;

/// A demo that ended, made once; nobody changes it.
fn ended() -> &'static Place {
    static ENDED: OnceLock<Place> = OnceLock::new();
    ENDED.get_or_init(|| {
        let place = Place::new();
        assert_eq!(place.demo(&["-q"]).code, Some(0));
        place
    })
}

/// What a command prints for people: exit code 0, at most 80 columns, nothing that steers a terminal.
fn page(arguments: &[&str]) -> String {
    let done = ended().run(arguments);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{arguments:?}");
    for line in done.out.lines() {
        let path = line.contains("--store");
        assert!(path || line.chars().count() <= 80, "{line}");
        assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
    }
    done.out
}

#[test]
fn sessions_lists_a_team_once_and_with_all_its_members() {
    let lead = ended().lead();
    let short = page(&["sessions"]);
    assert!(short.contains(&format!("{lead}  root, 2 teammates")), "{short}");
    assert!(short.contains("1 turn, idle          ./test.sh fails. Make a team: a res"), "{short}");
    assert!(!short.contains(".implementer"), "{short}");
    let all = page(&["sessions", "--all"]);
    for part in ["  .implementer  teammate", "  .researcher  teammate", "Claim task t1 and find"] {
        assert!(all.contains(part), "{all}");
    }
    let json = ended().json(&["sessions", "--json"]);
    let ids = |value: &Value| value["session"].as_str().unwrap().to_owned();
    assert_eq!(ids(&json[0]), lead);
    let teammates: Vec<String> = json[0]["teammates"].as_array().unwrap().iter().map(ids).collect();
    assert_eq!(teammates, [format!("{lead}.implementer"), format!("{lead}.researcher")]);
}

#[test]
fn show_has_members_tasks_and_the_way_of_every_message() {
    let shown = page(&["show"]);
    for part in [
        "  implementer  idle          completed        1      7 ",
        "  t2     completed    implementer  t1          Repair it",
        "Messages (3 queued, 3 read)",
        "  m1     researcher → implementer  ",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let lead = ended().lead();
    let store = ended().store();
    let again = format!("  longboat show {lead} --store {} --member lead|", store.display());
    assert!(shown.contains(&again), "{shown}");
    assert_eq!(page(&["show", &lead[..8]]), shown, "a beginning of the id is enough");
}

#[test]
fn a_transcript_has_prompts_mail_replies_thoughts_calls_and_results() {
    let lead = ended().lead();
    let shown = page(&["show", "--member", "implementer"]);
    for part in [
        "from lead\n  Task t2 is yours once t1 is completed.",
        "from researcher (message m1)\n  The cause is in src/lib.rs, shares():",
        "\n  thinking: The researcher's message came while the test ran",
        "• bash command: ./test.sh\n  error\n",
        "• edit new: ",
        "src/lib.rs is repaired and ./test.sh passes.\n",
        "── turn 1 completed, ",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert_eq!(page(&["show", &format!("{lead}.impl")]), shown, "a teammate's id means the same");
    let full = page(&["show", "--member", "implementer", "--full"]);
    assert!(full.contains("    1000 cents") || full.len() > shown.len());
    assert!(full.contains("[exit code 101]"), "{full}");
}

#[test]
fn what_is_not_there_is_answered_with_exit_code_2_and_what_there_is() {
    let lead = ended().lead();
    let done = ended().run(&["show", "s-nobody"]);
    let nearest = done.err.contains("there is no session \"s-nobody\"; the nearest is s-");
    assert!(done.code == Some(2) && nearest, "{done:?}");
    let done = ended().run(&["show", "--member", "nobody"]);
    let known = format!(
        "longboat: there is no member \"nobody\" in team {lead}; the members are lead, \
         implementer, researcher\n"
    );
    assert_eq!((done.code, done.err), (Some(2), known));
    let nowhere = tempfile::tempdir().unwrap();
    let done = run_on(&nowhere.path().join("none.db"), &["sessions"]);
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.err.contains("holds no store yet"), "{done:?}");
}

#[test]
fn an_export_goes_to_a_file_whole_or_for_one_session_alone() {
    let place = ended();
    let lead = place.lead();
    let all = place.run(&["export"]).out;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("team.jsonl");
    let done = place.run(&["export", "latest", "--output", file.to_str().unwrap()]);
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (Some(0), "", ""));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), all);
    let alone = place.run(&["export", &lead, "--alone"]).out;
    let implementer = place.run(&["export", &format!("{lead}.implementer")]).out;
    let researcher = place.run(&["export", &format!("{lead}.researcher")]).out;
    assert_eq!(format!("{alone}{implementer}{researcher}"), all);
    for line in all.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert!(event["session"].as_str().unwrap().starts_with(&lead));
        assert!(event["data"].is_object() && event["time"].is_string() && event["seq"].is_u64());
    }
}

#[test]
fn damage_is_told_with_session_and_seq_and_the_rest_is_shown() {
    let place = Place::new();
    assert_eq!(place.demo(&["-q"]).code, Some(0));
    let whole = place.run(&["export"]).out.lines().count();
    let lead = place.lead();
    let file = rusqlite::Connection::open(place.store()).unwrap();
    let damage = format!(
        "UPDATE records SET data = '{{}}' WHERE seq = 9 AND session =
         (SELECT number FROM sessions WHERE id = '{lead}.researcher')"
    );
    assert_eq!(file.execute(&damage, []).unwrap(), 1);
    drop(file);

    let export = place.run(&["export"]);
    assert_eq!(export.code, Some(1));
    assert_eq!(export.out.lines().count(), whole - 1);
    let said = format!("longboat: session {lead}.researcher, seq 9: its checksum does not match");
    assert!(export.err.starts_with(&said), "{}", export.err);

    let sessions = place.run(&["sessions", "--all"]);
    assert_eq!(sessions.code, Some(0));
    assert!(sessions.out.contains("damaged at seq 9: its checksum"), "{}", sessions.out);
    assert!(sessions.out.contains("root, 2 teammates"), "{}", sessions.out);
    let counted = place.run(&["sessions"]).out;
    assert!(counted.contains("root, 2 teammates (1 damaged)"), "{counted}");
    let shown = place.run(&["show"]);
    assert_eq!(shown.code, Some(0));
    assert!(shown.out.contains("researcher is damaged at seq 9"), "{}", shown.out);
    assert!(shown.out.contains("Messages (3 queued, 3 read)"), "{}", shown.out);
}
