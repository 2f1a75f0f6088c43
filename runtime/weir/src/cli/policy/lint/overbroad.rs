//! Rules that are wider than they look.

use std::path::Path;

use weir_grant::field::types::{Kinds, LinkNames};
use weir_grant::field::{Field, Networks, Texts};
use weir_grant::pattern::{glob_covers, is_glob};
use weir_grant::phrase::joined;
use weir_grant::rule::RuleFields;
use weir_grant::sysctl::disabled_protection;
use weir_grant::{Capability, Verb};

use super::others::ALL_LINKS;
use super::{Remark, note, warning};
use crate::cli::policy::reach::{changes, on_host};

/// Directories of the host that no plugin should reach: the system's, and weir's own, with grants and logs.
const SYSTEM: [&str; 26] = [
    "/boot",
    "/bin",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/opt",
    "/proc",
    "/root",
    "/run/containerd",
    "/run/weir",
    "/sbin",
    "/sys",
    "/tmp",
    "/usr",
    "/var/lib/containerd",
    "/var/lib/containers",
    "/var/lib/docker",
    "/var/lib/etcd",
    "/var/lib/kubelet",
    "/var/lib/weir",
    "/var/log",
    // `/var/run` is a link to `/run` on many systems.
    "/var/run/containerd",
    "/var/run/weir",
    "/var/tmp",
];

/// The name of resolver configurations, which plugins read.
const RESOLVER: &str = "resolv.conf";

/// The prefixes of names of hardware, given by the kernel or udev.
const HARDWARE: [&str; 6] = ["en", "eth", "ib", "usb", "wl", "ww"];

/// libcni's results of all attachments, and Multus' records of its pods. IPAM plugins use the directory above. weir refuses a
/// store here, whatever a grant allows.
const RECORDS: [&str; 2] = ["/var/lib/cni/results", "/var/lib/cni/multus"];

pub(super) fn overbroad(rule: &RuleFields) -> Vec<Remark> {
    let is_place_of_its_own = rule.capability == Capability::Store;
    if rule.fields.is_empty() && !is_place_of_its_own {
        let text = format!(
            "it has no keys, so it allows everything of `{}`",
            rule.capability
        );
        return vec![warning("no-keys", text)];
    }
    let mut findings = Vec::new();
    if rule.namespaces().len() > 1 {
        let text = "`namespace` is left out, so the rule covers the host as well as the container";
        findings.push(warning("both-namespaces", text));
    }
    findings.extend(left_out(rule));
    findings.extend(wide_links(rule));
    findings.extend(wide_networks(rule));
    match rule.capability {
        Capability::Sysctl => {
            findings.extend(wide_keys(rule));
            findings.extend(protections(rule));
        }
        Capability::Firewall => findings.extend(wide_firewall(rule)),
        Capability::Store => {
            findings.extend(wide_directories(rule));
            findings.extend(wide_files(rule));
        }
        Capability::Conntrack => findings.extend(every_connection(rule)),
        _ => {}
    }
    findings
}

/// Missing fields without which a rule allows more than a plugin should have.
fn left_out(rule: &RuleFields) -> Vec<Remark> {
    let mut findings = Vec::new();
    for field in rule
        .described()
        .iter()
        .filter(|f| rule.get(f.key).is_none())
    {
        let changes = |verb: &Verb| !verb.is_read() && field.is_for(*verb);
        let left_out = field.left_out.filter(|_| rule.verbs().iter().any(changes));
        let Some(left_out) = left_out.filter(|l| on_host(rule) || l.in_container) else {
            continue;
        };
        let text = format!("`{}` is left out: {}", field.key, left_out.allows);
        let is_note = left_out.is_usual || !on_host(rule);
        let weigh = if is_note { note } else { warning };
        findings.push(weigh(left_out.code, text));
    }
    findings
}

