//! What the tests of the capabilities share, and the published schema.

mod acts;
pub(crate) mod decisions;
mod documented;
mod schema;

use crate::Capabilities;

#[test]
fn unknown_keys_and_words_are_refused() {
    for rules in [
        r#"{"conntrack": [{"port": [53]}]}"#,
        r#"{"conntrack": [{"protocols": ["icmp"]}]}"#,
        r#"{"firewall": [{"tables": ["x"]}]}"#,
        r#"{"firewall": [{"hooks": ["somewhere"]}]}"#,
        r#"{"firewall": [{"statements": ["return-to-caller"]}]}"#,
        r#"{"firewalld": [{"zone": "trusted"}]}"#,
        r#"{"traffic": [{"names": ["x"]}]}"#,
        r#"{"traffic": [{"disciplines": ["fq_codel"]}]}"#,
        r#"{"traffic": [{"verbs": ["redirect"]}]}"#,
    ] {
        let read = serde_json::from_str::<Capabilities>(rules);
        assert!(read.is_err(), "{rules}: {read:?}");
    }
}
