//! Plugins as OCI artifacts: pushed to and pulled from a registry, saved as an image layout and loaded from one.
//!
//! Floor 7, beside `weir-pod`. A component becomes an [`Artifact`] of the layout that the WebAssembly working group of the CNCF
//! describes, which `wkg`, `oras`, `skopeo` and the pages of registries read: a configuration
//! (`application/vnd.wasm.config.v0+json`) with the names that the component imports, and one layer (`application/wasm`), the
//! component. So what a plugin requests can be read without the component ([`Description`]). [`Registry`] moves artifacts,
//! [`save`] and [`load`] are for nodes without a network.
//!
//! Registries, the authors of archives and the network between are not trusted: what is read is bounded in size and time, every
//! digest and size is checked, an index is never followed, and a secret is sent only to the server that it is for.
//!
//! This crate does not know what a component is, and must not run one, install one or decide whether one may be installed. It
//! writes only the files that its caller names, and has no part in an ADD.
//!
//! # Example
//!
//! ```
//! use weir_distribution::{Artifact, Interface, Metadata, Reference, load, save};
//! use weir_grant::Capability;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let reference: Reference = "registry.example.com/plugins/labels:1.2.0".parse()?;
//! assert_eq!(reference.name(), "labels");
//!
//! let component = b"\0asm\x0d\0\x01\0".to_vec();
//! let interface = Interface {
//!     imports: vec!["weir:cni/link@0.2.0".to_owned()],
//!     ..Interface::default()
//! };
//! let metadata = Metadata {
//!     name: "labels".to_owned(),
//!     ..Metadata::default()
//! };
//! let artifact = Artifact::new(component, interface, &metadata)?;
//!
//! # let directory = tempfile::tempdir()?;
//! # let archive = directory.path().join("labels.tar");
//! save(&artifact, &reference, &archive)?;
//! let loaded = load(&archive)?;
//! assert_eq!(loaded.digest(), artifact.digest());
//! assert!(loaded.description.capabilities().contains(&Capability::Link));
//! # Ok(())
//! # }
//! ```

mod artifact;
mod authorization;
mod blocking;
mod bundles;
mod client;
mod config;
mod connection;
mod credentials;
mod download;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod layout;
mod manifest;
mod options;
mod reference;
mod referrers;
mod registry;
mod session;
mod signatures;
mod tls;

#[cfg(test)]
mod tests;

pub use artifact::{Artifact, Description, GRANT, Metadata, OWN_ANNOTATIONS};
pub use bundles::Signatures;
pub use config::{Config, Interface};
pub use connection::Limits;
pub use credentials::Source as CredentialSource;
pub use download::{Download, download};
pub use error::{Error, Result, ServerUrl, Text};
pub use layout::{load, save};
pub use manifest::{BUNDLE, Descriptor, Manifest, digest};
pub use options::Options;
pub use reference::{Reference, Version};
pub use registry::Registry;
