//! Walking the workspace as git would: what is ignored is passed over, links are not followed.

use ignore::WalkBuilder;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Files looked at before a search gives up.
const FILES: usize = 200_000;

/// Shows every file beneath a directory to `each`, in order of path, until it says stop.
pub(crate) fn files(
    directory: &Path,
    cancel: &CancellationToken,
    each: &mut dyn FnMut(&Path) -> bool,
) {
    let mut walk = WalkBuilder::new(directory);
    walk.follow_links(false).hidden(false).require_git(false).sort_by_file_path(Path::cmp);
    walk.filter_entry(|entry| entry.file_name() != ".git");
    // Files that cannot be looked at are passed over: a search finds what there is to find.
    let found = walk.build().filter_map(Result::ok);
    let found = found.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    for entry in found.take(FILES) {
        if cancel.is_cancelled() || !each(entry.path()) {
            return;
        }
    }
}

/// A path as the workspace's members write it.
pub(crate) fn shown(root: &Path, path: &Path) -> String {
    let inside: PathBuf = path.strip_prefix(root).map_or_else(|_| path.to_owned(), Path::to_owned);
    inside.display().to_string()
}
