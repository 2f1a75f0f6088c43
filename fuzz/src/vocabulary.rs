//! The words that grants and operations are made of.

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    Namespaces,
    Kinds,
    Names,
    Globs,
    Addresses,
    Hosts,
    Networks,
    Tables,
    Keys,
    KeyGlobs,
    Values,
    Families,
    Hooks,
    Statements,
    Disciplines,
    Protocols,
    Ports,
    Directories,
    Files,
    Plugins,
    /// Verbs, of the capabilities that have these.
    Objects,
    Links,
    Created,
    Announced,
    Accesses,
    Deleted,
}

impl Words {
    /// Those that mean something.
    pub fn usual(self) -> &'static [&'static str] {
        match self {
            Self::Namespaces => &["host", "container"],
            Self::Kinds => &["veth", "bridge", "ifb", "dummy", "physical", "loopback"],
            Self::Names => &[
                "eth0", "veth1", "cni0", "lo", "", "eth0.1", "*", "{ifname}", "[a]",
            ],
            Self::Globs => &[
                "eth0",
                "veth*",
                "*",
                "?",
                "{ifname}",
                "{network}*",
                "[a-z]*",
                "e{containerid}",
            ],
            Self::Addresses => &[
                "10.1.2.3/16",
                "fd00::1/64",
                "0.0.0.0/0",
                "::ffff:10.0.0.1/120",
            ],
            Self::Hosts => &["10.1.2.3", "fd00::1", "::ffff:10.0.0.1", "0.0.0.0"],
            Self::Networks => &["10.0.0.0/8", "0.0.0.0/0", "::/0", "fd00::/8", "10.1.2.3/32"],
            Self::Tables => &["254", "100", "0"],
            Self::Keys => &[
                "net.ipv4.ip_forward",
                "net.ipv4.conf.eth0.forwarding",
                "net.ipv4.conf.eth0/1.x",
            ],
            Self::KeyGlobs => &[
                "net.*.*",
                "net.ipv4.conf.{ifname}.*",
                "net.ipv4.ip_forward",
                "*",
            ],
            Self::Values => &["0", "1", ""],
            Self::Families => &["ip", "ip6", "inet", "arp", "bridge", "netdev"],
            Self::Hooks => &[
                "prerouting",
                "input",
                "forward",
                "output",
                "postrouting",
                "ingress",
            ],
            Self::Statements => &[
                "accept",
                "drop",
                "return",
                "jump",
                "masquerade",
                "dnat",
                "set-mark",
            ],
            Self::Disciplines => &["tbf", "htb", "ingress", "clsact", "mirred"],
            Self::Protocols => &["tcp", "udp", "sctp"],
            Self::Ports => &["53", "30000-32767", "0-65535"],
            Self::Directories => &["/var/lib/cni", "/run/cni/x", "/", "/var/lib/cni/../x"],
            Self::Files => &["/etc/resolv.conf", "/etc/hosts"],
            Self::Plugins => &["host-local", "static", "bridge"],
            Self::Objects => &["create", "read", "delete"],
            Self::Links => &["create", "read", "update", "delete"],
            Self::Created => &["dummy", "bridge", "ifb"],
            Self::Announced => &["create", "read", "delete", "announce"],
            Self::Accesses => &["read", "write"],
            Self::Deleted => &["delete"],
        }
    }

    /// Whether any text may stand there.
    pub fn are_free(self) -> bool {
        matches!(
            self,
            Self::Names
                | Self::Globs
                | Self::Keys
                | Self::KeyGlobs
                | Self::Values
                | Self::Directories
        )
    }
}

