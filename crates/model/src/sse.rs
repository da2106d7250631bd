//! Server-sent events: bytes in, events out, wherever the bytes are cut. Does no I/O.

/// Bytes one event may have: a provider that sends more is broken.
const EVENT_BYTES: usize = 16 * 1024 * 1024;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// Its name; empty when the stream gave none.
    pub(crate) name: String,
    /// Its data, lines joined by line feeds.
    pub(crate) data: String,
}

/// An event is longer than any can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventTooLong;

/// Decodes a stream piece by piece.
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    line: Vec<u8>,
    name: String,
    data: Option<String>,
    after_cr: bool,
    begun: bool,
}

impl SseDecoder {
    /// Takes the next bytes and returns the events they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, EventTooLong> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, tail) = rest.split_at(end);
            let feed = tail.first() == Some(&b'\n');
            // The second half of a CR LF that was cut in two ends no line.
            let half = feed && self.after_cr && line.is_empty() && self.line.is_empty();
            self.after_cr = !feed;
            if !half {
                self.extend(line)?;
                events.extend(self.end_line());
            }
            rest = tail.get(1..).unwrap_or_default();
        }
        if !rest.is_empty() {
            self.after_cr = false;
            self.extend(rest)?;
        }
        Ok(events)
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        self.line.extend_from_slice(bytes);
        let data = self.data.as_ref().map_or(0, String::len);
        if self.line.len() + data > EVENT_BYTES { Err(EventTooLong) } else { Ok(()) }
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let begun = std::mem::replace(&mut self.begun, true);
        let text = if begun { &*text } else { text.strip_prefix('\u{feff}').unwrap_or(&text) };
        if text.is_empty() {
            let name = std::mem::take(&mut self.name);
            return self.data.take().map(|data| SseEvent { name, data });
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // Comments, ids, retry times and unknown fields say nothing to us.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut decoder = SseDecoder::default();
        let events = pieces.iter().flat_map(|piece| decoder.push(piece).unwrap());
        events.map(|event| (event.name, event.data)).collect()
    }

    fn pair(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn names_data_comments_and_joined_lines_are_understood() {
        let stream = b"\xef\xbb\xbf: hello\nevent: ping\ndata: {}\n\ndata:a\ndata: b\nid: 7\n\n\n";
        assert_eq!(decode(&[stream]), [pair("ping", "{}"), pair("", "a\nb")]);
    }

    #[test]
    fn an_event_without_its_empty_line_is_not_an_event() {
        assert_eq!(decode(&[b"data: half\n"]), []);
    }

    #[test]
    fn any_line_ending_and_any_cut_gives_the_same_events() {
        let expected = [pair("e", "grüße 🚣"), pair("", "2")];
        for ending in ["\n", "\r\n", "\r"] {
            let lines = ["event: e", "data: grüße 🚣", "", ": c", "data: 2", "", ""];
            let stream = lines.join(ending).into_bytes();
            for cut in 0..stream.len() {
                let (head, tail) = stream.split_at(cut);
                assert_eq!(decode(&[head, tail]), expected, "cut at {cut} of {ending:?}");
            }
            let bytes: Vec<&[u8]> = stream.chunks(1).collect();
            assert_eq!(decode(&bytes), expected);
        }
    }

    #[test]
    fn an_event_without_end_is_refused_before_memory_is_full() {
        let mut decoder = SseDecoder::default();
        let piece = vec![b'x'; 1024 * 1024];
        assert!((0..20).any(|_| decoder.push(&piece).is_err()));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_in_arbitrary_pieces_never_panic_and_never_differ(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            cuts in prop::collection::vec(0_usize..400, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            prop_assert_eq!(decode(&pieces), decode(&[&bytes]));
        }
    }
}
