//! Steps of a member's conversation: those that ended are read from its log, a page at a time.

use super::watched::Watched;
use crate::app::App;
use crate::problem::Problem;
use longboat_core::id::{EventKey, ItemId, MemberName, Seq, SessionId};
use longboat_core::log::{Event, InboxItem, Source};
use longboat_engine::decode_stored;
use longboat_store::Store;
use longboat_web::Moment;
use longboat_web::pages::{Amount, GROUPS, Presence, step_item};
use longboat_web::region::Item;
use longboat_web::watch::{Group, TeamWatch, shows};
use std::ops::Range;
use std::sync::Arc;

/// Records read at once.
const READ: u64 = 256;

/// Whose steps are wanted, and how.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a MemberName,
    pub(super) here: &'a Presence,
    pub(super) amount: Amount,
    pub(super) moment: &'a Moment,
}

/// The steps of a page: those before a number, or the newest.
pub(super) fn page(team: &TeamWatch, name: &MemberName, before: Option<u64>) -> Range<usize> {
    let all = team.watch(name).map_or(0, |watch| watch.ended() + 1);
    let before = before.and_then(|before| usize::try_from(before).ok()).unwrap_or(all);
    let end = before.min(all);
    end.saturating_sub(GROUPS)..end
}

/// Steps, as items of a list; fewer than asked for where there are no more.
pub(super) async fn items(
    app: &App,
    watched: &Watched,
    wanted: &Wanted<'_>,
    range: Range<usize>,
) -> Result<Vec<Item>, Problem> {
    let mut items = Vec::new();
    for number in range {
        let Some(item) = one(app, watched, wanted, number).await? else { break };
        items.push(item);
    }
    Ok(items)
}

/// One step; `None` when there is none.
pub(super) async fn one(
    app: &App,
    watched: &Watched,
    wanted: &Wanted<'_>,
    number: usize,
) -> Result<Option<Item>, Problem> {
    let Wanted { name, here, amount, moment } = wanted;
    let place = watched.with(|team| {
        let watch = team.watch(name)?;
        Some((team.session_of(name)?, watch.range(number), watch.ended()))
    });
    let group = match place {
        Some((session, Some(range), _)) => {
            Some(ended(&**app.sessions().store(), &session, number, range).await?)
        }
        Some((_, None, ended)) if ended == number => {
            watched.with(|team| team.watch(name).map(|watch| watch.open_group()))
        }
        _ => None,
    };
    let Some(group) = group else { return Ok(None) };
    Ok(Some(watched.with(|team| step_item((team, name), here, &group, *amount, moment))))
}

/// Reads a step that ended.
async fn ended(
    store: &dyn Store,
    session: &SessionId,
    number: usize,
    (mut from, end): (Seq, Seq),
) -> Result<Group, Problem> {
    let mut group = Group { number, ..Group::default() };
    while from < end {
        let most = usize::try_from((end.0 - from.0).min(READ)).unwrap_or(usize::MAX);
        let page = store.read(session, from, most).await?;
        let Some(last) = page.last() else { break };
        from = last.seq.next();
        // A Lead's log has the whole team's records between its own.
        let shown = page.into_iter().filter(|stored| shows(&stored.kind));
        let records = shown.filter_map(|stored| decode_stored(stored).ok());
        group.records.extend(records.map(Arc::new));
    }
    let claimed: Vec<ItemId> = group
        .records
        .iter()
        .filter_map(|record| match &record.event {
            Event::InboxClaimed { items, .. } => Some(items.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    for id in claimed {
        group.heard.push(heard(store, session, id).await?);
    }
    Ok(group)
}

/// What was heard under an item's id.
async fn heard(
    store: &dyn Store,
    session: &SessionId,
    id: ItemId,
) -> Result<Arc<InboxItem>, Problem> {
    let found = store.find(session, &EventKey::inbox(&id)).await?;
    let event = found.and_then(|stored| decode_stored(stored).ok()).map(|record| record.event);
    Ok(match event {
        Some(Event::InboxInserted { item, .. }) => item,
        _ => {
            let text = Arc::from("The log does not hold the text of this item any more.");
            Arc::new(InboxItem { id, source: Source::Runtime, text })
        }
    })
}
