//! Conversion of success results between the newest shape and the JSON of every version.
//!
//! There are four shapes. Empty keys are printed or left out as libcni does:
//!
//! | versions | shape |
//! |---|---|
//! | 0.1.0, 0.2.0 | `ip4` and `ip6`, each one address with its routes; `dns` always printed |
//! | 0.3.0 to 0.4.0 | `interfaces`, `ips` with `version`, `routes`; `dns` always printed |
//! | 1.0.0 | the same without `version`; an empty `dns` is left out |
//! | 1.1.0 | the same with more about interfaces and routes |

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Map, Value, json};

use crate::cidr::parse_cidr;
use crate::error::{Code, Error};
use crate::json::Node;
use crate::result::{AddResult, Dns, Interface, IpConfig, Route};
use crate::version::Version;

const GATEWAY: &str = "an IP address such as `10.1.0.1`";
const NUMBER: &str = "a whole number from 0 to 4294967295";
const SCOPE: &str = "a route scope, a whole number from 0 to 255";

/// Returns the JSON of `result` in `version` (CNI section 5, "Success").
///
/// What the version's shape cannot express is left out. In 0.1.0 and 0.2.0 that is all but the
/// first IPv4 and the first IPv6 address and the routes of these families.
///
/// # Errors
///
/// Code 999 if the version is 0.1.0 or 0.2.0 and the result has no address, which their shape cannot express.
pub fn to_json(result: &AddResult, version: Version) -> Result<Value, Error> {
    let mut map = Map::new();
    map.insert("cniVersion".into(), version.as_str().into());
    if version.has_interfaces() {
        write_lists(&mut map, result, version);
    } else if result.ips.is_empty() {
        result.check_addresses(version)?;
    } else {
        write_ip4_and_ip6(&mut map, result, version);
    }
    if version < Version::V1_0_0 || !result.dns.is_empty() {
        map.insert("dns".into(), json!(result.dns));
    }
    Ok(Value::Object(map))
}

/// Reads a result of any version, which its own `cniVersion` names; without one it is 0.1.0.
///
/// Null is the same as absent, and unknown keys are ignored. The keys that 1.1.0 added are
/// understood in 0.3.0 to 1.0.0 too, because libcni prints them there.
///
/// # Errors
///
/// Code 1 for an unknown version, code 6 for JSON that is not a result; the message names the key.
pub fn from_json(value: &Value) -> Result<AddResult, Error> {
    from_json_assuming(value, Version::default())
}

/// As [`from_json`], but a result without `cniVersion` has the `assumed` version: that of the
/// configuration that the plugin was given.
///
/// # Errors
///
/// As [`from_json`].
pub fn from_json_assuming(value: &Value, assumed: Version) -> Result<AddResult, Error> {
    let root = Node::root("result", Code::DECODING_FAILURE, value);
    let version = match root.text("cniVersion")? {
        Some(text) => text.parse()?,
        None => assumed,
    };
    let mut result = if version.has_interfaces() {
        read_lists(&root)?
    } else {
        read_ip4_and_ip6(&root)?
    };
    if let Some(dns) = root.key("dns")? {
        result.dns = Dns::read(&dns)?;
    }
    Ok(result)
}

// 0.3.0 to 1.1.0

fn write_lists(map: &mut Map<String, Value>, result: &AddResult, version: Version) {
    let interfaces = result.interfaces.iter();
    let interfaces = interfaces.map(|interface| write_interface(interface, version));
    insert_list(map, "interfaces", interfaces.collect());
    let ips = result.ips.iter().map(|ip| write_ip(ip, version));
    insert_list(map, "ips", ips.collect());
    let routes = result.routes.iter();
    let routes = routes.map(|route| write_route(route, version));
    insert_list(map, "routes", routes.collect());
}

fn write_interface(interface: &Interface, version: Version) -> Value {
    let mut map = Map::new();
    map.insert("name".into(), interface.name.clone().into());
    insert_text(&mut map, "mac", &interface.mac);
    insert_text(&mut map, "sandbox", &interface.sandbox);
    if version.has_interface_and_route_attributes() {
        insert_number(&mut map, "mtu", interface.mtu.filter(|mtu| *mtu != 0));
        insert_text(&mut map, "socketPath", &interface.socket_path);
        insert_text(&mut map, "pciID", &interface.pci_id);
    }
    Value::Object(map)
}

fn write_ip(ip: &IpConfig, version: Version) -> Value {
    let mut map = Map::new();
    if version.has_ip_version() {
        let family = if ip.address.addr().is_ipv4() {
            "4"
        } else {
            "6"
        };
        map.insert("version".into(), family.into());
    }
    map.insert("address".into(), ip.address.to_string().into());
    insert_address(&mut map, "gateway", ip.gateway);
    insert_number(&mut map, "interface", ip.interface);
    Value::Object(map)
}

fn write_route(route: &Route, version: Version) -> Value {
    let mut map = Map::new();
    map.insert("dst".into(), route.dst.to_string().into());
    insert_address(&mut map, "gw", route.gw);
    if version.has_interface_and_route_attributes() {
        insert_number(&mut map, "mtu", route.mtu.filter(|mtu| *mtu != 0));
        insert_number(&mut map, "advmss", route.advmss.filter(|mss| *mss != 0));
        insert_number(&mut map, "priority", route.priority.filter(|p| *p != 0));
        insert_number(&mut map, "table", route.table);
        insert_number(&mut map, "scope", route.scope.map(u32::from));
    }
    Value::Object(map)
}

