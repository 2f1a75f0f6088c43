//! Native IPAM plugins, which run for a main plugin that is a component: CNI section 4.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use weir_cni::{AddResult, Command, Error, PluginConfig};
use weir_sandbox::codes::NO_PLUGIN;
use weir_sandbox::{NativeIpamCall, RunNativeIpam, Sandbox};

use super::call::NativeCall;
use super::found::Found;
use super::run::Run;
use crate::attachment::Attachment;
use crate::codes;
use crate::in_order::AddFailed;

/// The key of a main plugin's configuration that names its IPAM plugin.
const KEY: &str = "ipam.type";

/// The native IPAM plugin of one invocation of a main plugin.
pub(crate) struct NativeIpam {
    sandbox: Arc<Sandbox>,
    /// `CNI_PATH`, or the directories that a configuration names.
    bin_dirs: Vec<PathBuf>,
    attachment: Attachment,
    /// The main plugin's, which is the IPAM plugin's as well.
    config: PluginConfig,
    network: String,
    /// The network's NetworkAttachmentDefinition, if it has one.
    definition: Option<String>,
    state: State,
}

/// What the runs of an invocation have in common.
#[derive(Default)]
struct State {
    /// Read once, so that the DEL that takes an ADD back runs the same program under the same listing.
    found: OnceLock<Result<Found, Error>>,
    may_be_left: AtomicBool,
}

impl NativeIpam {
    /// Runs the IPAM plugin of an invocation with this configuration. Errors: code 7 for one without a name.
    pub(crate) fn new(
        sandbox: &Arc<Sandbox>,
        bin_dirs: &[PathBuf],
        attachment: &Attachment,
        config: &PluginConfig,
        definition: Option<&str>,
    ) -> Result<Self, Error> {
        Ok(Self {
            sandbox: Arc::clone(sandbox),
            bin_dirs: bin_dirs.to_vec(),
            attachment: attachment.clone(),
            network: config.network_name()?.to_owned(),
            config: config.clone(),
            definition: definition.map(str::to_owned),
            state: State::default(),
        })
    }

    /// Whether an ADD or a DEL of the program failed, so that something it assigned may be left.
    pub(crate) fn may_have_left(&self) -> bool {
        self.state.may_be_left.load(Ordering::Relaxed)
    }

    fn found(&self, plugin: &str) -> Result<&Found, Error> {
        let find = || Found::find(&self.sandbox, plugin, &self.bin_dirs);
        let found = self.state.found.get_or_init(find);
        found.as_ref().map_err(Clone::clone)
    }

    fn carry_out(&self, ipam_call: NativeIpamCall<'_>) -> Result<Option<AddResult>, AddFailed> {
        let call = NativeCall {
            plugin: ipam_call.plugin,
            command: ipam_call.command,
            attachment: &self.attachment,
            config: &self.config,
            network: &self.network,
            definition: self.definition.as_deref(),
        };
        let run = Run::new(&self.sandbox, call, self.found(ipam_call.plugin)?)?;
        run.until(ipam_call.latest)
            .checked_by(ipam_call.check)
            .carry_out()
    }
}

impl RunNativeIpam for NativeIpam {
    fn run(&self, ipam_call: NativeIpamCall<'_>) -> Result<Option<AddResult>, Error> {
        self.carry_out(ipam_call).map_err(|failed| {
            let (error, owed) = (failed.error, failed.owed);
            let is_of_choice = is_of_choice(&error);
            if owed > 0 || (ipam_call.command == Command::Del && !is_of_choice) {
                self.state.may_be_left.store(true, Ordering::Relaxed);
            }
            if is_of_choice {
                error.with_prefix(KEY)
            } else {
                error
            }
        })
    }
}

/// Whether an error is about the choice of the program: the key names it, and mostly nothing has run.
fn is_of_choice(error: &Error) -> bool {
    let of_choice = [
        NO_PLUGIN,
        codes::NOT_LISTED,
        codes::OTHER_DIGEST,
        codes::OTHER_NETWORK,
        codes::UNFIT,
    ];
    of_choice.contains(&error.code.0)
}
