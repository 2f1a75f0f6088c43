//! Comments of rules and elements, written as nft(8) writes them, so that it lists them.

/// `NFTNL_UDATA_RULE_COMMENT` and `NFTNL_UDATA_SET_ELEM_COMMENT`.
const COMMENT: u8 = 0;

/// A note of type, length and value; the text ends with a zero byte. It must have been checked:
/// the length is one byte.
pub(super) fn encode(text: &str) -> Vec<u8> {
    let mut note = vec![COMMENT, text.len() as u8 + 1];
    note.extend(text.as_bytes());
    note.push(0);
    note
}

/// The comment among the notes of a rule or element.
pub(super) fn decode(mut notes: &[u8]) -> Option<String> {
    while let [kind, length, rest @ ..] = notes {
        let value = rest.get(..usize::from(*length))?;
        if *kind == COMMENT {
            let text = value.strip_suffix(&[0]).unwrap_or(value);
            return Some(String::from_utf8_lossy(text).into_owned());
        }
        notes = &rest[value.len()..];
    }
    None
}