fn read_lists(root: &Node<'_>) -> Result<AddResult, Error> {
    Ok(AddResult {
        interfaces: read_list(root, "interfaces", read_interface)?,
        ips: read_list(root, "ips", read_ip)?,
        routes: read_list(root, "routes", read_route)?,
        dns: Dns::default(),
    })
}

fn read_interface(node: &Node<'_>) -> Result<Interface, Error> {
    Ok(Interface {
        name: node.text("name")?.unwrap_or_default(),
        mac: node.text("mac")?,
        mtu: optional_number(node, "mtu")?.filter(|mtu| *mtu != 0),
        sandbox: node.text("sandbox")?,
        socket_path: node.text("socketPath")?,
        pci_id: node.text("pciID")?,
    })
}

fn read_ip(node: &Node<'_>) -> Result<IpConfig, Error> {
    // The address tells its family. libcni, too, only requires `version` to be text.
    node.text("version")?;
    Ok(IpConfig {
        interface: interface_index(node)?,
        address: address(node, "address")?,
        gateway: optional_address(node, "gateway")?,
    })
}

/// `interface`; a negative number, which old plugins wrote, means none.
fn interface_index(node: &Node<'_>) -> Result<Option<u32>, Error> {
    match node.key("interface")? {
        Some(index) if index.value().as_i64().is_some_and(|index| index < 0) => Ok(None),
        _ => optional_number(node, "interface"),
    }
}

fn read_route(node: &Node<'_>) -> Result<Route, Error> {
    let not_zero = |key: &str| Ok::<_, Error>(optional_number(node, key)?.filter(|n| *n != 0));
    Ok(Route {
        dst: address(node, "dst")?,
        gw: optional_address(node, "gw")?,
        mtu: not_zero("mtu")?,
        advmss: not_zero("advmss")?,
        priority: not_zero("priority")?,
        table: optional_number(node, "table")?,
        scope: match node.key("scope")? {
            Some(scope) => Some(scope.number(SCOPE)?),
            None => None,
        },
    })
}

// 0.1.0 and 0.2.0

fn write_ip4_and_ip6(map: &mut Map<String, Value>, result: &AddResult, version: Version) {
    for (key, is_ipv4) in [("ip4", true), ("ip6", false)] {
        let family = |net: &IpNet| net.addr().is_ipv4() == is_ipv4;
        if let Some(ip) = result.ips.iter().find(|ip| family(&ip.address)) {
            let routes = result.routes.iter().filter(|route| family(&route.dst));
            let routes = routes.map(|route| write_route(route, version)).collect();
            map.insert(key.into(), write_ip_with_routes(ip, routes));
        }
    }
}

fn write_ip_with_routes(ip: &IpConfig, routes: Vec<Value>) -> Value {
    let mut map = Map::new();
    map.insert("ip".into(), ip.address.to_string().into());
    insert_address(&mut map, "gateway", ip.gateway);
    insert_list(&mut map, "routes", routes);
    Value::Object(map)
}

fn read_ip4_and_ip6(root: &Node<'_>) -> Result<AddResult, Error> {
    let mut result = AddResult::default();
    for key in ["ip4", "ip6"] {
        if let Some(node) = root.key(key)? {
            result.ips.push(IpConfig {
                interface: None,
                address: address(&node, "ip")?,
                gateway: optional_address(&node, "gateway")?,
            });
            let routes = read_list(&node, "routes", read_plain_route)?;
            result.routes.extend(routes);
        }
    }
    Ok(result)
}

fn read_plain_route(node: &Node<'_>) -> Result<Route, Error> {
    let dst = address(node, "dst")?;
    Ok(Route::new(dst, optional_address(node, "gw")?))
}

// All versions

fn insert_list(map: &mut Map<String, Value>, key: &str, list: Vec<Value>) {
    if !list.is_empty() {
        map.insert(key.into(), list.into());
    }
}

fn insert_text(map: &mut Map<String, Value>, key: &str, text: &Option<String>) {
    if let Some(text) = text.as_deref().filter(|text| !text.is_empty()) {
        map.insert(key.into(), text.into());
    }
}

fn insert_number(map: &mut Map<String, Value>, key: &str, number: Option<u32>) {
    if let Some(number) = number {
        map.insert(key.into(), number.into());
    }
}

fn insert_address(map: &mut Map<String, Value>, key: &str, address: Option<IpAddr>) {
    if let Some(address) = address {
        map.insert(key.into(), address.to_string().into());
    }
}

fn read_list<'v, T>(
    parent: &Node<'v>,
    key: &str,
    read: impl Fn(&Node<'v>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    match parent.key(key)? {
        Some(list) => list.items()?.iter().map(read).collect(),
        None => Ok(Vec::new()),
    }
}

fn optional_number(parent: &Node<'_>, key: &str) -> Result<Option<u32>, Error> {
    match parent.key(key)? {
        Some(node) => Ok(Some(node.number(NUMBER)?)),
        None => Ok(None),
    }
}

fn address(parent: &Node<'_>, key: &str) -> Result<IpNet, Error> {
    match parent.key(key)? {
        Some(node) => parse_cidr(node.string()?).map_err(|expected| node.not(&expected)),
        None => Err(parent.missing(key)),
    }
}

fn optional_address(parent: &Node<'_>, key: &str) -> Result<Option<IpAddr>, Error> {
    match parent.key(key)? {
        // Go's net.IP prints no address as empty text, where its key is not left out.
        Some(node) if node.string()?.is_empty() => Ok(None),
        Some(node) => Ok(Some(node.parsed(GATEWAY)?)),
        None => Ok(None),
    }
}

impl Serialize for AddResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = to_json(self, Version::LATEST).map_err(ser::Error::custom)?;
        json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AddResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        from_json(&value).map_err(de::Error::custom)
    }
}
