//! The configuration, key by key.

use std::net::IpAddr;

use weir_sdk::{Error, IpFamily};

/// A plugin configuration of the type `sbr`.
#[weir_sdk::config(rename_all = "camelCase", default)]
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The routing table that the rules look up, with the routes that somebody else puts there; a free one for each address
    /// if it is left out.
    pub table: Option<u32>,
    /// Gateways in place of those of the previous result, at most one of each family. Nothing with `table`.
    pub gateways: Vec<IpAddr>,
    /// The main table keeps routes to the subnets, with the interface's addresses as sources. Nothing with `table`.
    pub add_source_hints: bool,
}

impl Config {
    /// Returns the gateway for addresses of a family; none if the configuration has none.
    pub fn gateway(&self, family: IpFamily) -> Option<IpAddr> {
        let mut gateways = self.gateways.iter().copied();
        gateways.find(|gateway| IpFamily::of(*gateway) == family)
    }

    /// Checks what the types do not say. Errors have code 7 and begin with the key.
    pub fn validate(&self) -> Result<(), Error> {
        if self.table == Some(0) {
            let why = "table: 0 is not a routing table: expected 1 to 4294967295";
            return Err(Error::invalid_config(why));
        }
        for (index, gateway) in self.gateways.iter().enumerate() {
            let family = IpFamily::of(*gateway);
            let former = self.gateway(family).filter(|former| former != gateway);
            let is_repeated = self.gateways[..index].contains(gateway);
            if former.is_some() || is_repeated {
                let former = former.unwrap_or(*gateway);
                return Err(Error::invalid_config(format!(
                    "gateways: `{former}` and `{gateway}` are of one family: expected at most one IPv4 and one IPv6 \
                     gateway"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use weir_sdk::Component;

    use super::*;
    use crate::Sbr;

    fn read(keys: &str) -> Result<Config, Error> {
        Component::<Sbr>::configuration(&format!("{{{keys}}}"))
    }

    #[test]
    fn a_family_has_one_gateway() {
        let config = read(r#""gateways": ["10.1.0.1", "fd00::1"]"#).unwrap();
        assert_eq!(config.gateway(IpFamily::Ipv6), "fd00::1".parse().ok());
        assert_eq!(read("").unwrap().gateway(IpFamily::Ipv4), None);
        for two in [
            r#"["10.1.0.1", "10.1.0.2"]"#,
            r#"["10.1.0.1", "10.1.0.1"]"#,
            r#"["fd00::1", "10.1.0.1", "fd00::2"]"#,
        ] {
            let error = read(&format!(r#""gateways": {two}"#)).unwrap_err();
            assert!(error.msg.starts_with("gateways: "), "{error}");
        }
    }

    #[test]
    fn there_is_no_table_0() {
        read(r#""table": 4294967295"#).unwrap();
        let error = read(r#""table": 0"#).unwrap_err();
        assert!(error.msg.starts_with("table: 0 "), "{error}");
        for table in ["-1", "4294967296", "\"main\""] {
            let error = read(&format!(r#""table": {table}"#)).unwrap_err();
            assert!(
                error.msg.starts_with("table: expected an integer"),
                "{error}"
            );
        }
    }
}
