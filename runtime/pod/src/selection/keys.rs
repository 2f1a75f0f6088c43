//! The keys of an element. Errors say what was found and what is expected, without the key.

use std::net::IpAddr;

use serde_json::{Map, Value};
use weir_cni::{Mac, RequestedAddress, validate_interface_name};

use super::MOST_ELEMENTS;
use super::faults::Consequence;
use crate::quoted::quoted;
use crate::reference::Reference;

/// The most characters of a value that an error repeats.
const SHOWN: usize = 80;

const ADDRESS: &str = "an IPv4 or IPv6 address, with or without prefix length";

/// The lengths of hardware addresses in bytes: Ethernet, and IP over InfiniBand (RFC 4391, section 9.1.1).
const MAC_LENGTHS: [usize; 2] = [6, 20];

const MAC: &str = "6 bytes such as \"02:23:45:67:89:01\", or the 20 bytes of IP over InfiniBand";

/// The length of a GUID of InfiniBand in bytes.
const GUID_LENGTH: usize = 8;

/// The interface that every container has.
const LOOPBACK: &str = "lo";

pub(super) fn text(value: &Value) -> Result<String, String> {
    let text = value.as_str().ok_or_else(|| not("a string", value))?;
    Ok(text.to_owned())
}

/// `ips`: at least one address, and none twice.
pub(super) fn ips(value: &Value) -> Result<Vec<RequestedAddress>, String> {
    let items = value.as_array().filter(|items| !items.is_empty());
    let items = items.ok_or_else(|| not("a list of at least one address", value))?;
    let mut ips: Vec<RequestedAddress> = Vec::with_capacity(items.len());
    for item in items {
        let ip = item.as_str().and_then(|text| text.parse().ok());
        let ip: RequestedAddress = ip.ok_or_else(|| not(ADDRESS, item))?;
        let same =
            |other: &&RequestedAddress| other.address.to_canonical() == ip.address.to_canonical();
        if let Some(other) = ips.iter().find(same) {
            return Err(format!("{other} and {ip} are the same address"));
        }
        ips.push(ip);
    }
    Ok(ips)
}

/// `mac`: of Ethernet, or of IP over InfiniBand.
pub(super) fn mac(value: &Value) -> Result<Mac, String> {
    let mac = value.as_str().and_then(|text| text.parse::<Mac>().ok());
    mac.filter(|mac| MAC_LENGTHS.contains(&mac.as_bytes().len()))
        .ok_or_else(|| not(MAC, value))
}

/// Why an attachment cannot have an interface of this name. The standard says to ignore the selection for an invalid name, and
/// to fail the attachment for one that is in use.
pub(super) fn interface_fault(name: &str) -> Option<(Consequence, String)> {
    if name == LOOPBACK {
        let fault = "\"lo\": the container has this interface already".to_owned();
        return Some((Consequence::PodFails, fault));
    }
    // The message is about the variable of that name.
    let error = validate_interface_name(name).err()?;
    let fault = error.msg.trim_start_matches("CNI_IFNAME ");
    Some((Consequence::SelectionIgnored, fault.to_owned()))
}

/// `cni-args`: an object for the plugins.
pub(super) fn cni_args(value: &Value) -> Result<Map<String, Value>, String> {
    let object = value.as_object().cloned();
    object.ok_or_else(|| not("an object", value))
}

/// `default-route`: at most one gateway of each family. The empty list removes all default routes.
pub(super) fn default_route(value: &Value) -> Result<Vec<IpAddr>, String> {
    let items = value.as_array().ok_or_else(|| not("a list", value))?;
    let mut gateways: Vec<IpAddr> = Vec::with_capacity(items.len());
    for item in items {
        let gateway = item.as_str().and_then(|text| text.parse::<IpAddr>().ok());
        let gateway = gateway.ok_or_else(|| not("an IP address", item))?;
        let gateway = gateway.to_canonical();
        if let Some(other) = gateways.iter().find(|o| o.is_ipv4() == gateway.is_ipv4()) {
            return Err(format!(
                "{other} and {gateway}: expected one gateway of each address family"
            ));
        }
        gateways.push(gateway);
    }
    Ok(gateways)
}

/// `infiniband-guid`, with colons; none for an empty string, as in Multus.
pub(super) fn infiniband_guid(value: &Value) -> Result<Option<String>, String> {
    if value == "" {
        return Ok(None);
    }
    let guid = value.as_str().and_then(|text| text.parse::<Mac>().ok());
    let guid = guid.filter(|guid| guid.as_bytes().len() == GUID_LENGTH);
    let guid = guid.ok_or_else(|| not("8 bytes such as \"c2:11:22:33:44:55:66:77\"", value))?;
    Ok(Some(guid.to_string()))
}

/// `ipam-claim-reference`: the name of an object in the pod's namespace; none for an empty string, as in Multus.
pub(super) fn claim(value: &Value) -> Result<Option<String>, String> {
    let name = text(value)?;
    if name.is_empty() {
        return Ok(None);
    }
    Reference::new("any", &name).map(|_| Some(name))
}

/// The fault of a selection with too many elements.
pub(super) fn too_many(count: usize) -> String {
    format!("has {count} elements, expected at most {MOST_ELEMENTS}")
}

/// The fault of an unexpected value.
pub(super) fn not(expected: &str, value: &Value) -> String {
    format!("expected {expected}, found {}", shorten(value.to_string()))
}

/// A part of the annotation, as messages repeat it.
pub(super) fn shown(text: &str) -> String {
    shorten(quoted(text))
}

fn shorten(text: String) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
