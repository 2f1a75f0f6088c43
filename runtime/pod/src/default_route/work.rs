//! The moves, one after another: what goes, and what comes in its place.

use std::sync::Arc;
use std::time::Instant;

use ipnet::IpNet;
use weir_cni::Error;
use weir_grant::address::Family;
use weir_grant::{Limits, route};
use weir_kernel::{self as kernel, Linux, Namespaces};
use weir_network::Attachment;
use weir_sandbox::Sandbox;

use super::Made;
use super::interface::{self, Interface, failed};
use super::plan::{Move, Winner, everywhere};
use super::table::Table;

/// The metric that IPv6 gives to a route without one (`IP6_RT_PRIO_USER`).
const DEFAULT_PRIORITY_OF_IPV6: u32 = 1024;

/// The origin of what a router's advertisement brings, and takes away again (`RTPROT_RA`).
const FROM_ADVERTISEMENT: u8 = 9;

/// What is done in one container.
pub(super) struct Work {
    table: Table,
}

impl Work {
    /// Looks which interfaces there are. Errors: code 8 without a namespace.
    pub(super) fn begin(
        sandbox: &Arc<Sandbox>,
        attachment: &Attachment,
        made: &[Made],
    ) -> Result<Self, Error> {
        let Some(namespace) = attachment.namespace() else {
            return Err(Error::invalid_netns(
                "default-route: the container has no network namespace",
            ));
        };
        let namespace = namespace.try_clone();
        let namespace =
            namespace.map_err(|e| Error::internal(format!("no descriptor is left: {e}")))?;
        let deadline = Instant::now() + Limits::MOST_TIME;
        let namespaces = Namespaces::new(Some(namespace));
        let mut kernel = Linux::new(namespaces, sandbox.paths().clone(), deadline);
        let interfaces = interface::of_all(sandbox, attachment, kernel.namespaces(), made)?;
        Ok(Self {
            table: Table::new(kernel, interfaces),
        })
    }

    /// Whether the winner reaches the gateways, before anything is changed.
    pub(super) fn check(&mut self, made: &[Made], one: &Move) -> Result<(), Error> {
        let Some(winner) = &one.winner else {
            return Ok(());
        };
        let made = &made[winner.place];
        let at = self.winning_interface(made, winner)?;
        let reach = self
            .table
            .reach(at)
            .map_err(|e| failed(made, &e.to_string()))?;
        let faulty = winner
            .gateways
            .iter()
            .find_map(|gateway| Some((gateway, reach.fault(*gateway)?)));
        let Some((gateway, fault)) = faulty else {
            return Ok(());
        };
        let down = if self.table.interfaces()[at].up {
            ""
        } else {
            " and is down"
        };
        let why = format!(
            "gateway {gateway} {fault}: `{}` has {}{down}",
            made.ifname,
            reach.shown()
        );
        Err(failed(made, &why).with_details(
            "name a router in a network of the interface's own addresses, or one to which the network \
             has a route without a gateway",
        ))
    }

    /// Takes the default routes away, and gives the winner the one that is wanted.
    ///
    /// Errors: code 237; code 5 where what is to be done cannot be recorded.
    pub(super) fn carry_out(&mut self, made: &[Made], one: &Move) -> Result<(), Error> {
        let moved = self.move_routes(made, one);
        moved.map_err(|error| self.recorded().err().unwrap_or(error))
    }

    fn move_routes(&mut self, made: &[Made], one: &Move) -> Result<(), Error> {
        let mut wanted = match &one.winner {
            Some(winner) => Some(self.wanted(made, winner)?),
            None => None,
        };
        for at in 0..self.table.interfaces().len() {
            let of = &made[self.table.interfaces()[at].place];
            let explain = |e: kernel::Error| failed(of, &e.to_string());
            if one.family == Family::Ipv6 && !one.is_won_by(self.table.interfaces()[at].place) {
                self.table.refuse_advertised(at).map_err(explain)?;
            }
            for found in self.table.default_routes(at, one.family).map_err(explain)? {
                match &wanted {
                    Some((winner, route)) if *winner == at && is_like(&found, route) => {
                        wanted = None;
                    }
                    _ => self.table.delete(at, found).map_err(explain)?,
                }
            }
        }
        if let (Some((at, route)), Some(winner)) = (wanted, &one.winner) {
            let explain = |e| failed(&made[winner.place], &refused(winner, &e));
            self.table.add(at, route).map_err(explain)?;
        }
        Ok(())
    }

    /// Errors: code 5 where what was done is not in the audit log.
    pub(super) fn recorded(&self) -> Result<(), Error> {
        match self.table.audit_failure() {
            None => Ok(()),
            Some(why) => Err(Error::io_failure(format!(
                "default-route: what was done cannot be recorded in the audit log: {why}"
            ))),
        }
    }

    /// Whether anything in the kernel is other than it was.
    pub(super) fn has_changed(&self) -> bool {
        self.table.has_changed()
    }

    /// Puts everything back. Returns the error, with what is not back.
    pub(super) fn give_up(&mut self, error: Error) -> Error {
        let mut details = vec![error.details.clone()];
        let left = self.table.put_back().into_iter();
        details.extend(left.map(|why| format!("not put back: {why}")));
        details.retain(|detail| !detail.is_empty());
        error.with_details(details.join("; "))
    }

    fn winning_interface(&self, made: &Made, winner: &Winner) -> Result<usize, Error> {
        let is_it = |interface: &Interface| {
            interface.place == winner.place && interface.link.name == made.ifname
        };
        self.table.interfaces().iter().position(is_it).ok_or_else(|| {
            let why = format!("interface `{}` is not there", made.ifname);
            failed(made, &why).with_details(
                "the network's plugins made no interface, so that no route can lead through it: take \
                 the key from this attachment",
            )
        })
    }

    /// The winner's interface, and the route through it.
    fn wanted(&self, made: &[Made], winner: &Winner) -> Result<(usize, route::Route), Error> {
        let at = self.winning_interface(&made[winner.place], winner)?;
        let link = || Some(self.table.interfaces()[at].link.clone());
        let first = winner.gateways[0];
        let to = everywhere(Family::of(&first));
        let mut route = route::Route::unicast(to);
        if winner.gateways.len() == 1 {
            (route.gateway, route.link) = (Some(first), link());
        } else {
            let hops = winner.gateways.iter().map(|gateway| route::NextHop {
                gateway: Some(*gateway),
                link: link(),
                weight: 1,
                on_link: false,
            });
            route.next_hops = hops.collect();
        }
        Ok((at, route))
    }
}

/// Whether a route that is there is the wanted one, and stays when nobody renews it.
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

/// What the kernel answered, about which gateways.
fn refused(winner: &Winner, error: &kernel::Error) -> String {
    let gateways: Vec<String> = winner.gateways.iter().map(ToString::to_string).collect();
    format!("by {}: {error}", gateways.join(" and "))
}
