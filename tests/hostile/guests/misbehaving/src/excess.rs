//! More of everything than anybody needs.

use weir_sdk::link::{self, NewLink, NewPeer};
use weir_sdk::store::{self, Access, Location};
use weir_sdk::{Error, Namespace};

/// The largest value of a store.
static VALUE: [u8; 64 << 10] = [b'x'; 64 << 10];

/// Makes pairs between the host and the container: so many, or until something stops it.
pub fn make_pairs(most: Option<u32>) -> Result<(), Error> {
    for number in 0..most.unwrap_or(u32::MAX) {
        let peer = NewPeer::new(Namespace::Container, format!("in{number}"));
        link::create(NewLink::veth(Namespace::Host, format!("out{number}"), peer))?;
    }
    Ok(())
}

/// Puts one value after another into a store, without end, and never commits.
pub fn put() -> Result<(), Error> {
    let store = store::open(&Location::Private, Access::Write)?;
    for number in 0_u64.. {
        store.put(&format!("key{number}"), &VALUE)?;
    }
    Ok(())
}

/// Rewrites one value without end.
pub fn rewrite() -> Result<(), Error> {
    let store = store::open(&Location::Private, Access::Write)?;
    for number in 0_u64.. {
        let mut value = VALUE.to_vec();
        value[..8].copy_from_slice(&number.to_le_bytes());
        store.put("key", &value)?;
        store.commit()?;
    }
    Ok(())
}

/// Opens stores and closes none.
pub fn open_stores() -> Result<(), Error> {
    let mut open = Vec::new();
    for number in 0_u64.. {
        let place = Location::Directory(format!("/srv/many/{number}"));
        open.push(store::open(&place, Access::Write)?);
    }
    Ok(())
}
