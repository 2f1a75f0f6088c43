//! Authorises an operation, records it, and issues the permit for carrying it out.
//!
//! Every privileged act of a plugin goes through [`Gate::perform`]: the functions of the kernel layer take a [`Permit`],
//! which only this crate makes. So the compiler checks that every act was authorised and recorded. A change is in the
//! [`Audit`] log before it is made; its outcome follows with the next record.
//!
//! This crate is below the kernel layer and does not depend on it: the facts that a decision needs come with the
//! operation. It must not carry out an operation itself, read a grant from disk, or make a permit for anything but the
//! operation that it has just authorised. The only files that it writes are the audit log and the head of its
//! [`chain`]; of weir's configuration it reads whether the log is forwarded, and
//! which interfaces of the host networks may use.
//!
//! # Example
//!
//! ```
//! use weir_gate::{Audit, Gate, Permit, Refusal, Subject};
//! use weir_grant::sysctl::Write;
//! use weir_grant::{Capabilities, Invocation, Namespace};
//!
//! /// A function of the kernel layer: it does what its permit says.
//! fn write(permit: &Permit<Write>) -> Result<String, Refusal> {
//!     let Write { key, value, .. } = permit.operation();
//!     Ok(format!("{key} = {value}"))
//! }
//!
//! let capabilities: Capabilities = serde_json::from_str(
//!     r#"{ "sysctl": [{ "namespace": "container", "keys": ["net.ipv4.conf.*.arp_notify"], "verbs": ["write"] }] }"#,
//! )
//! .expect("rules of a grant");
//! let audit = Audit::nowhere(Subject { command: "ADD".into(), ..Subject::default() });
//! let mut gate = Gate::new(capabilities, Invocation::default(), audit);
//!
//! let operation = |key: &str| Write {
//!     namespace: Namespace::Container,
//!     key: key.into(),
//!     value: "1".into(),
//!     owner: String::new(),
//! };
//! let done = gate.perform(operation("net.ipv4.conf.eth0.arp_notify"), write);
//! assert_eq!(done.as_deref(), Ok("net.ipv4.conf.eth0.arp_notify = 1"));
//!
//! let denied = gate.perform(operation("net.ipv4.ip_forward"), write);
//! assert!(matches!(denied, Err(Refusal::Denied(_))));
//! ```

mod audit;
pub mod chain;
mod configuration;
mod event;
mod gate;
mod head;
mod outcome;
mod permit;
mod refusal;
mod subject;
mod text;
mod user;

pub use audit::{Audit, AuditSettings, Log, MOST_RECORDED, Receiver, RunsAnother, SCHEMA};
pub use configuration::host_interfaces;
pub use event::{EVENT_CAPABILITIES, EVENTS, Event, GRANT_CHANGE};
pub use gate::Gate;
pub use head::Head;
pub use outcome::Outcome;
pub use permit::Permit;
pub use refusal::{Denied, Refusal};
pub use subject::Subject;
pub use text::escape;
pub use user::User;
