//! A server's tool, as the engine calls it.

use crate::call::{Call, Failed};
use crate::keeper::Keeping;
use crate::offer::Offered;
use crate::outcome::outcome;
use async_trait::async_trait;
use longboat_core::content::{ToolOutcome, ToolSpec, ToolStatus};
use longboat_engine::{Effect, Tool, ToolScope};
use serde_json::Value;

/// A tool of a server, by the name that models use. What the server calls it is looked up in each
/// call, for a server that was started again may have other tools.
#[derive(Debug)]
pub(crate) struct ServerTool {
    pub(crate) keeping: Keeping,
    pub(crate) spec: ToolSpec,
    pub(crate) effect: Effect,
}

impl ServerTool {
    pub(crate) fn of(keeping: &Keeping, offered: &Offered) -> Self {
        let (spec, effect) = (offered.spec.clone(), offered.effect);
        Self { keeping: keeping.clone(), spec, effect }
    }
}

#[async_trait]
impl Tool for ServerTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    async fn call(&self, scope: ToolScope, arguments: Value) -> ToolOutcome {
        let name = &self.spec.name;
        let interrupted =
            ToolOutcome { status: ToolStatus::Interrupted, ..ToolOutcome::error("interrupted") };
        let live = tokio::select! {
            biased;
            () = scope.cancel.cancelled() => return interrupted,
            live = self.keeping.live() => live,
        };
        let live = match live {
            Ok(live) => live,
            Err(down) => {
                return ToolOutcome::error(format!(
                    "{name}: {down}. The call was not made; the server is tried anew with the next call"
                ));
            }
        };
        let Some(offered) = live.offer.tools.get(name) else {
            let server = &self.keeping.settings.name;
            return ToolOutcome::error(format!(
                "{name}: the MCP server {server} has no such tool now"
            ));
        };
        let Value::Object(arguments) = arguments else {
            return ToolOutcome::error(format!("{name}: the arguments are not a JSON object"));
        };
        let tool = offered.own_name.clone();
        let cancel = scope.cancel.clone();
        let call = Call { keeping: self.keeping.clone(), live, tool, arguments, cancel };
        match call.run().await {
            Ok(answer) => {
                let file = format!("{}-{}.txt", scope.origin.step, scope.origin.index);
                outcome(answer, &scope.spill.join(file)).await
            }
            Err(Failed::Interrupted) => interrupted,
            Err(failed) => ToolOutcome::error(format!("{name}: {failed}")),
        }
    }
}
