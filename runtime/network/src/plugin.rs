//! One plugin carried out for one attachment: what a standard CNI binary does.

use std::sync::Arc;

use weir_cni::{AddResult, Command, Error, PluginConfig};
use weir_sandbox::{Request, Sandbox};

use super::attachment::Attachment;
use super::source::Source;

/// Runs `plugin` with an execution configuration. Only ADD has a result.
///
/// Errors: the plugin's own and the sandbox's; code 6 or 7 for a configuration whose `name` or
/// `prevResult` cannot be used.
pub fn run_plugin(
    sandbox: &Arc<Sandbox>,
    plugin: &str,
    command: Command,
    attachment: &Attachment,
    config: &PluginConfig,
    source: &Source,
) -> Result<Option<AddResult>, Error> {
    let request = Request {
        command,
        container_id: attachment.container_id.clone(),
        ifname: attachment.ifname.clone(),
        network: config.network_name()?.to_owned(),
        definition: source.definition.clone(),
        asked_by_pod: source.asked_of(config),
        args: attachment.args.pairs().to_vec(),
        pod: attachment.args.pod().full_name(),
        config: config.as_map().clone(),
        previous: previous(command, config)?,
        sandbox: attachment.netns.clone(),
        container: attachment.namespace(),
        valid_attachments: config.valid_attachments().unwrap_or_default().to_vec(),
    };
    sandbox.run(plugin, &request)
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
