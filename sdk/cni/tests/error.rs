//! Error results.

use serde_json::json;
use weir_cni::{Code, Error, Version};

#[test]
fn cni_1_1_0_section_5_error_has_version_code_msg_and_details() {
    let error = Error::invalid_config("Invalid Configuration")
        .with_details("Network 192.168.0.0/31 too small to allocate from.");
    assert_eq!(
        error.to_json(Version::V1_1_0),
        json!({
            "cniVersion": "1.1.0",
            "code": 7,
            "msg": "Invalid Configuration",
            "details": "Network 192.168.0.0/31 too small to allocate from."
        })
    );
}

#[test]
fn empty_details_are_left_out_and_the_callers_version_is_kept_even_if_unknown() {
    let json = Error::new(100, "mine").to_json("9.9.9");
    assert_eq!(
        json,
        json!({ "cniVersion": "9.9.9", "code": 100, "msg": "mine" })
    );
}

#[test]
fn cni_1_1_0_section_5_well_known_codes() {
    let codes = [
        (Error::incompatible_version("9", Version::ALL), 1),
        (Error::unsupported_field("ipMasq", &json!(true)), 2),
        (Error::unknown_container("c1"), 3),
        (Error::invalid_environment("CNI_IFNAME"), 4),
        (Error::io_failure("stdin"), 5),
        (Error::decoding_failure("not JSON"), 6),
        (Error::invalid_config("subnet"), 7),
        (Error::new(Code::INVALID_NETNS, "/run/netns/a"), 8),
        (Error::try_again_later("locked"), 11),
        (
            Error::new(Code::PLUGIN_NOT_AVAILABLE, "no address left"),
            50,
        ),
        (Error::new(Code::LIMITED_CONNECTIVITY, "daemon down"), 51),
        (Error::internal("bug"), 999),
    ];
    for (error, code) in codes {
        assert_eq!(error.code, code);
        assert_ne!(error.code.description(), "unknown error code");
    }
}

#[test]
fn cni_1_1_0_section_5_unsupported_field_names_key_and_value() {
    let error = Error::unsupported_field("ipam.ranges", &json!([1]));
    assert!(error.msg.contains("ipam.ranges") && error.msg.contains("[1]"));
}

#[test]
fn display_has_message_details_code_and_meaning() {
    let error = Error::invalid_config("subnet too small").with_details("10.0.0.0/31");
    assert_eq!(
        error.with_prefix("host-local").to_string(),
        "host-local: subnet too small; 10.0.0.0/31 (CNI code 7: invalid network configuration)"
    );
    let custom = Error::new(Code(120), "x").to_string();
    assert_eq!(custom, "x (CNI code 120: error of the plugin's own)");
}

#[test]
fn error_results_are_told_from_other_json() {
    let error = Error::new(11, "later").with_details("busy");
    assert_eq!(Error::from_json(&error.to_json("0.4.0")), Some(error));
    let sparse = Error::from_json(&json!({ "code": 7, "msg": null }));
    assert_eq!(sparse, Some(Error::invalid_config("")));
    for other in [
        json!({}),
        json!({ "code": 0, "msg": "fine" }),
        json!({ "code": "7", "msg": "x" }),
        json!({ "code": -7, "msg": "x" }),
        json!({ "code": 4294967296_u64, "msg": "x" }),
        json!({ "code": 7, "msg": 7 }),
        json!({ "cniVersion": "1.0.0", "ips": [] }),
        json!(null),
    ] {
        assert_eq!(Error::from_json(&other), None, "{other}");
    }
}
