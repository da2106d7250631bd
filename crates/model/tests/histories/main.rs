//! Whatever happened to a session — prompts, messages, cut replies, parallel calls with any result,
//! questions, interrupts, restarts, summaries, copies — the request that follows is one that each
//! provider accepts. Random histories are folded from their logs and asked over real HTTP; the other
//! side refuses what providers refuse.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod history;

use history::{Act, History, acts};
use longboat_core::content::{Prompt, Wire};
use longboat_model::{Endpoint, Model, Watcher, connect};
use longboat_scripted::{Script, Server};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use std::sync::Arc;

/// All wires there are.
const WIRES: [Wire; 3] = [Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Anthropic];

struct Unwatched;

impl Watcher for Unwatched {
    fn text(&mut self, _: &str) {}
    fn reasoning(&mut self, _: &str) {}
    fn call(&mut self, _: &str) {}
}

struct Providers {
    models: Vec<(Wire, Arc<dyn Model>)>,
}

impl Providers {
    fn at(server: &Server) -> Self {
        let model = |wire| {
            let mut endpoint = Endpoint::new("scripted", wire, &server.base_url(), "m");
            endpoint.echo_reasoning = true;
            endpoint.thinking_tokens = Some(2_048);
            (wire, connect(endpoint).unwrap())
        };
        Self { models: WIRES.into_iter().map(model).collect() }
    }

    async fn accept(&self, prompt: &Prompt) -> Result<(), TestCaseError> {
        for (wire, model) in &self.models {
            if let Err(fault) = model.reply(prompt, &mut Unwatched).await {
                return Err(TestCaseError::fail(format!(
                    "{wire:?}: {fault}\n{:#?}",
                    prompt.messages
                )));
            }
        }
        Ok(())
    }
}

/// Asks every request that a history makes, and those for its summaries.
async fn ask_all(providers: &Providers, acts: &[Act]) -> Result<(), TestCaseError> {
    let mut history = History::new();
    for (n, act) in acts.iter().enumerate() {
        if history.begin_step() {
            providers.accept(&history.prompt()).await?;
        }
        for request in history.act(n, act) {
            providers.accept(&request).await?;
        }
    }
    history.come_to_rest();
    Ok(())
}

#[test]
fn whatever_happened_every_provider_accepts_the_next_request() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let script =
        r#"{"agents": [{"name": "a", "steps": [{"text": "ok"}], "after": {"text": "ok"}}]}"#;
    let server = runtime.block_on(Server::start(Script::from_json(script).unwrap(), 0)).unwrap();
    let providers = Providers::at(&server);
    let mut runner = TestRunner::new(ProptestConfig { cases: 200, ..ProptestConfig::default() });
    runner.run(&acts(), |acts| runtime.block_on(ask_all(&providers, &acts))).unwrap();
    let refusals = server.refusals();
    assert!(refusals.is_empty(), "{refusals:?}");
}
