//! An export in a form that is the same on every machine: ids, times, paths, durations and token
//! counts have fixed names. Members run at once, so what happens in different sessions interleaves
//! differently each time; what is compared is each session's own story, and the team's record of
//! it, one thread of events after the other.

use serde_json::Value;
use std::collections::BTreeMap;

/// The records of an export, in one thread of text per session, and for the Lead's log one more
/// per member and one for the team's board and mailbox.
pub(crate) fn story(export: &str, fixed: &[(String, &str)]) -> String {
    let mut threads: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let lines: Vec<Value> =
        export.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lead = lines[0]["session"].as_str().unwrap().to_owned();
    let mut names = vec![(lead.clone(), "boat")];
    names.extend(fixed.iter().map(|(text, name)| (text.clone(), *name)));
    let prompts = lines.iter().filter_map(|line| line["data"]["item"]["id"].as_str());
    let prompts = prompts.filter(|id| id.starts_with("prompt/"));
    names.extend(prompts.map(|id| (id.to_owned(), "prompt/1")));
    for line in &lines {
        let session = line["session"].as_str().unwrap().replace(&lead, "boat");
        let kind = line["type"].as_str().unwrap();
        let mut data = line["data"].clone();
        let thread = match kind {
            "team/activity" => {
                format!("{session}: activity of {}", data["member"].as_str().unwrap())
            }
            _ if kind.starts_with("team/") => format!("{session}: board and mailbox"),
            _ => session,
        };
        normalise(&mut data, &names);
        if kind == "session/configured" {
            configured(&mut data);
        }
        threads.entry(thread).or_default().push(format!("{kind} {data}"));
    }
    let mut story = String::new();
    for (thread, mut lines) in threads {
        // Calls that only read run at once, and end as they end.
        for run in lines.chunk_by_mut(|a, b| is_result(a) && is_result(b)) {
            run.sort();
        }
        story.push_str(&format!("=== {thread}\n{}\n\n", lines.join("\n")));
    }
    story
}

fn is_result(line: &str) -> bool {
    line.starts_with("tool/result ")
}

/// The system text and the schemas have snapshots of their own: here their names do.
fn configured(data: &mut Value) {
    let tools: Vec<&str> = data["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    data["tools"] = tools.join(" ").into();
    let system = data["system"].as_str().unwrap().lines().next().unwrap().to_owned();
    data["system"] = system.into();
}

fn normalise(value: &mut Value, names: &[(String, &str)]) {
    match value {
        Value::String(text) => *text = plain(text, names),
        Value::Array(items) => items.iter_mut().for_each(|item| normalise(item, names)),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match name.as_str() {
                    "sent_at" => *field = "<time>".into(),
                    "usage" => *field = "<usage>".into(),
                    _ => normalise(field, names),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn plain(text: &str, names: &[(String, &str)]) -> String {
    let mut text = text.to_owned();
    for (from, to) in names {
        text = text.replace(from, to);
    }
    // A team's revision is a place in its Lead's log, and the order there varies.
    for before in [
        "{\"revision\":",
        "change\",\"revision\":",
        "message\",\"revision\":",
        "boat.implementer\",\"revision\":",
        "boat.researcher\",\"revision\":",
        "\"since\":",
    ] {
        text = numbers_after(&text, before, "<revision>");
    }
    numbers_after(&text, "finished in ", "<duration>")
}

/// Replaces the number that follows each occurrence of a text.
fn numbers_after(text: &str, before: &str, with: &str) -> String {
    let mut parts = text.split(before);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(part.len());
        out.push_str(before);
        if end > 0 {
            out.push_str(with);
        }
        out.push_str(&part[end..]);
    }
    out
}
