//! What the cases give host-local, beside its `type`: a subnet of each family.

use serde_json::{Value, json};
use weir_kit::with_keys;

pub fn ipv4() -> Value {
    json!({"subnet": "10.1.0.0/24"})
}

pub fn ipv6() -> Value {
    json!({"subnet": "fd00:1::/64"})
}

pub fn ipv6_with_default_route() -> Value {
    with_keys(ipv6(), json!({"routes": [{"dst": "::/0"}]}))
}

pub fn dual_stack() -> Value {
    json!({"ranges": [[ipv4()], [ipv6()]]})
}

/// Both families, and the default route of each.
pub fn with_default_routes() -> Value {
    let routes = json!({"routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]});
    with_keys(dual_stack(), routes)
}

/// Both families, and routes to other networks, the second through another gateway.
pub fn with_routes() -> Value {
    let routes =
        json!({"routes": [{"dst": "192.0.2.0/24"}, {"dst": "2001:db8::/32", "gw": "fd00:1::9"}]});
    with_keys(dual_stack(), routes)
}
