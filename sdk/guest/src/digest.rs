//! Short names that follow from long ones.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// The first 32 hexadecimal digits of a text's SHA-256: the same for the same text, and for no other.
/// The first digits of it make the name of what belongs to an attachment, which DEL finds again.
pub fn digest(text: &str) -> String {
    let mut digits = String::with_capacity(32);
    for byte in &Sha256::digest(text.as_bytes())[..16] {
        // Writing to a string does not fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_stable() {
        assert_eq!(digest(""), "e3b0c44298fc1c149afbf4c8996fb924");
    }
}
