//! `CNI_ARGS`: extra arguments of an attachment as `KEY=VALUE;KEY=VALUE` (CNI section 2).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::error::Error;
use crate::mac::Mac;

/// The keys that standard plugins know. Every plugin of a list and its IPAM plugin get the same arguments.
const KNOWN: [&str; 3] = ["MAC", "IP", "GATEWAY"];

/// The key that makes unknown keys no error.
const IGNORE_UNKNOWN: &str = "IgnoreUnknown";

/// The arguments of one attachment, in the order given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Args {
    pairs: Vec<(String, String)>,
}

impl Args {
    /// Iterates over the pairs, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    /// Returns the pairs, in the order given.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// Whether there are no arguments.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Returns the value of `key`; of the last one if the key is given more than once.
    pub fn get(&self, key: &str) -> Option<&str> {
        let last_first = self.pairs.iter().rev();
        let pair = last_first.into_iter().find(|(k, _)| k == key);
        pair.map(|(_, value)| value.as_str())
    }

    /// Whether `IgnoreUnknown` is `1` or `true`.
    ///
    /// An error of code 4 if it is neither that nor `0` or `false`.
    fn ignore_unknown(&self) -> Result<bool, Error> {
        let Some(value) = self.get(IGNORE_UNKNOWN) else {
            return Ok(false);
        };
        match value.to_ascii_lowercase().as_str() {
            "1" | "true" => Ok(true),
            "0" | "false" => Ok(false),
            _ => Err(invalid(IGNORE_UNKNOWN, value, "1, true, 0 or false")),
        }
    }

    /// Checks that every key is `MAC`, `IP`, `GATEWAY` or `IgnoreUnknown`, unless `IgnoreUnknown` is set.
    ///
    /// An error of code 4 names every other key.
    pub fn check_known(&self) -> Result<(), Error> {
        if self.ignore_unknown()? {
            return Ok(());
        }
        let is_known = |key: &str| key == IGNORE_UNKNOWN || KNOWN.contains(&key);
        let unknown: Vec<&str> = self
            .iter()
            .map(|(k, _)| k)
            .filter(|k| !is_known(k))
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let msg = format!("CNI_ARGS: unknown keys {}", unknown.join(", "));
        let details = format!(
            "known keys are {}; with IgnoreUnknown=1 others are ignored",
            KNOWN.join(", ")
        );
        Err(Error::invalid_environment(msg).with_details(details))
    }

    /// Returns the addresses of `IP`, separated by commas; empty if the key is not given.
    ///
    /// An error of code 4 if one is not an address, with or without a prefix length.
    pub fn ips(&self) -> Result<Vec<RequestedAddress>, Error> {
        self.list("IP", "IP addresses with or without prefix length")
    }

    /// Returns the addresses of `GATEWAY`, separated by commas; empty if the key is not given.
    ///
    /// An error of code 4 if one is not an IP address.
    pub fn gateways(&self) -> Result<Vec<IpAddr>, Error> {
        self.list("GATEWAY", "IP addresses")
    }

    /// Returns the hardware address of `MAC`.
    ///
    /// An error of code 4 if it is not one.
    pub fn mac(&self) -> Result<Option<Mac>, Error> {
        let Some(value) = self.get("MAC").filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let expected = "a hardware address such as `02:00:5e:10:00:01`";
        let mac = value.parse().map_err(|_| invalid("MAC", value, expected));
        mac.map(Some)
    }

    /// Returns what Kubernetes container runtimes say about the pod in the `K8S_POD_*` keys.
    pub fn pod(&self) -> PodArgs<'_> {
        let get = |key| self.get(key).filter(|value| !value.is_empty());
        PodArgs {
            namespace: get("K8S_POD_NAMESPACE"),
            name: get("K8S_POD_NAME"),
            uid: get("K8S_POD_UID"),
            infra_container_id: get("K8S_POD_INFRA_CONTAINER_ID"),
        }
    }

    fn list<T: FromStr>(&self, key: &str, expected: &str) -> Result<Vec<T>, Error> {
        let Some(value) = self.get(key).filter(|value| !value.is_empty()) else {
            return Ok(Vec::new());
        };
        let items = value.split(',').map(|item| item.trim().parse());
        let items: Result<Vec<T>, _> = items.collect();
        items.map_err(|_| invalid(key, value, expected))
    }
}

fn invalid(key: &str, value: &str, expected: &str) -> Error {
    let value = value.escape_debug();
    Error::invalid_environment(format!("CNI_ARGS: {key}=`{value}`: expected {expected}"))
}

impl FromStr for Args {
    type Err = Error;

    /// Parses the text of `CNI_ARGS`; empty text is no arguments.
    ///
    /// An error of code 4 if a part between semicolons is not one key, one `=` and one value.
    fn from_str(text: &str) -> Result<Self, Error> {
        if text.is_empty() {
            return Ok(Args::default());
        }
        let pairs: Result<Vec<_>, Error> = text.split(';').map(parse_pair).collect();
        Ok(Args { pairs: pairs? })
    }
}

fn parse_pair(pair: &str) -> Result<(String, String), Error> {
    match pair.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.contains('=') => {
            Ok((key.to_string(), value.to_string()))
        }
        _ => {
            let pair = pair.escape_debug();
            let msg = format!("CNI_ARGS: invalid pair `{pair}`: expected KEY=VALUE");
            let details = "pairs are separated by `;`, and neither keys nor values contain `=`";
            Err(Error::invalid_environment(msg).with_details(details))
        }
    }
}

impl fmt::Display for Args {
    /// Prints the text of `CNI_ARGS`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, value)) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { ";" };
            write!(f, "{separator}{key}={value}")?;
        }
        Ok(())
    }
}

/// A requested address, with or without its subnet's prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedAddress {
    /// The address.
    pub address: IpAddr,
    /// The prefix length, where one was given; at most the address's bits.
    pub prefix_len: Option<u8>,
}

impl FromStr for RequestedAddress {
    type Err = Error;

    /// Parses `10.1.0.5` or `10.1.0.5/16`. An error has code 4.
    fn from_str(text: &str) -> Result<Self, Error> {
        let parsed = if text.contains('/') {
            let net = text.parse::<ipnet::IpNet>().ok();
            net.map(|net| (net.addr(), Some(net.prefix_len())))
        } else {
            text.parse().ok().map(|address| (address, None))
        };
        let (address, prefix_len) = parsed.ok_or_else(|| {
            let text = text.escape_debug();
            let msg = format!("`{text}`: expected an IP address, with or without prefix length");
            Error::invalid_environment(msg)
        })?;
        Ok(RequestedAddress {
            address,
            prefix_len,
        })
    }
}

impl fmt::Display for RequestedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix_len {
            Some(prefix_len) => write!(f, "{}/{prefix_len}", self.address),
            None => write!(f, "{}", self.address),
        }
    }
}

/// What the `K8S_POD_*` arguments say; each `None` if absent or empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodArgs<'a> {
    /// `K8S_POD_NAMESPACE`.
    pub namespace: Option<&'a str>,
    /// `K8S_POD_NAME`.
    pub name: Option<&'a str>,
    /// `K8S_POD_UID`.
    pub uid: Option<&'a str>,
    /// `K8S_POD_INFRA_CONTAINER_ID`, the id of the pod's sandbox.
    pub infra_container_id: Option<&'a str>,
}

impl PodArgs<'_> {
    /// `namespace/name`, where both are given.
    pub fn full_name(&self) -> Option<String> {
        let (namespace, name) = self.namespace.zip(self.name)?;
        Some(format!("{namespace}/{name}"))
    }
}
