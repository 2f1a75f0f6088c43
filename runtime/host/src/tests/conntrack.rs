//! Capability `conntrack`.

use weir_kernel::Code;

use super::super::bindings::weir::cni::conntrack::{Filter, Host as _};
use super::super::bindings::weir::cni::types::IpFamily;
use super::{HOST, Lab, code};

fn by_port(protocol: u8, port: Option<u16>) -> Filter {
    Filter {
        family: IpFamily::Ipv4,
        protocol,
        destination: None,
        port,
        reply_source: None,
    }
}

#[test]
fn connections_are_deleted_where_a_rule_allows_it() {
    let mut lab = Lab::granting(r#"{"conntrack": [{"ports": ["8000-8999"]}]}"#);
    let outcomes = [
        (by_port(17, Some(8080)), None),
        (by_port(17, Some(53)), Some(Code::Denied)),
        (by_port(1, Some(8080)), Some(Code::Invalid)),
    ];
    for (filter, expected) in outcomes {
        assert_eq!(
            code(lab.view().delete(HOST, filter)),
            expected,
            "{filter:?}"
        );
    }
    let ports = lab
        .node
        .state()
        .forgotten
        .into_iter()
        .map(|deleted| deleted.filter.port);
    assert_eq!(ports.collect::<Vec<_>>(), [Some(8080)]);
}
