//! What iproute2 adds to a new namespace is seen. The tests run as root, or in a user namespace.

use std::fs;
use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, unshare};

use super::node_state::{NodeState, Residue, inventory};

/// The state of a node whose namespace is the calling thread's.
fn state() -> NodeState {
    let mut state = NodeState::default();
    state.put("host", inventory().expect("the namespace can be read"));
    state
}

/// Runs programs in the calling thread's namespace.
fn run(lines: &[&str]) {
    for line in lines {
        let mut words = line.split_whitespace();
        let program = words.next().expect("a program");
        let output = Command::new(program).args(words).output();
        let output = output.unwrap_or_else(|e| panic!("{program} of iproute2: {e}"));
        assert!(output.status.success(), "{line}: {output:?}");
    }
}

/// What is left, and what is missing, after programs that run where others ran before.
fn residue(before: &[&str], programs: &[&str]) -> (Vec<String>, Vec<String>) {
    let in_thread = || {
        unshare(CloneFlags::CLONE_NEWNET).expect("a new network namespace");
        run(before);
        let before = state();
        run(programs);
        let Residue { left, missing } = state().residue_since(&before, &[]);
        (left, missing)
    };
    thread::scope(|scope| scope.spawn(in_thread).join().expect("a test"))
}

const VETH: &str = "ip link add left0 type veth peer name left1";

#[test]
fn proxy_neighbours_are_seen() {
    let (left, missing) = residue(
        &["ip link set lo up"],
        &[
            "ip neighbour add proxy 192.0.2.7 dev lo",
            "ip neighbour add proxy 2001:db8::7 dev lo",
        ],
    );
    assert_eq!(
        left,
        [
            "host: neighbour 192.0.2.7 on lo, proxy",
            "host: neighbour 2001:db8::7 on lo, proxy",
        ]
    );
    assert_eq!(missing, [""; 0]);
}

#[test]
fn classes_and_filters_are_seen() {
    let disciplines = [
        VETH,
        "tc qdisc add dev left0 root handle 1: htb",
        "tc qdisc add dev left0 clsact",
        "tc qdisc add dev left1 ingress",
        "tc class add dev left0 parent 1: classid 1:1 htb rate 1mbit",
    ];
    let (left, missing) = residue(
        &disciplines,
        &[
            "tc class add dev left0 parent 1:1 classid 1:10 htb rate 1mbit",
            "tc filter add dev left0 parent 1: prio 1 u32 match u32 0 0 classid 1:10",
            "tc filter add dev left0 parent 1:1 prio 2 u32 match u32 0 0 classid 1:10",
            "tc filter add dev left0 ingress prio 3 u32 match u32 0 0 classid 1:10",
            "tc filter add dev left0 egress prio 4 u32 match u32 0 0 classid 1:10",
            "tc filter add dev left1 ingress prio 5 u32 match u32 0 0 classid 1:10",
        ],
    );
    assert_eq!(missing, [""; 0]);
    assert!(
        left.contains(&"host: class 1:10 htb on left0".to_owned()),
        "{left:#?}"
    );
    for (parent, link) in [
        ("1:", "left0"),
        ("1:1", "left0"),
        ("ffff:fff2", "left0"),
        ("ffff:fff3", "left0"),
        ("ffff:fff2", "left1"),
    ] {
        // `u32` puts each filter into a table, which is one as well. Filters of one priority would share
        // the tables of a discipline, and the kernel would list all of them at each place.
        let ends = format!(" of {parent} u32 on {link}");
        let is_of = |line: &&String| line.starts_with("host: filter ") && line.ends_with(&ends);
        assert_eq!(left.iter().filter(is_of).count(), 2, "{parent}: {left:#?}");
    }
    assert_eq!(left.len(), 11, "{left:#?}");
}

/// What differs in nothing that a line says is still one thing more.
#[test]
fn things_of_one_line_are_counted() {
    let first = "ip rule add from 192.0.2.0/24 ipproto tcp priority 77 lookup 100";
    let second = "ip rule add from 192.0.2.0/24 ipproto udp priority 77 lookup 100";
    let (left, missing) = residue(&[first], &[second]);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].contains("from 192.0.2.0/24"), "{left:?}");
    assert_eq!(missing, [""; 0]);
    let (left, missing) = residue(&[first, second], &[&second.replace("add", "delete")]);
    assert_eq!((left.len(), missing.len()), (0, 1), "{missing:?}");
    assert_eq!(residue(&[first], &[]), (Vec::new(), Vec::new()));
}

/// A new interface has many parameters, and only those are shown that somebody set.
#[test]
fn a_parameter_that_a_new_link_would_not_have_is_a_change() {
    let in_thread = || {
        unshare(CloneFlags::CLONE_NEWNET).expect("a new network namespace");
        // It may be 1, as in the machine's first one.
        fs::write("/proc/sys/net/ipv4/ip_forward", "0").expect("a parameter");
        let before = state();
        run(&[VETH, "ip link set left0 up"]);
        for (parameter, value) in [
            ("ipv4/conf/left0/rp_filter", "2"),
            ("ipv6/conf/left1/accept_ra", "0"),
            ("ipv4/conf/lo/rp_filter", "2"),
            // The kernel sets `forwarding` of every link with it.
            ("ipv4/ip_forward", "1"),
        ] {
            fs::write(format!("/proc/sys/net/{parameter}"), value).expect("a parameter");
        }
        state().changes_since(&before)
    };
    let changes = thread::scope(|scope| scope.spawn(in_thread).join().expect("a test"));
    let parameters = changes.added.iter();
    let parameters: Vec<&String> = parameters.filter(|line| line.contains("sysctl")).collect();
    assert_eq!(parameters.len(), 4, "{parameters:#?}");
    for (parameter, begin, end) in [
        (
            parameters[0],
            "host: sysctl net.ipv4.conf.left0.rp_filter is 2, and is ",
            " by default",
        ),
        (
            parameters[1],
            "host: sysctl net.ipv4.conf.lo.rp_filter is 2, and was ",
            "",
        ),
        (
            parameters[2],
            "host: sysctl net.ipv4.ip_forward is 1, and was 0",
            "",
        ),
        (
            parameters[3],
            "host: sysctl net.ipv6.conf.left1.accept_ra is 0, and is 1 by default",
            "",
        ),
    ] {
        let is_it = parameter.starts_with(begin) && parameter.ends_with(end);
        assert!(is_it, "{parameter}");
    }
    assert_eq!(changes.removed, [""; 0]);
}

#[test]
fn what_others_leave_is_taken_out_once() {
    let residue = |left: &[&str]| Residue {
        left: left.iter().map(|line| (*line).to_owned()).collect(),
        missing: Vec::new(),
    };
    let mut own = residue(&["a", "b", "b", "c"]);
    let taken = own.take_out(&residue(&["B", "C", "D"]), str::to_uppercase);
    assert_eq!((own, taken), (residue(&["a", "b"]), residue(&["b", "c"])));
}
