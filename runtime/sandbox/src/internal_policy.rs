//! What weir does on its own behalf: through the same gate as a plugin, and recorded in the same log.

use std::fs::File;
use std::sync::OnceLock;

use weir_cni::{Command, Error};
use weir_gate::{Gate, Subject};
use weir_grant::document::Digest;
use weir_grant::pattern::Pattern;
use weir_grant::{Capabilities, Invocation, internal_grant};

use super::installed::digest_of;
use super::sandbox::Sandbox;

/// The program of this process, even if its file was replaced.
const PROGRAM: &str = "/proc/self/exe";

impl Sandbox {
    /// A gate for what weir does itself to one interface of a container, with the grant that is fixed in the binary.
    /// `interfaces` are those of all attachments of the pod. Records name [`internal_grant::NAME`] as the plugin, and the digest of weir's
    /// program.
    ///
    /// Errors: code 5 when the program cannot be read.
    pub fn own_gate(
        &self,
        command: Command,
        invocation: Invocation,
        interfaces: &[String],
    ) -> Result<Gate, Error> {
        let interfaces = interfaces.iter().map(|name| Pattern::literal(name));
        let capabilities = internal_grant::capabilities(interfaces.collect());
        self.gate_with(capabilities, command, invocation)
    }

    /// The same for handing an attachment over to other plugins.
    pub fn handover_gate(&self, invocation: Invocation) -> Result<Gate, Error> {
        self.gate_with(internal_grant::handover(), Command::Del, invocation)
    }

    fn gate_with(
        &self,
        capabilities: Capabilities,
        command: Command,
        invocation: Invocation,
    ) -> Result<Gate, Error> {
        let subject = Subject {
            command: command.as_str().into(),
            container_id: invocation.container_id.clone(),
            ifname: invocation.ifname.clone(),
            network: invocation.network.clone(),
            plugin: internal_grant::NAME.to_owned(),
            digest: own_digest()?.to_string(),
            ..Subject::default()
        };
        Ok(Gate::new(capabilities, invocation, self.audit(subject)))
    }
}

/// SHA-256 of weir's program, which takes some milliseconds and is computed once in a process.
pub fn own_digest() -> Result<Digest, Error> {
    static DIGEST: OnceLock<Result<Digest, String>> = OnceLock::new();
    let digest = DIGEST.get_or_init(|| {
        let program = File::open(PROGRAM);
        let digest = program.and_then(|program| digest_of(&program));
        digest.map_err(|e| e.to_string())
    });
    digest.clone().map_err(|why| {
        Error::io_failure(format!(
            "cannot read `{PROGRAM}` to record its digest in the audit log: {why}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest;

    #[test]
    fn the_digest_is_that_of_the_running_program() {
        let program = std::env::current_exe().expect("a test has a path");
        let bytes = std::fs::read(program).expect("it can be read");
        assert_eq!(own_digest().expect("it can be read"), digest(&bytes));
    }
}
