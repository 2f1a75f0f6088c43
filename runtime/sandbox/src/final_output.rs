//! What a plugin wrote before it trapped: the message of a panic, and the rest.

use weir_host::{State, shorten_loops};

/// The most characters of a panic's message that an error has.
const MOST_PANIC: usize = 400;

/// The most lines of the other text that an error has.
const MOST_LINES: usize = 20;

/// The beginning of the line that Rust's standard library prints for a panic.
const THREAD: &str = "thread '";
const PANICKED: &str = "panicked at ";
/// What it prints after the message.
const NOTE: &str = "note: run with `RUST_BACKTRACE=1`";

/// The last output of a plugin. The plugin chooses its text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FinalOutput {
    /// `panicked at src/lib.rs:12:5: index out of bounds`, in one line.
    pub panic: Option<String>,
    /// The end of the other text on standard error and output, the lines of a loop once.
    pub rest: String,
}

impl FinalOutput {
    /// Reads a plugin's log and its standard error.
    pub(crate) fn of(state: &State) -> Self {
        let printed = Self::printed(&state.standard_error());
        Self {
            panic: printed
                .panic
                .or_else(|| state.logged_panic().map(in_one_line)),
            rest: printed.rest,
        }
    }

    /// Splits the text of standard error at its last panic.
    fn printed(text: &str) -> Self {
        let Some((start, message)) = last_panic(text) else {
            return Self {
                panic: None,
                rest: last_lines(text.trim()),
            };
        };
        let (message, after) = match message.find(NOTE) {
            Some(end) => {
                let note = &message[end..];
                let after = note.split_once('\n').map_or("", |(_, after)| after);
                (&message[..end], after)
            }
            None => (message, ""),
        };
        let rest = format!("{}\n{}", text[..start].trim(), after.trim());
        Self {
            panic: Some(in_one_line(message)),
            rest: last_lines(rest.trim()),
        }
    }
}

/// The lines of a loop once, and of all others the last ones.
fn last_lines(text: &str) -> String {
    let lines = shorten_loops(&Vec::from_iter(text.lines()));
    let before = lines.len().saturating_sub(MOST_LINES);
    let last = lines[before..].join("\n");
    match before {
        0 => last,
        _ => format!("… {before} lines before these, which weir's log has\n{last}"),
    }
}

/// The last line that reports a panic: where it starts, and the text from `panicked at` on. A panic's own message may have such
/// words as well, but not at the beginning of a line.
fn last_panic(text: &str) -> Option<(usize, &str)> {
    let mut start = 0;
    let mut last = None;
    for line in text.split_inclusive('\n') {
        let at = line.find(PANICKED).filter(|_| line.starts_with(THREAD));
        if let Some(at) = at {
            last = Some((start, &text[start + at..]));
        }
        start += line.len();
    }
    last
}

/// The beginning of a text, with a space for each end of a line.
fn in_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MOST_PANIC) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> (Option<String>, String) {
        let words = FinalOutput::printed(text);
        (words.panic, words.rest)
    }

    #[test]
    fn a_panic_is_told_from_the_rest() {
        let text = "before\n\nthread '<unnamed>' (1) panicked at src/lib.rs:12:5:\nindex out of bounds: \
                    the len is 3\nnote: run with `RUST_BACKTRACE=1` environment variable to display a \
                    backtrace\nafter\n";
        let panic = "panicked at src/lib.rs:12:5: index out of bounds: the len is 3";
        assert_eq!(
            printed(text),
            (Some(panic.to_owned()), "before\nafter".to_owned())
        );
    }

    #[test]
    fn what_is_not_a_panic_stays() {
        for text in ["", "panicked at once", "a thread 'x' panicked at y:1:1:\nz"] {
            assert_eq!(printed(text), (None, text.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_loop_is_shortened() {
        let text = "again\n".repeat(1000);
        assert_eq!(printed(&text), (None, "again\n… 999 more".to_owned()));
        let panic = text + "thread 'a' panicked at a.rs:1:1:\none\n";
        assert_eq!(printed(&panic).1, "again\n… 999 more");
    }

    #[test]
    fn of_many_lines_the_last_ones_stay() {
        let lines: Vec<String> = (1..=1000).map(|number| number.to_string()).collect();
        let (_, rest) = printed(&lines.join("\n"));
        assert_eq!(rest.lines().count(), MOST_LINES + 1);
        assert!(
            rest.starts_with("… 980 lines before these, which weir's log has\n981\n"),
            "{rest}"
        );
        assert_eq!(printed(&lines[..20].join("\n")).1, lines[..20].join("\n"));
    }

    #[test]
    fn the_last_panic_counts_and_not_what_it_quotes() {
        let text = "thread 'a' panicked at a.rs:1:1:\none\nthread 'b' panicked at b.rs:2:2:\nsaid thread 'c' \
                    panicked at c.rs\n";
        let (panic, rest) = printed(text);
        let expected = "panicked at b.rs:2:2: said thread 'c' panicked at c.rs";
        assert_eq!(panic.as_deref(), Some(expected));
        assert_eq!(rest, "thread 'a' panicked at a.rs:1:1:\none");
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let text = format!("thread 'a' panicked at a.rs:1:1:\n{}", "ü".repeat(5000));
        let (panic, _) = printed(&text);
        let panic = panic.expect("a panic");
        assert_eq!(panic.chars().count(), MOST_PANIC + 1);
        assert!(panic.ends_with("ü…"), "{panic}");
    }
}
