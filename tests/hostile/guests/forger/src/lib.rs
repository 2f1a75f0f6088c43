//! A plugin whose results are false in the way that `FORGE` in `CNI_ARGS` says. It speaks the
//! contract without the SDK's types, which would not let it.

use weir_sdk::AddResult;
use weir_sdk::bindings::exports::weir::cni::commands::Guest;
use weir_sdk::bindings::weir::cni::cni::{
    About, AttachmentResult, Failure, GcRequest, Request, ResultInterface, ResultIp, StatusRequest,
};
use weir_sdk::bindings::weir::cni::types::{IpAddress, IpNetwork};

/// The plugin.
pub struct Forger;

impl Guest for Forger {
    fn add(request: Request) -> Result<AttachmentResult, Failure> {
        let forge = request.args.iter().find(|(key, _)| key == "FORGE");
        let forge = forge.map_or("", |(_, value)| value.as_str());
        let mut result = honest(&request);
        match forge {
            "prefix" => result.ips[0].address.prefix_length = 200,
            "interface" => result.ips[0].interface = Some(7),
            "family" => result.ips[0].gateway = Some(IpAddress::Ipv6((1, 2, 3, 4, 5, 6, 7, 8))),
            "address" => result.ips[0].address.address = IpAddress::Ipv4((192, 0, 2, 66)),
            "ghost" => result.interfaces[0].name = "ghost0".to_owned(),
            "sandbox" => result.interfaces[0].sandbox = "/proc/1/ns/net".to_owned(),
            "code" => {
                return Err(Failure {
                    code: 0,
                    msg: "an error that is none".to_owned(),
                    details: String::new(),
                });
            }
            _ => {}
        }
        Ok(result)
    }

    fn del(_: Request) -> Result<(), Failure> {
        Ok(())
    }

    fn check(_: Request) -> Result<(), Failure> {
        Ok(())
    }

    fn status(_: StatusRequest) -> Result<(), Failure> {
        Ok(())
    }

    fn gc(_: GcRequest) -> Result<(), Failure> {
        Ok(())
    }

    fn version() -> About {
        About {
            name: "somebody-else".to_owned(),
            version: "not a version".to_owned(),
            description: String::new(),
        }
    }
}

fn honest(request: &Request) -> AttachmentResult {
    let interface = ResultInterface {
        name: request.ifname.clone(),
        mac: "02:00:00:00:00:01".to_owned(),
        mtu: None,
        sandbox: request.sandbox.clone(),
        socket_path: String::new(),
        pci_id: String::new(),
    };
    let ip = ResultIp {
        interface: Some(0),
        address: IpNetwork {
            address: IpAddress::Ipv4((10, 0, 0, 2)),
            prefix_length: 24,
        },
        gateway: None,
    };
    AttachmentResult {
        interfaces: vec![interface],
        ips: vec![ip],
        ..AddResult::default().into()
    }
}

#[cfg(target_family = "wasm")]
weir_sdk::bindings::export_component!(Forger with_types_in weir_sdk::bindings);
