//! Who wrote a component, as it says itself: the custom section `authors`, one of those that tools such as
//! `wasm-tools metadata` write with the names of OCI's annotations.

use wasmparser::{Parser, Payload};

/// The section's name.
const SECTION: &str = "authors";

/// The most characters that are taken: the component chooses them.
const MOST: usize = 128;

/// The authors that a component names; none if it names none. Nothing confirms them.
///
/// Those of the component itself count before those of a module in it.
pub fn authors(component: &[u8]) -> Option<String> {
    let (mut depth, mut inside) = (0_usize, None);
    for payload in Parser::new(0).parse_all(component) {
        match payload.ok()? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if section.name() == SECTION => {
                let named = text(section.data());
                if depth == 0 && named.is_some() {
                    return named;
                }
                inside = inside.or(named);
            }
            _ => {}
        }
    }
    inside
}

fn text(data: &[u8]) -> Option<String> {
    let text = str::from_utf8(data).ok()?.trim();
    let some: String = text.chars().take(MOST).collect();
    Some(some).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    const COMPONENT: [u8; 8] = [0, b'a', b's', b'm', 0x0d, 0, 1, 0];
    const MODULE: [u8; 8] = [0, b'a', b's', b'm', 1, 0, 0, 0];

    /// A section with its id and its length, in two bytes of LEB128.
    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).expect("a short section");
        let [high, low] = (length << 1).to_be_bytes();
        [&[id, low >> 1 | 0x80, high], content].concat()
    }

    fn custom(name: &str, data: &[u8]) -> Vec<u8> {
        let length = u8::try_from(name.len()).expect("a short name");
        section(0, &[&[length], name.as_bytes(), data].concat())
    }

    #[test]
    fn a_component_names_its_authors() {
        let of = |sections: &[Vec<u8>]| authors(&[&COMPONENT[..], &sections.concat()].concat());
        let named = custom(SECTION, b" A Person <a@example.com> \n");
        let module = section(1, &[&MODULE[..], &custom(SECTION, b"inside")].concat());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[custom("author", b"nobody")]), None);
        assert_eq!(
            of(slice::from_ref(&named)).as_deref(),
            Some("A Person <a@example.com>")
        );
        assert_eq!(of(slice::from_ref(&module)).as_deref(), Some("inside"));
        assert_eq!(
            of(&[module, named]).as_deref(),
            Some("A Person <a@example.com>")
        );
    }

    #[test]
    fn what_is_no_text_names_nobody() {
        let of = |data: &[u8]| authors(&[&COMPONENT[..], &custom(SECTION, data)].concat());
        assert_eq!(of(b""), None);
        assert_eq!(of(b" \n"), None);
        assert_eq!(of(&[0xff, 0xfe]), None);
        assert_eq!(authors(b"no component"), None);
        let long = "ä".repeat(60);
        assert_eq!(
            of(long.as_bytes()).map(|text| text.chars().count()),
            Some(60)
        );
    }
}
