//! Every version of the specification: what the reference and weir say in it.

use serde_json::json;

use crate::case::Case;
use crate::subnets::with_routes;

/// One test for each version, of three configurations.
macro_rules! versions {
    ($($module:ident: $version:literal;)+) => {$(
        mod $module {
            #[test]
            fn bridge_as_gateway() {
                super::bridge_as_gateway($version).run();
            }

            #[test]
            fn bridge_of_dual_stack() {
                super::bridge_of_dual_stack($version).run();
            }

            #[test]
            fn host_local() {
                super::host_local($version).run();
            }
        }
    )+};
}

versions! {
    v0_1_0: "0.1.0";
    v0_2_0: "0.2.0";
    v0_3_0: "0.3.0";
    v0_3_1: "0.3.1";
    v0_4_0: "0.4.0";
    v1_0_0: "1.0.0";
}

fn bridge_as_gateway(version: &str) -> Case {
    Case::bridge(json!({"isGateway": true}), json!({"subnet": "10.1.0.0/24"}))
        .with("cniVersion", json!(version))
}

fn bridge_of_dual_stack(version: &str) -> Case {
    let keys = json!({"isDefaultGateway": true, "dns": {"nameservers": ["192.0.2.53"]}});
    Case::bridge(keys, with_routes()).with("cniVersion", json!(version))
}

fn host_local(version: &str) -> Case {
    Case::host_local(with_routes()).with("cniVersion", json!(version))
}
