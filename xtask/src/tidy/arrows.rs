//! The arrows between crates: ARCHITECTURE.md says which crate may depend on which, and the manifests
//! are held against it. What only tests depend on is free.

use std::collections::BTreeMap;

/// All that `core` may depend on: nothing that does IO, tells time, or runs anything.
const CORE_DEPENDENCIES: [&str; 3] = ["serde", "serde_json", "thiserror"];
/// What the names of our packages begin with; folders go without.
const PREFIX: &str = "longboat-";

/// Holds the manifests, by their folders, against the map's block of arrows.
pub(super) fn check(map: &str, manifests: &BTreeMap<String, String>) -> Vec<String> {
    let block = map.split("```arrows\n").nth(1).and_then(|rest| rest.split("```").next());
    let Some(block) = block else {
        return vec!["ARCHITECTURE.md: it has no block of arrows".to_owned()];
    };
    let mut problems = Vec::new();
    let mut arrows: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in block.lines().filter(|line| !line.trim().is_empty()) {
        let Some((from, to)) = line.split_once("->") else {
            problems.push(format!("ARCHITECTURE.md: {line:?} is not an arrow"));
            continue;
        };
        arrows.entry(from.trim()).or_default().extend(to.split_whitespace());
    }
    for name in arrows.iter().flat_map(|(from, to)| std::iter::once(from).chain(to)) {
        let problem = format!("ARCHITECTURE.md: an arrow names {name}, which is no crate");
        if !manifests.contains_key(*name) && !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    for (name, manifest) in manifests {
        let Some(allowed) = arrows.get(name.as_str()) else {
            problems.push(format!("crates/{name}: no arrow of ARCHITECTURE.md begins here"));
            continue;
        };
        for dependency in dependencies(manifest) {
            let against = match dependency.strip_prefix(PREFIX) {
                Some(used) => !allowed.contains(&used),
                None => name == "core" && !CORE_DEPENDENCIES.contains(&dependency),
            };
            if against {
                problems.push(format!("crates/{name}: it may not depend on {dependency}"));
            }
        }
    }
    problems
}

/// The packages that a manifest depends on in what is shipped.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            inside = ships(table);
            // A dependency may have a table of its own.
            if let Some((parent, name)) = table.rsplit_once('.')
                && ships(parent)
            {
                found.push(name.trim_matches('"'));
            }
        } else if let Some(package) = renamed(line) {
            // The package's name counts, not what it is called here.
            if !inside {
                found.pop();
            }
            found.push(package);
        } else if inside && !line.starts_with('#') {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if !name.is_empty() {
                found.push(name.trim_matches('"'));
            }
        }
    }
    found
}

/// Says whether a table of a manifest lists what is shipped or builds what is.
fn ships(table: &str) -> bool {
    let last = if table.starts_with("target.") { table.rsplit('.').next() } else { Some(table) };
    matches!(last, Some("dependencies" | "build-dependencies"))
}

fn renamed(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("package = \"")?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "# Map\n\n```arrows\ncore ->\nstore -> core\nengine -> core store\n```\n";

    #[track_caller]
    fn told(map: &str, changed: &[(&str, &str)], problems: &[&str]) {
        let serde = "[dependencies]\nserde.workspace = true\n";
        let mut manifests: BTreeMap<String, String> =
            ["core", "store", "engine"].map(|name| (name.to_owned(), serde.to_owned())).into();
        manifests
            .extend(changed.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
        assert_eq!(check(map, &manifests), problems);
    }

    #[test]
    fn crates_depend_on_each_other_as_the_map_says() {
        told(MAP, &[], &[]);
        let both = "[dependencies]\nlongboat-core.workspace = true\nlongboat-store = { path = \"../store\" }\n";
        told(MAP, &[("engine", both)], &[]);
        told(MAP, &[("store", both)], &["crates/store: it may not depend on longboat-store"]);
    }

    #[test]
    fn every_way_to_write_a_dependency_counts() {
        for manifest in [
            "[build-dependencies]\nlongboat-engine.workspace = true\n",
            "[dev-dependencies]\nserde = \"1\"\n\n[dependencies]\nlongboat-engine.workspace = true\n",
            "[dependencies.longboat-engine]\nworkspace = true\n",
            "[dependencies]\nmotor = { package = \"longboat-engine\", path = \"../engine\" }\n",
            "[dependencies.motor]\npackage = \"longboat-engine\"\n",
            "[target.'cfg(unix)'.dependencies]\nlongboat-engine.workspace = true\n",
        ] {
            told(
                MAP,
                &[("store", manifest)],
                &["crates/store: it may not depend on longboat-engine"],
            );
        }
    }

    #[test]
    fn what_only_tests_depend_on_is_free() {
        let tests = "[dev-dependencies]\nlongboat-engine.workspace = true\n\n[dev-dependencies.tokio]\nversion = \"1\"\n";
        told(MAP, &[("core", tests)], &[]);
    }

    #[test]
    fn core_depends_on_nothing_that_could_do_io() {
        let tokio = "[dependencies]\n# Why not.\nserde.workspace = true\ntokio = \"1\"\n";
        told(MAP, &[("core", tokio)], &["crates/core: it may not depend on tokio"]);
        told(MAP, &[("store", tokio)], &[]);
    }

    #[test]
    fn the_map_names_all_crates_and_no_other() {
        told("# Map\n", &[], &["ARCHITECTURE.md: it has no block of arrows"]);
        told(MAP, &[("web", "")], &["crates/web: no arrow of ARCHITECTURE.md begins here"]);
        let gone = MAP.replace("core store\n", "core gone\ngone -> core\nengine\n");
        let problems = [
            "ARCHITECTURE.md: \"engine\" is not an arrow",
            "ARCHITECTURE.md: an arrow names gone, which is no crate",
        ];
        told(&gone, &[], &problems);
    }
}
