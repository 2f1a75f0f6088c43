//! UDP connections that conntrack tracked before a mapping came or went.
//!
//! The kernel sends a datagram of a tracked connection where the connection went before, whatever is mapped since; a
//! client that never pauses would never reach the container.

use weir_sdk::conntrack::{self, Filter};
use weir_sdk::{IpFamily, Namespace, log};

use crate::elements::Mapped;
use crate::mapping::Protocol;

/// Deletes the conntrack entries of the mapped UDP ports. A failure is logged only.
pub fn forget(mapped: &Mapped) {
    for (mapping, address) in mapped.mappings() {
        if mapping.protocol != Protocol::Udp {
            continue;
        }
        let filter = Filter {
            port: Some(mapping.host_port),
            destination: mapping.host_ip,
            ..Filter::new(IpFamily::of(address.addr()), Protocol::Udp.number())
        };
        if let Err(error) = conntrack::delete(Namespace::Host, filter) {
            let fields = [("port", mapping.to_string()), ("error", error.message)];
            let fields = fields.each_ref().map(|(key, value)| (*key, value.as_str()));
            log::warn("stale connections were not forgotten", &fields);
        }
    }
}
