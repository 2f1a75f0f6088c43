//! The backup: the attributes that an interface had before ADD, for DEL.
//!
//! One file for each attachment, `<dataDir>/<container id>_<interface>.json`, in the reference
//! plugin's format, so that either plugin can restore what the other one changed.

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::PrettyFormatter;
use weir_sdk::store::{self, Access, Location, Transaction, key_part};
use weir_sdk::{Context, Error, ErrorCode, OperationError, Outcome, Request, log};

use crate::attributes::Attributes;
use crate::config::Config;

/// Saves what the interface had. Values in an existing backup, of another `tuning` in the list or of an ADD without
/// DEL, are older and stay.
pub fn save(request: &Request<Config>, before: &Attributes) -> Result<(), Error> {
    let key = key(request);
    let write = || {
        let store = open(request, Access::Write)?;
        let older = store.get(&key).found()?;
        let older: Option<Attributes> = older.and_then(|text| serde_json::from_slice(&text).ok());
        let all = older.unwrap_or_default().or(before);
        store.put(&key, &to_json(&all))?;
        store.commit()
    };
    write().context(format!("dataDir: cannot save `{key}`"))
}

/// Returns what the interface had; none where ADD has saved nothing.
pub fn load(request: &Request<Config>) -> Result<Option<Attributes>, Error> {
    let key = key(request);
    let text = match open(request, Access::Read).and_then(|store| store.get(&key).found()) {
        Err(error) if is_impossible(&error) => {
            let fields = [("file", key.as_str()), ("error", &error.message)];
            log::warn("there can be no backup in this place", &fields);
            None
        }
        read => read.context(format!("dataDir: cannot read `{key}`"))?,
    };
    let read = |text: Vec<u8>| serde_json::from_slice(&text);
    Ok(text.map(|text| read(text).unwrap_or_else(|error| garbled(&key, &error))))
}

/// Whether no store can exist here. ADD saved nothing then, and DEL must not fail forever.
fn is_impossible(error: &OperationError) -> bool {
    matches!(error.code, ErrorCode::Denied | ErrorCode::Invalid)
}

/// Nothing can be restored from it, and failing would block every further DEL.
fn garbled(key: &str, error: &serde_json::Error) -> Attributes {
    let fields = [("file", key), ("error", &error.to_string())];
    log::warn("a backup is garbled: nothing is restored", &fields);
    Attributes::default()
}

/// Removes the backup.
pub fn remove(request: &Request<Config>) -> Result<(), Error> {
    let key = key(request);
    let remove = || {
        let store = open(request, Access::Write)?;
        store.delete(&key).found()?;
        store.commit()
    };
    remove().context(format!("dataDir: cannot remove `{key}`"))
}

fn open(request: &Request<Config>, access: Access) -> Result<Transaction, OperationError> {
    let directory = request.config.data_dir().to_owned();
    store::open(&Location::SharedDirectory(directory), access)
}

fn key(request: &Request<Config>) -> String {
    let (id, ifname) = (&request.container_id, &request.ifname);
    format!("{}_{}.json", key_part(id), key_part(ifname))
}

fn to_json(attributes: &Attributes) -> Vec<u8> {
    let mut json = Vec::new();
    let formatter = PrettyFormatter::with_indent(b" ");
    let mut serializer = Serializer::with_formatter(&mut json, formatter);
    attributes
        .serialize(&mut serializer)
        .expect("plain data has a JSON text");
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> Result<Attributes, serde_json::Error> {
        serde_json::from_slice(text)
    }

    fn text(attributes: &Attributes) -> String {
        String::from_utf8(to_json(attributes)).unwrap()
    }

    #[test]
    fn the_file_is_the_reference_plugins() {
        let all = Attributes {
            mac: "02:00:00:00:00:AA".parse().ok(),
            promisc: Some(false),
            mtu: Some(1500),
            allmulti: Some(true),
            txqlen: Some(1000),
        };
        let expected = "{\n \"mac\": \"02:00:00:00:00:aa\",\n \"promisc\": false,\n \"mtu\": 1500,\n \
                        \"allmulti\": true,\n \"txQLen\": 1000\n}";
        assert_eq!(text(&all), expected);
        assert_eq!(parse(expected.as_bytes()).unwrap(), all);
        let mtu = Attributes {
            mtu: Some(9000),
            ..Attributes::default()
        };
        assert_eq!(text(&mtu), "{\n \"mtu\": 9000\n}");
    }

    #[test]
    fn keys_of_later_versions_are_passed_over() {
        let later = parse(br#"{"mtu": 1500, "ethtool": {"tx": true}, "promisc": null}"#).unwrap();
        assert_eq!(text(&later), "{\n \"mtu\": 1500\n}");
    }

    #[test]
    fn what_is_garbled_is_reported() {
        for text in [
            "",
            "{",
            "[1]",
            r#"{"mtu": "x"}"#,
            r#"{"mac": "x"}"#,
            "\u{0}",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(parse(b"\xff\xfe").is_err());
    }
}
