//! Packets go where the rules say.

use super::*;

/// Sends a datagram from a namespace.
fn send(from: &OtherNamespace, to: &str, text: &'static str) {
    let to: SocketAddr = to.parse().expect("an address and port");
    from.run(move || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
        socket.send_to(text.as_bytes(), to).expect("send");
    });
}

/// The next datagram and its sender's address.
fn receive(socket: &UdpSocket) -> (IpAddr, String) {
    let mut buffer = [0; 64];
    let (length, from) = socket
        .recv_from(&mut buffer)
        .expect("a datagram within the time limit");
    (
        from.ip(),
        String::from_utf8_lossy(&buffer[..length]).into_owned(),
    )
}

fn listen(other: &OtherNamespace) -> UdpSocket {
    let socket = other.run(|| UdpSocket::bind("0.0.0.0:9000").expect("a socket"));
    let limit = std::time::Duration::from_secs(20);
    socket.set_read_timeout(Some(limit)).expect("a time limit");
    socket
}

#[test]
fn a_pod_in_the_map_is_masqueraded() {
    in_new_namespace(|| {
        let (pod_place, outside) = (OtherNamespace::new(), OtherNamespace::new());
        ip("link add pod type veth peer name eth0");
        ip("link add out type veth peer name eth1");
        pod_place.take("eth0");
        outside.take("eth1");
        for line in [
            "addr add 10.1.0.1/24 dev pod",
            "link set pod up",
            "addr add 192.0.2.1/24 dev out",
            "link set out up",
        ] {
            ip(line);
        }
        pod_place.run(|| {
            [
                "addr add 10.1.0.2/24 dev eth0",
                "link set eth0 up",
                "route add default via 10.1.0.1",
            ]
            .into_iter()
            .for_each(ip);
        });
        outside.run(|| {
            [
                "addr add 192.0.2.2/24 dev eth1",
                "addr add 10.1.5.2/32 dev eth1",
                "link set eth1 up",
                "route add 10.1.0.0/24 via 192.0.2.1",
            ]
            .into_iter()
            .for_each(ip);
        });
        ip("route add 10.1.5.2/32 via 192.0.2.2");
        // Of the namespace of the thread that writes.
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("forwarding");
        let server = listen(&outside);
        let unchanged: IpAddr = [10, 1, 0, 2].into();
        let masqueraded: IpAddr = [192, 0, 2, 1].into();

        let mut plugin = Plugin::new(Family::Inet);
        plugin.apply(masquerade()).expect("apply");
        send(&pod_place, "192.0.2.2:9000", "before");
        assert_eq!(receive(&server), (unchanged, s("before")));
        plugin.add_pod();
        send(&pod_place, "192.0.2.2:9000", "with");
        assert_eq!(receive(&server), (masqueraded, s("with")));
        send(&pod_place, "10.1.5.2:9000", "inside the network");
        assert_eq!(receive(&server), (unchanged, s("inside the network")));
        plugin
            .apply(vec![Command::DeleteElements(pod("10.1.0.2"))])
            .expect("no pod");
        send(&pod_place, "192.0.2.2:9000", "after");
        assert_eq!(receive(&server), (unchanged, s("after")));
    });
}

#[test]
fn a_spoofed_mac_does_not_pass_the_bridge() {
    in_new_namespace(|| {
        let (sender, receiver) = (OtherNamespace::new(), OtherNamespace::new());
        [
            "link add br0 type bridge",
            "link add port1 type veth peer name eth0",
            "link add port2 type veth peer name eth1",
            "link set port1 master br0",
            "link set port2 master br0",
            "link set port1 up",
            "link set port2 up",
            "link set br0 up",
        ]
        .into_iter()
        .for_each(ip);
        sender.take("eth0");
        receiver.take("eth1");
        sender.run(|| {
            [
                "link set eth0 address 02:00:00:00:00:01",
                "addr add 10.2.0.1/24 dev eth0",
                "link set eth0 up",
            ]
            .into_iter()
            .for_each(ip);
        });
        receiver.run(|| {
            [
                "link set eth1 address 02:00:00:00:00:02",
                "addr add 10.2.0.2/24 dev eth1",
                "link set eth1 up",
            ]
            .into_iter()
            .for_each(ip);
        });
        sender.run(|| ip("neigh add 10.2.0.2 lladdr 02:00:00:00:00:02 dev eth0 nud permanent"));
        let server = listen(&receiver);

        let ports = || in_set(&[Field::InputLinkName], "ports", false);
        let not_allowed = || in_set(&[Field::InputLinkName, Field::MacSource], "allowed", true);
        let mut plugin = Plugin::new(Family::Bridge);
        let plain = |key| element(key, ElementData::None);
        plugin
            .apply(vec![
                Command::AddChain(base(
                    "prerouting",
                    ChainType::Filter,
                    Hook::Prerouting,
                    -300,
                )),
                Command::AddSet(set("ports", &[DataType::LinkName], &[], false)),
                Command::AddSet(set(
                    "allowed",
                    &[DataType::LinkName, DataType::MacAddress],
                    &[],
                    false,
                )),
                append(
                    "prerouting",
                    vec![ports(), not_allowed()],
                    vec![Statement::Counter, Statement::Drop],
                ),
                Command::CreateElements(elements("ports", vec![plain(vec![name("port1")])])),
                Command::CreateElements(elements(
                    "allowed",
                    vec![plain(vec![name("port1"), mac(1)])],
                )),
            ])
            .expect("apply");
        let listed = nft(&["list", "table", "bridge", "weir_bridge"], "");
        assert!(
            listed.contains("iifname @ports iifname . ether saddr != @allowed counter"),
            "{listed}"
        );

        send(&sender, "10.2.0.2:9000", "honest");
        assert_eq!(receive(&server).1, "honest");
        let static_neighbour =
            "neigh replace 10.2.0.2 lladdr 02:00:00:00:00:02 dev eth0 nud permanent";
        sender.run(|| {
            ["link set eth0 address 02:00:00:00:00:66", static_neighbour]
                .into_iter()
                .for_each(ip)
        });
        send(&sender, "10.2.0.2:9000", "spoofed");
        sender.run(|| {
            ["link set eth0 address 02:00:00:00:00:01", static_neighbour]
                .into_iter()
                .for_each(ip)
        });
        // The path is one queue: had the spoofed one passed, it would come first.
        send(&sender, "10.2.0.2:9000", "honest again");
        assert_eq!(receive(&server).1, "honest again");
    });
}
