//! What needs another kernel than this machine's, in a virtual machine with Debian's: bridge VLANs,
//! every kind of link, and nftables from modules.
//!
//! The tests of the modules are ignored out here: this same program runs them inside, and the program
//! `differential` those of its modules of `in_machine_cases!`. The machine is the one that
//! `tests/setup test` prepares in `target/vm`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use weir_kit::plugin::{ANOTHER_REFERENCE, REFERENCE, is_another_reference, reference_directory};
use weir_kit::vm::Vm;
use weir_kit::{binary, grants_used, house, program, recording};

#[path = "vm/attached.rs"]
mod attached;
#[path = "vm/firewall.rs"]
mod firewall;
#[path = "vm/isolation.rs"]
mod isolation;
#[path = "vm/station.rs"]
mod station;
#[path = "vm/trunk.rs"]
mod trunk;
#[path = "vm/vlan.rs"]
mod vlan;
#[path = "vm/vrf.rs"]
mod vrf;

/// Where the guest has the test programs, two levels below weir as in a target directory.
const PROGRAMS: &str = "/lab/release/deps";

/// A machine without acceleration runs some ten times slower, and beside other tests it has a half of a processor's time, or a sixth.
const TIMEOUT: Duration = Duration::from_secs(1800);

/// The modules of Debian's kernel that a node loads on demand.
const LINKS: [&str; 9] = [
    "bridge", "veth", "8021q", "ipvlan", "dummy", "vrf", "ifb", "macvlan", "tun",
];
const TRAFFIC: [&str; 7] = [
    "act_mirred",
    "cls_bpf",
    "cls_u32",
    "nf_conntrack_netlink",
    "sch_htb",
    "sch_ingress",
    "sch_tbf",
];
const NFTABLES: [&str; 18] = [
    "nft_chain_nat",
    "nft_ct",
    "nft_fib_inet",
    "nft_fib_ipv4",
    "nft_fib_ipv6",
    "nft_hash",
    "nft_limit",
    "nft_log",
    "nft_masq",
    "nft_meta_bridge",
    "nft_nat",
    "nft_numgen",
    "nft_quota",
    "nft_redir",
    "nft_reject_bridge",
    "nft_reject_inet",
    "nft_reject_ipv4",
    "nft_reject_ipv6",
];

/// A test program, and the arguments that choose its tests.
struct Part {
    program: PathBuf,
    arguments: Vec<&'static str>,
}

// There are two machines and not one for each program: a boot takes seconds, and QEMU translates the code of weir anew in each
// machine.

/// The comparisons of the plugins whose links only this kernel has, with the floor of the figures beside weir.
#[test]
fn the_comparisons_with_the_reference() {
    const MODULES: [&str; 6] = [
        "devconf::",
        "dummy::",
        "floor::",
        "over::ipvlan::",
        "over::vlan::",
        "vrf::",
    ];
    let plugins = [
        "bridge",
        "host-local",
        "static",
        "dummy",
        "ipvlan",
        "vlan",
        "vrf",
    ];
    let guest = with_plugins(guest(), &plugins);
    let guest = guest.file(program("weir-floor"), "/lab/release/weir-floor", 0o755);
    // The comparison wants these of every machine, although only some plugins run them.
    let guest = ["iptables", "ip6tables"].into_iter().fold(guest, Vm::tool);
    let comparisons = Part {
        program: test_program("differential", &MODULES),
        // Those that are ignored out here as well.
        arguments: [&["--include-ignored"], &MODULES[..]].concat(),
    };
    run(guest, &[comparisons]);
}

/// All else that needs this kernel.
#[test]
fn the_other_tests() {
    let guest = with_plugins(guest(), &["bridge", "host-local"]);
    let server = program("weir-apiserver");
    let guest = guest.file(server, "/lab/release/weir-apiserver", 0o755);
    run(guest, &[bridges(), kills(), pod(), kernel_layer()]);
}

/// The plugin `bridge` on a kernel with bridge VLANs, and VRFs: the modules of this program.
fn bridges() -> Part {
    Part {
        program: own_program(),
        arguments: vec!["--ignored"],
    }
}

/// What a killed ADD leaves, of plugins whose links this machine's kernel may lack.
fn kills() -> Part {
    Part {
        program: test_program("crash", &["nothing_is_left_of_a_killed_"]),
        arguments: vec!["--ignored"],
    }
}

