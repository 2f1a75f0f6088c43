//! JSON values in error messages.

use std::fmt::{self, Write as _};

use serde_json::{Number, Value};

/// How many characters of a value are shown.
const MOST: usize = 80;

/// The beginning of a value as JSON text.
///
/// `Value` can write itself, but that brings tables for floating-point numbers of 15 KB into a plugin, half of its data.
pub fn shown(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text).expect("a string can be written to");
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn write(value: &Value, to: &mut String) -> fmt::Result {
    match value {
        Value::Null => to.write_str("null"),
        Value::Bool(value) => write!(to, "{value}"),
        Value::Number(number) => write_number(number, to),
        Value::String(text) => write_text(text, to),
        Value::Array(values) => {
            to.write_char('[')?;
            for (position, value) in values.iter().enumerate() {
                separate(position, to)?;
                write(value, to)?;
            }
            to.write_char(']')
        }
        Value::Object(members) => {
            to.write_char('{')?;
            for (position, (key, value)) in members.iter().enumerate() {
                separate(position, to)?;
                write_text(key, to)?;
                to.write_char(':')?;
                write(value, to)?;
            }
            to.write_char('}')
        }
    }
}

fn separate(position: usize, to: &mut String) -> fmt::Result {
    match position {
        0 => Ok(()),
        _ => to.write_char(','),
    }
}

fn write_number(number: &Number, to: &mut String) -> fmt::Result {
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(number), _, _) => write!(to, "{number}"),
        (_, Some(number), _) => write!(to, "{number}"),
        (_, _, number) => write_float(number.unwrap_or(f64::NAN), to),
    }
}

/// As `Value` writes it: a positive exponent has its sign.
fn write_float(number: f64, to: &mut String) -> fmt::Result {
    let text = format!("{number:?}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => {
            write!(to, "{digits}e+{exponent}")
        }
        _ => to.write_str(&text),
    }
}

fn write_text(text: &str, to: &mut String) -> fmt::Result {
    to.write_str(&serde_json::to_string(text).map_err(|_| fmt::Error)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_shown_as_it_would_be_written() {
        for value in [
            json!(null),
            json!([true, false, [], {}]),
            json!([0, 255, -1, u64::MAX, i64::MIN]),
            json!([1.5, -0.25, 0.1, 3.0]),
            json!({ "a \"quoted\" key": "a\nline", "b": { "ä": ["\u{7}"] } }),
        ] {
            assert_eq!(shown(&value), value.to_string());
        }
    }

    #[test]
    fn numbers_with_exponents_are_too() {
        for exponent in -300..300 {
            for digits in ["1", "1.5", "-7.25"] {
                let number: f64 = format!("{digits}e{exponent}").parse().expect("a number");
                let value = json!(number);
                let text = shown(&value);
                assert_eq!(text.parse(), Ok(number), "{text}");
                // Between, the two begin with exponents at different numbers.
                if !(-8..-3).contains(&exponent) {
                    assert_eq!(text, value.to_string());
                }
            }
        }
    }

    #[test]
    fn only_the_beginning_is_shown() {
        let text = shown(&json!("ä".repeat(200)));
        assert_eq!(text.chars().count(), MOST + 1);
        assert!(text.starts_with("\"ää") && text.ends_with("ä…"), "{text}");
    }
}
