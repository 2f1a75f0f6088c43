//! Capability `store`.

use weir_grant::store::{Claim, Delete, Find, Get, Keys, Location, OpenRead, OpenWrite, Put};

use crate::side::{Side, compare};

/// What is in the store.
fn say_all(side: &mut Side) {
    let opened = side.perform(OpenRead {
        location: Location::Private,
    });
    let Some(mut store) = opened else { return };
    let keys = side.perform_in(
        &mut *store,
        Keys {
            location: Location::Private,
        },
    );
    let mut keys = keys.unwrap_or_default();
    keys.sort();
    for key in keys {
        let location = Location::Private;
        let get = Get {
            location,
            key: key.clone(),
        };
        let value = side.perform_in(&mut *store, get);
        side.say(format!("{key}: {value:?}"));
    }
}

fn put(key: &str, value: &str) -> Put {
    Put {
        location: Location::Private,
        key: key.to_owned(),
        value: value.into(),
    }
}

#[test]
fn what_is_committed_stays_and_what_is_not_goes() {
    compare(|side| {
        say_all(side);
        for is_committed in [true, false] {
            let opened = side.perform(OpenWrite {
                location: Location::Private,
            });
            let mut store = opened.expect("a store");
            let claim = Claim {
                location: Location::Private,
                keys: vec!["10.1.0.2".to_owned(), "10.1.0.3".to_owned()],
                value: b"one\r\neth0".to_vec(),
            };
            let claimed = side.perform_in(&mut *store, claim);
            side.say(format!("{claimed:?}"));
            side.perform_in(
                &mut *store,
                put("last", if is_committed { "1" } else { "2" }),
            );
            let find = Find {
                location: Location::Private,
                value: b"one\r\neth0".to_vec(),
            };
            let found = side.perform_in(&mut *store, find);
            let mut found = found.unwrap_or_default();
            found.sort();
            side.say(format!("{found:?}"));
            if is_committed {
                side.commit(&mut *store);
            }
            drop(store);
            say_all(side);
        }
    });
}

#[test]
fn what_is_not_a_key_or_not_there() {
    compare(|side| {
        let opened = side.perform(OpenWrite {
            location: Location::Private,
        });
        let mut store = opened.expect("a store");
        for key in ["", ".", "..", "lock", "a/b", "a b", "a"] {
            side.perform_in(&mut *store, put(key, "1"));
        }
        for key in ["a", "a", "lock"] {
            let location = Location::Private;
            let key = key.to_owned();
            side.perform_in(&mut *store, Delete { location, key });
        }
        let large = "x".repeat((64 << 10) + 1);
        side.perform_in(&mut *store, put("large", &large[1..]));
        side.perform_in(&mut *store, put("large", &large));
        drop(store);
        let opened = side.perform(OpenRead {
            location: Location::Private,
        });
        side.perform_in(&mut *opened.expect("a store"), put("b", "1"));
    });
}
