//! Refuses what a real provider would answer with 400: this is how the product shows that it never
//! makes such a request. Where providers of a wire differ, the strict one is followed. It changes
//! nothing and remembers nothing.

mod chat;
mod messages;
mod responses;

use crate::asked::{WireName, text};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Checks a request's body.
///
/// # Errors
/// What a provider would say: where, and what is wrong.
pub(crate) fn check(wire: WireName, body: &Value) -> Result<(), String> {
    let fields = body.as_object().ok_or("the body: expected an object")?;
    if text(body, "model").is_empty() {
        return Err("model: field required".to_owned());
    }
    match wire {
        WireName::OpenaiChat => chat::check(fields),
        WireName::OpenaiResponses => responses::check(fields),
        WireName::Anthropic => messages::check(fields),
    }
}

type Fields = Map<String, Value>;

/// A field that is there and not null.
fn given<'a>(fields: &'a Fields, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

fn only_known(fields: &Fields, known: &[&str]) -> Result<(), String> {
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("{name}: extra inputs are not permitted")),
        None => Ok(()),
    }
}

fn number(fields: &Fields, name: &str, least: f64, most: f64) -> Result<(), String> {
    let Some(value) = given(fields, name) else { return Ok(()) };
    match value.as_f64() {
        Some(n) if (least..=most).contains(&n) => Ok(()),
        _ => Err(format!("{name}: expected a number from {least} to {most}, not {value}")),
    }
}

/// A whole number of at least 1, if it is given.
fn count(fields: &Fields, name: &str) -> Result<(), String> {
    let Some(value) = given(fields, name) else { return Ok(()) };
    match value.as_u64() {
        Some(n) if n >= 1 => Ok(()),
        _ => Err(format!("{name}: expected a whole number of at least 1, not {value}")),
    }
}

fn flag(fields: &Fields, name: &str) -> Result<(), String> {
    match given(fields, name) {
        Some(value) if !value.is_boolean() => Err(format!("{name}: expected a boolean")),
        _ => Ok(()),
    }
}

/// A list that is not empty.
fn list<'a>(value: Option<&'a Value>, place: &str) -> Result<&'a [Value], String> {
    match value.and_then(Value::as_array) {
        Some(items) if !items.is_empty() => Ok(items),
        Some(_) => Err(format!("{place}: it must not be empty")),
        None => Err(format!("{place}: expected a list")),
    }
}

fn tool_name(name: &str, place: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err(format!("{place}: the name {name:?} does not match ^[a-zA-Z0-9_-]{{1,64}}$"));
    }
    Ok(())
}

/// One tool's name and schema, by the fields that hold them.
fn tool<'a>(
    tool: &'a Value,
    schema: &str,
    place: &str,
    names: &mut BTreeSet<&'a str>,
) -> Result<(), String> {
    let name = text(tool, "name");
    tool_name(name, place)?;
    if !names.insert(name) {
        return Err(format!("{place}: the name {name:?} is not unique"));
    }
    if tool.get("description").is_some_and(|described| !described.is_string()) {
        return Err(format!("{place}.description: expected a string"));
    }
    match tool.get(schema) {
        Some(schema) if text(schema, "type") == "object" => Ok(()),
        Some(_) => Err(format!("{place}.{schema}: the schema of {name:?} is not of type object")),
        None => Err(format!("{place}.{schema}: field required")),
    }
}
