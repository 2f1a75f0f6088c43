//! The configuration: the keys inside `ipam`, and what `args` and `runtimeConfig` add to them.

use std::borrow::Cow;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, de};
use weir_sdk::cni::RequestedAddress;
use weir_sdk::config::ArgsKey;
use weir_sdk::config::ip::{self, RouteKeys};
use weir_sdk::{Error, Route};

use crate::range::{Range, RangeSet};

/// Where leases are without `dataDir`: one directory per network below it.
pub const DEFAULT_DATA_DIR: &str = "/var/lib/cni/networks";

/// The parts of an execution configuration that are this plugin's.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    /// The plugin's own keys.
    pub ipam: Ipam,
    /// Capability arguments.
    pub runtime_config: RuntimeConfig,
    /// Arguments of the convention.
    pub args: ArgsKey<CniArgs>,
}

/// `ipam`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ipam {
    /// One range, which becomes the first range set.
    #[serde(deserialize_with = "network")]
    pub subnet: Option<IpNet>,
    /// Its first address.
    #[serde(deserialize_with = "ip::address")]
    pub range_start: Option<IpAddr>,
    /// Its last address.
    #[serde(deserialize_with = "ip::address")]
    pub range_end: Option<IpAddr>,
    /// Its gateway.
    #[serde(deserialize_with = "ip::address")]
    pub gateway: Option<IpAddr>,
    /// Range sets. The container gets one address of each.
    pub ranges: Vec<Vec<RangeKeys>>,
    /// Routes to pass on.
    pub routes: Vec<RouteKeys>,
    /// Where leases are.
    #[serde(deserialize_with = "ip::text")]
    pub data_dir: Option<String>,
    /// A resolver configuration file to read DNS settings from.
    #[serde(deserialize_with = "ip::text")]
    pub resolv_conf: Option<String>,
    /// STATUS fails when a range set has no free address.
    pub fail_status_when_exhausted: bool,
}

/// One range.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RangeKeys {
    /// The subnet.
    #[serde(deserialize_with = "network")]
    pub subnet: Option<IpNet>,
    /// The first address; the subnet's first but one if absent.
    #[serde(deserialize_with = "ip::address")]
    pub range_start: Option<IpAddr>,
    /// The last address; the subnet's last if absent, or last but one for IPv4.
    #[serde(deserialize_with = "ip::address")]
    pub range_end: Option<IpAddr>,
    /// The gateway; the subnet's first address but one if absent.
    #[serde(deserialize_with = "ip::address")]
    pub gateway: Option<IpAddr>,
}

/// `runtimeConfig`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RuntimeConfig {
    /// Range sets, which come before all others.
    pub ip_ranges: Vec<Vec<RangeKeys>>,
    /// Requested addresses.
    #[serde(deserialize_with = "addresses")]
    pub ips: Vec<IpAddr>,
}

/// `args.cni`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CniArgs {
    /// Requested addresses.
    #[serde(deserialize_with = "addresses")]
    pub ips: Vec<IpAddr>,
}

/// A range set as it is given: its ranges and the keys' paths.
struct GivenSet<'c> {
    path: String,
    /// Each with the path of its key.
    ranges: Vec<(String, Cow<'c, RangeKeys>)>,
}

