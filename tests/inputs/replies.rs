//! A host whose kernel says what the input says.

use std::os::fd::OwnedFd;

use weir_kernel::Namespaces;
use weir_kit::kernel_peer::saying;

use crate::permission::Permitted;

/// Both of its sockets. The second value must be kept as long as the first.
pub(crate) fn kernel_that_says(input: &[u8]) -> (Permitted, [OwnedFd; 2]) {
    let (route, route_peer) = saying(input);
    let (netfilter, netfilter_peer) = saying(input);
    let host = Namespaces::with_peers(route, netfilter);
    (Permitted::on(host), [route_peer, netfilter_peer])
}
