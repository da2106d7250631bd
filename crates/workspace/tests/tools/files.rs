//! Reading and changing files: never outside, never over what was not seen.

use super::place::{Place, text};
use serde_json::json;
use std::os::unix::fs::{PermissionsExt, symlink};

#[tokio::test]
async fn the_tools_as_a_model_is_told_of_them() {
    let place = Place::new();
    let specs: Vec<_> = place.agent().tools().iter().map(|tool| tool.spec()).collect();
    insta::assert_json_snapshot!(specs);
}

#[tokio::test]
async fn read_numbers_lines_and_says_how_to_go_on() {
    let place = Place::new();
    let lines: Vec<String> = (1..=2_500).map(|n| format!("line {n}")).collect();
    place.file("a.txt", &lines.join("\n"));
    let agent = place.agent();
    let shown = agent.ok("read", json!({"path": "a.txt", "offset": 2, "limit": 2})).await;
    assert_eq!(shown, "     2\tline 2\n     3\tline 3\n[2497 more lines; read with offset=4]\n");
    let all = agent.ok("read", json!({"path": "a.txt"})).await;
    assert!(all.len() < 40_000 && all.contains("more lines; read with offset="));
    let past = agent.refused("read", json!({"path": "a.txt", "offset": 9_999})).await;
    assert!(past.contains("2500 lines"));
}

#[tokio::test]
async fn read_answers_for_directories_binaries_pictures_and_nothing() {
    let place = Place::new();
    std::fs::create_dir(place.root().join("d")).unwrap();
    std::fs::write(place.root().join("b"), [1, 0, 2]).unwrap();
    std::fs::write(place.root().join("p.png"), [0x89, b'P', b'N', b'G', 0, 0]).unwrap();
    let agent = place.agent();
    assert!(agent.refused("read", json!({"path": "d"})).await.contains("is a directory"));
    assert!(agent.refused("read", json!({"path": "b"})).await.contains("binary"));
    assert!(agent.refused("read", json!({"path": "none"})).await.contains("does not exist"));
    let picture = agent.call("read", json!({"path": "p.png"})).await;
    assert_eq!(text(&picture), "[image/png]");
}

#[tokio::test]
async fn a_named_pipe_does_not_hold_a_tool_up() {
    let place = Place::new();
    place.file("a.txt", "text");
    let mode = nix::sys::stat::Mode::S_IRWXU;
    nix::unistd::mkfifo(&place.root().join("pipe"), mode).unwrap();
    let agent = place.agent();
    for (tool, arguments) in [
        ("read", json!({"path": "pipe"})),
        ("write", json!({"path": "pipe", "content": "x"})),
        ("edit", json!({"path": "pipe", "old": "a", "new": "b"})),
    ] {
        assert_eq!(agent.refused(tool, arguments).await, "pipe is not a regular file");
    }
    assert_eq!(agent.ok("glob", json!({"pattern": "*"})).await, "a.txt\n");
    assert_eq!(agent.ok("grep", json!({"pattern": "e"})).await, "a.txt:1:text\n");
    let nothing = agent.ok("grep", json!({"pattern": "e", "path": "pipe"})).await;
    assert_eq!(nothing, "[nothing fits]");
}

#[tokio::test]
async fn every_way_out_of_the_workspace_is_refused() {
    let place = Place::new();
    std::fs::write(place.outside().join("secret"), "s3cret").unwrap();
    std::fs::create_dir(place.outside().join("dir")).unwrap();
    symlink("../secret", place.root().join("link")).unwrap();
    symlink(place.outside().join("secret"), place.root().join("absolute")).unwrap();
    symlink("../dir", place.root().join("linkdir")).unwrap();
    symlink("../nowhere", place.root().join("dangling")).unwrap();
    let absolute = place.outside().join("secret").display().to_string();
    let agent = place.agent();
    for path in [
        "../secret",
        "a/../../secret",
        "/etc/passwd",
        absolute.as_str(),
        "link",
        "absolute",
        "linkdir/new",
        "dangling",
        "x\0y",
        "",
        "..",
        "/",
    ] {
        for (tool, arguments) in [
            ("read", json!({"path": path})),
            ("write", json!({"path": path, "content": "x"})),
            ("edit", json!({"path": path, "old": "s", "new": "x"})),
        ] {
            let refused = agent.refused(tool, arguments).await;
            assert!(!refused.contains("s3cret"), "{tool} {path}");
        }
    }
    let refused = agent.refused("write", json!({"path": "linkdir/new", "content": "x"})).await;
    assert!(refused.contains("leads out"), "{refused}");
    for tool in ["read", "write", "edit"] {
        let more = json!({"path": ".", "content": "x", "old": "a", "new": "b"});
        let keys: &[&str] = match tool {
            "read" => &["path"],
            "write" => &["path", "content"],
            _ => &["path", "old", "new"],
        };
        let arguments = keys.iter().map(|key| ((*key).to_owned(), more[*key].clone())).collect();
        let refused = agent.refused(tool, serde_json::Value::Object(arguments)).await;
        assert!(refused.contains("is the workspace itself"), "{tool}: {refused}");
    }
    for path in ["..", "/etc", "linkdir"] {
        agent.refused("glob", json!({"pattern": "*", "path": path})).await;
        agent.refused("grep", json!({"pattern": "s3cret", "path": path})).await;
    }
    assert_eq!(std::fs::read_to_string(place.outside().join("secret")).unwrap(), "s3cret");
    let outside: Vec<_> = std::fs::read_dir(place.outside().join("dir")).unwrap().collect();
    assert!(outside.is_empty() && !place.outside().join("nowhere").exists());
}

