//! The plugin `{{name}}`: connects a container and the host by a veth pair of their own.
//!
//! The IPAM plugin assigns the container's addresses, IPv4 and IPv6, each with a gateway, which becomes the address of the
//! host's end. Whether the host forwards what the container sends there is left as it is.
//!
//! | key | what |
//! |---|---|
//! | `ipam` | `type` names the IPAM plugin; the other keys are that plugin's |

use weir_sdk::config::Ipam;
use weir_sdk::veth::{self, Settings};
use weir_sdk::{AddResult, Error, MainConfig, MainPlugin, Request, point_to_point};

pub struct {{type}};

/// The plugin's keys of the network configuration.
#[weir_sdk::config]
pub struct Config {
    pub ipam: Ipam,
}

impl MainConfig for Config {
    fn ipam(&self) -> &Ipam {
        &self.ipam
    }
}

impl MainPlugin for {{type}} {
    type Config = Config;
    const KIND: &str = "veth";

    // What it makes before an error is removed by weir, and the addresses are released. They are also released after `del`.
    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let mut result = request.config.ipam.assign(veth::CONTAINER_INTERFACE)?;
        let veth = veth::create(&request, &Settings::up())?;
        point_to_point::configure(&veth, &result)?;
        result.interfaces = veth.interfaces(request.sandbox).into();
        Ok(result)
    }

    fn del(request: &Request<Config>) -> Result<(), Error> {
        veth::delete(request)
    }

    fn check(request: &Request<Config>) -> Result<(), Error> {
        veth::attached(request).map(drop)
    }
}

weir_sdk::export!({{type}});

#[cfg(test)]
mod tests {
    use weir_sdk::testing::{FakeHost, Invocation};
    use weir_sdk::{ErrorCode, Namespace, codes};

    use super::*;

    fn invocation() -> Invocation {
        Invocation::new(r#"{"type": "{{name}}", "ipam": {"type": "host-local"}}"#)
    }

    /// A host whose IPAM plugin assigns an address of each family.
    fn host() -> FakeHost {
        let host = FakeHost::new();
        let ips = [("10.91.0.2/24", "10.91.0.1"), ("fd91::2/64", "fd91::1")];
        host.assign(&ips, &[]);
        host
    }

    #[test]
    fn the_pair_is_there_until_del() {
        let host = host();
        let result = host.add::<{{type}}>(&invocation()).unwrap();
        let attached = invocation().with_previous(result);
        host.check::<{{type}}>(&attached).unwrap();
        assert_eq!(host.link_names(Namespace::Container), ["lo", "eth0"]);
        for _ in 0..2 {
            host.del::<{{type}}>(&attached).unwrap();
            assert_eq!(host.link_names(Namespace::Container), ["lo"]);
            assert_eq!(host.link_names(Namespace::Host), ["lo"]);
        }
        let error = host.check::<{{type}}>(&attached).unwrap_err();
        assert_eq!(error.code, codes::NOT_AS_ATTACHED);
    }

    #[test]
    fn nothing_is_made_without_an_address() {
        let host = host();
        host.fail_next("ipam.add", ErrorCode::Exhausted);
        host.add::<{{type}}>(&invocation()).unwrap_err();
        assert_eq!(host.changes(), [""; 0]);
    }

    #[test]
    fn addresses_are_needed() {
        let without = Invocation::new(r#"{"type": "{{name}}", "ipam": {"type": ""}}"#);
        let error = host().status::<{{type}}>(&without).unwrap_err();
        assert!(error.msg.starts_with("ipam: "), "{error}");
    }
}