/// Rules about links that include hardware, or names that anyone may choose.
fn wide_links(rule: &RuleFields) -> Vec<Remark> {
    let mut fields = rule.described().iter();
    let Some(Field { key: field, .. }) = fields.find(|field| field.is_of::<LinkNames>()) else {
        return Vec::new();
    };
    let names = rule.get(field);
    let all_names = names.is_none_or(|names| names.contains("*"));
    let mut findings = Vec::new();
    if on_host(rule) {
        if names.is_some_and(|names| names.contains("*")) {
            let text =
                format!("`{field}: [\"*\"]` matches every name, as if the key were left out");
            findings.push(warning("every-name", text));
        }
        let has_kinds = rule.described().iter().any(|field| field.is_of::<Kinds>());
        if has_kinds && rule.get("kinds").is_none() {
            findings.extend(of_any_kind(field, names));
        }
        if names.is_some_and(|names| names.contains("{ifname}")) {
            let text = "`{ifname}` on the host is the host's own link of that name, a different one, \
                        and whoever requests an attachment chooses the name";
            findings.push(warning("ifname-on-host", text));
        }
        let several = names.is_none_or(|names| names.iter().any(|name| is_glob(name)));
        if rule.names("kinds", "physical") && changes(rule) && several {
            let text = if all_names {
                "it may change the node's own hardware, by any name".to_owned()
            } else {
                format!("`{field}` has a glob: it may change any hardware that matches")
            };
            findings.push(warning("physical", text));
        }
    }
    findings
}

/// Links of the host of any kind, if a name can be that of hardware.
fn of_any_kind(field: &str, names: Option<&Texts>) -> Option<Remark> {
    let Some(names) = names.filter(|names| !names.contains("*")) else {
        let text = "`kinds` is left out for links of the host, which includes `physical`, the node's \
                    own hardware";
        return Some(warning("physical", text));
    };
    let hardware = names.iter().find(|name| is_like_hardware(name))?;
    let text = format!(
        "`kinds` is left out, and `{hardware}` in `{field}` is a name of the node's own hardware: \
         name the kinds you mean"
    );
    Some(warning("physical", text))
}

/// Whether a glob matches names of hardware.
fn is_like_hardware(glob: &str) -> bool {
    let literal = glob.split(['*', '?', '[']).next().unwrap_or_default();
    let is_glob = literal.len() < glob.len();
    let begins = |with: &&str| literal.starts_with(*with) || is_glob && with.starts_with(literal);
    !glob.contains('{') && HARDWARE.iter().any(begins)
}

fn wide_networks(rule: &RuleFields) -> Vec<Remark> {
    let mut findings = Vec::new();
    let together = rule.clone().aggregated();
    let fields = rule.described().iter();
    for Field { key: field, .. } in fields.filter(|field| field.is_of::<Networks>()) {
        for all in ["0.0.0.0/0", "::/0"] {
            if together.names(field, all) {
                let text = if rule.names(field, all) {
                    format!("`{field}` has `{all}`, which matches every address of its family")
                } else {
                    format!("`{field}` together are `{all}`, every address of its family")
                };
                findings.push(warning("every-address", text));
            }
        }
    }
    findings
}

/// Keys with a wildcard in place of a link's name, and keys of the whole host.
fn wide_keys(rule: &RuleFields) -> Vec<Remark> {
    if !on_host(rule) || !rule.verbs().contains(&Verb::Write) {
        return Vec::new();
    }
    let keys = rule.get("keys").into_iter().flatten();
    let found = keys.filter_map(|key| wide_key(key));
    // Neither `all` nor a link of others has such an owner.
    let is_bounded = |remark: &Remark| remark.code == "every-link" && rule.get("owners").is_some();
    found.filter(|remark| !is_bounded(remark)).collect()
}

/// Parameters of the host that protect it, and a value with which they do not.
fn protections(rule: &RuleFields) -> Vec<Remark> {
    if !on_host(rule) || !rule.verbs().contains(&Verb::Write) {
        return Vec::new();
    }
    let any = Texts::from([String::new()]);
    let values = rule.get("values").unwrap_or(&any);
    let keys = rule.get("keys").into_iter().flatten();
    let found = keys.filter_map(|key| {
        let mut disabled = values
            .iter()
            .filter_map(|value| Some((value, disabled_protection(key, value)?)));
        let (value, which) = disabled.next()?;
        let to = if value.is_empty() {
            String::new()
        } else {
            format!(" to `{value}`")
        };
        let text = format!("it may set `{key}`{to} on the host, which {which}");
        Some(warning("disables-protection", text))
    });
    found.collect()
}