impl<'c> GivenSet<'c> {
    /// The sets of a list of lists.
    fn list(key: &str, sets: &'c [Vec<RangeKeys>]) -> impl Iterator<Item = GivenSet<'c>> {
        sets.iter().enumerate().map(move |(index, ranges)| {
            let path = format!("{key}[{index}]");
            let range = |(index, keys)| (format!("{path}[{index}]"), Cow::Borrowed(keys));
            let ranges = ranges.iter().enumerate().map(range).collect();
            GivenSet { path, ranges }
        })
    }

    /// The set of the keys that are in `ipam` itself.
    fn inline(keys: RangeKeys) -> Self {
        GivenSet {
            path: "ipam".to_owned(),
            ranges: vec![("ipam".to_owned(), Cow::Owned(keys))],
        }
    }

    fn build(&self) -> Result<RangeSet, Error> {
        let range = |(path, keys): &(String, Cow<'_, RangeKeys>)| {
            keys.range().map_err(|fault| at(path, fault))
        };
        let ranges = self.ranges.iter().map(range).collect::<Result<_, _>>()?;
        RangeSet::new(ranges).map_err(|fault| at(&self.path, fault))
    }
}

fn at(path: &str, fault: String) -> Error {
    Error::invalid_config(format!("{path}: {fault}"))
}

impl Config {
    /// Returns the range sets: those of `runtimeConfig.ipRanges`, that of `ipam.subnet`, those of
    /// `ipam.ranges`. An error has code 7.
    pub fn range_sets(&self) -> Result<Vec<RangeSet>, Error> {
        let given = self.given_sets();
        if given.is_empty() {
            let msg = "ipam: no IP ranges specified: give `subnet` or `ranges`";
            return Err(Error::invalid_config(msg));
        }
        let sets = given.iter().map(GivenSet::build);
        let sets: Vec<RangeSet> = sets.collect::<Result<_, _>>()?;
        check_overlaps(&given, &sets)?;
        Ok(sets)
    }

    fn given_sets(&self) -> Vec<GivenSet<'_>> {
        let requested = GivenSet::list("runtimeConfig.ipRanges", &self.runtime_config.ip_ranges);
        let inline = self.ipam.range().map(GivenSet::inline);
        let listed = GivenSet::list("ipam.ranges", &self.ipam.ranges);
        requested.chain(inline).chain(listed).collect()
    }
}

fn check_overlaps(given: &[GivenSet<'_>], sets: &[RangeSet]) -> Result<(), Error> {
    for (index, set) in sets.iter().enumerate() {
        let before = sets[..index].iter().position(|other| other.overlaps(set));
        if let Some(before) = before {
            let (first, second) = (&given[before].path, &given[index].path);
            let msg = format!(
                "range set {before} ({first}: {}) overlaps with {index} ({second}: {set})",
                sets[before]
            );
            return Err(Error::invalid_config(msg));
        }
    }
    Ok(())
}

impl Ipam {
    /// The range of the keys that are in `ipam` itself.
    fn range(&self) -> Option<RangeKeys> {
        self.subnet?;
        Some(RangeKeys {
            subnet: self.subnet,
            range_start: self.range_start,
            range_end: self.range_end,
            gateway: self.gateway,
        })
    }

    /// Returns the directory of all networks' leases.
    pub fn data_dir(&self) -> &str {
        self.data_dir.as_deref().unwrap_or(DEFAULT_DATA_DIR)
    }

    /// Returns the routes to pass on.
    pub fn routes(&self) -> Vec<Route> {
        self.routes.iter().map(Route::from).collect()
    }
}

impl RangeKeys {
    /// Returns the range, checked and with its defaults filled in.
    pub fn range(&self) -> Result<Range, String> {
        let subnet = self.subnet.ok_or("key `subnet` is missing")?;
        Range::new(subnet, self.range_start, self.range_end, self.gateway)
    }
}

/// A subnet.
fn network<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<IpNet>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let expected = "expected a subnet such as `10.1.0.0/16`";
    text.parse()
        .map(Some)
        .map_err(|_| de::Error::custom(expected))
}

