//! What the device was on the host, for DEL: one file for each attachment in `/run/cni/host-device`, which is there before
//! the device is moved.

use weir_sdk::link::Link;
use weir_sdk::store::Records;
use weir_sdk::{Context, Error, Request};

use crate::config::Config;

const RECORDS: Records = Records::in_directory("/run/cni/host-device");

const DOING: &str = "cannot use the records in `/run/cni/host-device`";

/// A device as it was on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Former {
    pub name: String,
    /// What the kernel calls it; a container cannot make one of hardware.
    pub kind: String,
    pub mac: String,
    /// Bytes; none where that is not known.
    pub mtu: Option<u32>,
    pub alias: String,
}

impl Former {
    /// Describes a link of the host.
    pub fn of(link: &Link) -> Self {
        Former {
            name: link.name.clone(),
            kind: link.kind.clone(),
            mac: link.mac_text().unwrap_or_default(),
            mtu: Some(link.mtu),
            alias: link.alias.clone(),
        }
    }

    /// A line for each; the alias, which may have any characters, is the rest.
    fn text(&self) -> String {
        let mtu = self.mtu.map(|mtu| mtu.to_string());
        let mtu = mtu.unwrap_or_default();
        let Former {
            name,
            kind,
            mac,
            alias,
            ..
        } = self;
        format!("{name}\n{kind}\n{mac}\n{mtu}\n{alias}")
    }

    fn read(text: &str) -> Self {
        let mut parts = text.splitn(5, '\n').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        Former {
            name: next(),
            kind: next(),
            mac: next(),
            mtu: next().parse().ok(),
            alias: next(),
        }
    }
}

/// Records what a device was.
pub fn save(request: &Request<Config>, former: &Former) -> Result<(), Error> {
    let text = former.text();
    RECORDS.save(request, text.as_bytes()).context(DOING)
}

/// Returns what the device was; none where ADD has recorded nothing.
pub fn load(request: &Request<Config>) -> Result<Option<Former>, Error> {
    let text = RECORDS.load(request).context(DOING)?;
    Ok(text.map(|text| Former::read(&String::from_utf8_lossy(&text))))
}

/// Removes the record.
pub fn remove(request: &Request<Config>) -> Result<(), Error> {
    RECORDS.remove(request).context(DOING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let former = Former {
            name: "eth1".to_owned(),
            kind: "physical".to_owned(),
            mac: "02:00:00:00:00:01".to_owned(),
            mtu: Some(9000),
            alias: "uplink\nof rack 7".to_owned(),
        };
        assert_eq!(Former::read(&former.text()), former);
        assert_eq!(Former::read(""), Former::default());
    }
}
