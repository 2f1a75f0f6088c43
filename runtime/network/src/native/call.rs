//! One call of a native plugin: its operation, its gate, and its environment.

use weir_cni::{Command, Error, PluginConfig};
use weir_gate::{Audit, Gate, Subject};
use weir_grant::document::Digest;
use weir_grant::native::{Execute, NativePlugin};
use weir_grant::{Capabilities, Invocation};
use weir_host::Log;
use weir_kernel::exec::MOST_MESSAGES;
use weir_sandbox::Sandbox;
use weir_sandbox::codes::unrecorded;

use crate::attachment::Attachment;
use crate::source::MADE_BY;

/// `PATH` of native plugins.
pub const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// One call of a plugin, for one network.
#[derive(Clone, Copy)]
pub struct NativeCall<'a> {
    /// `type`.
    pub plugin: &'a str,
    pub command: Command,
    pub attachment: &'a Attachment,
    /// The execution configuration.
    pub config: &'a PluginConfig,
    pub network: &'a str,
    /// The network's NetworkAttachmentDefinition, if it has one. Listings then name the network by it.
    pub definition: Option<&'a str>,
}

impl NativeCall<'_> {
    pub(super) fn granted_as(&self) -> &str {
        self.definition.unwrap_or(self.network)
    }

    pub(super) fn operation(&self, command: Command, digest: &Digest) -> Execute {
        Execute {
            plugin: self.plugin.to_owned(),
            digest: digest.clone(),
            command: command.as_str().to_owned(),
        }
    }

    /// The gate for a program of this digest, by these listings, and the log for what the program prints.
    ///
    /// Errors: an ADD that cannot be recorded.
    pub(super) fn gate(
        &self,
        sandbox: &Sandbox,
        digest: &Digest,
        native: Vec<NativePlugin>,
    ) -> Result<(Gate, Log), Error> {
        let subject = Subject {
            command: self.command.as_str().into(),
            container_id: self.attachment.container_id.clone(),
            ifname: self.attachment.ifname.clone(),
            network: self.network.to_owned(),
            definition: self.definition.map(str::to_owned),
            pod: self.attachment.args.pod().full_name(),
            plugin: self.plugin.to_owned(),
            digest: digest.to_string(),
        };
        let invocation = Invocation::new(&subject.container_id, &subject.ifname, self.granted_as());
        let audit = sandbox.audit_log();
        if let (Command::Add, Some(why)) = (self.command, audit.failure()) {
            return Err(unrecorded(why));
        }
        let capabilities = Capabilities {
            native,
            ..Capabilities::default()
        };
        let most = MOST_MESSAGES as u64 * 8;
        let log = Log::new(sandbox.paths().log(), subject.for_log(), most);
        let gate = Gate::new(capabilities, invocation, Audit::new(subject, audit, false));
        Ok((gate, log))
    }

    /// The variables of CNI section 2, and where the configuration comes from.
    pub(super) fn environment(
        &self,
        command: Command,
        search: String,
    ) -> Vec<(&'static str, String)> {
        let attachment = self.attachment;
        let mut environment = vec![
            ("CNI_COMMAND", command.as_str().to_owned()),
            ("CNI_PATH", search),
        ];
        if command.is_about_attachment() {
            environment.extend([
                ("CNI_CONTAINERID", attachment.container_id.clone()),
                ("CNI_NETNS", attachment.netns.clone()),
                ("CNI_IFNAME", attachment.ifname.clone()),
                ("CNI_ARGS", attachment.args.to_string()),
            ]);
        }
        environment.retain(|(_, value)| !value.is_empty());
        // Empty for a configuration of the node's own.
        let definition = self.definition.unwrap_or_default();
        environment.push((MADE_BY, definition.to_owned()));
        environment
    }
}
