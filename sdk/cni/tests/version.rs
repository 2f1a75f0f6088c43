//! Versions and the version result.

use serde_json::json;
use weir_cni::{Code, Command, Version, version_result};

#[test]
fn all_versions_are_in_order_and_parse_what_they_print() {
    assert!(Version::ALL.is_sorted());
    assert_eq!(Version::ALL.last(), Some(&Version::LATEST));
    for version in Version::ALL {
        assert_eq!(version.to_string().parse::<Version>(), Ok(version));
        let json = serde_json::to_value(version).unwrap();
        assert_eq!(json, json!(version.as_str()));
        assert_eq!(serde_json::from_value::<Version>(json).unwrap(), version);
    }
}

#[test]
fn absent_cni_version_is_0_1_0() {
    assert_eq!(Version::default(), Version::V0_1_0);
    assert_eq!(Version::from_document(None), Ok(Version::V0_1_0));
    assert_eq!(Version::from_document(Some("")), Ok(Version::V0_1_0));
    let named = Version::from_document(Some("1.0.0"));
    assert_eq!(named, Ok(Version::V1_0_0));
}

#[test]
fn unknown_version_is_code_1_and_names_what_is_supported() {
    for text in ["2.0.0", "1.0", "v1.0.0", " 1.0.0", "banana", "0.5.0"] {
        let error = text.parse::<Version>().unwrap_err();
        assert_eq!(error.code, Code::INCOMPATIBLE_VERSION);
        assert!(error.msg.contains(text), "{error}");
        for version in Version::ALL {
            assert!(error.details.contains(version.as_str()), "{error}");
        }
    }
}

#[test]
fn commands_came_with_their_versions() {
    let since = |has: fn(Version) -> bool| Version::ALL.into_iter().find(|v| has(*v));
    assert_eq!(since(Version::has_interfaces), Some(Version::V0_3_0));
    assert_eq!(
        since(|v| Command::Check.exists_in(v)),
        Some(Version::V0_4_0)
    );
    assert_eq!(since(|v| Command::Gc.exists_in(v)), Some(Version::V1_1_0));
    assert_eq!(
        since(|v| Command::Status.exists_in(v)),
        Some(Version::V1_1_0)
    );
    assert!(!Version::V0_2_0.has_ip_version());
    assert!(Version::V0_3_0.has_ip_version() && Version::V0_4_0.has_ip_version());
    assert!(!Version::V1_0_0.has_ip_version());
}

#[test]
fn cni_1_1_0_section_5_version_result_has_the_version_of_the_input() {
    let all = json!([
        "0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"
    ]);
    assert_eq!(
        version_result(Some(Version::V0_4_0)),
        json!({ "cniVersion": "0.4.0", "supportedVersions": all })
    );
    assert_eq!(version_result(None)["cniVersion"], "1.1.0");
}
