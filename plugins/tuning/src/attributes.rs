//! Attributes of the container's interface: the requested ones, and those that it had before.

use serde::{Deserialize, Serialize};
use weir_sdk::check::wrong;
use weir_sdk::link::{self, Changes, Link};
use weir_sdk::{Context, Error, Mac, Namespace, OperationError, Request, log};

/// Some attributes of an interface. Their JSON is the reference plugin's backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attributes {
    /// Its MAC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<Mac>,
    /// It receives all packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promisc: Option<bool>,
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// It receives all multicast packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allmulti: Option<bool>,
    /// The length of its transmit queue, in packets.
    #[serde(rename = "txQLen", skip_serializing_if = "Option::is_none")]
    pub txqlen: Option<u32>,
}

impl Attributes {
    /// Takes all attributes of a link.
    pub fn of(link: &Link) -> Self {
        Attributes {
            mac: link.mac(),
            promisc: Some(link.promiscuous),
            mtu: Some(link.mtu),
            allmulti: Some(link.all_multicast),
            txqlen: Some(link.txqlen),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Attributes::default()
    }

    /// Keeps the attributes that `which` has too.
    pub fn only(&self, which: &Self) -> Self {
        Attributes {
            mac: self.mac.filter(|_| which.mac.is_some()),
            promisc: self.promisc.filter(|_| which.promisc.is_some()),
            mtu: self.mtu.filter(|_| which.mtu.is_some()),
            allmulti: self.allmulti.filter(|_| which.allmulti.is_some()),
            txqlen: self.txqlen.filter(|_| which.txqlen.is_some()),
        }
    }

    /// Adds those of `others` that are missing.
    pub fn or(&self, others: &Self) -> Self {
        Attributes {
            mac: self.mac.or(others.mac),
            promisc: self.promisc.or(others.promisc),
            mtu: self.mtu.or(others.mtu),
            allmulti: self.allmulti.or(others.allmulti),
            txqlen: self.txqlen.or(others.txqlen),
        }
    }

    /// Each by itself.
    fn each(&self) -> [Self; 5] {
        let none = Attributes::default();
        let Attributes {
            mac,
            promisc,
            mtu,
            allmulti,
            txqlen,
        } = *self;
        [
            Attributes { mac, ..none },
            Attributes { promisc, ..none },
            Attributes { mtu, ..none },
            Attributes { allmulti, ..none },
            Attributes { txqlen, ..none },
        ]
    }

    /// The keys with their values as text.
    fn shown(&self) -> [(&'static str, Option<String>); 5] {
        [
            ("mac", self.mac.map(|mac| mac.to_string())),
            ("promisc", self.promisc.map(|on| on.to_string())),
            ("mtu", self.mtu.map(|mtu| mtu.to_string())),
            ("allmulti", self.allmulti.map(|on| on.to_string())),
            ("txQLen", self.txqlen.map(|len| len.to_string())),
        ]
    }

    /// `mtu 1400, promisc true`.
    fn text(&self) -> String {
        let shown = self.shown().into_iter();
        let given = shown.filter_map(|(key, value)| Some(format!("{key} {}", value?)));
        given.collect::<Vec<_>>().join(", ")
    }
}

impl From<&Attributes> for Changes {
    fn from(attributes: &Attributes) -> Self {
        Changes {
            mac: attributes.mac.map(Into::into),
            promiscuous: attributes.promisc,
            mtu: attributes.mtu,
            all_multicast: attributes.allmulti,
            txqlen: attributes.txqlen,
            ..Changes::default()
        }
    }
}

/// Gives the container's interface attributes, in one message.
pub fn set(ifname: &str, attributes: &Attributes) -> Result<(), Error> {
    if attributes.is_empty() {
        return Ok(());
    }
    update(ifname, attributes).context(format!("cannot set {} of `{ifname}`", attributes.text()))
}

/// Gives the container's interface attributes back, if it is still there. Each on its own, so that one that the
/// kernel refuses does not prevent others from being restored; failures are logged.
pub fn restore<C>(request: &Request<C>, before: &Attributes) {
    let ifname = request.ifname.as_str();
    let now = match request.find_container_interface() {
        Ok(None) => return,
        Ok(Some(link)) => Attributes::of(&link),
        Err(error) => return not_restored(ifname, before, &error.msg),
    };
    for attribute in before.each() {
        let is_so_now = now.only(&attribute) == attribute;
        if !is_so_now && let Err(error) = update(ifname, &attribute) {
            not_restored(ifname, &attribute, &error.message);
        }
    }
}

fn update(ifname: &str, attributes: &Attributes) -> Result<(), OperationError> {
    link::update(Namespace::Container, ifname, Changes::from(attributes))
}

fn not_restored(ifname: &str, attributes: &Attributes, error: &str) {
    let fields = [
        ("link", ifname),
        ("attributes", &attributes.text()),
        ("error", error),
    ];
    log::warn("cannot give an interface its attributes back", &fields);
}

/// Fails if the container's interface does not have the attributes. It must be promiscuous exactly if that was
/// requested, as with the reference plugin.
pub fn check<C>(request: &Request<C>, expected: &Attributes) -> Result<(), Error> {
    let link = request.container_interface()?;
    let expected = Attributes {
        promisc: expected.promisc.or(Some(false)),
        ..*expected
    };
    match difference(&expected, &Attributes::of(&link)) {
        None => Ok(()),
        Some(difference) => Err(wrong(format!("interface `{}`: {difference}", link.name))),
    }
}

/// The first of the expected attributes that differs.
fn difference(expected: &Attributes, found: &Attributes) -> Option<String> {
    let pairs = expected.shown().into_iter().zip(found.shown());
    let mut unlike = pairs.filter(|((_, expected), (_, found))| expected != found);
    unlike.find_map(|((key, expected), (_, found))| {
        let found = found.as_deref().unwrap_or("none");
        Some(format!("{key}: expected {}, found {found}", expected?))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NONE: Attributes = Attributes {
        mac: None,
        promisc: None,
        mtu: None,
        allmulti: None,
        txqlen: None,
    };

    fn mac(last: u8) -> Mac {
        Mac::from([2, 0, 0, 0, 0, last])
    }

    /// Few values, so that some are the same.
    fn any_attributes() -> impl Strategy<Value = Attributes> {
        let mac = proptest::option::of((0u8..2).prop_map(mac));
        let flag = || proptest::option::of(any::<bool>());
        let number = || proptest::option::of(0u32..2);
        (mac, flag(), number(), flag(), number()).prop_map(
            |(mac, promisc, mtu, allmulti, txqlen)| Attributes {
                mac,
                promisc,
                mtu,
                allmulti,
                txqlen,
            },
        )
    }

    #[test]
    fn the_text_names_keys_and_values() {
        let some = Attributes {
            mac: Some(mac(1)),
            mtu: Some(1400),
            txqlen: Some(0),
            ..NONE
        };
        assert_eq!(some.text(), "mac 02:00:00:00:00:01, mtu 1400, txQLen 0");
    }

    #[test]
    fn the_first_difference_is_reported() {
        let found = Attributes {
            promisc: Some(false),
            mtu: Some(1500),
            ..NONE
        };
        let differs = |expected: Attributes| difference(&expected, &found);
        assert_eq!(differs(NONE), None);
        assert_eq!(differs(found), None);
        assert_eq!(
            differs(Attributes {
                mtu: Some(1400),
                ..NONE
            })
            .unwrap(),
            "mtu: expected 1400, found 1500"
        );
        assert_eq!(
            differs(Attributes {
                mac: Some(mac(1)),
                promisc: Some(true),
                ..NONE
            })
            .unwrap(),
            "mac: expected 02:00:00:00:00:01, found none"
        );
    }

    proptest! {
        #[test]
        fn what_was_there_before_takes_the_place_of_what_is_there_now(before in any_attributes(), now in any_attributes()) {
            prop_assert_eq!(before.only(&before), before);
            prop_assert_eq!(before.or(&now).only(&before), before);
        }

        #[test]
        fn each_is_one_and_together_they_are_all(all in any_attributes()) {
            let each = all.each();
            let together = each.iter().fold(NONE, |sum, one| sum.or(one));
            prop_assert_eq!(together, all);
            for one in each {
                let given = one.shown().into_iter().filter(|(_, value)| value.is_some());
                prop_assert!(given.count() <= 1);
            }
        }

        #[test]
        fn the_difference_is_none_exactly_where_all_is_so(a in any_attributes(), b in any_attributes()) {
            prop_assert_eq!(difference(&a, &b).is_none(), b.only(&a) == a);
        }
    }
}
