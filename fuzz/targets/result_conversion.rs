//! Results, as plugins of every version print them, and their conversion to every version: what a
//! version can hold comes back, and the newest holds everything.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use weir_cni::{AddResult, Version, from_json, from_json_assuming, to_json};

fuzz_target!(|text: &str| {
    let Ok(document) = serde_json::from_str::<Value>(text) else {
        return;
    };
    for assumed in Version::ALL {
        if let Ok(result) = from_json_assuming(&document, assumed) {
            convert(&result);
        }
    }
});

fn convert(result: &AddResult) {
    for version in Version::ALL {
        let Ok(printed) = to_json(result, version) else {
            assert!(
                !version.has_interfaces(),
                "{version} can say everything that is no address"
            );
            continue;
        };
        let held = from_json(&printed).expect("what is printed can be read");
        let again = to_json(&held, version).expect("it had an address before");
        assert_eq!(again, printed, "{version}");
        assert_eq!(held.dns, result.dns, "{version}");
        if version.has_interfaces() {
            let addresses = |r: &AddResult| r.ips.iter().map(|ip| ip.address).collect::<Vec<_>>();
            let destinations = |r: &AddResult| r.routes.iter().map(|r| r.dst).collect::<Vec<_>>();
            assert_eq!(addresses(&held), addresses(result), "{version}");
            assert_eq!(destinations(&held), destinations(result), "{version}");
            assert_eq!(held.interfaces.len(), result.interfaces.len(), "{version}");
        }
    }
}
