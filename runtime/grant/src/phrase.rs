//! Lists of words, as a sentence has them.

/// The interface with the name `{ifname}`.
pub(crate) const OWN: &str = "the attachment's interface";

/// `a, b and c`.
pub fn joined(mut words: Vec<String>, last: &str) -> String {
    match words.pop() {
        None => String::new(),
        Some(word) if words.is_empty() => word,
        Some(word) => format!("{} {last} {word}", words.join(", ")),
    }
}

/// Returns the words, each in backticks.
pub fn quoted<T: std::fmt::Display>(words: impl IntoIterator<Item = T>) -> Vec<String> {
    words.into_iter().map(|word| format!("`{word}`")).collect()
}
