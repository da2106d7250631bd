//! What the kernel keeps commands to: they are tried from inside, as an agent would.

use super::place::Place;
use longboat_workspace::Confinement;
use serde_json::json;
use std::path::Path;

fn writing(home: &Path) -> Confinement {
    Confinement {
        writes: true,
        home: Some(home.to_owned()),
        hidden: vec![home.join("store.db")],
        network: true,
        ..Confinement::default()
    }
}

/// Kernels without Landlock have nothing to be tried; the tests' machines have it.
fn skipped() -> bool {
    let supported = Confinement::is_supported();
    assert!(supported || std::env::var_os("CI").is_none(), "this machine was thought to confine");
    !supported
}

#[tokio::test]
async fn a_command_writes_in_the_workspace_and_in_its_temporary_directory_and_nowhere_else() {
    if skipped() {
        return;
    }
    let place = Place::confined(writing);
    let (agent, outside) = (place.agent(), place.outside().display().to_string());
    agent.ok("bash", json!({"command": "echo in > made && mkdir d && mv made d && echo t > $(mktemp) && echo > /dev/null"})).await;
    assert_eq!(place.content("d/made"), "in\n");
    let tries = [
        format!("echo x > {outside}/made"),
        format!("mv d/made {outside}/made"),
        format!("ln d/made {outside}/made"),
        format!("mkdir {outside}/d"),
        format!("truncate -s 0 {outside}/kept"),
        format!("rm {outside}/kept"),
        format!("chmod +x d/made; ln -s {outside} out; echo x > out/made"),
        "echo x > /tmp/longboat-made".to_owned(),
    ];
    std::fs::write(place.outside().join("kept"), "kept").unwrap();
    for command in tries {
        let out = agent.refused("bash", json!({"command": command})).await;
        assert!(out.contains("denied") || out.contains("cross-device"), "{command}: {out}");
    }
    assert_eq!(std::fs::read_to_string(place.outside().join("kept")).unwrap(), "kept");
    assert!(!place.outside().join("made").exists() && !Path::new("/tmp/longboat-made").exists());
}

#[tokio::test]
async fn a_command_cannot_read_the_home_or_the_store_but_the_tools_installed_there() {
    if skipped() {
        return;
    }
    let place = Place::confined(writing);
    let outside = place.outside();
    for name in [
        "store.db",
        "store.db-wal",
        "store.db.api",
        ".ssh/id",
        ".cargo/credentials.toml",
        ".cargo/bin/tool",
        ".gitconfig",
    ] {
        let path = outside.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "words\n").unwrap();
    }
    let agent = place.agent();
    let home = outside.display();
    for name in ["store.db", "store.db-wal", "store.db.api", ".ssh/id", ".cargo/credentials.toml"] {
        let out = agent.refused("bash", json!({"command": format!("cat {home}/{name}")})).await;
        assert!(out.contains("denied") && !out.contains("words"), "{name}: {out}");
        assert!(out.contains("cannot read the rest of the user's home"), "{out}");
    }
    for name in [".cargo/bin/tool", ".gitconfig"] {
        let out = agent.ok("bash", json!({"command": format!("cat {home}/{name}")})).await;
        assert!(out.starts_with("words"), "{name}: {out}");
    }
    agent
        .ok("bash", json!({"command": "cat /etc/passwd > /dev/null && ls /usr/bin > /dev/null"}))
        .await;
}

#[tokio::test]
async fn a_command_cannot_see_into_or_signal_what_is_outside() {
    if skipped() {
        return;
    }
    let place = Place::confined(writing);
    let (agent, own) = (place.agent(), std::process::id());
    let out = agent.refused("bash", json!({"command": format!("cat /proc/{own}/environ")})).await;
    assert!(out.contains("denied"), "{out}");
    let mut sleeper = tokio::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = sleeper.id().unwrap();
    agent.refused("bash", json!({"command": format!("kill -9 {pid}")})).await;
    assert!(sleeper.try_wait().unwrap().is_none(), "it still runs");
    sleeper.kill().await.unwrap();
}

#[tokio::test]
async fn read_only_reads_and_writes_nothing_but_its_temporary_directory() {
    if skipped() {
        return;
    }
    let place = Place::confined(|home| Confinement { writes: false, ..writing(home) });
    place.file("a", "words\n");
    let agent = place.agent();
    let out = agent.ok("bash", json!({"command": "cat a; echo t > $TMPDIR/t"})).await;
    assert!(out.starts_with("words"), "{out}");
    for command in ["echo x > made", "rm a", "echo x >> a"] {
        let out = agent.refused("bash", json!({"command": command})).await;
        assert!(out.contains("denied") && out.contains("$TMPDIR only"), "{command}: {out}");
    }
    assert_eq!(place.content("a"), "words\n");
}

#[tokio::test]
async fn what_is_named_as_readable_or_writable_is_so_besides() {
    if skipped() {
        return;
    }
    let place = Place::confined(|home| Confinement {
        readable: vec![home.join("docs")],
        writable: vec![home.join("out")],
        ..writing(home)
    });
    for name in ["docs", "out"] {
        std::fs::create_dir(place.outside().join(name)).unwrap();
    }
    std::fs::write(place.outside().join("docs/a"), "words\n").unwrap();
    let (agent, home) = (place.agent(), place.outside().display());
    agent.ok("bash", json!({"command": format!("cp {home}/docs/a {home}/out/a")})).await;
    agent.refused("bash", json!({"command": format!("echo > {home}/docs/a")})).await;
    assert_eq!(std::fs::read_to_string(place.outside().join("out/a")).unwrap(), "words\n");
}

#[tokio::test]
async fn without_network_no_connection_leaves() {
    if skipped() {
        return;
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = json!({"command": format!("exec 3<>/dev/tcp/127.0.0.1/{port}")});
    let open = Place::confined(writing);
    open.agent().ok("bash", connect.clone()).await;
    let closed = Place::confined(|home| Confinement { network: false, ..writing(home) });
    let out = closed.agent().refused("bash", connect).await;
    assert!(out.contains("denied"), "{out}");
}

#[tokio::test]
async fn a_confined_member_commits_its_work_from_a_part_of_a_checkout() {
    if skipped() {
        return;
    }
    let place = Place::confined(|home| Confinement { home: None, ..writing(home) });
    let git = "git -c user.name=a -c user.email=a@localhost";
    // The checkout is around the workspace.
    let init = format!("cd {} && git init -q .", place.outside().display());
    let done = tokio::process::Command::new("sh").args(["-c", &init]).status().await.unwrap();
    assert!(done.success());
    let command = format!("echo x > a && git add a && {git} commit -q -m x && git log --oneline");
    let out = place.agent().ok("bash", json!({"command": command})).await;
    assert!(out.contains(" x\n"), "{out}");
}

#[tokio::test]
async fn a_confined_command_that_is_cancelled_leaves_nothing_running() {
    if skipped() {
        return;
    }
    let place = Place::confined(writing);
    let agent = place.agent();
    let command =
        "setsid sleep 1000 >/dev/null 2>&1 & echo $! > pid.new; mv pid.new pid; sleep 1000";
    let call = agent.call("bash", json!({"command": command}));
    let cancel = async {
        let pid = super::bash::line_of(&place.root().join("pid")).await;
        agent.cancel();
        pid
    };
    let (_, pid) = tokio::join!(call, cancel);
    super::bash::gone(&pid).await;
}
