//! JSON without characters that make a line look different from its content, and bytes as text.

use weir_grant::text::misleads;

/// Escapes characters that [mislead](misleads) in JSON, except the ends of its own lines. They can only be in strings.
pub fn escape(json: String) -> String {
    let is_escaped = |c: char| c != '\n' && misleads(c);
    if is_printable(json.as_bytes()) || !json.chars().any(is_escaped) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_escaped(c) {
            c.encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")))
        } else {
            escaped.push(c)
        }
    }
    escaped
}

/// Whether JSON is printable ASCII, as nearly all is. All bytes are looked at, which the processor can do with many at once.
pub(crate) fn is_printable(json: &[u8]) -> bool {
    let is_printable = |byte: u8| (byte == b'\n') | (b' '..0x7f).contains(&byte);
    json.iter()
        .fold(true, |all, byte| all & is_printable(*byte))
}

/// Bytes in hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = vec![0; 2 * bytes.len()];
    for (digits, byte) in text.chunks_exact_mut(2).zip(bytes) {
        digits[0] = DIGITS[usize::from(byte >> 4)];
        digits[1] = DIGITS[usize::from(byte & 0xf)];
    }
    String::from_utf8(text).expect("digits are ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a\n\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{2028}\u{200b}\u{ad}\u{feff}\u{ffff}\u{e0041}\u{10ffff}ü漢";

    #[test]
    fn json_keeps_its_meaning() {
        let json = serde_json::to_string(TEXT).expect("a text");
        let escaped = escape(json);
        assert!(!escaped.chars().any(misleads), "{escaped}");
        let read: String = serde_json::from_str(&escaped).expect("JSON");
        assert_eq!(read, TEXT);
    }

    #[test]
    fn json_keeps_its_lines() {
        let value = serde_json::json!({ "text": [TEXT] });
        let pretty = serde_json::to_string_pretty(&value).expect("JSON");
        let escaped = escape(pretty.clone());
        assert_eq!(escaped.lines().count(), pretty.lines().count());
        assert!(
            !escaped.chars().any(|c| c != '\n' && misleads(c)),
            "{escaped}"
        );
        let read: serde_json::Value = serde_json::from_str(&escaped).expect("JSON");
        assert_eq!(read, value);
    }

    #[test]
    fn what_people_write_stays() {
        for text in ["plain `text`", "grün 网络", "naïve – “quoted”", "\u{1f310}"] {
            assert!(!text.chars().any(misleads), "{text}");
        }
    }
}
