//! Ranges as a configuration has them.

use std::ops::Deref;

use ipnet::IpNet;
use serde::Deserialize;
use weir_cni::Error;

use crate::Context;
use crate::config::ip::{self, Address};

use super::range::{Range, RangeSet};

/// One range of a configuration. A key `ranges` is a list of range sets, each of them a list of these.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RangeKeys {
    /// The subnet.
    #[serde(deserialize_with = "ip::subnet")]
    subnet: Option<IpNet>,
    /// The first address; the subnet's first but one if absent.
    range_start: Address,
    /// The last address; the subnet's last if absent, or last but one for IPv4.
    range_end: Address,
    /// The gateway; the subnet's first address but one if absent.
    gateway: Address,
}

impl RangeKeys {
    /// Returns the range, with its defaults filled in. Errors: those of [`Range::new`], and code 7 without a subnet.
    fn range(&self) -> Result<Range, Error> {
        let missing = || Error::invalid_config("key `subnet` is missing");
        let subnet = self.subnet.ok_or_else(missing)?;
        let (start, end) = (self.range_start.0, self.range_end.0);
        Range::new(subnet, start, end, self.gateway.0)
    }
}

/// The range sets of a configuration, no two of which have an address in common. A container gets one address of each.
///
/// Errors have code 7 and the path of the key.
#[derive(Clone, Debug, Default)]
pub struct RangeSets {
    sets: Vec<RangeSet>,
}

impl RangeSets {
    /// Reads the range sets of a key, such as `ipam.ranges`, at least one.
    pub fn of(key: &str, sets: &[Vec<RangeKeys>]) -> Result<Self, Error> {
        let mut all = RangeSets::default();
        all.read(key, sets)?;
        all.required(&format!("`{key}`"))
    }

    /// Adds the range sets of a key.
    pub fn read(&mut self, key: &str, sets: &[Vec<RangeKeys>]) -> Result<(), Error> {
        for (index, ranges) in sets.iter().enumerate() {
            let path = format!("{key}[{index}]");
            let mut set = Vec::with_capacity(ranges.len());
            for (index, keys) in ranges.iter().enumerate() {
                let range = keys.range();
                set.push(range.context(format!("{path}[{index}]"))?);
            }
            self.push(path, set)?;
        }
        Ok(())
    }

    /// Adds a range set that the configuration has at this path.
    pub fn push(&mut self, path: String, ranges: Vec<Range>) -> Result<(), Error> {
        let set = RangeSet::new(ranges).context(&path)?.with_path(path);
        if let Some(index) = self.sets.iter().position(|other| other.overlaps(&set)) {
            let (first, second) = (&self.sets[index], self.sets.len());
            return Err(Error::invalid_config(format!(
                "range set {index} ({}: {first}) overlaps with {second} ({}: {set})",
                first.path(),
                set.path()
            )));
        }
        self.sets.push(set);
        Ok(())
    }

    /// Fails without a range set, naming the keys that could have one.
    pub fn required(self, keys: &str) -> Result<Self, Error> {
        if self.sets.is_empty() {
            let msg = format!("ipam: no IP ranges specified: give {keys}");
            return Err(Error::invalid_config(msg));
        }
        Ok(self)
    }
}

impl Deref for RangeSets {
    type Target = [RangeSet];

    fn deref(&self) -> &[RangeSet] {
        &self.sets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(keys: &[(&str, &str)]) -> Result<RangeSets, Error> {
        let mut sets = RangeSets::default();
        for (key, text) in keys {
            let ranges: Vec<Vec<RangeKeys>> = serde_json::from_str(text).unwrap();
            sets.read(key, &ranges)?;
        }
        sets.required("`subnet` or `ranges`")
    }

    #[track_caller]
    fn fault(keys: &[(&str, &str)]) -> String {
        let error = read(keys).unwrap_err();
        assert_eq!(error.code, weir_cni::Code::INVALID_CONFIG);
        error.msg
    }

    #[test]
    fn sets_of_several_keys_stay_in_order() {
        let sets = read(&[
            ("a", r#"[[{"subnet": "10.2.0.0/16"}]]"#),
            (
                "b",
                r#"[[{"subnet": "fd00::/64", "rangeStart": "fd00::5", "rangeEnd": "fd00::6"}],
                      [{"subnet": "10.1.0.0/16", "gateway": "10.1.0.9"}]]"#,
            ),
        ])
        .unwrap();
        let texts: Vec<String> = sets.iter().map(RangeSet::to_string).collect();
        assert_eq!(
            texts,
            [
                "10.2.0.1-10.2.255.254",
                "fd00::5-fd00::6",
                "10.1.0.1-10.1.255.254"
            ]
        );
        assert!(sets[2].is_gateway("10.1.0.9".parse().unwrap()));
    }

    #[test]
    fn faults_name_their_key() {
        let none = "ipam: no IP ranges specified: give ";
        assert_eq!(
            fault(&[("ipam.ranges", "[]")]),
            format!("{none}`subnet` or `ranges`")
        );
        let error = RangeSets::of("ipam.ranges", &[]).unwrap_err();
        assert_eq!(error.msg, format!("{none}`ipam.ranges`"));
        assert_eq!(
            fault(&[("ipam.ranges", r#"[[{"subnet": "10.0.0.0/24"}], []]"#)]),
            "ipam.ranges[1]: empty range set"
        );
        assert_eq!(
            fault(&[(
                "ipam.ranges",
                r#"[[{"subnet": "10.0.0.0/24"}, {"gateway": "10.0.0.1"}]]"#
            )]),
            "ipam.ranges[0][1]: key `subnet` is missing"
        );
    }

    #[test]
    fn sets_must_not_overlap_across_keys() {
        let other = r#"[[{"subnet": "10.1.0.0/16"}], [{"subnet": "10.0.5.0/24"}]]"#;
        assert_eq!(
            fault(&[("a", r#"[[{"subnet": "10.0.0.0/16"}]]"#), ("b", other)]),
            "range set 0 (a[0]: 10.0.0.1-10.0.255.254) overlaps with 2 (b[1]: 10.0.5.1-10.0.5.254)"
        );
    }
}
