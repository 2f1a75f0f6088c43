//! Leases, in the reference plugin's format.
//!
//! The store of a network is the directory `<dataDir>/<network>` with, beside the lock:
//!
//! - for each address in use a file of its name (`10.1.0.5`, `fd00::5`), which holds the container
//!   id, a carriage return, a line feed and the interface's name. Files of old versions hold the
//!   container id alone;
//! - for each range set a file `last_reserved_ip.<index>`, which holds the address that was handed
//!   out last.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use weir_sdk::store::Transaction;
use weir_sdk::{Attachment, Error, Outcome};

use crate::Taken;

/// Who holds an address: an interface of a container.
pub struct Owner {
    container_id: String,
    ifname: String,
}

impl Owner {
    /// Names an interface of a container.
    pub fn new(container_id: &str, ifname: &str) -> Self {
        Owner {
            container_id: container_id.trim().to_owned(),
            ifname: ifname.to_owned(),
        }
    }

    /// What the owner's leases hold.
    fn value(&self) -> String {
        format!("{}\r\n{}", self.container_id, self.ifname)
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

/// Returns the key of an address's lease.
pub fn key(address: IpAddr) -> String {
    address.to_string()
}

/// Returns the address whose lease this is the key of; none for other files.
pub fn address_of(key: &str) -> Option<IpAddr> {
    key.parse().ok()
}

fn last_reserved_key(set: usize) -> String {
    format!("last_reserved_ip.{set}")
}

/// The leases of one network, locked.
pub struct Leases {
    store: Transaction,
}

impl Leases {
    /// Reads the leases of a store.
    pub fn new(store: Transaction) -> Self {
        Leases { store }
    }

    /// Returns the addresses of an owner, those in old format included.
    pub fn held_by(&self, owner: &Owner) -> Result<Vec<IpAddr>, Error> {
        let mut keys = self.store.find(owner.value().as_bytes())?;
        keys.extend(self.store.find(owner.old_value().as_bytes())?);
        Ok(keys.iter().filter_map(|key| address_of(key)).collect())
    }

    /// Returns the address that was handed out last from a range set.
    pub fn last_reserved(&self, set: usize) -> Result<Option<IpAddr>, Error> {
        let value = self.store.get(&last_reserved_key(set)).found()?;
        let text = value.as_deref().map(String::from_utf8_lossy);
        // Without an address, as after a crash, the round starts again.
        Ok(text.and_then(|text| text.trim().parse().ok()))
    }

    /// Reserves the first of these addresses that is free, as the last of its range set.
    pub fn claim(
        &self,
        addresses: impl IntoIterator<Item = IpAddr>,
        owner: &Owner,
        set: usize,
    ) -> Result<Option<IpAddr>, Error> {
        let keys: Vec<String> = addresses.into_iter().map(key).collect();
        let claimed = self.store.claim(&keys, owner.value().as_bytes())?;
        let Some(key) = claimed else {
            return Ok(None);
        };
        self.store.put(&last_reserved_key(set), key.as_bytes())?;
        Ok(address_of(&key))
    }

    /// Releases all addresses of an owner; where there is none, those in old format.
    ///
    /// Leases are found without reading each of them, which may miss one that another program has overwritten in
    /// place: those of the addresses that the owner was `given` are read.
    pub fn release(&self, owner: &Owner, given: impl Iterator<Item = IpAddr>) -> Result<(), Error> {
        let given: Vec<String> = given.map(key).collect();
        let mut keys = self.held_as(&owner.value(), &given)?;
        if keys.is_empty() {
            keys = self.held_as(owner.old_value(), &given)?;
        }
        for key in keys {
            self.store.delete(&key).found()?;
        }
        Ok(())
    }

    /// Returns the keys of the leases that hold a value, including those among `given` that are not found.
    fn held_as(&self, value: &str, given: &[String]) -> Result<Vec<String>, Error> {
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

    /// Returns all addresses in use.
    pub fn addresses(&self) -> Result<Taken, Error> {
        let keys = self.store.keys()?;
        Ok(keys.iter().filter_map(|key| address_of(key)).collect())
    }

    /// Releases all addresses that no valid attachment holds.
    pub fn retain(&self, valid: &[Attachment]) -> Result<(), Error> {
        let mut others: BTreeSet<String> = self.store.keys()?.into_iter().collect();
        others.retain(|key| address_of(key).is_some());
        for attachment in valid {
            let owner = Owner::new(&attachment.container_id, &attachment.ifname);
            for key in self.store.find(owner.value().as_bytes())? {
                others.remove(&key);
            }
        }
        for key in others {
            if !self.is_old_lease_of(&key, valid)? {
                self.store.delete(&key).found()?;
            }
        }
        Ok(())
    }

    fn is_old_lease_of(&self, key: &str, valid: &[Attachment]) -> Result<bool, Error> {
        let value = self.store.get(key).found()?.unwrap_or_default();
        let container_id = String::from_utf8_lossy(&value);
        let container_id = container_id.trim();
        Ok(valid.iter().any(|a| a.container_id.trim() == container_id))
    }

    /// Keeps what was done.
    pub fn commit(&self) -> Result<(), Error> {
        Ok(self.store.commit()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_are_the_references() {
        let owner = Owner::new(" 5f3c\n", "eth0");
        assert_eq!(owner.value(), "5f3c\r\neth0");
        assert_eq!(owner.old_value(), "5f3c");
        assert_eq!(last_reserved_key(1), "last_reserved_ip.1");
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
}
