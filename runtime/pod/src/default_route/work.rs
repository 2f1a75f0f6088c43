//! Carrying out the moves of default routes.

use std::sync::Arc;
use std::time::Instant;

use ipnet::IpNet;
use weir_cni::{Code, Error};
use weir_grant::address::Family;
use weir_grant::{Limits, route};
use weir_kernel::{self as kernel, Linux};
use weir_network::Attachment;
use weir_sandbox::Sandbox;

use super::Attached;
use super::interface::{self, Interface, failed};
use super::plan::{Move, Winner, everywhere};
use super::table::Table;

/// The metric that IPv6 gives to a route without one (`IP6_RT_PRIO_USER`).
const DEFAULT_PRIORITY_OF_IPV6: u32 = 1024;

/// The origin of routes from a router's advertisement (`RTPROT_RA`).
const FROM_ADVERTISEMENT: u8 = 9;

impl Table {
    /// Finds the interfaces. Errors: code 8 without a namespace.
    pub(super) fn begin(
        sandbox: &Arc<Sandbox>,
        attachment: &Attachment,
        attached: &[Attached],
    ) -> Result<Self, Error> {
        if attachment.namespace().is_none() {
            return Err(Error::new(
                Code::INVALID_NETNS,
                "default-route: the container has no network namespace",
            ));
        }
        let deadline = Instant::now() + Limits::MOST_TIME;
        let namespaces = attachment.namespaces()?;
        let mut kernel = Linux::new(namespaces, sandbox.paths().clone(), deadline);
        let interfaces = interface::of_all(sandbox, attachment, kernel.namespaces(), attached)?;
        Ok(Self::new(kernel, interfaces))
    }

    /// Checks that the winner reaches the gateways, before anything is changed.
    pub(super) fn check(&mut self, attached: &[Attached], one: &Move) -> Result<(), Error> {
        let Some(winner) = &one.winner else {
            return Ok(());
        };
        let attached = &attached[winner.index];
        let at = self.winning_interface(attached, winner)?;
        let reach = self.reach(at);
        let reach = reach.map_err(|e| failed(attached, &e.to_string()))?;
        let gateway = winner.gateway;
        let Some(fault) = reach.fault(gateway) else {
            return Ok(());
        };
        let is_up = self.interfaces[at].up;
        let down = if is_up { "" } else { " and is down" };
        let why = format!(
            "gateway {gateway} {fault}: `{}` has {}{down}",
            attached.ifname,
            reach.shown()
        );
        Err(failed(attached, &why).with_details(
            "name a router in a network of the interface's own addresses, or one to which the network \
             has a route without a gateway",
        ))
    }

    /// Removes the default routes, and adds the wanted one.
    ///
    /// Errors: code 237; code 5 if it cannot be recorded.
    pub(super) fn carry_out(&mut self, attached: &[Attached], one: &Move) -> Result<(), Error> {
        let moved = self.move_routes(attached, one);
        moved.map_err(|error| self.recorded().err().unwrap_or(error))
    }

    fn move_routes(&mut self, attached: &[Attached], one: &Move) -> Result<(), Error> {
        let mut wanted = match &one.winner {
            Some(winner) => Some(self.wanted(attached, winner)?),
            None => None,
        };
        for at in 0..self.interfaces.len() {
            let of = &attached[self.interfaces[at].index];
            let explain = |e: kernel::Error| failed(of, &e.to_string());
            if one.family == Family::Ipv6 && !one.is_won_by(self.interfaces[at].index) {
                self.refuse_advertised(at).map_err(explain)?;
            }
            for found in self.default_routes(at, one.family).map_err(explain)? {
                match &wanted {
                    Some((winner, route)) if *winner == at && is_like(&found, route) => {
                        wanted = None;
                    }
                    _ => self.delete(at, found).map_err(explain)?,
                }
            }
        }
        if let (Some((at, route)), Some(winner)) = (wanted, &one.winner) {
            let explain = |e: kernel::Error| {
                failed(
                    &attached[winner.index],
                    &format!("by {}: {e}", winner.gateway),
                )
            };
            self.add(at, route).map_err(explain)?;
        }
        Ok(())
    }

    /// Errors: code 5 if a change is not in the audit log.
    pub(super) fn recorded(&mut self) -> Result<(), Error> {
        let mut gates = self
            .interfaces
            .iter_mut()
            .map(|interface| &mut interface.gate);
        let Some(why) = gates.find_map(|gate| gate.audit_failure()) else {
            return Ok(());
        };
        let msg = format!("default-route: the changes cannot be recorded in the audit log: {why}");
        Err(Error::io_failure(msg))
    }

    /// Undoes everything. Returns the error, with what could not be undone in its details.
    pub(super) fn give_up(&mut self, error: Error) -> Error {
        let left = self.put_back().into_iter();
        error.and_details(left.map(|why| format!("not undone: {why}")))
    }

    fn winning_interface(&self, attached: &Attached, winner: &Winner) -> Result<usize, Error> {
        let is_it = |interface: &Interface| {
            interface.index == winner.index && interface.link.name == attached.ifname
        };
        self.interfaces.iter().position(is_it).ok_or_else(|| {
            let why = format!("interface `{}` does not exist", attached.ifname);
            failed(attached, &why).with_details(
                "the network's plugins made no interface that a route could use: remove the key from this \
                 attachment",
            )
        })
    }

    /// The winner's interface, and the route through it.
    fn wanted(
        &self,
        attached: &[Attached],
        winner: &Winner,
    ) -> Result<(usize, route::Route), Error> {
        let at = self.winning_interface(&attached[winner.index], winner)?;
        let to = everywhere(Family::of(&winner.gateway));
        let route = route::Route {
            gateway: Some(winner.gateway),
            link: Some(self.interfaces[at].link.clone()),
            ..route::Route::unicast(to)
        };
        Ok((at, route))
    }
}

/// Whether an existing route is the wanted one, and will not expire.
fn is_like(found: &route::Route, wanted: &route::Route) -> bool {
    let default = match found.destination {
        IpNet::V4(_) => 0,
        IpNet::V6(_) => DEFAULT_PRIORITY_OF_IPV6,
    };
    let stays = found.protocol != Some(FROM_ADVERTISEMENT);
    let like = route::Route {
        scope: None,
        protocol: None,
        priority: found.priority.filter(|priority| *priority != default),
        ..found.clone()
    };
    stays && like == *wanted
}
