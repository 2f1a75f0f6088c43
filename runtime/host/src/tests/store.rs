//! Capability `store`.

use weir_grant::store::Configured;
use weir_kernel::Code;

use super::super::bindings::weir::cni::store::{Access, Host as _, HostTransaction as _, Location};
use super::{Lab, code};

const PRIVATE: &str = r#"{"store": [{}]}"#;

#[test]
fn what_is_committed_is_taken_back_when_the_add_fails() {
    let mut lab = Lab::granting(PRIVATE);
    let before = lab.node.state();
    let configured = Configured::default();
    let mut stores = lab.stores(&configured);
    let open = stores
        .open(Location::Private, Access::Write)
        .expect("a store");
    let (again, this) = (open.rep(), open);
    let borrowed = || wasmtime::component::Resource::new_borrow(again);
    let keys = vec!["10.1.0.2".to_owned(), "10.1.0.3".to_owned()];
    let claimed = stores
        .claim(borrowed(), keys, b"one".to_vec())
        .expect("a claim");
    assert_eq!(claimed.as_deref(), Some("10.1.0.2"));
    stores.commit(borrowed()).expect("a commit");
    stores
        .put(borrowed(), "last".to_owned(), b"2".to_vec())
        .expect("a value");
    stores.drop(this).expect("an open store");
    let keys: Vec<String> = lab
        .node
        .state()
        .stores
        .into_keys()
        .map(|(_, key)| key)
        .collect();
    assert_eq!(keys, ["10.1.0.2"], "what was not committed is gone");
    lab.undo_to(&before);
}

#[test]
fn a_store_has_one_user_at_a_time() {
    let mut lab = Lab::granting(PRIVATE);
    let mut other = Lab::on(lab.node.clone(), PRIVATE);
    let configured = Configured::default();
    let first = lab
        .stores(&configured)
        .open(Location::Private, Access::Write);
    let open = other
        .stores(&configured)
        .open(Location::Private, Access::Write);
    assert_eq!(code(open), Some(Code::Busy));
    lab.stores(&configured)
        .drop(first.expect("a store"))
        .expect("an open store");
    let open = other
        .stores(&configured)
        .open(Location::Private, Access::Write);
    assert_eq!(code(open), None);
}

#[test]
fn other_places_are_denied() {
    let mut lab = Lab::granting(PRIVATE);
    lab.node.put_file("/etc/passwd", b"root");
    let configured = Configured::default();
    let mut stores = lab.stores(&configured);
    let elsewhere = Location::Directory("/var/lib/cni/networks".to_owned());
    assert_eq!(
        code(stores.open(elsewhere, Access::Write)),
        Some(Code::Denied)
    );
    assert_eq!(
        code(stores.read_file("/etc/passwd".to_owned())),
        Some(Code::Denied)
    );
}

#[test]
fn only_so_many_stores_are_open_at_once() {
    let mut lab = Lab::granting(r#"{"store": [{"directories": ["/stores"]}]}"#);
    let configured = Configured::default();
    let mut stores = lab.stores(&configured);
    let place = |number| Location::SharedDirectory(format!("/stores/{number}"));
    for number in 0..16 {
        stores.open(place(number), Access::Read).expect("a store");
    }
    assert_eq!(
        code(stores.open(place(16), Access::Read)),
        Some(Code::Exhausted)
    );
}
