//! Whether the plugins assigned what the pod requested. Plugins may ignore `args.cni`, and the standard wants the attachment
//! to fail then (sections 4.1.2.1.3.2 and 4.1.2.1.4.2).

use weir_cni::{AddResult, Error, Interface, Mac, RequestedAddress};

use super::codes;

/// Checks the result of an attachment with the interface `ifname`. Each of `ips` must be an address of that interface in the
/// container, or of no named interface, with the prefix length if it has one. The interface must have the address `mac`.
///
/// Errors: code [`codes::NOT_ASSIGNED`], with the key, the request, what was assigned, and what to do. A `mac` always fails
/// with results of versions before 0.3.0, which name no interfaces.
pub(crate) fn assigned(
    result: &AddResult,
    ifname: &str,
    ips: &[RequestedAddress],
    mac: Option<&Mac>,
) -> Result<(), Error> {
    let ips = ips_fault(result, ifname, ips);
    let mac = mac.and_then(|mac| mac_fault(result, ifname, mac));
    let mut faults = ips.into_iter().chain(mac);
    let Some(first) = faults.next() else {
        return Ok(());
    };
    let details = faults.chain([ADVICE.to_owned()]);
    Err(Error::new(codes::NOT_ASSIGNED, first).and_details(details))
}

const ADVICE: &str = "the network needs plugins that take these keys from `args.cni` or as capabilities, \
                      for example the IPAM plugin `host-local` or `static` for ips, and `bridge` or `tuning` \
                      for mac";

fn ips_fault(result: &AddResult, ifname: &str, ips: &[RequestedAddress]) -> Option<String> {
    let assigned = addresses(result, ifname);
    let is_assigned = |ip: &RequestedAddress| assigned.iter().any(|other| is_met(ip, other));
    let missing = ips.iter().filter(|ip| !is_assigned(ip));
    let missing: Vec<String> = missing.map(RequestedAddress::to_string).collect();
    if missing.is_empty() {
        return None;
    }
    let assigned: Vec<String> = assigned.iter().map(RequestedAddress::to_string).collect();
    let assigned = if assigned.is_empty() {
        "has no address".to_owned()
    } else {
        format!("has {}", assigned.join(", "))
    };
    let missing = missing.join(", ");
    Some(format!(
        "ips: {missing} not assigned, `{ifname}` {assigned}"
    ))
}

/// Whether an assigned address is the requested one.
fn is_met(requested: &RequestedAddress, assigned: &RequestedAddress) -> bool {
    let same = requested.address.to_canonical() == assigned.address.to_canonical();
    same && (requested.prefix_len.is_none() || requested.prefix_len == assigned.prefix_len)
}

/// The addresses of the attachment's interface, and those without an interface in the result.
fn addresses(result: &AddResult, ifname: &str) -> Vec<RequestedAddress> {
    let is_own = |index: u32| {
        let interface = usize::try_from(index).ok();
        let interface = interface.and_then(|index| result.interfaces.get(index));
        interface.is_some_and(|interface| is_of(interface, ifname))
    };
    let ips = result.ips.iter();
    let own = ips.filter(|ip| ip.interface.is_none_or(is_own));
    own.map(|ip| RequestedAddress {
        address: ip.address.addr(),
        prefix_len: Some(ip.address.prefix_len()),
    })
    .collect()
}

fn mac_fault(result: &AddResult, ifname: &str, mac: &Mac) -> Option<String> {
    let own = result.interfaces.iter().find(|i| is_of(i, ifname));
    let seen = match own {
        None if result.interfaces.is_empty() => {
            "the result names no interfaces, as before cniVersion 0.3.0".to_owned()
        }
        None => format!("the result has no interface `{ifname}` in the container"),
        Some(interface) => match interface.mac.as_deref() {
            None => format!("the result has no mac for `{ifname}`"),
            Some(text) if text.parse() == Ok(*mac) => return None,
            Some(text) => format!("`{ifname}` has {}", text.escape_debug()),
        },
    };
    Some(format!("mac: {mac} not assigned, {seen}"))
}

