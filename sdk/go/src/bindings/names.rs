//! Names in Go of what the contract names.

/// Words that Go writes in capitals.
const INITIALISMS: [&str; 19] = [
    "dns", "gc", "gw", "htb", "id", "ifb", "ip", "l2", "l3", "l3s", "mac", "mtu", "nat", "pci",
    "pvid", "tbf", "udp", "vlan", "vrf",
];

/// Words with a spelling of their own.
const SPELLINGS: [(&str, &str); 5] = [
    ("ips", "IPs"),
    ("ipv4", "IPv4"),
    ("ipv6", "IPv6"),
    ("ipvlan", "IPVLAN"),
    ("vlans", "VLANs"),
];

/// What is called otherwise in Go: the SDK's errors, and the result of a command.
const RENAMED: [(&str, &str); 7] = [
    ("error", "OperationError"),
    ("failure", "Error"),
    ("attachment-result", "Result"),
    ("result-interface", "Interface"),
    ("result-ip", "IP"),
    ("result-route", "Route"),
    ("mac-address", "MAC"),
];

/// Words of Go that are names in the contract.
const KEYWORDS: [&str; 6] = ["type", "map", "range", "func", "interface", "goto"];

/// A type: `LinkReference` for `link-reference`.
pub fn of_type(name: &str) -> String {
    let renamed = RENAMED.iter().find(|(kebab, _)| *kebab == name);
    renamed.map_or_else(|| exported(name), |(_, go)| (*go).to_owned())
}

/// An exported name: `ContainerID` for `container-id`.
pub fn exported(name: &str) -> String {
    name.split('-').map(word).collect()
}

/// A name inside a package: `containerID`.
pub fn private(name: &str) -> String {
    let (first, rest) = name.split_once('-').unwrap_or((name, ""));
    let rest = if rest.is_empty() {
        String::new()
    } else {
        exported(rest)
    };
    let name = format!("{first}{rest}");
    if KEYWORDS.contains(&name.as_str()) {
        return format!("{name}_");
    }
    name
}

/// A package: `policyrule` for `policy-rule`.
pub fn package(interface: &str) -> String {
    interface.replace('-', "")
}

fn word(word: &str) -> String {
    if let Some((_, spelt)) = SPELLINGS.iter().find(|(kebab, _)| *kebab == word) {
        return (*spelt).to_owned();
    }
    if INITIALISMS.contains(&word) {
        return word.to_ascii_uppercase();
    }
    let (first, rest) = word.split_at(word.len().min(1));
    first.to_ascii_uppercase() + rest
}
