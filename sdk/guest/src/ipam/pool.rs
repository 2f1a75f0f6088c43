//! The addresses of a network that are in use, and who holds them.
//!
//! They are kept in a store in the format of the reference plugin `host-local`, so that a network can change from one
//! IPAM plugin to another with its containers running. For each address in use the store has a key of its name
//! (`10.1.0.5`, `fd00::5`), whose value is the container id, a carriage return, a line feed and the interface's name. A
//! value of old versions is the container id alone. Any other key is the plugin's own.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use weir_cni::{AddResult, Attachment, Code, Error, IpConfig};

use crate::store::{self, Access, Location, Transaction};
use crate::{GcRequest, OperationError, Outcome, Request};

use super::codes;
use super::range::{Range, RangeSet};

/// The addresses of a network that are in use: a store, open and locked.
///
/// Its functions fail with the errors of [`store`](crate::store) besides their own.
pub struct Pool {
    store: Transaction,
}

impl Pool {
    /// Opens the pool of the network.
    pub fn open(location: &Location, access: Access) -> Result<Self, Error> {
        let store = store::open(location, access)?;
        Ok(Pool { store })
    }

    /// Returns the store, for what a plugin keeps there besides.
    pub fn store(&self) -> &Transaction {
        &self.store
    }

    /// Reads which addresses the request's attachment holds.
    pub fn holder<C>(&self, request: &Request<C>) -> Result<Holder, Error> {
        let owner = Owner::new(&request.container_id, &request.ifname);
        let mut keys = self.store.find(owner.value.as_bytes())?;
        keys.extend(self.store.find(owner.old_value().as_bytes())?);
        let addresses = keys.iter().filter_map(|key| address_of(key)).collect();
        Ok(Holder { owner, addresses })
    }

    /// Leases the holder the first of these addresses of the set that is free. [`commit`](Pool::commit) keeps that.
    ///
    /// Errors: [`codes::NO_ADDRESS`] when none of them is free, [`codes::DUPLICATE`].
    pub fn claim<'s>(
        &self,
        holder: &Holder,
        set: &'s RangeSet,
        candidates: impl Iterator<Item = IpAddr>,
    ) -> Result<Lease<'s>, Error> {
        let lease = self.claim_if_free(holder, set, candidates)?;
        lease.ok_or_else(|| Error::new(codes::NO_ADDRESS, exhausted(set)))
    }

    /// Does the same, and returns none when none of them is free.
    pub fn claim_if_free<'s>(
        &self,
        holder: &Holder,
        set: &'s RangeSet,
        mut candidates: impl Iterator<Item = IpAddr>,
    ) -> Result<Option<Lease<'s>>, Error> {
        self.claim_next(holder, set, &mut || candidates.next())
    }

    fn claim_next<'s>(
        &self,
        holder: &Holder,
        set: &'s RangeSet,
        next: &mut dyn FnMut() -> Option<IpAddr>,
    ) -> Result<Option<Lease<'s>>, Error> {
        holder.check_has_none_of(set)?;
        for length in chunk_lengths() {
            let chunk = std::iter::from_fn(&mut *next).take(length);
            let keys: Vec<String> = chunk.map(key).collect();
            if keys.is_empty() {
                break;
            }
            if let Some(claimed) = self.store.claim(&keys, holder.owner.value.as_bytes())? {
                return Ok(Lease::of(&claimed, set));
            }
        }
        Ok(None)
    }

    /// Keeps what was claimed.
    pub fn commit(&self) -> Result<(), Error> {
        Ok(self.store.commit()?)
    }

    /// DEL: releases all addresses of the request's attachment; where there is none, those in old format. Succeeds when
    /// it has none.
    ///
    /// Leases are found without reading each of them, which may miss one that another program has overwritten in
    /// place: those of the addresses in the previous result are read.
    pub fn release<C>(self, request: &Request<C>) -> Result<(), Error> {
        let given = request.previous.iter().flat_map(AddResult::addresses);
        let owner = Owner::new(&request.container_id, &request.ifname);
        Ok(self.release_all(&owner, given.map(key).collect())?)
    }

    fn release_all(self, owner: &Owner, given: Vec<String>) -> Result<(), OperationError> {
        let mut keys = self.held_as(&owner.value, &given)?;
        if keys.is_empty() {
            keys = self.held_as(owner.old_value(), &given)?;
        }
        for key in keys {
            self.store.delete(&key).found()?;
        }
        self.store.commit()
    }

    /// Returns the keys of the leases that have a value, including those among `given` that are not found.
    fn held_as(&self, value: &str, given: &[String]) -> Result<Vec<String>, OperationError> {
        let mut keys = self.store.find(value.as_bytes())?;
        for key in given {
            if keys.contains(key) {
                continue;
            }
            let held = self.store.get(key).found()?;
            if held.is_some_and(|held| String::from_utf8_lossy(&held).trim() == value) {
                keys.push(key.clone());
            }
        }
        Ok(keys)
    }

    /// GC: releases all addresses that none of the valid attachments holds.
    pub fn retain<C>(self, request: &GcRequest<C>) -> Result<(), Error> {
        Ok(self.retain_of(&request.valid_attachments)?)
    }

    fn retain_of(self, valid: &[Attachment]) -> Result<(), OperationError> {
        let mut others: BTreeSet<String> = self.store.keys()?.into_iter().collect();
        others.retain(|key| address_of(key).is_some());
        for attachment in valid {
            let owner = Owner::new(&attachment.container_id, &attachment.ifname);
            for key in self.store.find(owner.value.as_bytes())? {
                others.remove(&key);
            }
        }
        for key in others {
            if !self.is_old_lease_of(&key, valid)? {
                self.store.delete(&key).found()?;
            }
        }
        self.store.commit()
    }

    fn is_old_lease_of(&self, key: &str, valid: &[Attachment]) -> Result<bool, OperationError> {
        let value = self.store.get(key).found()?.unwrap_or_default();
        let container_id = String::from_utf8_lossy(&value);
        let container_id = container_id.trim();
        Ok(valid.iter().any(|a| a.container_id.trim() == container_id))
    }

    /// STATUS: fails with code 50 when one of the range sets has no free address.
    pub fn check_free(&self, sets: &[RangeSet]) -> Result<(), Error> {
        let keys = self.store.keys()?;
        let taken = keys.iter().filter_map(|key| address_of(key)).collect();
        match sets.iter().find(|set| !set.has_free(&taken)) {
            None => Ok(()),
            Some(set) => Err(Error::new(Code::PLUGIN_NOT_AVAILABLE, exhausted(set))),
        }
    }
}

