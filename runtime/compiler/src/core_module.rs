//! Why a core module is not compiled, and how to make a component of what it was made from.

use wasmparser::{KnownCustom, Parser, Payload, ProducersSectionReader, Result};

/// Says what to do with a core module in place of a component; none for other bytes.
///
/// Compilers leave their names in a module, in the section `producers` of the tool conventions.
pub(crate) fn explain(bytes: &[u8]) -> Option<String> {
    if !Parser::is_core_wasm(bytes) {
        return None;
    }
    let remedy = remedy(&producers(bytes));
    Some(format!(
        "it is a core module of WebAssembly, not a component; {remedy}"
    ))
}

fn remedy(producers: &[&str]) -> &'static str {
    let has = |name: &str| producers.iter().any(|producer| producer.contains(name));
    // A plugin in Rust may have parts in C.
    if has("rustc") || has("Rust") {
        "build it for the target wasm32-wasip2"
    } else if has("Go cmd/compile") {
        "make one of it with `weir plugin component`"
    } else if has("clang") {
        "link it with `wasm-component-ld`, which comes with the Rust toolchain, in place of `wasm-ld`; \
         docs/plugin-authors.md shows how"
    } else {
        "make one of it with the component tools of its language, or with `wasm-tools component new`"
    }
}

/// The names of what made a module: languages and tools. Of a module that is not valid, those before the mistake.
fn producers(bytes: &[u8]) -> Vec<&str> {
    let mut names = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        let Ok(payload) = payload else { break };
        if let Payload::CustomSection(section) = payload
            && let KnownCustom::Producers(section) = section.as_known()
            && add_names(section, &mut names).is_err()
        {
            break;
        }
    }
    names
}

fn add_names<'a>(section: ProducersSectionReader<'a>, names: &mut Vec<&'a str>) -> Result<()> {
    for field in section {
        for value in field?.values {
            names.push(value?.name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name or a section's content, with its length before it. All are short.
    fn counted(bytes: &[u8]) -> Vec<u8> {
        let length = u8::try_from(bytes.len()).expect("short");
        [&[length], bytes].concat()
    }

    /// A module without anything but the producers of one field.
    fn module(field: &str, producers: &[&str]) -> Vec<u8> {
        let count = |n: usize| u8::try_from(n).expect("few");
        let mut section = counted(b"producers");
        section.push(1);
        section.extend(counted(field.as_bytes()));
        section.push(count(producers.len()));
        for producer in producers {
            section.extend(counted(producer.as_bytes()));
            section.extend(counted(b"19.1.7"));
        }
        [b"\0asm\x01\0\0\0\0", counted(&section).as_slice()].concat()
    }

    #[test]
    fn the_remedy_depends_on_the_language() {
        for (field, producers, expected) in [
            ("processed-by", vec!["rustc"], "wasm32-wasip2"),
            ("language", vec!["Rust"], "wasm32-wasip2"),
            (
                "processed-by",
                vec!["Debian clang", "rustc"],
                "wasm32-wasip2",
            ),
            ("processed-by", vec!["Debian clang"], "`wasm-component-ld`"),
            ("processed-by", vec!["clang"], "`wasm-component-ld`"),
            (
                "processed-by",
                vec!["Go cmd/compile"],
                "`weir plugin component`",
            ),
            ("processed-by", vec!["TinyGo"], "`wasm-tools component new`"),
            ("processed-by", vec![], "`wasm-tools component new`"),
        ] {
            let said = explain(&module(field, &producers)).expect("a module");
            assert!(said.contains("not a component"), "{said}");
            assert!(said.contains(expected), "{producers:?}: {said}");
            let others = [
                "wasm32-wasip2",
                "`wasm-component-ld`",
                "`weir plugin component`",
                "`wasm-tools",
            ];
            let named = others.iter().filter(|other| said.contains(**other));
            assert_eq!(named.count(), 1, "{said}");
        }
    }

    #[test]
    fn what_is_not_a_module_is_left_to_the_compiler() {
        for bytes in [&b""[..], b"\0asm", b"\0asm\x0d\0\x01\0", b"root:x:0:0:"] {
            assert_eq!(explain(bytes), None);
        }
    }

    /// Whatever a module claims of its lengths.
    #[test]
    fn a_module_that_is_cut_off_is_still_a_module() {
        let whole = module("processed-by", &["Debian clang"]);
        for length in 8..whole.len() {
            let said = explain(&whole[..length]).expect("a module");
            assert!(said.contains("not a component"), "{length}: {said}");
        }
    }
}
