//! Write scopes: the paths that tasks mean to write, and where those of two tasks meet. The decision
//! about a task asks here for its warnings; a scope never locks anything.
//!
//! A scope is a path in the workspace with `/` between its parts; a part may hold wildcards. Two
//! scopes meet when, up to the first wildcard of either, one leads into the other: `src` meets
//! `src/a.rs`, `src/*.rs` meets all of `src`, and `**` meets everything. That is too often rather
//! than too seldom: a warning costs a look, a missed one costs somebody's work.

/// The scopes of one task, taken apart.
pub(super) struct Scopes<'a>(Vec<(&'a str, Vec<&'a str>)>);

impl<'a> Scopes<'a> {
    pub(super) fn new(scopes: &'a [String]) -> Self {
        Self(scopes.iter().map(|scope| (scope.as_str(), fixed_part(scope))).collect())
    }

    /// The first scope of each that meet.
    pub(super) fn meet(&self, other: &Self) -> Option<(&'a str, &'a str)> {
        for (one, one_parts) in &self.0 {
            for (other, other_parts) in &other.0 {
                if one_parts.iter().zip(other_parts).all(|(a, b)| a == b) {
                    return Some((one, other));
                }
            }
        }
        None
    }
}

/// The path's parts before its first wildcard.
fn fixed_part(scope: &str) -> Vec<&str> {
    let mut fixed = Vec::new();
    for part in scope.split('/') {
        match part {
            "" | "." => {}
            ".." if fixed.last().is_some_and(|last| *last != "..") => drop(fixed.pop()),
            _ if part.contains(['*', '?', '[', '{']) => break,
            _ => fixed.push(part),
        }
    }
    fixed
}
