//! x
use longboat_core::content::ToolOutcome;
pub(super) fn changed(
    _: &longboat_core::team::Task,
    _: &[longboat_core::team::TaskWarning],
) -> ToolOutcome {
    ToolOutcome::ok("")
}
