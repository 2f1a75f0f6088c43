//! A plugin that loops prints and does the same again and again: the lines of a loop are shown and logged once.

/// The most lines of a loop that are recognised.
const LONGEST: usize = 8;

/// Leaves out lines that repeat those before them more than once, and says how many.
pub fn shorten_loops<T: AsRef<str> + PartialEq>(lines: &[T]) -> Vec<String> {
    let mut shown = Vec::new();
    let mut rest = lines;
    while !rest.is_empty() {
        let (body, times) = repeated(rest);
        shown.extend(rest[..body].iter().map(|line| line.as_ref().to_owned()));
        match (body, times) {
            (_, 1) => {}
            (1, _) => shown.push(format!("… {} more", times - 1)),
            _ => shown.push(format!("… these {body} lines {} more times", times - 1)),
        }
        rest = &rest[body * times..];
    }
    shown
}

/// Shortens the loops of a text.
pub fn shorten_loops_of(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    shorten_loops(&lines).join("\n")
}

/// The number of lines that are repeated from the first one on, and how many times they are there; 1 and 1 if they are not
/// repeated more than once.
fn repeated<T: PartialEq>(lines: &[T]) -> (usize, usize) {
    let most = LONGEST.min(lines.len());
    let loops = (1..=most).map(|body| {
        let first = &lines[..body];
        let times = lines.chunks(body).take_while(|chunk| *chunk == first);
        (body, times.count())
    });
    let mut long_enough = loops.filter(|(_, times)| *times > 2);
    long_enough.next().unwrap_or((1, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(text: &str) -> String {
        let lines: Vec<String> = text.chars().map(String::from).collect();
        shorten_loops(&lines).join("|")
    }

    #[test]
    fn loops_are_shown_once() {
        for (lines, expected) in [
            ("", ""),
            ("abc", "a|b|c"),
            ("aab", "a|a|b"),
            ("aaa", "a|… 2 more"),
            ("xaaaay", "x|a|… 3 more|y"),
            ("abababc", "a|b|… these 2 lines 2 more times|c"),
            ("abcabcabcab", "a|b|c|… these 3 lines 2 more times|a|b"),
            ("aabaabaab", "a|a|b|… these 3 lines 2 more times"),
        ] {
            assert_eq!(shortened(lines), expected, "{lines}");
        }
        let thousand = "same\n".repeat(1000);
        assert_eq!(shorten_loops_of(&thousand), "same\n… 999 more");
    }

    #[test]
    fn long_loops_are_left() {
        let lines = "abcdefghi".repeat(3);
        assert_eq!(shortened(&lines).split('|').count(), lines.len(), "{lines}");
    }
}
