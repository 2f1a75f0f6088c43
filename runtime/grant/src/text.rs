//! Characters that make a text look different from its content.

/// Whether a character controls the terminal, ends a line, is invisible, or changes the direction of the text around it.
/// Plugins, servers and files choose texts that are shown in terminals.
pub fn misleads(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    // Unicode's control and format characters, and noncharacters, which HTML does not allow.
    let is_format = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    let is_none = u32::from(c) & 0xfffe == 0xfffe || matches!(c, '\u{fdd0}'..='\u{fdef}');
    c.is_control() || is_format || is_none
}

/// Escapes characters that control a terminal or change the direction of text.
pub fn printable(text: &str) -> String {
    let escape = |c: char| match c {
        c if misleads(c) => c.escape_default().collect::<String>(),
        c => c.to_string(),
    };
    if text.chars().any(misleads) {
        text.chars().map(escape).collect()
    } else {
        text.to_owned()
    }
}