/// A capability, or an operation, with its fields.
type Fields = (&'static str, &'static [(&'static str, Words)]);

/// What the rules of each capability can say.
pub const RULES: &[Fields] = &[
    (
        "link",
        &[
            ("namespace", Words::Namespaces),
            ("kinds", Words::Kinds),
            ("names", Words::Globs),
            ("verbs", Words::Links),
        ],
    ),
    (
        "address",
        &[
            ("namespace", Words::Namespaces),
            ("kinds", Words::Kinds),
            ("links", Words::Globs),
            ("addresses", Words::Networks),
            ("verbs", Words::Objects),
        ],
    ),
    (
        "route",
        &[
            ("namespace", Words::Namespaces),
            ("links", Words::Globs),
            ("destinations", Words::Networks),
            ("tables", Words::Tables),
            ("verbs", Words::Links),
        ],
    ),
    (
        "neighbour",
        &[
            ("namespace", Words::Namespaces),
            ("links", Words::Globs),
            ("addresses", Words::Networks),
            ("verbs", Words::Announced),
        ],
    ),
    (
        "traffic",
        &[
            ("namespace", Words::Namespaces),
            ("kinds", Words::Kinds),
            ("links", Words::Globs),
            ("disciplines", Words::Disciplines),
            ("verbs", Words::Objects),
        ],
    ),
    (
        "firewall",
        &[
            ("namespace", Words::Namespaces),
            ("families", Words::Families),
            ("hooks", Words::Hooks),
            ("statements", Words::Statements),
            ("verbs", Words::Accesses),
        ],
    ),
    (
        "firewalld",
        &[
            ("zones", Words::Globs),
            ("sources", Words::Networks),
            ("verbs", Words::Objects),
        ],
    ),
    (
        "conntrack",
        &[
            ("namespace", Words::Namespaces),
            ("protocols", Words::Protocols),
            ("ports", Words::Ports),
            ("verbs", Words::Deleted),
        ],
    ),
    (
        "sysctl",
        &[
            ("namespace", Words::Namespaces),
            ("keys", Words::KeyGlobs),
            ("values", Words::Values),
            ("verbs", Words::Accesses),
        ],
    ),
    (
        "store",
        &[
            ("directories", Words::Directories),
            ("files", Words::Files),
            ("verbs", Words::Accesses),
        ],
    ),
];

const LINK: (&str, Words) = ("link", Words::Names);
const NAME: (&str, Words) = ("name", Words::Names);
const KIND: (&str, Words) = ("kind", Words::Kinds);
const IN: (&str, Words) = ("namespace", Words::Namespaces);
const FAMILY: (&str, Words) = ("family", Words::Families);

/// The operations, with fields as people name them (`weir grants explain`).
pub const OPERATIONS: &[Fields] = &[
    ("link.create", &[IN, ("kind", Words::Created), NAME]),
    (
        "link.create",
        &[
            IN,
            ("kind", Words::Created),
            NAME,
            ("master.namespace", Words::Namespaces),
            ("master.kind", Words::Kinds),
            ("master.name", Words::Names),
        ],
    ),
    ("link.get", &[IN, KIND, NAME]),
    ("link.get", &[IN, NAME]),
    ("link.delete", &[IN, KIND, NAME]),
    ("link.update", &[IN, KIND, NAME]),
    ("link.update", &[IN, KIND, NAME, ("new-name", Words::Names)]),
    (
        "link.move",
        &[
            IN,
            KIND,
            NAME,
            ("to", Words::Namespaces),
            ("new-name", Words::Names),
        ],
    ),
    (
        "address.add",
        &[IN, KIND, LINK, ("address", Words::Addresses)],
    ),
    (
        "address.delete",
        &[IN, KIND, LINK, ("address", Words::Addresses)],
    ),
    ("address.list", &[IN, KIND, LINK]),
    (
        "route.add",
        &[
            IN,
            ("destination", Words::Addresses),
            LINK,
            ("table", Words::Tables),
        ],
    ),
    ("route.add", &[IN, ("destination", Words::Addresses)]),
    ("route.list", &[IN]),
    (
        "route.list",
        &[
            IN,
            LINK,
            ("destination", Words::Addresses),
            ("table", Words::Tables),
        ],
    ),
    ("route.get", &[IN, ("to", Words::Hosts)]),
    ("neighbour.add", &[IN, LINK, ("address", Words::Hosts)]),
    (
        "neighbour.announce",
        &[IN, LINK, ("addresses", Words::Hosts)],
    ),
    (
        "traffic.add-qdisc",
        &[IN, KIND, LINK, ("discipline", Words::Disciplines)],
    ),
    ("traffic.delete-qdisc", &[IN, KIND, LINK]),
    (
        "traffic.add-filter",
        &[
            IN,
            KIND,
            LINK,
            ("target.namespace", Words::Namespaces),
            ("target.kind", Words::Kinds),
            ("target.name", Words::Names),
        ],
    ),
    (
        "firewall.apply",
        &[
            IN,
            FAMILY,
            ("hooks", Words::Hooks),
            ("statements", Words::Statements),
        ],
    ),
    ("firewall.list-chains", &[IN, FAMILY]),
    ("firewalld.is-running", &[]),
    (
        "firewalld.add-source",
        &[("zone", Words::Names), ("source", Words::Hosts)],
    ),
    (
        "conntrack.delete",
        &[IN, ("protocol", Words::Protocols), ("port", Words::Tables)],
    ),
    ("conntrack.delete", &[IN, ("protocol", Words::Protocols)]),
    ("sysctl.read", &[IN, ("key", Words::Keys)]),
    (
        "sysctl.write",
        &[IN, ("key", Words::Keys), ("value", Words::Values)],
    ),
    ("store.get", &[("directory", Words::Directories)]),
    ("store.put", &[]),
    ("store.read-file", &[("path", Words::Files)]),
    ("ipam.run", &[("plugin", Words::Plugins)]),
];
