//! A reader of server-sent events, as a browser is one.

use super::place::Place;
use reqwest::Response;
use serde_json::Value;

/// One event.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sent {
    pub(crate) event: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

impl Sent {
    /// The log and place of a record.
    pub(crate) fn place(&self) -> (String, u64) {
        (self.data["session"].as_str().unwrap().to_owned(), self.data["seq"].as_u64().unwrap())
    }

    pub(crate) fn is(&self, kind: &str) -> bool {
        self.event == "record" && self.data["type"] == kind
    }
}

pub(crate) struct Stream {
    response: Response,
    text: String,
    /// The id of the last event that had one.
    pub(crate) last: Option<String>,
}

impl Stream {
    /// Opens a team's events, after an id or from the beginning.
    pub(crate) async fn open(place: &Place, session: &str, last: Option<&str>) -> Self {
        Self::at(place, &format!("/api/v1/sessions/{session}/events"), last).await
    }

    /// Opens a stream, after an id or from the beginning.
    pub(crate) async fn at(place: &Place, path: &str, last: Option<&str>) -> Self {
        let mut request = place.ask("GET", path);
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new(), last: last.map(str::to_owned) }
    }

    /// The next event; `None` when the stream ends.
    pub(crate) async fn next(&mut self) -> Option<Sent> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let sent = parse(block);
                self.text = rest.to_owned();
                if let Some(sent) = sent {
                    self.last = sent.id.clone().or(self.last.take());
                    return Some(sent);
                }
                continue;
            }
            let chunk = self.response.chunk().await.ok()??;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// Reads until an event fits, and returns all that came, with that one.
    pub(crate) async fn until(&mut self, fits: impl Fn(&Sent) -> bool) -> Vec<Sent> {
        let mut came = Vec::new();
        loop {
            let sent = self.next().await.expect("the stream goes on");
            let last = fits(&sent);
            came.push(sent);
            if last {
                return came;
            }
        }
    }
}

fn parse(block: &str) -> Option<Sent> {
    let mut sent = Sent::default();
    for line in block.lines().filter(|line| !line.starts_with(':')) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => sent.event = value.to_owned(),
            "id" => sent.id = Some(value.to_owned()),
            "data" => sent.data = serde_json::from_str(value).unwrap(),
            field => panic!("the field {field}"),
        }
    }
    (!sent.event.is_empty()).then_some(sent)
}
