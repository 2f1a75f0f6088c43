//! Addresses requested in `CNI_ARGS`, `args.cni.ips` or `runtimeConfig.ips`.

use std::net::IpAddr;

use weir_sdk::ipam::RangeSet;
use weir_sdk::{Args, Error};

use crate::codes;
use crate::config::Config;

/// The requested addresses that were not assigned yet, each once.
pub struct Requested {
    addresses: Vec<IpAddr>,
}

impl Requested {
    /// Reads what the arguments and the configuration request.
    pub fn of(args: &Args, config: &Config) -> Result<Self, Error> {
        args.check_known()?;
        let of_args = args.ips()?;
        let of_args = of_args.iter().map(|ip| ip.address.to_canonical());
        let of_config = config.args.cni.ips.iter().chain(&config.runtime_config.ips);
        let mut addresses = Vec::new();
        for address in of_args.chain(of_config.copied()) {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        Ok(Requested { addresses })
    }

    /// Takes the first address that is in the range set.
    pub fn take_in(&mut self, set: &RangeSet) -> Option<IpAddr> {
        let is_in = |address: &IpAddr| set.range_of(*address).is_some();
        let index = self.addresses.iter().position(is_in)?;
        Some(self.addresses.remove(index))
    }

    /// Fails if an address is left.
    pub fn check_all_met(&self) -> Result<(), Error> {
        if self.addresses.is_empty() {
            return Ok(());
        }
        let left: Vec<String> = self.addresses.iter().map(IpAddr::to_string).collect();
        let msg = format!("failed to allocate all requested IPs: {}", left.join(" "));
        let details = "each must be in a range set, and no two in the same";
        Err(Error::new(codes::REQUEST_UNMET, msg).with_details(details))
    }
}

#[cfg(test)]
mod tests {
    use weir_sdk::ipam::Range;

    use super::*;

    fn requested(args: &str, config: &str) -> Result<Requested, Error> {
        Requested::of(
            &args.parse().unwrap(),
            &serde_json::from_str(config).unwrap(),
        )
    }

    fn set(subnet: &str) -> RangeSet {
        let range = Range::new(subnet.parse().unwrap(), None, None, None);
        RangeSet::new(vec![range.unwrap()]).unwrap()
    }

    #[test]
    fn all_three_sources_count_and_each_address_once() {
        let mut requested = requested(
            "IP=10.0.0.5/24",
            r#"{"args": {"cni": {"ips": ["10.0.0.5", "10.0.1.6"]}},
                "runtimeConfig": {"ips": ["fd00::7"]}}"#,
        )
        .unwrap();
        assert_eq!(requested.take_in(&set("fd00::/64")), "fd00::7".parse().ok());
        assert_eq!(
            requested.take_in(&set("10.0.0.0/24")),
            "10.0.0.5".parse().ok()
        );
        assert_eq!(requested.take_in(&set("10.0.0.0/24")), None);
        let error = requested.check_all_met().unwrap_err();
        assert_eq!(error.code, codes::REQUEST_UNMET);
        assert_eq!(error.msg, "failed to allocate all requested IPs: 10.0.1.6");
    }

    #[test]
    fn unknown_arguments_are_errors_unless_ignored() {
        let code = |args| requested(args, "{}").map(drop).map_err(|error| error.code);
        assert_eq!(code("COLOUR=red"), Err(weir_sdk::Code::INVALID_ENVIRONMENT));
        assert_eq!(code("COLOUR=red;IgnoreUnknown=1"), Ok(()));
        assert_eq!(
            code("IP=nonsense"),
            Err(weir_sdk::Code::INVALID_ENVIRONMENT)
        );
    }
}
