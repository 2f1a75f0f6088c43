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
    use weir_sdk::testing::{FakeHost, Invocation};
    use weir_sdk::{Code, ErrorCode, codes};

    use super::*;

    /// A host with a container that another plugin has attached, with an MTU of 1500.
    fn host() -> FakeHost {
        let host = FakeHost::new();
        host.create_pair("veth0", "eth0").unwrap();
        host
    }

    fn invocation(mtu: u32) -> Invocation {
        let config = format!(r#"{{"type": "{{name}}", "mtu": {mtu}}}"#);
        Invocation::new(config).with_previous(AddResult::default())
    }

    #[test]
    fn more_than_the_configuration_allows_is_changed_and_nothing_else() {
        let host = host();
        host.add::<{{type}}>(&invocation(1400)).unwrap();
        host.check::<{{type}}>(&invocation(1400)).unwrap();
        host.add::<{{type}}>(&invocation(9000)).unwrap();
        assert_eq!(host.changes(), ["link.update container eth0 mtu=1400"]);

        let error = host.check::<{{type}}>(&invocation(1280)).unwrap_err();
        assert_eq!(error.code, codes::NOT_AS_ATTACHED);
    }

    #[test]
    fn an_mtu_that_no_link_may_have_is_refused() {
        let error = host().add::<{{type}}>(&invocation(67)).unwrap_err();
        assert_eq!(error.code, Code::INVALID_CONFIG);
    }

    #[test]
    fn a_link_that_cannot_be_changed_fails_add() {
        let host = host();
        host.fail_next("link.update", ErrorCode::Busy);
        let error = host.add::<{{type}}>(&invocation(1400)).unwrap_err();
        assert_eq!(error.code, Code::TRY_AGAIN_LATER);
    }
}
