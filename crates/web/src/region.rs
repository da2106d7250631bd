//! How a page changes while it is looked at. A view is all regions of a page that change; what was
//! sent is remembered by hashes, and only what differs is sent again. A reader that was away is sent
//! everything, so nothing can be missing.

use maud::Markup;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A part of a page that changes. The id is that of its element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Region {
    /// It is sent whole. Its markup is what stands in its element.
    Whole {
        /// Its element.
        id: &'static str,
        /// What stands in it.
        html: String,
    },
    /// Its items are sent one by one.
    List {
        /// Its element.
        id: &'static str,
        /// The items, in order.
        items: Vec<Item>,
    },
}

/// An item of a list: an element with an id of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The element's id, unique in the page.
    pub id: String,
    /// The element.
    pub html: String,
}

/// A change to a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Change {
    /// This stands in the element now.
    Fill {
        /// The element.
        id: &'static str,
        /// What stands in it.
        html: String,
    },
    /// This item of a list is new or differs, and stands after another, or first.
    Item {
        /// The list.
        list: &'static str,
        /// The item before it.
        after: Option<String>,
        /// The item.
        id: String,
        /// Its element.
        html: String,
    },
    /// This item is gone.
    Drop {
        /// The item.
        id: String,
    },
}

/// What a reader has.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    whole: HashMap<&'static str, u64>,
    lists: HashMap<&'static str, Vec<(String, u64)>>,
}

impl Region {
    /// A region that is sent whole.
    pub(crate) fn whole(id: &'static str, html: Markup) -> Self {
        Self::Whole { id, html: html.into_string() }
    }

    /// A list.
    pub(crate) fn list(id: &'static str, items: impl IntoIterator<Item = Item>) -> Self {
        Self::List { id, items: items.into_iter().collect() }
    }
}

impl Item {
    pub(crate) fn new(id: String, html: Markup) -> Self {
        Self { id, html: html.into_string() }
    }
}

impl Sent {
    /// What to send to a reader, so that it sees a view. It has it then.
    #[must_use]
    pub fn changes(&mut self, view: Vec<Region>) -> Vec<Change> {
        let mut changes = Vec::new();
        for region in view {
            match region {
                Region::Whole { id, html } => {
                    let hash = hash(&html);
                    if self.whole.insert(id, hash) != Some(hash) {
                        changes.push(Change::Fill { id, html });
                    }
                }
                Region::List { id, items } => self.list(id, items, &mut changes),
            }
        }
        changes
    }

    fn list(&mut self, id: &'static str, items: Vec<Item>, changes: &mut Vec<Change>) {
        let now: Vec<(String, u64)> =
            items.iter().map(|item| (item.id.clone(), hash(&item.html))).collect();
        let before = self.lists.insert(id, now.clone());
        let kept: HashSet<&str> = now.iter().map(|(id, _)| id.as_str()).collect();
        let stays = |(id, _): &&(String, u64)| kept.contains(id.as_str());
        let stayed: Vec<&(String, u64)> = before.iter().flatten().filter(stays).collect();
        let known: HashMap<&str, u64> = stayed.iter().map(|(id, h)| (id.as_str(), *h)).collect();
        let order = now.iter().map(|(id, _)| id).filter(|id| known.contains_key(id.as_str()));
        if before.is_none() || !order.eq(stayed.iter().map(|(id, _)| id)) {
            let html = items.into_iter().map(|item| item.html).collect();
            changes.push(Change::Fill { id, html });
            return;
        }
        let gone = before.iter().flatten().filter(|(id, _)| !kept.contains(id.as_str()));
        changes.extend(gone.map(|(id, _)| Change::Drop { id: id.clone() }));
        let mut after = None;
        for (item, (_, hash)) in items.into_iter().zip(&now) {
            let before = after.replace(item.id.clone());
            if known.get(item.id.as_str()) != Some(hash) {
                let Item { id: item, html } = item;
                changes.push(Change::Item { list: id, after: before, id: item, html });
            }
        }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Page = Vec<(String, String)>;

    fn view(items: &[(u8, u8)]) -> Vec<Region> {
        let item =
            |(id, text): &(u8, u8)| Item { id: format!("i{id}"), html: format!("i{id}={text};") };
        vec![Region::List { id: "list", items: items.iter().map(item).collect() }]
    }

    /// What the page's script does.
    fn apply(page: &mut Page, change: Change) {
        match change {
            Change::Fill { html, .. } => {
                let items = html.split_terminator(';').filter_map(|item| item.split_once('='));
                *page = items.map(|(id, text)| (id.to_owned(), text.to_owned())).collect();
            }
            Change::Drop { id } => page.retain(|(have, _)| *have != id),
            Change::Item { after, id, html, .. } => {
                page.retain(|(have, _)| *have != id);
                let at = after.map_or(0, |after| {
                    page.iter().position(|(have, _)| *have == after).unwrap() + 1
                });
                let text = html.trim_end_matches(';').split_once('=').unwrap().1.to_owned();
                page.insert(at, (id, text));
            }
        }
    }

    proptest! {
        #[test]
        fn a_page_that_takes_all_changes_is_the_view(
            views in proptest::collection::vec(proptest::collection::btree_map(0_u8..12, 0_u8..3, 0..8), 1..8),
            backwards in proptest::collection::vec(any::<bool>(), 8),
        ) {
            let (mut sent, mut page) = (Sent::default(), Page::new());
            for (items, backwards) in views.into_iter().zip(backwards) {
                let mut items: Vec<(u8, u8)> = items.into_iter().collect();
                if backwards {
                    items.reverse();
                }
                sent.changes(view(&items)).into_iter().for_each(|change| apply(&mut page, change));
                let want: Page = items.iter().map(|(id, text)| (format!("i{id}"), text.to_string())).collect();
                prop_assert_eq!(&page, &want);
                prop_assert!(sent.changes(view(&items)).is_empty());
            }
        }
    }

    #[test]
    fn only_what_differs_is_sent() {
        let mut sent = Sent::default();
        assert_eq!(sent.changes(view(&[(1, 0), (2, 0), (3, 0)])).len(), 1);
        let changes = sent.changes(view(&[(2, 0), (3, 1), (4, 0)]));
        let names: Vec<String> = changes
            .iter()
            .map(|change| match change {
                Change::Fill { .. } => "fill".to_owned(),
                Change::Drop { id } => format!("drop {id}"),
                Change::Item { id, after, .. } => format!("{id} after {after:?}"),
            })
            .collect();
        assert_eq!(names, ["drop i1", "i3 after Some(\"i2\")", "i4 after Some(\"i3\")"]);
    }
}
