//! Which addresses are assigned.
//!
//! Those of `runtimeConfig.ips`, else those of `args.cni.ips`, else those of the configuration and of
//! `IP` in `CNI_ARGS`, the latter with the gateways of `GATEWAY`: as with the reference plugin.

use std::net::IpAddr;

use ipnet::IpNet;
use weir_sdk::cni::{RequestedAddress, parse_cidr};
use weir_sdk::{Args, Error, IpConfig};

use crate::config::{AddressKeys, Config};

/// Returns the addresses to assign. Errors: code 4 for `CNI_ARGS`, code 7 for the configuration.
pub fn assigned(args: &Args, config: &Config) -> Result<Vec<IpConfig>, Error> {
    args.check_known()?;
    let requested = [
        ("runtimeConfig.ips", &config.runtime_config.ips),
        ("args.cni.ips", &config.args.cni.ips),
    ];
    match requested.into_iter().find(|(_, ips)| !ips.is_empty()) {
        Some((key, ips)) => listed(key, ips),
        None => configured(args, &config.ipam.addresses),
    }
}

fn listed(key: &str, ips: &[String]) -> Result<Vec<IpConfig>, Error> {
    let address = |(index, text): (usize, &String)| {
        let address = parse(&format!("{key}[{index}]"), text)?;
        Ok(ip_config(address, None))
    };
    ips.iter().enumerate().map(address).collect()
}

fn configured(args: &Args, addresses: &[AddressKeys]) -> Result<Vec<IpConfig>, Error> {
    let of_config = addresses.iter().enumerate().map(|(index, keys)| {
        let address = parse(&format!("ipam.addresses[{index}].address"), &keys.address)?;
        Ok(ip_config(address, keys.gateway.0))
    });
    of_config
        .chain(of_args(args)?.into_iter().map(Ok))
        .collect()
}

fn of_args(args: &Args) -> Result<Vec<IpConfig>, Error> {
    let address = |ip| Ok(ip_config(subnet(ip)?, None));
    let mut ips: Vec<IpConfig> = args
        .ips()?
        .into_iter()
        .map(address)
        .collect::<Result<_, Error>>()?;
    for gateway in args.gateways()? {
        let behind = ips.iter_mut().filter(|ip| ip.address.contains(&gateway));
        behind.for_each(|ip| ip.gateway = Some(gateway));
    }
    Ok(ips)
}

fn ip_config(address: IpNet, gateway: Option<IpAddr>) -> IpConfig {
    IpConfig {
        interface: None,
        address,
        gateway,
    }
}

fn parse(path: &str, text: &str) -> Result<IpNet, Error> {
    parse_cidr(text.trim()).map_err(|expected| {
        let text = text.escape_debug();
        Error::invalid_config(format!("{path}: expected {expected}, found `{text}`"))
    })
}

/// An address of `CNI_ARGS`, which needs a prefix length here.
fn subnet(ip: RequestedAddress) -> Result<IpNet, Error> {
    let text = ip.to_string();
    parse_cidr(&text).map_err(|expected| {
        let what = format!("CNI_ARGS: IP: expected {expected}, found `{text}`");
        Error::invalid_environment(what)
    })
}

#[cfg(test)]
mod tests {
    use weir_sdk::Code;

    use super::*;

    fn assigned_of(args: &str, config: &str) -> Result<Vec<(String, String)>, Error> {
        let config = serde_json::from_str(config).unwrap();
        let text = |gateway: Option<IpAddr>| gateway.map(|g| g.to_string()).unwrap_or_default();
        let ips = assigned(&args.parse().unwrap(), &config)?;
        let ips = ips.iter();
        Ok(ips
            .map(|ip| (ip.address.to_string(), text(ip.gateway)))
            .collect())
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
        pairs.iter().map(owned).collect()
    }

    const CONFIGURED: &str = r#"{"ipam": {"addresses": [
        {"address": "10.1.0.5/24", "gateway": "10.1.0.1"}, {"address": "fd00::5/64"}]}}"#;

    #[test]
    fn the_configurations_addresses_keep_their_host_part() {
        let expected = pairs(&[("10.1.0.5/24", "10.1.0.1"), ("fd00::5/64", "")]);
        assert_eq!(assigned_of("", CONFIGURED).unwrap(), expected);
    }

    #[test]
    fn arguments_are_added_and_gateways_go_to_their_subnets() {
        let args = "IP=10.2.0.5/24, fd01::5/64;GATEWAY=10.2.0.1,fd00::1,fd01::1";
        let expected = pairs(&[
            ("10.1.0.5/24", "10.1.0.1"),
            ("fd00::5/64", ""),
            ("10.2.0.5/24", "10.2.0.1"),
            ("fd01::5/64", "fd01::1"),
        ]);
        assert_eq!(assigned_of(args, CONFIGURED).unwrap(), expected);
    }

    #[test]
    fn what_the_runtime_asks_for_takes_the_place_of_the_rest() {
        let of_args = r#"{"args": {"cni": {"ips": ["10.3.0.5/24"]}},
            "ipam": {"addresses": [{"address": "10.1.0.5/24"}]}}"#;
        let of_runtime =
            of_args.replacen('{', r#"{"runtimeConfig": {"ips": ["10.4.0.5/24"]}, "#, 1);
        let first = |config| assigned_of("IP=10.2.0.5/24", config).unwrap();
        assert_eq!(first(of_args), pairs(&[("10.3.0.5/24", "")]));
        assert_eq!(first(&of_runtime), pairs(&[("10.4.0.5/24", "")]));
    }

    #[test]
    fn addresses_without_prefix_length_are_refused_with_their_key() {
        for (config, key) in [
            (
                r#"{"ipam": {"addresses": [{"address": "10.1.0.5"}]}}"#,
                "ipam.addresses[0].address: ",
            ),
            (
                r#"{"args": {"cni": {"ips": ["10.1.0.5/24", "x"]}}}"#,
                "args.cni.ips[1]: ",
            ),
            (
                r#"{"runtimeConfig": {"ips": ["10.1.0.5/33"]}}"#,
                "runtimeConfig.ips[0]: ",
            ),
        ] {
            let error = assigned_of("", config).unwrap_err();
            assert_eq!(error.code, Code::INVALID_CONFIG);
            assert!(error.msg.starts_with(key), "{error}");
        }
        let error = assigned_of("IP=10.1.0.5", "{}").unwrap_err();
        assert_eq!(error.code, Code::INVALID_ENVIRONMENT);
    }
}