/// A pod of `examples/kubernetes`, with its API server.
fn pod() -> Part {
    let example = "a_pod_of_the_example_is_on_the_backbone";
    Part {
        program: test_program("pods", &[example]),
        arguments: vec!["--ignored", example],
    }
}

/// The kernel layer's own tests against the kernel, among them those that no other kernel can run.
fn kernel_layer() -> Part {
    // The figure of the last says nothing on a machine that is emulated.
    let others = ["store::tests::", "exec::tests::", "the_cost_of_an_element"];
    let mut arguments = vec!["tests::", "--include-ignored"];
    arguments.extend(others.iter().flat_map(|name| ["--skip", name]));
    Part {
        program: test_program("weir_kernel", &["tests::kinds::"]),
        arguments,
    }
}

fn guest() -> Vm {
    let guest = Vm::new(&house().join("target/vm"))
        .modules(&LINKS)
        .modules(&NFTABLES)
        .modules(&TRAFFIC)
        .timeout(TIMEOUT);
    ["ip", "bridge", "tc", "nft"]
        .into_iter()
        .fold(guest, Vm::tool)
}

/// Puts weir and the reference plugins of these names into the guest.
fn with_plugins(guest: Vm, reference: &[&str]) -> Vm {
    let guest = guest.file(binary(), "/lab/release/weir", 0o755);
    let directory = reference_directory();
    let files = reference
        .iter()
        .map(|name| (Path::new(&directory).join(name), name));
    // Debian's version lacks some, of which there are recordings.
    let files = files.filter(|(file, _)| file.exists());
    files.fold(guest, |guest, (file, name)| {
        guest.file(file, &format!("{REFERENCE}/{name}"), 0o755)
    })
}

/// Runs the test programs, one after the other. Every chosen test must pass, and one at least of each program.
fn run(mut guest: Vm, parts: &[Part]) {
    let mut script = "status=0\n".to_owned();
    if is_another_reference() {
        script.push_str(&format!("export {ANOTHER_REFERENCE}={REFERENCE}\n"));
    }
    for (number, part) in parts.iter().enumerate() {
        // The tests there are recorded by that name (kit/grants_used.rs).
        let place = format!("{PROGRAMS}/test-{number}");
        guest = guest.file(&part.program, &place, 0o755);
        let arguments = part.arguments.join(" ");
        script.push_str(&format!("{place} {arguments} || status=$?\n"));
    }
    script.push_str("exit $status");
    let output = guest.run(&["sh", "-c", &script]);
    let output = output.expect("the machine runs the tests");
    grants_used::keep_handed_out(&output.stderr);
    recording::keep_handed_out(&output.stderr).expect("the recordings are written");
    assert_eq!(output.status, 0, "tests failed in the machine:\n{output}");
    let programs = output.stdout.split("\nrunning ").skip(1);
    let ran = programs.filter(|printed| printed.contains(" ... ok\n"));
    let (ran, all) = (ran.count(), parts.len());
    assert_eq!(ran, all, "a program ran no test in the machine:\n{output}");
    println!("{output}");
}

fn own_program() -> PathBuf {
    std::env::current_exe().expect("a test has a path")
}

/// The test program of a target that cargo built beside this one: the newest that has these tests.
fn test_program(target: &str, tests: &[&str]) -> PathBuf {
    let own = own_program();
    let directory = own.parent().expect("a program is in a directory");
    let entries = directory.read_dir().expect("the target directory");
    let mut programs: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| is_of_target(path, target))
        .collect();
    programs.sort_by_key(|path| path.metadata().and_then(|m| m.modified()).ok());
    let newest = programs
        .into_iter()
        .rev()
        .find(|path| has_tests(path, tests));
    newest.unwrap_or_else(|| {
        let place = directory.display();
        panic!("no test program of \"{target}\" is in {place}: run `make test-build`")
    })
}

/// Whether cargo named a program so: the target's name and 16 hexadecimal digits.
fn is_of_target(path: &Path, target: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let digits = name
        .strip_prefix(target)
        .and_then(|rest| rest.strip_prefix('-'));
    digits.is_some_and(|digits| digits.len() == 16 && !digits.contains('.'))
}

fn has_tests(program: &Path, tests: &[&str]) -> bool {
    let listed = Command::new(program).arg("--list").output();
    listed.is_ok_and(|listed| {
        let listed = String::from_utf8_lossy(&listed.stdout);
        tests.iter().all(|test| listed.contains(test))
    })
}