#[tokio::test]
async fn absolute_paths_and_links_inside_the_workspace_are_fine() {
    let place = Place::new();
    place.file("sub/a.txt", "hello");
    symlink("sub/a.txt", place.root().join("inside")).unwrap();
    let agent = place.agent();
    let absolute = place.root().canonicalize().unwrap().join("sub/a.txt");
    assert!(agent.ok("read", json!({"path": absolute})).await.contains("hello"));
    assert!(agent.ok("read", json!({"path": "./sub/../inside"})).await.contains("hello"));
}

#[tokio::test]
async fn write_makes_directories_and_keeps_permissions() {
    let place = Place::new();
    let agent = place.agent();
    agent.ok("write", json!({"path": "a/b/c.sh", "content": "one"})).await;
    let path = place.root().join("a/b/c.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    agent.ok("write", json!({"path": "a/b/c.sh", "content": "two"})).await;
    assert_eq!(place.content("a/b/c.sh"), "two");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(std::fs::read_dir(place.root().join("a/b")).unwrap().count(), 1);
}

#[tokio::test]
async fn what_was_not_read_or_has_changed_is_not_overwritten() {
    let place = Place::new();
    place.file("a.txt", "one");
    let agent = place.agent();
    let unread = agent.refused("write", json!({"path": "a.txt", "content": "x"})).await;
    assert!(unread.contains("you have not read"));
    agent.ok("read", json!({"path": "a.txt"})).await;
    place.file("a.txt", "changed by somebody");
    for (tool, arguments) in [
        ("write", json!({"path": "a.txt", "content": "x"})),
        ("edit", json!({"path": "a.txt", "old": "changed", "new": "x"})),
    ] {
        assert!(agent.refused(tool, arguments).await.contains("changed since you read it"));
    }
    agent.ok("read", json!({"path": "a.txt"})).await;
    agent.ok("edit", json!({"path": "a.txt", "old": "changed", "new": "edited"})).await;
    assert_eq!(place.content("a.txt"), "edited by somebody");
}

#[tokio::test]
async fn edit_wants_one_exact_place_and_shows_the_change() {
    let place = Place::new();
    place.file("a.rs", "fn a() {\n    one();\n    one();\n}\n");
    let agent = place.agent();
    agent.ok("read", json!({"path": "a.rs"})).await;
    let twice = agent.refused("edit", json!({"path": "a.rs", "old": "one", "new": "two"})).await;
    assert!(twice.contains("occurs 2 times"));
    let never = agent.refused("edit", json!({"path": "a.rs", "old": "\tone();", "new": "x"})).await;
    assert!(never.contains("line 2 is"), "{never}");
    let all = json!({"path": "a.rs", "old": "one", "new": "two", "replace_all": true});
    let diff = agent.ok("edit", all).await;
    assert!(diff.contains("-    one();\n-    one();\n+    two();"), "{diff}");
}

#[tokio::test]
async fn of_two_agents_that_edit_one_file_one_wins_and_the_other_is_told() {
    let place = Place::new();
    for round in 0..20 {
        place.file("a.txt", "base\n");
        let (one, two) = (place.agent(), place.agent());
        one.ok("read", json!({"path": "a.txt"})).await;
        two.ok("read", json!({"path": "a.txt"})).await;
        let edit = |new: &str| json!({"path": "a.txt", "old": "base", "new": new});
        let (first, second) =
            tokio::join!(one.call("edit", edit("one")), two.call("edit", edit("two")));
        let won = [&first, &second].into_iter().filter(|outcome| !outcome.is_error()).count();
        assert_eq!(won, 1, "round {round}");
        let lost = if first.is_error() { first } else { second };
        assert!(text(&lost).contains("changed since you read it"));
    }
}

#[tokio::test]
async fn p20_arguments_that_do_not_fit_are_answered() {
    let place = Place::new();
    let agent = place.agent();
    for name in ["read", "write", "edit", "bash", "glob", "grep"] {
        let refused = agent.refused(name, json!({"nonsense": 1})).await;
        assert!(refused.starts_with(&format!("invalid arguments for {name}")), "{refused}");
    }
}