/// A key of the host with a wildcard for a whole part of it.
fn wide_key(key: &str) -> Option<Remark> {
    let parts: Vec<&str> = key.split('.').collect();
    let is_every = |part: &str| part.contains('*') && part.chars().all(|c| "*?".contains(c));
    let is_of_links = |part: &str| ["conf", "neigh"].iter().any(|word| glob_covers(part, word));
    // `net.ipv4.conf.NAME.…`
    let link = parts
        .get(2)
        .filter(|part| is_of_links(part))
        .and(parts.get(3));
    let others = parts
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != 3 || link.is_none());
    if others.clone().any(|(_, part)| is_every(part)) {
        let text = format!(
            "`{key}` matches every parameter of the host at that place: name those you mean"
        );
        return Some(warning("every-key", text));
    }
    match link {
        Some(name) if is_every(name) => {
            let text = format!("`{key}` covers every link of the host, and `all` and `default`");
            Some(warning("every-link", text))
        }
        Some(name) if stands_for_all(name).next().is_some() => {
            let all = stands_for_all(name).map(|word| match word {
                "default" => "`default`, for every link that the host will have".to_owned(),
                word => format!("`{word}`, for every link of the host at once"),
            });
            let text = format!("`{key}` sets {}", joined(all.collect(), "and"));
            Some(warning("every-link", text))
        }
        Some(&"{ifname}") => {
            let text =
                format!("`{key}` on the host is a parameter of the host's own link of that name");
            Some(warning("ifname-on-host", text))
        }
        _ => None,
    }
}

/// The words for all links that a part of a key matches.
fn stands_for_all(part: &str) -> impl Iterator<Item = &'static str> {
    let own = part.to_owned();
    let all = ALL_LINKS.into_iter();
    all.filter(move |word| !own.contains('{') && glob_covers(&own, word))
}

/// Connections of the host, of any owner.
fn every_connection(rule: &RuleFields) -> Option<Remark> {
    if !on_host(rule) || rule.get("ports").is_some() {
        return None;
    }
    Some(match rule.get("protocols") {
        None => {
            let text = "`protocols` and `ports` are left out: it may forget every connection that the \
                        host tracks";
            warning("every-connection", text)
        }
        Some(protocols) => {
            let protocols = protocols.iter().cloned().collect();
            let text = format!(
                "`ports` is left out: it may forget every connection of {} that the host tracks",
                joined(protocols, "and")
            );
            note("every-connection", text)
        }
    })
}

/// Rules that can cut the host off.
fn wide_firewall(rule: &RuleFields) -> Vec<Remark> {
    let may = |field: &str, word: &str| rule.get(field).is_none_or(|values| values.contains(word));
    let mut findings = Vec::new();
    if !on_host(rule) || !rule.verbs().contains(&Verb::Write) {
        return findings;
    }
    let stops: Vec<String> = ["drop", "reject"]
        .into_iter()
        .filter(|word| may("statements", word))
        .map(|word| format!("`{word}`"))
        .collect();
    if !stops.is_empty() && may("hooks", "input") {
        let text = format!(
            "{} on the hook `input` can cut the host off from the network",
            joined(stops.clone(), "and")
        );
        findings.push(warning("host-traffic", text));
    }
    if !stops.is_empty() && may("hooks", "forward") {
        let text = format!(
            "{} on the hook `forward` can stop the traffic of every container of the host",
            joined(stops, "and")
        );
        findings.push(warning("forwarded-traffic", text));
    }
    findings
}

fn wide_directories(rule: &RuleFields) -> Vec<Remark> {
    let mut findings = Vec::new();
    for directory in rule.get("directories").into_iter().flatten() {
        let path = Path::new(directory);
        let mut all = SYSTEM.iter().chain(&RECORDS);
        let is_in = all.find(|system| path.starts_with(system));
        let holds = SYSTEM.iter().find(|s| Path::new(s).starts_with(path));
        let text = match (is_in, holds) {
            (Some(system), _) => {
                format!("`{directory}` is in `{system}`, which no plugin should reach")
            }
            (None, Some(system)) => {
                format!("`{directory}` holds `{system}`, which no plugin should reach")
            }
            (None, None) => continue,
        };
        findings.push(warning("system-directory", text));
    }
    findings
}

/// Files that plugins should not read. Resolver configurations are not among them.
fn wide_files(rule: &RuleFields) -> Vec<Remark> {
    let files = rule.get("files").into_iter().flatten().map(Path::new);
    let mut findings = Vec::new();
    for file in files {
        let is_resolvers = file
            .file_name()
            .is_some_and(|name| name.to_string_lossy().ends_with(RESOLVER));
        let is_cnis = file.starts_with("/etc/cni");
        let system = SYSTEM.iter().find(|system| file.starts_with(system));
        if let Some(system) = system.filter(|_| !is_resolvers && !is_cnis) {
            let text = format!(
                "`{}` is in `{system}`, where plugins need little more than resolver configurations",
                file.display()
            );
            findings.push(warning("system-file", text));
        }
    }
    findings
}
