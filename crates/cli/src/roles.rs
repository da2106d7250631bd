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

/// The definitions of a workspace.
#[derive(Debug, Default)]
pub(crate) struct Roles {
    /// The first of each name.
    pub(crate) by_name: BTreeMap<String, Role>,
    /// Files that are no definition, and why.
    pub(crate) broken: Vec<String>,
    /// What is understood otherwise than it is written.
    pub(crate) remarks: Vec<String>,
}

/// Reads all definitions of a workspace.
pub(crate) fn read(workspace: &Path) -> Roles {
    let mut roles = Roles::default();
    for directory in [".longboat/agents", ".claude/agents"] {
        // A directory that is not there has no definitions.
        let Ok(entries) = std::fs::read_dir(workspace.join(directory)) else { continue };
        let mut paths: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        paths.sort();
        let markdown = paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "md"));
        for path in markdown.take(ROLES) {
            let Some(path) = inside(workspace, &path) else {
                let problem = format!("{}: it is not a file of the workspace", path.display());
                roles.broken.push(problem);
                continue;
            };
            match load(&path) {
                Ok((name, mut role)) => {
                    if let Some(model) = role.model.take_if(|model| is_alias(model)) {
                        let says =
                            "names another program's model, so its members run on the lead's";
                        roles.remarks.push(format!("{}: {model:?} {says}", path.display()));
                    }
                    roles.by_name.entry(name).or_insert(role);
                }
                Err(problem) => roles.broken.push(format!("{}: {problem}", path.display())),
            }
        }
    }
    roles
}

/// Names that other programs give to whatever model they take for one.
fn is_alias(model: &str) -> bool {
    ["sonnet", "opus", "haiku"].contains(&model)
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
    let mut lines = lines.peekable();
    while let Some((line, number)) = lines.next() {
        if line.trim_end() == "---" {
            closed = true;
            break;
        }
        if line.trim().is_empty() || is_nested(line) {
            continue;
        }
        let (key, value) =
            line.split_once(':').ok_or_else(|| format!("line {number}: it is not key: value"))?;
        let mut nested = Vec::new();
        while let Some((line, _)) = lines.next_if(|(line, _)| is_nested(line)) {
            nested.push(line.trim());
        }
        let value = whole(value.trim(), &nested);
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
            // A key without a list says nothing of tools.
            "tools" if !value.is_empty() => {
                role.tools = Some(list(&value).into_iter().map(server_tools).collect());
            }
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

/// Whether a line belongs to the key above it, or is a comment.
fn is_nested(line: &str) -> bool {
    line.starts_with([' ', '\t', '#']) || line.starts_with("- ")
}

/// A value with the lines below it: a text over several lines, or a list with an item on each.
fn whole(value: &str, nested: &[&str]) -> String {
    let nested = nested.iter().filter(|line| !line.is_empty() && !line.starts_with('#'));
    match value {
        "" => nested.map(|line| line.trim_start_matches('-').trim()).collect::<Vec<_>>().join(", "),
        "|" | "|-" | "|+" | ">" | ">-" | ">+" => nested.copied().collect::<Vec<_>>().join(" "),
        value => value.trim_matches(['"', '\'']).to_owned(),
    }
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
    fn lists_and_texts_over_several_lines_are_read() {
        let text = "---\nname: a\ndescription: >-\n  Reads\n  diffs.\ntools:\n  - Read\n  # not Bash\n  - mcp__docs\nskills:\n- x\n---\nx\n";
        let (_, role) = parse(text, "a").unwrap();
        assert_eq!(role.description, "Reads diffs.");
        assert_eq!(role.tools.unwrap(), ["read", "docs__*"]);
        let (_, role) = parse("---\nname: a\ntools:\n---\nx\n", "a").unwrap();
        assert_eq!(role.tools, None, "an empty list is no list of none");
    }

    #[test]
    fn another_programs_word_for_a_model_is_the_leads_model_and_is_said() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join(".claude/agents");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("a.md"), "---\nname: a\nmodel: sonnet\n---\nx\n").unwrap();
        let roles = read(&place.path().canonicalize().unwrap());
        assert_eq!(roles.by_name["a"].model, None);
        assert!(roles.remarks[0].contains("\"sonnet\" names another program's model"));
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
