//! Capability `neighbour`: entries that somebody has set.

use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::address::Family;
use weir_grant::link::LinkFacts;
use weir_grant::neighbour::{Add, Announce, Delete, List, Neighbour, State};
use weir_kernel::{Answer, Changes, Perform, Result};

use super::error::refused;
use super::kernel::Model;
use super::link;

impl Perform<Add> for Model {
    fn perform(&mut self, permit: &Permit<Add>, changes: &mut Changes<'_>) -> Result<()> {
        let add = permit.operation();
        let was_set = self.change(|machine| {
            let network = machine.state.of(add.link.namespace)?;
            link::find(network, &add.link)?;
            let entries = &mut network.neighbours;
            let before = entries.iter().position(|(link, entry)| {
                let is_same = (entry.address, entry.proxy) == (add.address, add.proxy);
                *link == add.link.index && is_same
            });
            let before = before.map(|at| entries.remove(at).1);
            entries.push((add.link.index, entry(add)));
            Ok(before.is_some_and(|entry| lasts(&entry)))
        })?;
        if !was_set {
            changes.undo_with(add.inverse());
        }
        Ok(())
    }
}

fn entry(add: &Add) -> Neighbour {
    Neighbour {
        address: add.address,
        mac: add.mac.clone().filter(|_| !add.proxy),
        state: if add.proxy {
            State::Permanent
        } else {
            add.state
        },
        proxy: add.proxy,
    }
}

fn lasts(entry: &Neighbour) -> bool {
    entry.proxy || matches!(entry.state, State::Permanent | State::Noarp)
}

impl Answer<Delete> for Model {
    fn answer(&mut self, permit: &Permit<Delete>) -> Result<()> {
        let Delete {
            link: of,
            address,
            proxy,
        } = permit.operation();
        self.change(|machine| {
            let network = machine.state.of(of.namespace)?;
            link::find(network, of)?;
            let find = |proxy| {
                network.neighbours.iter().position(|(link, entry)| {
                    (*link, entry.address, entry.proxy) == (of.index, *address, proxy)
                })
            };
            let at = match proxy {
                Some(proxy) => find(*proxy),
                None => find(false).or_else(|| find(true)),
            };
            let doing = format_args!("remove neighbour {address} from {of}");
            let at = at.ok_or_else(|| refused(Errno::ENOENT, doing))?;
            network.neighbours.remove(at);
            Ok(())
        })
    }
}

impl Answer<List, Vec<Neighbour>> for Model {
    fn answer(&mut self, permit: &Permit<List>) -> Result<Vec<Neighbour>> {
        let List { link: of, family } = permit.operation();
        self.look(|state| {
            let network = state.of(of.namespace)?;
            link::find(network, of)?;
            let its = network.neighbours.iter().filter(|(link, entry)| {
                *link == of.index && family.is_none_or(|f| f == Family::of(&entry.address))
            });
            Ok(its.map(|(_, entry)| entry.clone()).collect())
        })
    }
}

/// Nobody hears it. Errors: `NotFound` for a link that is gone.
impl Answer<Announce> for Model {
    fn answer(&mut self, permit: &Permit<Announce>) -> Result<()> {
        let of: &LinkFacts = &permit.operation().link;
        self.look(|state| link::find(state.of(of.namespace)?, of).map(drop))
    }
}
