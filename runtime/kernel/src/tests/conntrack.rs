//! Capability `conntrack`.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};

use weir_grant::Namespace::{self, Container, Host};
use weir_grant::address::Family;
use weir_grant::conntrack::{Delete, Filter, Protocol};

use super::{Lab, lab};
use crate::{Code, Result};

/// Connections that are tracked in the namespace from now on, with ports that are translated to
/// 5353 of the same address.
const TRACKING: &str = "
    table inet tracking {
        chain output {
            type nat hook output priority -100
            ip daddr 127.0.0.1 udp dport 1053 dnat ip to 127.0.0.2:5353
            ip6 daddr ::1 udp dport 1053 dnat ip6 to [::1]:5353
        }
        chain input {
            type filter hook input priority 0
            ct state new counter
        }
    }";

fn track(lab: &mut Lab, namespace: Namespace) {
    lab.ip(namespace, &["link", "set", "lo", "up"]);
    lab.run(namespace, "nft", &[TRACKING]);
}

fn inside<T: Send>(lab: &mut Lab, namespace: Namespace, act: impl FnOnce() -> io::Result<T>) -> T {
    lab.linux
        .namespaces
        .of(namespace)
        .unwrap()
        .enter(act)
        .unwrap()
        .unwrap()
}

/// Sends a datagram and returns the socket that did.
fn send(from: &str, to: &str) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(from)?;
    socket.send_to(b"here", to)?;
    Ok(socket)
}

fn filter(family: Family, protocol: Protocol) -> Filter {
    Filter {
        family,
        protocol,
        destination: None,
        port: None,
        reply_source: None,
    }
}

fn ip(text: &str) -> Option<IpAddr> {
    Some(text.parse().unwrap())
}

fn delete(lab: &mut Lab, namespace: Namespace, filter: Filter) -> Result<()> {
    lab.perform(Delete { namespace, filter })
}

/// The namespace's table: for each connection, its protocol and the original direction's
/// destination.
fn table(lab: &mut Lab, namespace: Namespace) -> Vec<(String, SocketAddr)> {
    let text = lab.run(namespace, "cat", &["/proc/net/nf_conntrack"]);
    let mut connections: Vec<_> = text.lines().filter_map(connection).collect();
    connections.sort();
    connections
}

fn connection(line: &str) -> Option<(String, SocketAddr)> {
    let protocol = line.split_whitespace().nth(2)?;
    let field = |key: &str| {
        let mut words = line.split_whitespace();
        words.find_map(|word| word.strip_prefix(key).map(str::to_owned))
    };
    let address: IpAddr = field("dst=")?.parse().ok()?;
    let port: u16 = field("dport=")?.parse().ok()?;
    Some((protocol.to_owned(), SocketAddr::new(address, port)))
}

fn udp(address: &str) -> (String, SocketAddr) {
    ("udp".to_owned(), address.parse().unwrap())
}

#[test]
fn entries_are_found_by_each_field() {
    lab(|lab| {
        track(lab, Host);
        let all = [
            "127.0.0.1:1053",
            "127.0.0.1:53",
            "127.0.0.3:53",
            "[::1]:53",
            "[::1]:1053",
        ];
        inside(lab, Host, || {
            for to in &all[..3] {
                send("127.0.0.1:0", to)?;
            }
            for to in &all[3..] {
                send("[::1]:0", to)?;
            }
            Ok(())
        });
        let mut left: Vec<_> = all.iter().map(|to| udp(to)).collect();
        left.sort();
        assert_eq!(table(lab, Host), left);

        let (v4, v6) = (
            filter(Family::Ipv4, Protocol::Udp),
            filter(Family::Ipv6, Protocol::Udp),
        );
        let nothing = [
            Filter {
                port: Some(54),
                ..v4
            },
            Filter {
                port: Some(5353),
                ..v4
            },
            Filter {
                destination: ip("127.0.0.2"),
                ..v4
            },
            Filter {
                reply_source: ip("127.0.0.9"),
                ..v4
            },
            Filter {
                destination: ip("127.0.0.3"),
                port: Some(1053),
                ..v4
            },
            Filter {
                destination: ip("127.0.0.1"),
                reply_source: ip("127.0.0.3"),
                ..v4
            },
            Filter {
                port: Some(53),
                ..filter(Family::Ipv4, Protocol::Tcp)
            },
            Filter {
                port: Some(53),
                ..filter(Family::Ipv4, Protocol::Sctp)
            },
            Filter {
                destination: ip("::2"),
                ..v6
            },
        ];
        for filter in nothing {
            assert_eq!(delete(lab, Host, filter), Ok(()), "{filter:?}");
        }
        assert_eq!(table(lab, Host), left);

        let one_by_one = [
            // The translation's target, which the connection was never addressed to.
            (
                Filter {
                    reply_source: ip("127.0.0.2"),
                    ..v4
                },
                "127.0.0.1:1053",
            ),
            (
                Filter {
                    destination: ip("127.0.0.3"),
                    ..v4
                },
                "127.0.0.3:53",
            ),
            (
                Filter {
                    port: Some(53),
                    ..v4
                },
                "127.0.0.1:53",
            ),
            (
                Filter {
                    destination: ip("::1"),
                    port: Some(1053),
                    reply_source: ip("::1"),
                    ..v6
                },
                "[::1]:1053",
            ),
            (
                Filter {
                    reply_source: ip("::1"),
                    ..v6
                },
                "[::1]:53",
            ),
        ];
        for (filter, gone) in one_by_one {
            assert_eq!(delete(lab, Host, filter), Ok(()), "{filter:?}");
            left.retain(|entry| *entry != udp(gone));
            assert_eq!(table(lab, Host), left, "{filter:?}");
        }
        assert!(left.is_empty());
    });
}

