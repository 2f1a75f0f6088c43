//! The plugin `{{name}}`: caps the MTU of the container's interface.
//!
//! It creates nothing, and comes after the plugin that makes the interface.
//!
//! | key | default | what |
//! |---|---|---|
//! | `mtu` | 1400 | bytes; an interface with more gets this, one with less keeps its own |

use weir_sdk::link::{self, Changes};
use weir_sdk::{AddResult, Error, Namespace, Plugin, Request, check};

/// Every link must carry packets of this size (RFC 791).
const LEAST_MTU: u32 = 68;

pub struct {{type}};

/// The plugin's keys of the network configuration.
#[weir_sdk::config(default)]
#[derive(Debug)]
pub struct Config {
    /// In bytes.
    pub mtu: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config { mtu: 1400 }
    }
}

impl Plugin for {{type}} {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        if config.mtu < LEAST_MTU {
            let msg = format!("mtu: expected at least {LEAST_MTU}, found {}", config.mtu);
            return Err(Error::invalid_config(msg));
        }
        Ok(())
    }

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let mut result = request.chained()?.clone();
        let interface = request.container_interface()?;
        if let Some(mtu) = too_large(interface.mtu, &request.config) {
            let changes = Changes {
                mtu: Some(mtu),
                ..Changes::default()
            };
            link::update(Namespace::Container, &interface, changes)?;
            if let Some(interface) = result.container_interface_mut(&request.ifname) {
                interface.mtu = Some(mtu);
            }
        }
        Ok(result)
    }

    // No `del`: the MTU disappears with the interface.

    fn check(request: Request<Config>) -> Result<(), Error> {
        let interface = request.container_interface()?;
        match too_large(interface.mtu, &request.config) {
            None => Ok(()),
            Some(most) => Err(check::wrong(format!(
                "`{}` has an MTU of {}; expected at most {most}",
                interface.name, interface.mtu
            ))),
        }
    }
}

/// The MTU to set, if the present one is larger than the configuration allows.
fn too_large(mtu: u32, config: &Config) -> Option<u32> {
    (mtu > config.mtu).then_some(config.mtu)
}

weir_sdk::export!({{type}});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_more_than_the_configuration_allows_is_changed() {
        let config = Config::default();
        assert_eq!(too_large(1500, &config), Some(1400));
        assert_eq!(too_large(1400, &config), None);
        assert_eq!(too_large(1280, &config), None);
    }

    #[test]
    fn an_mtu_that_no_link_may_have_is_refused() {
        assert!(<{{type}} as Plugin>::validate(&Config { mtu: 68 }).is_ok());
        assert!(<{{type}} as Plugin>::validate(&Config { mtu: 67 }).is_err());
    }
}
