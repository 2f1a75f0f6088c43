//! Grants, as administrators write them: every input is a document or mistakes with a place in it, and
//! a document that is written down again is the same document.

use weir_grant::{Capability, Document};

/// One input.
pub fn check(input: &[u8]) {
    let document = match Document::read(input) {
        Ok(document) => document,
        Err(mistakes) => {
            assert!(!mistakes.is_empty(), "it is refused for no reason");
            for mistake in mistakes {
                assert!(!mistake.to_string().is_empty());
            }
            return;
        }
    };
    let _ = document.covers_network("net");
    for capability in Capability::ALL {
        let _ = document.spec.capabilities.has(capability);
    }
    // The shipped documents are in the binary as JSON.
    let json = serde_json::to_string(&document).expect("a document is JSON");
    let again: Document = serde_json::from_str(&json).expect("what was written can be read");
    assert_eq!(again, document);
}
