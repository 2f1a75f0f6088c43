//! Open stores.

use weir_gate::Permit;
use weir_grant::store::{Claim, Delete, Find, Get, Keys, Location, OpenRead, OpenWrite, Put};
use weir_kernel::{Answer, Changes, DynTransaction, Perform, Result, Transaction};
use weir_sdk::store::{self, Access};

use super::{Fake, convert, not_compared};

/// A store that the fake host has opened.
struct Opened(store::Transaction);

fn open(location: &Location, access: Access) -> Result<Box<DynTransaction>> {
    match location {
        Location::Private => {
            let opened = store::open(&store::Location::Private, access);
            Ok(Box::new(Opened(opened.map_err(convert::error)?)))
        }
        other => Err(not_compared(&format!("{other:?}"))),
    }
}

macro_rules! opens {
    ($($operation:ty: $access:ident;)*) => {$(
        impl Perform<$operation, Box<DynTransaction>> for Fake {
            fn perform(
                &mut self,
                permit: &Permit<$operation>,
                _: &mut Changes<'_>,
            ) -> Result<Box<DynTransaction>> {
                open(&permit.operation().location, Access::$access)
            }
        }
    )*};
}

opens! {
    OpenRead: Read;
    OpenWrite: Write;
}

impl Transaction for Opened {
    fn commit(&mut self, _: &mut Changes<'_>) -> Result<()> {
        self.0.commit().map_err(convert::error)
    }

    fn uncommitted(&self) -> usize {
        0
    }
}

macro_rules! calls {
    ($($operation:ty => $answer:ty: |$store:ident, $wanted:ident| $call:expr;)*) => {$(
        impl Perform<$operation, $answer> for Opened {
            fn perform(
                &mut self,
                permit: &Permit<$operation>,
                _: &mut Changes<'_>,
            ) -> Result<$answer> {
                let ($store, $wanted) = (&self.0, permit.operation());
                $call.map_err(convert::error)
            }
        }
    )*};
}

calls! {
    Get => Vec<u8>: |store, o| store.get(&o.key);
    Put => (): |store, o| store.put(&o.key, &o.value);
    Claim => Option<String>: |store, o| store.claim(&o.keys, &o.value);
    Delete => (): |store, o| store.delete(&o.key);
    Find => Vec<String>: |store, o| store.find(&o.value);
}

impl Answer<Keys, Vec<String>> for Opened {
    fn answer(&mut self, _: &Permit<Keys>) -> Result<Vec<String>> {
        self.0.keys().map_err(convert::error)
    }
}
