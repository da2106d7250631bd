//! Bounds for what a tool says.

/// Bytes of a tool's text that a model is shown.
pub(crate) const SHOWN_BYTES: usize = 30_000;
/// Characters of one line that a model is shown.
const LINE_CHARS: usize = 2_000;

/// A line, cut where it is too long to be useful.
pub(crate) fn line(text: &str) -> String {
    let text = text.trim_end_matches(['\n', '\r']);
    if text.len() <= LINE_CHARS {
        return text.to_owned();
    }
    let total = text.chars().count();
    if total <= LINE_CHARS {
        return text.to_owned();
    }
    let shown: String = text.chars().take(LINE_CHARS).collect();
    format!("{shown}… [{} more characters]", total - LINE_CHARS)
}

/// Joins lines until they fill the room, and says how many are left out.
pub(crate) fn joined(lines: &[String], hint: &str) -> String {
    let mut text = String::new();
    for (line, n) in lines.iter().zip(0_usize..) {
        if text.len() + line.len() > SHOWN_BYTES {
            text.push_str(&format!("[{} more lines; {hint}]", lines.len() - n));
            return text;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}