/// More than the kernel writes into one datagram, of which every second is meant.
#[test]
fn many_entries_are_deleted_and_the_others_stay() {
    lab(|lab| {
        track(lab, Container);
        const EACH: u32 = 400;
        inside(lab, Container, || {
            let mut open = Vec::new();
            for _ in 0..EACH {
                let socket = send("127.0.0.1:0", "127.0.0.1:1053")?;
                socket.send_to(b"here", "127.0.0.1:53")?;
                open.push(socket);
            }
            Ok(())
        });
        assert_eq!(table(lab, Container).len(), 2 * EACH as usize);
        let meant = Filter {
            port: Some(1053),
            ..filter(Family::Ipv4, Protocol::Udp)
        };
        // Each namespace has connections of its own.
        assert_eq!(delete(lab, Host, meant), Ok(()));
        assert_eq!(table(lab, Container).len(), 2 * EACH as usize);
        assert_eq!(delete(lab, Container, meant), Ok(()));
        let left = table(lab, Container);
        assert_eq!(left.len(), EACH as usize);
        assert!(left.iter().all(|entry| *entry == udp("127.0.0.1:53")));
    });
}

#[test]
fn protocols_are_told_apart() {
    lab(|lab| {
        track(lab, Host);
        let _open = inside(lab, Host, || {
            let listener = TcpListener::bind("127.0.0.1:7053")?;
            let stream = TcpStream::connect("127.0.0.1:7053")?;
            let datagrams = send("127.0.0.1:0", "127.0.0.1:7053")?;
            Ok((listener, stream, datagrams))
        });
        assert_eq!(table(lab, Host).len(), 2);
        let on_port = |protocol| Filter {
            port: Some(7053),
            ..filter(Family::Ipv4, protocol)
        };
        assert_eq!(delete(lab, Host, on_port(Protocol::Tcp)), Ok(()));
        assert_eq!(table(lab, Host), [udp("127.0.0.1:7053")]);
        assert_eq!(delete(lab, Host, on_port(Protocol::Udp)), Ok(()));
        assert!(table(lab, Host).is_empty());
    });
}

#[test]
fn a_filter_by_nothing_is_refused() {
    lab(|lab| {
        track(lab, Host);
        let _open = inside(lab, Host, || send("127.0.0.1:0", "127.0.0.1:53"));
        let v4 = filter(Family::Ipv4, Protocol::Udp);
        let cases = [
            (v4, "neither a destination nor a port"),
            (
                Filter {
                    destination: ip("::1"),
                    ..v4
                },
                "::1 is not of the filter's family",
            ),
            (
                Filter {
                    port: Some(53),
                    reply_source: ip("::1"),
                    ..v4
                },
                "not of the filter's family",
            ),
            (
                Filter {
                    destination: ip("127.0.0.1"),
                    ..filter(Family::Ipv6, Protocol::Udp)
                },
                "127.0.0.1 is not of the filter's family",
            ),
        ];
        for (filter, words) in cases {
            let error = delete(lab, Host, filter).unwrap_err();
            assert_eq!(error.code, Code::Invalid, "{error}");
            assert!(error.message.contains(words), "{error}");
        }
        assert_eq!(table(lab, Host).len(), 1);
    });
}
