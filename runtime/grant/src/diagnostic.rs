//! What is wrong with a document, and where, in words that help its author fix it.

use std::fmt;

use serde::Serialize;

use super::text::printable;

/// One mistake: `7:5: unknown key `name`; expected `namespace`, `kinds`, `names` or `verbs`; did you
/// mean `names`?`
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// None for a mistake of the document as a whole.
    #[serde(flatten)]
    pub position: Option<Position>,
    /// What is wrong, and what was expected.
    pub message: String,
}

/// A place in a document. Lines and columns start at 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Position {
    pub line: u64,
    pub column: u64,
}

impl Diagnostic {
    /// Makes a diagnostic with a position in the document.
    pub fn at(position: Position, message: impl Into<String>) -> Self {
        Self {
            position: Some(position),
            message: message.into(),
        }
    }

    /// Makes a diagnostic of the document as a whole.
    pub fn of_all(message: impl Into<String>) -> Self {
        Self {
            position: None,
            message: message.into(),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Position { line, column }) = self.position {
            write!(f, "{line}:{column}: ")?;
        }
        // Keys and values are quoted as they are.
        f.write_str(&printable(&self.message))
    }
}

/// What was expected instead of a word: ``expected `a`, `b` or `c`; did you mean `b`?``
pub fn expected_one_of(given: &str, words: &[&str]) -> String {
    let mut text = format!("expected {}", choice(words));
    if let Some(nearest) = nearest(given, words) {
        text += &format!("; did you mean `{nearest}`?");
    }
    text
}

/// `` `a`, `b` or `c` ``
pub fn choice(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "nothing".to_owned(),
    }
}

/// Finds the word that was probably meant: the one at the smallest edit distance, if that is small
/// for a word of its length.
pub fn nearest<'w>(given: &str, words: &[&'w str]) -> Option<&'w str> {
    let given = given.to_lowercase();
    let distance = |word: &str| strsim::osa_distance(&given, &word.to_lowercase());
    let is_near = |word: &&str| {
        let longer = word.chars().count().max(given.chars().count());
        distance(word) <= (longer / 3).max(1)
    };
    let near = words.iter().copied().filter(is_near);
    near.min_by_key(|word| distance(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_meant() {
        let keys = ["namespace", "kinds", "names", "verbs"];
        for (given, meant) in [
            ("name", Some("names")),
            ("verb", Some("verbs")),
            ("Kinds", Some("kinds")),
            ("namepsace", Some("namespace")),
            ("links", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, &keys), meant, "{given}");
        }
        assert_eq!(nearest("tcp", &["udp"]), None);
        assert_eq!(
            nearest("capability", &["capabilities"]),
            Some("capabilities")
        );
    }

    #[test]
    fn words_are_listed() {
        assert_eq!(choice(&["a"]), "`a`");
        assert_eq!(choice(&["a", "b"]), "`a` or `b`");
        assert_eq!(choice(&["a", "b", "c"]), "`a`, `b` or `c`");
        assert_eq!(
            expected_one_of("hots", &["host", "container"]),
            "expected `host` or `container`; did you mean `host`?"
        );
    }
}
