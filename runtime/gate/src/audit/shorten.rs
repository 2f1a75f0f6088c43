//! Shortens arguments that are too long for a record.
//!
//! Texts outside lists, which identify the object, are kept up to a bound each. The rest of the space goes to the
//! beginnings of lists.

use serde_json::Value;

use weir_grant::text::misleads;

/// The bytes that are kept of arguments, as escaped in the log. What is outside lists is bounded by [`MOST_TEXT`] and
/// the number of an operation's fields, and is never left out.
pub(super) const MOST: usize = 8 << 10;

/// The bytes that are kept of one text, as escaped in the log.
const MOST_TEXT: usize = 512;

/// Shortens arguments and keeps their structure.
pub(super) fn arguments(value: &mut Value) {
    let mut left = MOST.saturating_sub(shorten_texts(value));
    shorten_lists(value, &mut left);
}

/// The beginning of a text, with at most `most` bytes in the log.
pub(super) fn text(text: &str, most: usize) -> String {
    let mut left = most;
    for (at, c) in text.char_indices() {
        match left.checked_sub(length(c)) {
            Some(less) => left = less,
            None => return format!("{}…", &text[..at]),
        }
    }
    text.to_owned()
}

/// The bytes that a character takes in the log.
fn length(c: char) -> usize {
    match c {
        '"' | '\\' => 2,
        // `\u` and four digits, for each UTF-16 unit.
        c if misleads(c) => 6 * c.len_utf16(),
        c => c.len_utf8(),
    }
}

/// Shortens the texts outside lists. Returns the bytes of everything outside lists.
fn shorten_texts(value: &mut Value) -> usize {
    match value {
        Value::Object(members) => members
            .iter_mut()
            .map(|(key, member)| of_key(key) + shorten_texts(member))
            .sum(),
        Value::Array(_) => 2,
        Value::String(whole) => shorten_text(whole, MOST_TEXT),
        other => other.to_string().len(),
    }
}

/// Shortens all lists together to the bytes that are left.
fn shorten_lists(value: &mut Value, left: &mut usize) {
    match value {
        Value::Object(members) => members.values_mut().for_each(|v| shorten_lists(v, left)),
        Value::Array(list) => shorten_list(list, left),
        _ => {}
    }
}

fn shorten_list(list: &mut Vec<Value>, left: &mut usize) {
    list.retain_mut(|value| {
        let fits = *left > 0;
        if fits {
            shorten_element(value, left);
        }
        fits
    });
}

/// Shortens an element of a list to the bytes that are left, and subtracts what is kept.
fn shorten_element(value: &mut Value, left: &mut usize) {
    match value {
        Value::Object(members) => {
            take(left, 3);
            members.retain(|key, member| {
                let fits = *left > 0;
                if fits {
                    take(left, of_key(key));
                    shorten_element(member, left);
                }
                fits
            });
        }
        Value::Array(list) => {
            take(left, 3);
            shorten_list(list, left);
        }
        Value::String(whole) => {
            let length = shorten_text(whole, MOST_TEXT.min(*left));
            take(left, length + 1);
        }
        other => take(left, other.to_string().len() + 1),
    }
}

fn take(left: &mut usize, bytes: usize) {
    *left = left.saturating_sub(bytes);
}

/// The bytes of a member's key, with its quotes, colon and comma.
fn of_key(key: &str) -> usize {
    key.len() + 4
}

/// Shortens a text. Returns the bytes that are kept.
fn shorten_text(whole: &mut String, most: usize) -> usize {
    *whole = text(whole, most);
    whole.chars().map(length).sum::<usize>() + 2
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::text::escape;

    fn shortened(mut value: Value) -> Value {
        arguments(&mut value);
        let length = escape(value.to_string()).len();
        assert!(length <= MOST + 100, "{length} bytes of {value}");
        value
    }

    /// Whatever is sorted before it.
    #[test]
    fn what_is_outside_of_lists_is_not_left_out_for_a_list() {
        let list: Vec<Value> = (0..5000)
            .map(|n| json!({ "append": n.to_string() }))
            .collect();
        let short = shortened(json!({
            "commands": list, "family": "inet", "table": { "name": "weir_own" }, "flag": true,
        }));
        assert_eq!(short["family"], "inet");
        assert_eq!(short["table"]["name"], "weir_own");
        assert_eq!(short["flag"], true);
        let kept = short["commands"].as_array().expect("a list");
        assert!(kept.len() > 100, "{kept:?}");
        // The last one may be there in part.
        let whole = kept.len() - 1;
        assert_eq!(kept[..whole], list[..whole]);
    }

    #[test]
    fn a_long_text_is_no_reason_to_leave_another_out() {
        let long = "\u{202e}\n\"x\u{e0041}".repeat(100_000);
        let short = shortened(json!({ "key": long, "path": long, "value": "v" }));
        for key in ["key", "path"] {
            let kept = short[key].as_str().expect("a text");
            assert!(long.starts_with(kept.trim_end_matches('…')), "{kept}");
            assert!(kept.len() > 100 && kept.ends_with('…'), "{kept}");
        }
        assert_eq!(short["value"], "v");
    }

    /// Numbers and flags have bytes, too, and so have the shapes of lists.
    #[test]
    fn lists_of_anything_are_bounded() {
        let many = 100_000;
        for element in [
            json!(null),
            json!(true),
            json!(18_446_744_073_709_551_615_u64),
            json!([]),
            json!({}),
            json!({ "a": [[{ "b": [1, 2, 3] }]], "flag": false, "number": 7 }),
            json!("\u{1b}".repeat(1000)),
        ] {
            let short = shortened(json!({ "list": vec![element.clone(); many] }));
            let kept = short["list"].as_array().expect("a list").len();
            assert!(kept > 1 && kept < many, "{kept} of {element}");
        }
        let inner = vec![json!(vec![0; 50_000]); 3];
        let short = shortened(json!({ "list": inner }));
        assert_eq!(short["list"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn what_is_short_stays_whole() {
        let whole = json!({ "a": "text", "b": [1, { "c": [true, null, "d"] }], "e": { "f": [] } });
        assert_eq!(shortened(whole.clone()), whole);
    }
}