/// Whether an interface is the attachment's, in the container.
fn is_of(interface: &Interface, ifname: &str) -> bool {
    let is_inside = interface.sandbox.as_deref().is_some_and(|s| !s.is_empty());
    is_inside && interface.name == ifname
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use weir_cni::from_json;

    use super::*;

    const MAC: &str = "02:23:45:67:89:01";

    fn result(json: Value) -> AddResult {
        from_json(&json).unwrap()
    }

    /// A result with the host's end of a veth, and the container's.
    fn bridged(ips: Value) -> AddResult {
        result(json!({
            "cniVersion": "1.0.0",
            "interfaces": [
                { "name": "veth0", "mac": "02:00:00:00:00:99" },
                { "name": "net1", "mac": MAC, "sandbox": "/run/netns/a" },
            ],
            "ips": ips,
        }))
    }

    fn check(result: &AddResult, ips: &[&str], mac: Option<&str>) -> Result<(), Error> {
        let ips: Vec<RequestedAddress> = ips.iter().map(|ip| ip.parse().unwrap()).collect();
        let mac: Option<Mac> = mac.map(|mac| mac.parse().unwrap());
        assigned(result, "net1", &ips, mac.as_ref())
    }

    #[track_caller]
    fn refused(result: &AddResult, ips: &[&str], mac: Option<&str>) -> String {
        let error = check(result, ips, mac).unwrap_err();
        assert_eq!(error.code, codes::NOT_ASSIGNED);
        assert!(error.details.contains("`args.cni`"), "{error}");
        error.msg
    }

    #[test]
    fn npwg_4_1_2_1_3_2_all_requested_addresses_must_be_assigned() {
        let result = bridged(json!([
            { "address": "10.2.2.42/24", "interface": 1 },
            { "address": "2001:db8::5/64", "interface": 1 },
        ]));
        check(&result, &["10.2.2.42", "2001:db8::5"], None).unwrap();
        check(&result, &["2001:DB8:0::5"], None).unwrap();
        check(&result, &["::ffff:10.2.2.42"], None).unwrap();
        check(&result, &[], None).unwrap();
        assert_eq!(
            refused(&result, &["10.2.2.43", "10.2.2.42", "2001:db8::6"], None),
            "ips: 10.2.2.43, 2001:db8::6 not assigned, `net1` has 10.2.2.42/24, 2001:db8::5/64"
        );
    }

    #[test]
    fn npwg_4_1_2_1_3_2_a_prefix_length_counts_where_it_was_requested() {
        let result = bridged(json!([{ "address": "10.2.2.42/24", "interface": 1 }]));
        check(&result, &["10.2.2.42/24"], None).unwrap();
        assert_eq!(
            refused(&result, &["10.2.2.42/16"], None),
            "ips: 10.2.2.42/16 not assigned, `net1` has 10.2.2.42/24"
        );
    }

    #[test]
    fn npwg_4_1_2_1_3_2_addresses_elsewhere_are_not_the_attachments() {
        let of_host = bridged(json!([{ "address": "10.2.2.42/24", "interface": 0 }]));
        assert_eq!(
            refused(&of_host, &["10.2.2.42"], None),
            "ips: 10.2.2.42 not assigned, `net1` has no address"
        );
        let other = result(json!({
            "cniVersion": "1.0.0",
            "interfaces": [{ "name": "net2", "sandbox": "/run/netns/a" }],
            "ips": [{ "address": "10.2.2.42/24", "interface": 0 }],
        }));
        refused(&other, &["10.2.2.42"], None);
    }

    #[test]
    fn npwg_4_1_2_1_3_2_addresses_of_no_interface_are_the_attachments() {
        let result = bridged(json!([{ "address": "10.2.2.42/24" }]));
        check(&result, &["10.2.2.42"], None).unwrap();
    }

    #[test]
    fn npwg_4_1_2_1_3_2_addresses_in_results_before_0_3_0() {
        let result = result(json!({
            "cniVersion": "0.2.0", "ip4": { "ip": "10.2.2.42/24" }, "ip6": { "ip": "fd00::5/64" }
        }));
        check(&result, &["10.2.2.42", "fd00::5"], None).unwrap();
        refused(&result, &["10.2.2.43"], None);
    }

    #[test]
    fn npwg_4_1_2_1_4_2_the_requested_mac_must_be_assigned() {
        let result = bridged(json!([]));
        check(&result, &[], Some(MAC)).unwrap();
        assert_eq!(
            refused(&result, &[], Some("02:23:45:67:89:02")),
            "mac: 02:23:45:67:89:02 not assigned, `net1` has 02:23:45:67:89:01"
        );
        // The host's end is not it.
        refused(&result, &[], Some("02:00:00:00:00:99"));
    }

    #[test]
    fn npwg_4_1_2_1_4_2_a_mac_is_the_same_however_it_is_written() {
        let infiniband = "80:00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff:00:11:22";
        let result = result(json!({
            "cniVersion": "0.4.0",
            "interfaces": [{
                "name": "net1", "sandbox": "/run/netns/a", "mac": infiniband.to_uppercase()
            }],
        }));
        check(&result, &[], Some(infiniband)).unwrap();
        refused(&result, &[], Some(MAC));
    }

    #[test]
    fn npwg_4_1_2_1_4_2_a_mac_that_cannot_be_seen_is_not_assigned() {
        let before = result(json!({ "cniVersion": "0.1.0", "ip4": { "ip": "10.2.2.42/24" } }));
        assert_eq!(
            refused(&before, &[], Some(MAC)),
            "mac: 02:23:45:67:89:01 not assigned, the result names no interfaces, as before cniVersion 0.3.0"
        );
        let silent = result(json!({
            "cniVersion": "1.1.0", "interfaces": [{ "name": "net1", "sandbox": "/run/netns/a" }]
        }));
        assert!(refused(&silent, &[], Some(MAC)).contains("has no mac for `net1`"));
        let outside = result(json!({
            "cniVersion": "1.1.0", "interfaces": [{ "name": "net1", "mac": MAC, "sandbox": "" }]
        }));
        assert!(refused(&outside, &[], Some(MAC)).contains("no interface `net1` in the container"));
        let nonsense = result(json!({
            "cniVersion": "1.1.0",
            "interfaces": [{ "name": "net1", "mac": "\u{1b}[0m", "sandbox": "/run/netns/a" }]
        }));
        assert!(refused(&nonsense, &[], Some(MAC)).contains(r"`net1` has \u{1b}[0m"));
    }

    #[test]
    fn npwg_4_1_2_1_3_2_what_is_missing_is_reported_at_once() {
        let result = bridged(json!([]));
        let error = check(&result, &["10.0.0.1"], Some("02:23:45:67:89:02")).unwrap_err();
        assert!(error.msg.starts_with("ips: 10.0.0.1"), "{error}");
        assert!(
            error.details.starts_with("mac: 02:23:45:67:89:02"),
            "{error}"
        );
    }
}
