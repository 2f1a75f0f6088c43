//! The network namespaces of an invocation, and what is left of them for the next one.

use std::fs::read_link;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use weir_kit::fresh_namespace;

use super::lab;
use crate::Namespaces;

/// The host's nfnetlink socket, as `/proc` calls it: no two sockets have one name.
fn socket(namespaces: &mut Namespaces) -> PathBuf {
    let name = namespaces.host().netfilter(|socket| {
        let place = format!("/proc/self/fd/{}", socket.as_raw_fd());
        Ok(read_link(place).expect("it is open"))
    });
    name.expect("nftables")
}

#[test]
fn the_next_invocation_has_the_socket_of_the_last_where_it_is_of_its_namespace() {
    lab(|lab| {
        let first = socket(&mut lab.linux.namespaces);
        lab.linux.namespaces = Namespaces::new(None);
        assert_eq!(socket(&mut lab.linux.namespaces), first);

        // Gives the socket back, as the end of an invocation does.
        lab.linux.namespaces = Namespaces::new(None);
        fresh_namespace().expect("a namespace");
        assert_ne!(socket(&mut lab.linux.namespaces), first);
    });
}
