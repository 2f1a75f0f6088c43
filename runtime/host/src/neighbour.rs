//! Capability `neighbour`: from the contract to the gate and the kernel.

use weir_grant::neighbour;
use weir_kernel::{Broker, Error};

use super::bindings::weir::cni::neighbour::{Host as Contract, Neighbour, State};
use super::bindings::weir::cni::types::{IpAddress, IpFamily, LinkReference, Namespace};
use super::convert::mac;
use super::facts::identify;

impl Contract for Broker {
    fn add(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        entry: Neighbour,
    ) -> Result<(), Error> {
        let operation = neighbour::Add {
            link: identify(self, namespace, &link)?,
            address: entry.address.into(),
            mac: entry.mac.map(mac).transpose()?,
            state: entry.state.into(),
            proxy: entry.proxy,
        };
        self.perform(operation)
    }

    fn delete(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        address: IpAddress,
    ) -> Result<(), Error> {
        let operation = neighbour::Delete {
            link: identify(self, namespace, &link)?,
            address: address.into(),
            proxy: None,
        };
        self.perform(operation)
    }

    fn list(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        family: Option<IpFamily>,
    ) -> Result<Vec<Neighbour>, Error> {
        let operation = neighbour::List {
            link: identify(self, namespace, &link)?,
            family: family.map(Into::into),
        };
        let entries = self.perform(operation)?;
        Ok(entries.into_iter().map(Into::into).collect())
    }

    fn announce(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        addresses: Vec<IpAddress>,
    ) -> Result<(), Error> {
        let operation = neighbour::Announce {
            link: identify(self, namespace, &link)?,
            addresses: addresses.into_iter().map(Into::into).collect(),
        };
        self.perform(operation)
    }
}

impl From<State> for neighbour::State {
    fn from(state: State) -> Self {
        match state {
            State::Incomplete => Self::Incomplete,
            State::Reachable => Self::Reachable,
            State::Stale => Self::Stale,
            State::Delay => Self::Delay,
            State::Probe => Self::Probe,
            State::Failed => Self::Failed,
            State::Noarp => Self::Noarp,
            State::Permanent => Self::Permanent,
        }
    }
}

impl From<neighbour::State> for State {
    fn from(state: neighbour::State) -> Self {
        match state {
            neighbour::State::Incomplete => Self::Incomplete,
            neighbour::State::Reachable => Self::Reachable,
            neighbour::State::Stale => Self::Stale,
            neighbour::State::Delay => Self::Delay,
            neighbour::State::Probe => Self::Probe,
            neighbour::State::Failed => Self::Failed,
            neighbour::State::Noarp => Self::Noarp,
            neighbour::State::Permanent => Self::Permanent,
        }
    }
}

impl From<neighbour::Neighbour> for Neighbour {
    fn from(entry: neighbour::Neighbour) -> Self {
        Self {
            address: entry.address.into(),
            mac: entry.mac.map(|mac| mac.0),
            state: entry.state.into(),
            proxy: entry.proxy,
        }
    }
}
