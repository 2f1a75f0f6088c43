//! weir as the delegating plugin: one command for all networks of a pod.

use std::sync::Arc;

use weir_cni::{AddResult, Command, Environment, Error, PluginConfig};
use weir_network::Attachment;
use weir_sandbox::Sandbox;

use super::configuration::Level;
use super::delegating_call::DelegatingCall;
use super::{attach, check, collect, detach, status_command};

/// Carries out one command. Only ADD has a result: that of the cluster-wide default network (section 6).
///
/// Errors: those of the configuration, of [`codes`](super::codes), and of the networks' plugins.
pub fn run(
    sandbox: &Arc<Sandbox>,
    config: &PluginConfig,
    environment: &Environment,
    attachment: &Attachment,
) -> Result<Option<AddResult>, Error> {
    let call = DelegatingCall::new(sandbox, config, environment, attachment)?;
    let outcome = carry_out(&call, environment.command, attachment);
    if let Err(error) = &outcome {
        call.journal.write(Level::Error, &error.to_string());
    }
    outcome
}

fn carry_out(
    call: &DelegatingCall<'_>,
    command: Command,
    attachment: &Attachment,
) -> Result<Option<AddResult>, Error> {
    match command {
        Command::Add => attach::attach(call, attachment).map(Some),
        Command::Del => detach::detach(call, attachment).map(|()| None),
        Command::Check => check::check(call, attachment).map(|()| None),
        Command::Status => status_command::status(call).map(|()| None),
        Command::Gc => collect::collect(call).map(|()| None),
        Command::Version => Ok(None),
    }
}