/// How many addresses to try at a time: few at first, since the first is nearly always free, then more and more, since
/// each time is a call to weir.
fn chunk_lengths() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(16), |length| Some((length * 8).min(8192)))
}

fn exhausted(set: &RangeSet) -> String {
    format!("no IP addresses available in range set: {set}")
}

/// The key of an address's lease.
fn key(address: IpAddr) -> String {
    address.to_string()
}

/// The address whose lease this is the key of; none for other keys.
fn address_of(key: &str) -> Option<IpAddr> {
    key.parse().ok()
}

/// An address of a range that an attachment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease<'s> {
    /// The address.
    pub address: IpAddr,
    /// The range that it is in.
    pub range: &'s Range,
}

impl<'s> Lease<'s> {
    fn of(key: &str, set: &'s RangeSet) -> Option<Self> {
        let address = address_of(key)?;
        let range = set.range_of(address)?;
        Some(Lease { address, range })
    }
}

/// As an IPAM plugin's result has it.
impl From<Lease<'_>> for IpConfig {
    fn from(lease: Lease<'_>) -> Self {
        IpConfig {
            interface: None,
            address: lease.range.with_prefix(lease.address),
            gateway: Some(lease.range.gateway),
        }
    }
}

/// An attachment, and the addresses that it holds.
pub struct Holder {
    owner: Owner,
    addresses: Vec<IpAddr>,
}

impl Holder {
    /// CHECK: fails unless it holds an address, and each of these. Errors: [`codes::NO_LEASE`].
    pub fn check(&self, addresses: impl IntoIterator<Item = IpAddr>) -> Result<(), Error> {
        let lacking = |what: String| {
            let msg = format!("{what} allocated to {}", self.owner);
            Err(Error::new(codes::NO_LEASE, msg))
        };
        if self.addresses.is_empty() {
            return lacking("no address is".to_owned());
        }
        let mut addresses = addresses.into_iter();
        match addresses.find(|address| !self.addresses.contains(address)) {
            None => Ok(()),
            Some(address) => lacking(format!("prevResult: {address} is not")),
        }
    }

