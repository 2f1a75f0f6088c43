//! One plugin carried out for one attachment: what a standard CNI binary does.

use std::path::PathBuf;
use std::sync::Arc;

use weir_cni::{AddResult, Command, Error, PluginConfig};
use weir_sandbox::{Request, Sandbox};

use super::attachment::Attachment;
use super::in_order::AddFailed;
use super::native::NativeIpam;
use super::source::Source;
use super::uris;

/// Runs `plugin` with an execution configuration. Only ADD has a result. Its IPAM plugin may be a native one of `bin_dirs`,
/// if there are any.
///
/// Errors: the plugin's own and the sandbox's; code 6 or 7 for a configuration whose `name` or
/// `prevResult` cannot be used; `sandbox::codes::NOT_FETCHED` or `REFUSED_URI` for the URI of an IPAM plugin, unless there is
/// nothing to do.
pub fn run_plugin(
    sandbox: &Arc<Sandbox>,
    plugin: &str,
    command: Command,
    attachment: &Attachment,
    config: &PluginConfig,
    source: &Source,
    bin_dirs: &[PathBuf],
) -> Result<Option<AddResult>, AddFailed> {
    let named = match uris::of_call(sandbox.catalogue(), config, source) {
        Err(_) if uris::has_nothing_to_do(command, config) => return Ok(None),
        named => named?,
    };
    let config = named.as_ref().unwrap_or(config);
    let request = Request {
        command,
        container_id: attachment.container_id.clone(),
        ifname: attachment.ifname.clone(),
        network: config.network_name()?.to_owned(),
        definition: source.definition.clone(),
        requested_by_pod: source.requested_of(config),
        args: attachment.args.pairs().to_vec(),
        pod: attachment.args.pod().full_name(),
        config: config.to_shared_map(),
        previous: previous(command, config)?,
        sandbox: attachment.netns.clone(),
        container: attachment.namespace(),
        valid_attachments: config.valid_attachments().unwrap_or_default().to_vec(),
    };
    if bin_dirs.is_empty() {
        return Ok(sandbox.run(plugin, &request, None)?);
    }
    let definition = source.definition.as_deref();
    let ipam = Arc::new(NativeIpam::new(
        sandbox, bin_dirs, attachment, config, definition,
    )?);
    let ran = sandbox.run(plugin, &request, Some(ipam.clone()));
    ran.map_err(|error| AddFailed {
        error,
        owed: usize::from(command == Command::Add && ipam.may_have_left()),
    })
}

/// The previous result. DEL must continue if it cannot be read, and CHECK must not continue without one (CNI section 2).
fn previous(command: Command, config: &PluginConfig) -> Result<Option<AddResult>, Error> {
    match (command, config.prev_result()) {
        (Command::Del, Err(_)) => Ok(None),
        (Command::Check, Ok(None)) => Err(Error::invalid_config(
            "prevResult: missing; CHECK needs the result of ADD",
        )),
        (_, previous) => previous,
    }
}
