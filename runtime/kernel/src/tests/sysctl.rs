//! Capability `sysctl`.

use weir_grant::Namespace::{self, Container, Host};
use weir_grant::sysctl::{Read, Write};

use super::{Lab, lab};
use crate::{Code, Result};

fn get(lab: &mut Lab, namespace: Namespace, key: &str) -> Result<String> {
    let key = key.to_owned();
    lab.perform(Read { namespace, key })
}

fn set(lab: &mut Lab, namespace: Namespace, key: &str, value: &str) -> Result<()> {
    lab.perform(writing(namespace, key, value))
}

fn writing(namespace: Namespace, key: &str, value: &str) -> Write {
    Write {
        namespace,
        key: key.to_owned(),
        value: value.to_owned(),
        owner: String::new(),
    }
}

#[test]
fn each_namespace_has_its_own_values() {
    lab(|lab| {
        const KEY: &str = "net.ipv4.ip_forward";
        for (host, container) in [("1", "0"), ("0", "1")] {
            set(lab, Host, KEY, host).unwrap();
            set(lab, Container, KEY, container).unwrap();
            assert_eq!(get(lab, Host, KEY).unwrap(), host);
            assert_eq!(get(lab, Container, KEY).unwrap(), container);
        }
    });
}

#[test]
fn a_slash_is_a_dot_in_the_name_of_a_link() {
    lab(|lab| {
        lab.bridge("br.7");
        set(lab, Host, "net.ipv4.conf.br/7.proxy_arp", "1").unwrap();
        assert_eq!(get(lab, Host, "net.ipv4.conf.br/7.proxy_arp").unwrap(), "1");
        let error = get(lab, Host, "net.ipv4.conf.br.7.proxy_arp").unwrap_err();
        assert_eq!(error.code, Code::NotFound);
    });
}

#[test]
fn nothing_but_parameters_below_net_is_reached() {
    lab(|lab| {
        for key in [
            "",
            "net",
            "net.",
            "kernel.hostname",
            "network.ipv4.ip_forward",
            "net/ipv4/ip_forward",
            "net..ipv4.ip_forward",
            "net.//.kernel.hostname",
            "net./.ipv4.ip_forward",
            "net.ipv4.ip_forward.",
            "net.ipv4.ip forward",
            "net.ipv4.ip_forward\0",
            "net.ipv4.ip_forward\n",
        ] {
            let error = get(lab, Host, key).unwrap_err();
            assert_eq!(error.code, Code::Invalid, "{key:?}: {error}");
            assert!(error.message.contains("not a key below `net.`"), "{error}");
        }
        let error = get(lab, Host, "net.ipv4").unwrap_err();
        assert_eq!(error.code, Code::Invalid);
        assert!(error.message.contains("a group of parameters"), "{error}");
        let error = get(lab, Host, "net.ipv4.no_such_parameter").unwrap_err();
        assert_eq!(error.code, Code::NotFound);
    });
}

#[test]
fn a_refused_value_is_named() {
    lab(|lab| {
        const KEY: &str = "net.ipv4.conf.all.arp_announce";
        let before = get(lab, Host, KEY).unwrap();
        for value in ["many", "1\n2", "1\0"] {
            let error = set(lab, Host, KEY, value).unwrap_err();
            assert_eq!(error.code, Code::Invalid, "{error}");
            let shown = value.escape_debug().to_string();
            assert!(
                error.message.contains(&shown) && error.message.contains(KEY),
                "{error}"
            );
            assert_eq!(get(lab, Host, KEY).unwrap(), before);
        }
    });
}

#[test]
fn a_read_only_parameter_is_reported() {
    lab(|lab| {
        const KEY: &str = "net.ipv4.tcp_available_congestion_control";
        let value = get(lab, Container, KEY).unwrap();
        let error = set(lab, Container, KEY, &value).unwrap_err();
        assert_eq!(error.code, Code::Invalid, "{error}");
        assert!(error.message.contains("can only be read"), "{error}");
    });
}

#[test]
fn a_parameter_of_the_container_gets_its_value_back() {
    lab(|lab| {
        const KEY: &str = "net.ipv4.ip_default_ttl";
        let before = get(lab, Container, KEY).unwrap();
        for value in ["70", "80"] {
            set(lab, Container, KEY, value).unwrap();
            assert_eq!(get(lab, Container, KEY).unwrap(), value);
        }
        assert_eq!(lab.undo(), Vec::<String>::new());
        assert_eq!(get(lab, Container, KEY).unwrap(), before);
        let nothing = writing(Container, "net.ipv4.no_such_parameter", "1");
        let error = lab.perform(nothing).unwrap_err();
        assert_eq!(error.code, Code::NotFound);
    });
}

#[test]
fn what_cannot_be_read_is_written_all_the_same() {
    lab(|lab| {
        let flush = writing(Container, "net.ipv4.route.flush", "1");
        get(lab, Container, &flush.key).unwrap_err();
        lab.perform(flush).unwrap();
        lab.veth();
        let secret = writing(
            Container,
            "net.ipv6.conf.eth0.stable_secret",
            "2001:0db8:0000:0000:0000:0000:0000:0001",
        );
        get(lab, Container, &secret.key).unwrap_err();
        let before = lab.log.noted();
        lab.perform(secret.clone()).unwrap();
        assert_eq!(lab.log.noted(), before);
        assert_eq!(get(lab, Container, &secret.key).unwrap(), secret.value);
    });
}

/// Of several numbers the kernel takes those before a wrong one.
#[test]
fn a_value_that_is_refused_half_way_replaces_nothing() {
    lab(|lab| {
        const KEY: &str = "net.ipv4.tcp_rmem";
        const REFUSED: &str = "4097 90001 many";
        let before = get(lab, Container, KEY).unwrap();
        let operation = writing(Container, KEY, REFUSED);
        let error = lab.perform(operation).unwrap_err();
        assert_eq!(error.code, Code::Invalid, "{error}");
        assert!(error.message.contains(REFUSED), "{error}");
        assert_eq!(get(lab, Container, KEY).unwrap(), before);
    });
}
