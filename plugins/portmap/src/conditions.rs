//! `conditionsV4` and `conditionsV6`: what a packet must be like, in the words of iptables(8) or of nft(8).
//!
//! ```text
//! ["-s", "10.0.0.0/8", "!", "-i", "eth1"]         iptables: the first word begins with - or is !
//! ["ip", "saddr", "10.0.0.0/8", "iifname", "!=", "eth1"]      nft
//! ```

mod iptables;
mod nft;
mod words;

use weir_sdk::firewall::Condition;
use weir_sdk::{Error, IpFamily};

use words::Words;

/// The conditions of a key, all of which must hold. Errors: code 7, naming key and word.
pub fn parse(key: &str, list: &[String], family: IpFamily) -> Result<Vec<Condition>, Error> {
    let mut words = Words::new(key, list, family);
    let is_iptables = words
        .peek()
        .is_some_and(|word| word == "!" || word.starts_with('-'));
    let mut conditions = Vec::new();
    while words.peek().is_some() {
        if is_iptables {
            conditions.extend(iptables::next(&mut words)?)
        } else {
            conditions.extend(nft::next(&mut words)?)
        }
    }
    Ok(conditions)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_sdk::Code;

    use super::*;

    fn parsed(list: &[&str], family: IpFamily) -> Result<Vec<String>, Error> {
        let list: Vec<String> = list.iter().map(|word| (*word).to_owned()).collect();
        let conditions = parse("conditionsV4", &list, family)?;
        Ok(conditions.iter().map(|c| format!("{c:?}")).collect())
    }

    fn v4(list: &[&str]) -> Vec<String> {
        parsed(list, IpFamily::Ipv4).unwrap_or_else(|error| panic!("{list:?}: {error}"))
    }

    #[test]
    fn both_languages_say_the_same() {
        for (iptables, nft) in [
            (
                &["-s", "10.0.0.0/8"][..],
                &["ip", "saddr", "10.0.0.0/8"][..],
            ),
            (
                &["!", "-d", "192.0.2.1"],
                &["ip", "daddr", "!=", "192.0.2.1"],
            ),
            (&["-i", "eth1"], &["iifname", "\"eth1\""]),
            (&["!", "-o", "eth1"], &["meta oifname != eth1"]),
            (&["-m", "mark", "--mark", "0x10"], &["meta", "mark", "0x10"]),
            (&["-p", "tcp", "--sport", "99"], &["tcp", "sport", "99"]),
            (&["-p", "udp"], &["meta", "l4proto", "udp"]),
            (
                &["-m", "addrtype", "!", "--src-type", "LOCAL"],
                &["fib", "saddr", "type", "!=", "local"],
            ),
        ] {
            assert_eq!(v4(iptables), v4(nft), "{iptables:?} and {nft:?}");
            assert!(!v4(iptables).is_empty());
        }
    }

    #[test]
    fn all_of_several_must_hold() {
        assert_eq!(v4(&["-s", "10.0.0.0/8", "-i", "eth1"]).len(), 2);
        assert_eq!(
            v4(&["ip", "saddr", "10.0.0.0/8", "iifname", "eth1"]).len(),
            2
        );
        assert_eq!(
            v4(&["-m", "comment", "--comment", "why not", "-i", "eth1"]).len(),
            1
        );
        assert!(v4(&[]).is_empty());
    }

    #[test]
    fn ipv6_has_addresses_of_its_own() {
        assert_eq!(
            parsed(&["-s", "fd00::/8"], IpFamily::Ipv6).unwrap(),
            parsed(&["ip6", "saddr", "fd00::/8"], IpFamily::Ipv6).unwrap()
        );
        assert!(parsed(&["-s", "10.0.0.0/8"], IpFamily::Ipv6).is_err());
        assert!(parsed(&["ip", "saddr", "10.0.0.0/8"], IpFamily::Ipv6).is_err());
        assert!(parsed(&["ip6", "saddr", "fd00::/8"], IpFamily::Ipv4).is_err());
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (list, expected) in [
            (&["-s"][..], "a value after `-s`"),
            (&["-s", "x"], "an IPv4 address or network"),
            (&["--ctstate", "NEW"], "`--ctstate`"),
            (&["-m", "recent"], "`recent`"),
            (&["-i", "eth+"], "`eth+`"),
            (&["!"], "after `!`"),
            (&["ip", "ttl", "1"], "`ttl`"),
            (&["ip", "saddr", "{", "10.0.0.1", "}"], "`{`"),
            (&["tcp", "dport", "http"], "`http`"),
            (&["accept"], "`accept`"),
        ] {
            let error = parsed(list, IpFamily::Ipv4).unwrap_err();
            assert_eq!(error.code, Code::INVALID_CONFIG);
            assert!(error.msg.starts_with("conditionsV4: "), "{error}");
            assert!(error.msg.contains(expected), "{list:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_words_make_it_panic(list in proptest::collection::vec("[-!a-z0-9./:=\" ]{0,12}", 0..8)) {
            let _ = parse("conditionsV4", &list, IpFamily::Ipv4);
        }
    }
}