    /// An interface gets at most one address of each range set.
    fn check_has_none_of(&self, set: &RangeSet) -> Result<(), Error> {
        let is_in = |address: &&IpAddr| set.range_of(**address).is_some();
        let Some(address) = self.addresses.iter().find(is_in) else {
            return Ok(());
        };
        let msg = format!("{address} is allocated to {} already", self.owner);
        let details = "an interface gets one address of each range set; DEL releases it";
        Err(Error::new(codes::DUPLICATE, msg).with_details(details))
    }
}

/// An interface of a container.
struct Owner {
    container_id: String,
    ifname: String,
    /// What its leases hold.
    value: String,
}

impl Owner {
    fn new(container_id: &str, ifname: &str) -> Self {
        let container_id = container_id.trim();
        Owner {
            container_id: container_id.to_owned(),
            ifname: ifname.to_owned(),
            value: format!("{container_id}\r\n{ifname}"),
        }
    }

    /// What leases of old versions hold, whichever the interface.
    fn old_value(&self) -> &str {
        &self.container_id
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (container_id, ifname) = (&self.container_id, &self.ifname);
        write!(f, "interface `{ifname}` of container `{container_id}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(addresses: &[&str]) -> Holder {
        Holder {
            owner: Owner::new(" 5f3c\n", "eth0"),
            addresses: addresses.iter().map(|a| a.parse().unwrap()).collect(),
        }
    }

    fn set() -> RangeSet {
        let range = Range::new("10.0.0.0/24".parse().unwrap(), None, None, None);
        RangeSet::new(vec![range.unwrap()]).unwrap()
    }

    #[test]
    fn leases_are_the_references() {
        let owner = Owner::new(" 5f3c\n", "eth0");
        assert_eq!(owner.value, "5f3c\r\neth0");
        assert_eq!(owner.old_value(), "5f3c");
    }

    #[test]
    fn addresses_are_named_as_go_prints_them() {
        for text in [
            "10.1.0.5",
            "fd00::5",
            "::1:0:0:2",
            "2001:db8:0:1:1:1:1:1",
            "::102:304",
        ] {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(key(address), text);
            assert_eq!(address_of(text), Some(address));
        }
        assert_eq!(address_of("last_reserved_ip.0"), None);
        assert_eq!(address_of("lock"), None);
    }

    #[test]
    fn chunks_grow_up_to_a_bound() {
        let lengths: Vec<usize> = chunk_lengths().take(5).collect();
        assert_eq!(lengths, [16, 128, 1024, 8192, 8192]);
    }

    #[test]
    fn a_lease_becomes_an_address_of_a_result() {
        let set = set();
        let address: IpAddr = "10.0.0.5".parse().unwrap();
        let range = set.range_of(address).unwrap();
        let ip = IpConfig::from(Lease { address, range });
        assert_eq!(ip.address, "10.0.0.5/24".parse().unwrap());
        assert_eq!(ip.gateway, "10.0.0.1".parse().ok());
        assert_eq!(ip.interface, None);
    }

    #[test]
    fn a_holder_has_one_address_of_a_set() {
        let taken = holder(&["fd00::5", "10.0.0.5"]);
        let error = taken.check_has_none_of(&set()).unwrap_err();
        assert_eq!(error.code, codes::DUPLICATE);
        assert_eq!(
            error.msg,
            "10.0.0.5 is allocated to interface `eth0` of container `5f3c` already"
        );
        holder(&["fd00::5"]).check_has_none_of(&set()).unwrap();
    }

    #[test]
    fn check_needs_an_address_and_all_that_are_given() {
        let given = ["10.0.0.5", "fd00::5"].map(|address| address.parse().unwrap());
        holder(&["10.0.0.5"]).check([]).unwrap();
        holder(&["10.0.0.5", "fd00::5"]).check(given).unwrap();
        for (held, message) in [
            (&[][..], "no address is allocated to "),
            (&["10.0.0.5"], "prevResult: fd00::5 is not allocated to "),
        ] {
            let error = holder(held).check(given).unwrap_err();
            assert_eq!(error.code, codes::NO_LEASE);
            assert!(error.msg.starts_with(message), "{error}");
        }
    }
}
