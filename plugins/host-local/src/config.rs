//! The configuration: the keys inside `ipam`, and what `args` and `runtimeConfig` add to them.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, de};
use weir_sdk::cni::RequestedAddress;
use weir_sdk::config::IpamConfig;
use weir_sdk::config::ip::{self, Address, RouteKeys};
use weir_sdk::ipam::{Range, RangeKeys, RangeSets};
use weir_sdk::{Context, Error, Route};

/// Where leases are without `dataDir`: one directory per network below it.
const DEFAULT_DATA_DIR: &str = "/var/lib/cni/networks";

/// The parts of an execution configuration that are this plugin's.
pub type Config = IpamConfig<Ipam, RuntimeConfig, CniArgs>;

/// `ipam`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ipam {
    /// One range, which becomes the first range set.
    #[serde(deserialize_with = "ip::subnet")]
    pub subnet: Option<IpNet>,
    /// Its first address.
    pub range_start: Address,
    /// Its last address.
    pub range_end: Address,
    /// Its gateway.
    pub gateway: Address,
    /// Range sets. The container gets one address of each.
    pub ranges: Vec<Vec<RangeKeys>>,
    /// Routes to pass on.
    pub routes: Vec<RouteKeys>,
    /// Where leases are.
    pub data_dir: String,
    /// A resolver configuration file to read DNS settings from.
    pub resolv_conf: String,
    /// STATUS fails when a range set has no free address.
    pub fail_status_when_exhausted: bool,
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

/// Returns the range sets: those of `runtimeConfig.ipRanges`, that of `ipam.subnet`, those of
/// `ipam.ranges`. An error has code 7.
pub fn range_sets(config: &Config) -> Result<RangeSets, Error> {
    let ipam = &config.ipam;
    let mut sets = RangeSets::default();
    sets.read("runtimeConfig.ipRanges", &config.runtime_config.ip_ranges)?;
    if let Some(subnet) = ipam.subnet {
        let own = ipam.range(subnet).context("ipam")?;
        sets.push("ipam".to_owned(), vec![own])?;
    }
    sets.read("ipam.ranges", &ipam.ranges)?;
    sets.required("`subnet` or `ranges`")
}

impl Ipam {
    /// The range of the keys that are in `ipam` itself.
    fn range(&self, subnet: IpNet) -> Result<Range, Error> {
        let (start, end) = (self.range_start.0, self.range_end.0);
        Range::new(subnet, start, end, self.gateway.0)
    }

    /// Returns the directory of all networks' leases.
    pub fn data_dir(&self) -> &str {
        match self.data_dir.as_str() {
            "" => DEFAULT_DATA_DIR,
            given => given,
        }
    }

    /// Returns the routes to pass on.
    pub fn routes(&self) -> Vec<Route> {
        self.routes.iter().map(Route::from).collect()
    }
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
    use weir_sdk::ipam::RangeSet;

    use super::*;

    fn config(text: &str) -> Config {
        serde_json::from_str(text).unwrap()
    }

    fn fault(text: &str) -> String {
        range_sets(&config(text)).unwrap_err().msg
    }

    #[test]
    fn range_sets_come_in_the_references_order() {
        let config = config(
            r#"{"cniVersion": "1.0.0",
                "ipam": {"subnet": "10.1.0.0/16", "ranges": [[{"subnet": "10.2.0.0/16"}]]},
                "runtimeConfig": {"ipRanges": [[{"subnet": "10.3.0.0/16"}]]}}"#,
        );
        let sets = range_sets(&config).unwrap();
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
        assert_eq!(config.ipam.gateway.0, None);
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
