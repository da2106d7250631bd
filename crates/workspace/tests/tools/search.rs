//! Searching: what git ignores is passed over, links are not followed, results are bounded.

use super::place::Place;
use serde_json::json;
use std::os::unix::fs::symlink;

fn project() -> Place {
    let place = Place::new();
    place.file(".gitignore", "target/\n");
    place.file("src/main.rs", "fn main() {\n    let needle = 1;\n}\n");
    place.file("src/deep/lib.rs", "// Needle here\nfn x() {}\n");
    place.file("target/out.rs", "needle\n");
    place.file("README.md", "no such thing\n");
    std::fs::write(place.outside().join("other.rs"), "needle").unwrap();
    symlink("..", place.root().join("up")).unwrap();
    place
}

#[tokio::test]
async fn glob_lists_files_sorted_without_the_ignored() {
    let place = project();
    let agent = place.agent();
    let all = agent.ok("glob", json!({"pattern": "*.rs"})).await;
    assert_eq!(all, "src/deep/lib.rs\nsrc/main.rs\n");
    let some = agent.ok("glob", json!({"pattern": "src/*.rs"})).await;
    assert_eq!(some, "src/main.rs\n");
    let below = agent.ok("glob", json!({"pattern": "*.rs", "path": "src/deep"})).await;
    assert_eq!(below, "src/deep/lib.rs\n");
    assert_eq!(agent.ok("glob", json!({"pattern": "*.zig"})).await, "[no file fits]");
    assert!(agent.refused("glob", json!({"pattern": "a["})).await.contains("not valid"));
}

#[tokio::test]
async fn grep_shows_lines_files_or_counts() {
    let place = project();
    let agent = place.agent();
    let lines = agent.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(lines, "src/main.rs:2:    let needle = 1;\n");
    let both = json!({"pattern": "needle", "ignore_case": true, "mode": "files"});
    assert_eq!(agent.ok("grep", both).await, "src/deep/lib.rs\nsrc/main.rs\n");
    let count = json!({"pattern": "fn", "mode": "count", "glob": "*.rs"});
    assert_eq!(agent.ok("grep", count).await, "src/deep/lib.rs:1\nsrc/main.rs:1\n");
    let around = json!({"pattern": "needle", "path": "src/main.rs", "context": 1});
    let around = agent.ok("grep", around).await;
    assert_eq!(
        around,
        "src/main.rs-1-fn main() {\nsrc/main.rs:2:    let needle = 1;\nsrc/main.rs-3-}\n"
    );
    assert!(agent.refused("grep", json!({"pattern": "("})).await.contains("not valid"));
}

#[tokio::test]
async fn searches_are_bounded() {
    let place = Place::new();
    place.file("a.txt", &"needle\n".repeat(10_000));
    place.file("long.txt", &"x".repeat(100_000));
    let agent = place.agent();
    let found = agent.ok("grep", json!({"pattern": "needle"})).await;
    assert!(found.len() < 40_000 && found.contains("narrower"));
    let long = agent.ok("grep", json!({"pattern": "x", "path": "long.txt"})).await;
    assert!(long.len() < 3_000 && long.contains("more characters"));
}
