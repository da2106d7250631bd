//! Reusable definitions of members: Markdown with front matter, from `.longboat/agents` and, for
//! people who have them, `.claude/agents`.

use longboat_engine::{Isolation, Role};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of one definition.
const ROLE_BYTES: u64 = 128 * 1024;
/// Definitions in one directory.
const ROLES: usize = 200;

/// Reads all definitions of a workspace, the first of a name, and what is wrong with the others.
pub(crate) fn read(workspace: &Path) -> (BTreeMap<String, Role>, Vec<String>) {
    let mut roles = BTreeMap::new();
    let mut warnings = Vec::new();
    for directory in [".longboat/agents", ".claude/agents"] {
        // A directory that is not there has no definitions.
        let Ok(entries) = std::fs::read_dir(workspace.join(directory)) else { continue };
        let mut paths: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        paths.sort();
        let markdown = paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "md"));
        for path in markdown.take(ROLES) {
            let Some(path) = inside(workspace, &path) else {
                warnings.push(format!("{}: it is not a file of the workspace", path.display()));
                continue;
            };
            match load(&path) {
                Ok((name, role)) => {
                    roles.entry(name).or_insert(role);
                }
                Err(problem) => warnings.push(format!("{}: {problem}", path.display())),
            }
        }
    }
    (roles, warnings)
}

/// Where a file of the workspace really is: `None` when a link leads out, and for what is no regular
/// file, such as a pipe that nobody writes to.
pub(crate) fn inside(workspace: &Path, path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    let regular = std::fs::metadata(&real).is_ok_and(|found| found.is_file());
    (regular && real.starts_with(workspace)).then_some(real)
}

fn load(path: &Path) -> Result<(String, Role), String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    file.take(ROLE_BYTES).read_to_string(&mut text).map_err(|error| error.to_string())?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    parse(&text, &stem.unwrap_or_default())
}

/// Reads one definition. The front matter is lines of `key: value`; a key this build does not know
/// is somebody else's and is passed over.
fn parse(text: &str, stem: &str) -> Result<(String, Role), String> {
    let mut lines = text.lines().zip(1_usize..);
    match lines.next() {
        Some((first, _)) if first.trim_end() == "---" => {}
        _ => return Err("line 1: it does not begin with --- and front matter".to_owned()),
    }
    let mut name = stem.to_owned();
    let mut role = Role {
        description: String::new(),
        prompt: String::new(),
        model: None,
        tools: None,
        isolation: None,
    };
    let mut closed = false;
    for (line, number) in lines.by_ref() {
        if line.trim_end() == "---" {
            closed = true;
            break;
        }
        let nested = line.starts_with([' ', '\t', '-', '#']);
        if line.trim().is_empty() || nested {
            continue;
        }
        let (key, value) =
            line.split_once(':').ok_or_else(|| format!("line {number}: it is not key: value"))?;
        let value = value.trim().trim_matches(['"', '\'']).to_owned();
        match key.trim() {
            "name" => name = value,
            "description" => role.description = value,
            // "inherit" is how such files ask for the Lead's model.
            "model" => {
                role.model = Some(value).filter(|model| !model.is_empty() && model != "inherit")
            }
            "isolation" => {
                let found =
                    isolation(&value).map_err(|problem| format!("line {number}: {problem}"));
                role.isolation = Some(found?);
            }
            "tools" => role.tools = Some(list(&value).into_iter().map(server_tools).collect()),
            _ => {}
        }
    }
    if !closed {
        return Err("the front matter is not closed with ---".to_owned());
    }
    role.prompt = lines.map(|(line, _)| line).collect::<Vec<_>>().join("\n").trim().to_owned();
    if name.is_empty() {
        return Err("it has no name".to_owned());
    }
    Ok((name, role))
}

/// A word that is not known is an error: a member must not end up in the shared checkout by mistake.
fn isolation(value: &str) -> Result<Isolation, String> {
    match value {
        "shared" => Ok(Isolation::Shared),
        "worktree" => Ok(Isolation::Worktree),
        _ => Err(format!("isolation is {value:?}; it can be shared or worktree")),
    }
}

/// A list as people write it: `[a, b]` or `a, b`.
fn list(value: &str) -> Vec<String> {
    let items = value.trim_matches(['[', ']']).split(',');
    let items = items.map(|item| item.trim().trim_matches(['"', '\'']).to_lowercase());
    items.filter(|item| !item.is_empty()).collect()
}

/// What other programs call a server's tools, in our words: all of them are `NAME__*`, one is
/// `NAME__tool`.
fn server_tools(tool: String) -> String {
    match tool.strip_prefix("mcp__") {
        Some(rest) if rest.contains("__") => rest.to_owned(),
        Some(server) => format!("{server}__*"),
        None => tool,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_front_matter_and_a_prompt() {
        let text = "---\nname: reviewer\ndescription: \"Reads diffs\"\nmodel: inherit\ntools: Read, Grep\ncolor: red\n---\nYou review.\n\nCarefully.\n";
        let (name, role) = parse(text, "file").unwrap();
        let expected = Role {
            description: "Reads diffs".to_owned(),
            prompt: "You review.\n\nCarefully.".to_owned(),
            model: None,
            tools: Some(vec!["read".to_owned(), "grep".to_owned()]),
            isolation: None,
        };
        assert_eq!((name.as_str(), role), ("reviewer", expected));
    }

    #[test]
    fn tools_of_servers_are_named_in_either_way() {
        let text = "---\nname: a\ntools: mcp__docs, mcp__Web__Fetch, time__*, Read\n---\nx\n";
        let (_, role) = parse(text, "a").unwrap();
        assert_eq!(role.tools.unwrap(), ["docs__*", "web__fetch", "time__*", "read"]);
    }

    #[test]
    fn a_definition_says_where_its_members_work() {
        let of = |line: &str| parse(&format!("---\nname: a\n{line}\n---\nx\n"), "a");
        let role = of("isolation: worktree").unwrap().1;
        assert_eq!(role.isolation, Some(Isolation::Worktree));
        assert_eq!(of("isolation: \"shared\"").unwrap().1.isolation, Some(Isolation::Shared));
        let wrong = of("isolation: container").unwrap_err();
        assert_eq!(wrong, "line 3: isolation is \"container\"; it can be shared or worktree");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        assert!(parse("no front matter", "x").unwrap_err().contains("line 1"));
        assert!(parse("---\nname reviewer\n---\n", "x").unwrap_err().contains("line 2"));
        assert!(parse("---\nname: a\n", "x").unwrap_err().contains("not closed"));
    }
}
