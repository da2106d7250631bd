//! From what a server lists to what members are offered: checked, bounded, renamed.

use crate::names::named;
use crate::settings::ServerSettings;
use longboat_core::content::ToolSpec;
use longboat_engine::Effect;
use rmcp::model::Tool;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a tool's description: it is part of every request.
const DESCRIPTION_BYTES: usize = 4_096;
/// Bytes of a tool's schema, for the same reason.
const SCHEMA_BYTES: usize = 32_768;

/// A server's tool, as members are offered it.
#[derive(Debug, Clone)]
pub(crate) struct Offered {
    /// What the server calls it.
    pub(crate) own_name: String,
    pub(crate) spec: ToolSpec,
    pub(crate) effect: Effect,
}

/// A server's tools by the names that models use, and what is to be said about those that are missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Offer {
    pub(crate) tools: BTreeMap<String, Offered>,
    pub(crate) problems: Vec<String>,
}

impl Offer {
    /// Makes the offer from a server's list.
    pub(crate) fn of(settings: &ServerSettings, listed: Vec<Tool>) -> Self {
        let mut offer = Self::default();
        let wanted = |name: &str| settings.tools.as_ref().is_none_or(|tools| tools.contains(name));
        let mut seen = BTreeSet::new();
        let listed: Vec<Tool> = listed
            .into_iter()
            .filter(|tool| wanted(&tool.name) && seen.insert(tool.name.to_string()))
            .collect();
        for absent in settings.tools.iter().flatten().filter(|name| !seen.contains(*name)) {
            offer.problems.push(format!("it has no tool {absent:?}"));
        }
        // Over all that is wanted, so that names do not depend on what is refused.
        let own: Vec<&str> = listed.iter().map(|tool| &*tool.name).collect();
        let names = named(&settings.name, &own);
        for (tool, name) in listed.iter().zip(names) {
            match offered(tool, name.clone()) {
                Ok(tool) => drop(offer.tools.insert(name, tool)),
                Err(problem) => {
                    let own: String = tool.name.chars().take(80).collect();
                    offer.problems.push(format!("its tool {own:?} is not offered: {problem}"));
                }
            }
        }
        offer
    }
}

fn offered(tool: &Tool, name: String) -> Result<Offered, String> {
    let schema = schema(&tool.input_schema)?;
    let annotations = tool.annotations.as_ref();
    let reads = annotations.and_then(|annotations| annotations.read_only_hint) == Some(true);
    let title = annotations.and_then(|annotations| annotations.title.as_deref());
    let description = tool.description.as_deref().filter(|text| !text.trim().is_empty());
    let description = description.or(tool.title.as_deref()).or(title).unwrap_or(&tool.name);
    Ok(Offered {
        own_name: tool.name.to_string(),
        spec: ToolSpec { name, description: shortened(description, DESCRIPTION_BYTES), schema },
        effect: if reads { Effect::ReadOnly } else { Effect::Ordered },
    })
}

/// The schema of an object, as wires take it.
fn schema(given: &Map<String, Value>) -> Result<Value, String> {
    let mut schema = given.clone();
    schema.remove("$schema");
    match schema.get("type") {
        None => drop(schema.insert("type".to_owned(), "object".into())),
        Some(Value::String(kind)) if kind == "object" => {}
        Some(_) => return Err("its arguments are not an object".to_owned()),
    }
    let properties = schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    if !properties.is_object() {
        return Err("the properties of its arguments are not an object".to_owned());
    }
    let schema = Value::Object(schema);
    let bytes = schema.to_string().len();
    if bytes > SCHEMA_BYTES {
        return Err(format!("its schema has {bytes} bytes and the limit is {SCHEMA_BYTES}"));
    }
    Ok(schema)
}

/// The text, or its beginning and a mark.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}
