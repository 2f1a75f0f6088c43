//! Signatures of plugins: made with a key, verified without a network, and the node's policy for what may be installed.
//!
//! Floor 7, beside `weir-distribution`. A signature is a bundle of sigstore ([`Bundle`]), which `cosign` reads and writes. It is
//! made by a key, or by a short-lived certificate for an identity that an issuer vouches for (keyless), whose use a transparency log
//! or a time stamp proves. What proves it is in the bundle, and whom to believe in the operator's trust root ([`TrustRoot`]), so
//! nothing is asked of any server.
//!
//! [`Policy`] is `/etc/weir/plugin-policy.yaml`: which [`Signer`] may provide which plugins, and what else may be installed.
//! [`Policy::admit`] decides about a [`Candidate`].
//!
//! Who made a bundle is not trusted: it is bounded in size, has one signature, and what it says of itself is believed only after
//! the signature is verified. This crate installs nothing, and is not a part of an ADD.
//!
//! # Example
//!
//! ```
//! use weir_signature::{Bundle, PublicKey, SigningKey, Subject};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let key = SigningKey::generate()?;
//! let component = Subject::new("labels.wasm", b"\0asm\x0d\0\x01\0");
//! let signature = key.sign(&[component])?;
//!
//! let bundle = Bundle::read(&signature)?;
//! bundle.verify_key(&[component], &key.public()?)?;
//! let other = Subject::new("labels.wasm", b"another component");
//! assert!(bundle.verify_key(&[other], &key.public()?).is_err());
//! # Ok(())
//! # }
//! ```

mod admission;
mod bundle;
mod crypto;
mod digest;
mod error;
mod key;
mod policy;
mod statement;
mod subject;
mod trust_root;

#[cfg(test)]
mod tests;

pub use admission::{Admitted, Candidate};
pub use bundle::{Bundle, MOST_BUNDLE};
pub use error::{Error, Invalid, Result};
pub use key::{PublicKey, SigningKey};
pub use policy::{By, Identity, Keyless, Policy, Signer};
pub use statement::PREDICATE;
pub use subject::Subject;
pub use trust_root::TrustRoot;
