//! JSON for programs, on lines that a terminal can show.

use serde::Serialize;

/// A value as one line of JSON, with its line break. What a terminal could take for a command is
/// escaped, which changes no string.
pub(crate) fn json_line(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string(value)?;
    let mut line = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        // Outside of strings JSON has none of these, so the escape always stands inside of one.
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                line.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => line.push(c),
        }
    }
    line.push('\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_moves_no_terminal_and_means_the_same() {
        let text = "a\u{1b}[2J\u{9b}2J\u{7f}\u{202e}ü";
        let line = json_line(&text).unwrap();
        assert_eq!(line, "\"a\\u001b[2J\\u009b2J\\u007f\\u202eü\"\n");
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
    }
}