/// Requested addresses, each with or without a prefix length, which says nothing here.
fn addresses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpAddr>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let expected = "expected IP addresses, with or without prefix length";
    let parsed = texts.iter().map(|text| text.parse::<RequestedAddress>());
    let parsed: Result<Vec<_>, _> = parsed.collect();
    let parsed = parsed.map_err(|_| de::Error::custom(expected))?;
    Ok(parsed.iter().map(|ip| ip.address.to_canonical()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        serde_json::from_str(text).unwrap()
    }

    fn fault(text: &str) -> String {
        config(text).range_sets().unwrap_err().msg
    }

    #[test]
    fn range_sets_come_in_the_references_order() {
        let config = config(
            r#"{"cniVersion": "1.0.0",
                "ipam": {"subnet": "10.1.0.0/16", "ranges": [[{"subnet": "10.2.0.0/16"}]]},
                "runtimeConfig": {"ipRanges": [[{"subnet": "10.3.0.0/16"}]]}}"#,
        );
        let sets = config.range_sets().unwrap();
        let sets: Vec<String> = sets.iter().map(RangeSet::to_string).collect();
        assert_eq!(
            sets,
            [
                "10.3.0.1-10.3.255.254",
                "10.1.0.1-10.1.255.254",
                "10.2.0.1-10.2.255.254"
            ]
        );
    }

    #[test]
    fn faults_name_their_key() {
        assert_eq!(
            fault(r#"{"ipam": {}}"#),
            "ipam: no IP ranges specified: give `subnet` or `ranges`"
        );
        assert_eq!(
            fault(r#"{"ipam": {"ranges": [[{"subnet": "10.0.0.0/24"}], []]}}"#),
            "ipam.ranges[1]: empty range set"
        );
        assert_eq!(
            fault(
                r#"{"ipam": {"ranges": [[{"subnet": "10.0.0.0/24"}, {"gateway": "10.0.0.1"}]]}}"#
            ),
            "ipam.ranges[0][1]: key `subnet` is missing"
        );
        assert_eq!(
            fault(r#"{"ipam": {"subnet": "10.0.0.0/31"}}"#),
            "ipam: subnet 10.0.0.0/31 is too small to allocate from: expected at least 4 addresses"
        );
    }

    #[test]
    fn range_sets_must_not_overlap() {
        assert_eq!(
            fault(
                r#"{"cniVersion": "1.0.0", "ipam": {"subnet": "10.0.0.0/16",
                    "ranges": [[{"subnet": "10.1.0.0/16"}], [{"subnet": "10.0.5.0/24"}]]}}"#
            ),
            "range set 0 (ipam: 10.0.0.1-10.0.255.254) overlaps with 2 \
             (ipam.ranges[1]: 10.0.5.1-10.0.5.254)"
        );
    }

    #[test]
    fn empty_text_is_no_address() {
        let config = config(r#"{"ipam": {"subnet": "10.0.0.0/24", "gateway": "", "dataDir": ""}}"#);
        assert_eq!(config.ipam.gateway, None);
        assert_eq!(config.ipam.data_dir(), DEFAULT_DATA_DIR);
    }

    #[test]
    fn requested_addresses_may_have_a_prefix_length() {
        let config = config(
            r#"{"args": {"cni": {"ips": ["10.0.0.5"]}},
                "runtimeConfig": {"ips": ["10.0.1.5/24", "::ffff:10.0.2.5"]}}"#,
        );
        assert_eq!(config.args.cni.ips, ["10.0.0.5".parse::<IpAddr>().unwrap()]);
        let expected: [IpAddr; 2] = ["10.0.1.5".parse().unwrap(), "10.0.2.5".parse().unwrap()];
        assert_eq!(config.runtime_config.ips, expected);
    }

    #[test]
    fn routes_are_handed_on_whole() {
        let config = config(
            r#"{"ipam": {"routes": [{"dst": "0.0.0.0/0"},
                {"dst": "fd01::/64", "gw": "fd00::1", "mtu": 1400, "priority": 10, "scope": 0}]}}"#,
        );
        let routes = config.ipam.routes();
        assert_eq!(routes[0], Route::new("0.0.0.0/0".parse().unwrap(), None));
        assert_eq!(routes[1].gw, "fd00::1".parse().ok());
        assert_eq!(
            (routes[1].mtu, routes[1].priority, routes[1].scope),
            (Some(1400), Some(10), Some(0))
        );
    }
}
