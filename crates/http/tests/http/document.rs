//! The API's description, held against the API.

use super::place::{Place, done};
use longboat_scripted::Agent;
use serde_json::{Value, json};

/// Calls `each` for every value in a document.
fn walk(value: &Value, each: &mut impl FnMut(&Value)) {
    each(value);
    match value {
        Value::Object(fields) => fields.values().for_each(|value| walk(value, each)),
        Value::Array(values) => values.iter().for_each(|value| walk(value, each)),
        _ => {}
    }
}

#[tokio::test]
async fn what_is_described_is_there_and_describes_itself_whole() {
    let place = Place::of(vec![Agent::member("lead", vec![done(), done()])]).await;
    let id = place.create("go").await;
    place.rest(&id).await;
    let new = json!({"subject": "s"});
    place.post(&format!("/api/v1/sessions/{id}/tasks"), new).await;
    let (status, document) = place.get("/api/v1/openapi.json").await;
    assert_eq!((status, &document["openapi"].as_str().unwrap()[..2]), (200, "3."));
    walk(&document, &mut |value| {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
        }
    });
    let mut asked = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let there = path.replace("{id}", &id).replace("{member}", "lead").replace("{task}", "t1");
        let there = there.replace("{question}", "lead.1.0");
        assert!(!there.contains('{'), "{there}");
        for (method, operation) in methods.as_object().unwrap() {
            assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()));
            let request = place.ask(&method.to_uppercase(), &format!("/api/v1{there}"));
            let response = request.json(&json!({})).send().await.unwrap();
            assert!(![404, 405].contains(&response.status().as_u16()), "{method} {path}");
            asked.push(format!("{method} {path}"));
        }
    }
    assert_eq!(asked.len(), 16, "{asked:#?}");
    assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    place.end().await;
}
