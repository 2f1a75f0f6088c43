//! The delegating plugin, `"type": "weir"`: runs the networks of its own `delegates` key in order.

use std::sync::Arc;

use serde_json::Value;
use weir_cni::{AddResult, Command, Error, NetworkConfigList, PluginConfig};

use super::attachment::Attachment;
use super::list::Network;
use crate::sandbox::Sandbox;

/// The networks of one execution of the delegating plugin.
pub struct Delegates {
    networks: Vec<Network>,
}

impl Delegates {
    /// Reads the `delegates` of a configuration: a list of networks, each a network configuration
    /// list or one plugin's configuration. A network without a name or version of its own has the
    /// delegating plugin's.
    ///
    /// Errors: code 7, naming the delegate.
    pub fn read(sandbox: &Arc<Sandbox>, config: &PluginConfig) -> Result<Self, Error> {
        let missing = || {
            Error::invalid_config("delegates: missing; it lists the networks to attach, in order")
        };
        let delegates = config.get("delegates").ok_or_else(missing)?;
        let delegates = delegates.as_array().ok_or_else(|| {
            Error::invalid_config("delegates: not a list of network configurations")
        })?;
        if delegates.is_empty() {
            return Err(missing());
        }
        let capability_args = config.runtime_config().cloned().unwrap_or_default();
        let networks = delegates.iter().enumerate().map(|(index, delegate)| {
            let list = read_one(config, delegate)
                .map_err(|e| e.with_prefix(format_args!("delegates[{index}]")))?;
            Ok(Network::new(sandbox, list, capability_args.clone()))
        });
        Ok(Self {
            networks: networks.collect::<Result<_, Error>>()?,
        })
    }

    /// Carries out one command for all networks. Only ADD has a result: the first network's.
    ///
    /// ADD goes in order, and when a network fails those before it are deleted again. DEL goes in
    /// reverse order and past failures.
    pub fn run(
        &self,
        command: Command,
        attachment: &Attachment,
        valid_attachments: &[weir_cni::Attachment],
    ) -> Result<Option<AddResult>, Error> {
        match command {
            Command::Add => self.add(attachment).map(Some),
            Command::Del => self.del(attachment, self.networks.len()).map(|()| None),
            Command::Check => self.each(|network, n| network.check(&interface(attachment, n))),
            Command::Status => self.each(|network, _| network.status()),
            Command::Gc => self.each(|network, _| network.gc(valid_attachments)),
            Command::Version => Ok(None),
        }
    }

    fn add(&self, attachment: &Attachment) -> Result<AddResult, Error> {
        let mut first: Option<AddResult> = None;
        for (n, network) in self.networks.iter().enumerate() {
            match network.add(&interface(attachment, n)) {
                Ok(result) => {
                    first.get_or_insert(result);
                }
                Err(error) => {
                    // The reason is the failed ADD; what DEL could not undo is in the log.
                    let _ = self.del(attachment, n);
                    return Err(error);
                }
            }
        }
        first.ok_or_else(|| Error::internal("there is no delegate"))
    }

    /// Deletes the first `count` networks, the last of them first.
    fn del(&self, attachment: &Attachment, count: usize) -> Result<(), Error> {
        let mut failure = Ok(());
        for (n, network) in self.networks.iter().enumerate().take(count).rev() {
            let deleted = network.del(&interface(attachment, n));
            failure = failure.and(deleted);
        }
        failure
    }

    fn each(
        &self,
        act: impl Fn(&Network, usize) -> Result<(), Error>,
    ) -> Result<Option<AddResult>, Error> {
        for (n, network) in self.networks.iter().enumerate() {
            act(network, n)?;
        }
        Ok(None)
    }
}

/// The first network has the interface that the runtime names, the others `net1`, `net2`, ….
fn interface(attachment: &Attachment, n: usize) -> Attachment {
    match n {
        0 => attachment.clone(),
        n => attachment.with_ifname(format!("net{n}")),
    }
}

fn read_one(config: &PluginConfig, delegate: &Value) -> Result<NetworkConfigList, Error> {
    let mut delegate = delegate.clone();
    if let Some(delegate) = delegate.as_object_mut() {
        for key in ["name", "cniVersion"] {
            if let Some(own) = config.get(key).filter(|_| !delegate.contains_key(key)) {
                delegate.insert(key.to_owned(), own.clone());
            }
        }
    }
    let list = NetworkConfigList::from_value(delegate)?;
    match list.plugins.is_empty() {
        true => Err(Error::invalid_config("plugins: missing")),
        false => Ok(list),
    }
}
