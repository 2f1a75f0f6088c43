//! Names, hardware addresses, `CNI_ARGS` and the environment of an invocation.

use std::net::IpAddr;

use weir_cni::{
    Args, Code, Command, Environment, Error, Mac, Version, validate_container_id,
    validate_interface_name, validate_network_name, validate_plugin_name, validate_plugin_type,
};

// Names

#[test]
fn cni_1_1_0_section_1_network_names() {
    for name in ["a", "0", "dbnet", "a_b.c-D9", "a..", &"n".repeat(300)] {
        assert_eq!(validate_network_name(name), Ok(()));
    }
    for name in ["", ".a", "-a", "_a", "a b", "a/b", "a\n", "ä", "aé", "a:b"] {
        let error = validate_network_name(name).unwrap_err();
        assert_eq!(error.code, Code::INVALID_CONFIG);
        let shown = name.escape_debug().to_string();
        assert!(
            error.msg.contains("network name") && error.msg.contains(&shown),
            "{error}"
        );
    }
}

fn assert_refused(refused: Result<(), Error>, code: Code, words: &[&str]) {
    let error = refused.unwrap_err();
    assert_eq!(error.code, code, "{error}");
    for word in words {
        assert!(error.msg.contains(word), "{word:?} is not in {error}");
    }
}

#[test]
fn cni_1_1_0_section_2_container_ids() {
    for id in ["a", "3f6940ab5ab43bc522569d15b23f8c1b", "x_y.z-0"] {
        assert_eq!(validate_container_id(id), Ok(()));
    }
    for id in ["", "../x", "a/b", "-rf", "a;b", "a b"] {
        let refused = validate_container_id(id);
        assert_refused(refused, Code::INVALID_ENVIRONMENT, &["CNI_CONTAINERID", id]);
    }
}

#[test]
fn cni_1_1_0_section_2_interface_names() {
    for name in ["e", "eth0", "fifteen-bytes-x", "...", "a.b", "eth0@x", "ü"] {
        assert_eq!(validate_interface_name(name), Ok(()), "{name}");
    }
    let refused = [
        ("", "empty"),
        (".", "reserved"),
        ("..", "reserved"),
        ("sixteen-bytes-xy", "15 bytes"),
        ("üüüüüüüü", "15 bytes"),
        ("a/b", "`/` or `:`"),
        ("a:b", "`/` or `:`"),
        ("a b", "white space"),
        ("a\tb", "white space"),
        ("a\u{2003}b", "white space"),
        // 0xc3 0xa0 in UTF-8; the kernel refuses the second byte.
        ("à", "white space"),
        ("a\0", "NUL"),
    ];
    for (name, expected) in refused {
        let refused = validate_interface_name(name);
        assert_refused(
            refused,
            Code::INVALID_ENVIRONMENT,
            &["CNI_IFNAME", expected],
        );
    }
}

#[test]
fn cni_1_1_0_section_1_plugin_types_are_file_names() {
    for name in ["bridge", "host-local", "my plugin", "..."] {
        assert_eq!(validate_plugin_type(name), Ok(()));
    }
    for name in ["", ".", "..", "/bin/sh", "a/b", "a\\b", "a\0"] {
        assert_refused(validate_plugin_type(name), Code::INVALID_CONFIG, &[]);
    }
}

#[test]
fn a_plugin_that_is_installed_has_a_plain_name() {
    for name in ["bridge", "host-local", "2nd_plugin", "v1.2", "a..b"] {
        assert_eq!(validate_plugin_name(name), Ok(()));
    }
    for name in [
        "",
        "my plugin",
        "-x",
        ".x",
        "..",
        "../x",
        "a/b",
        "ä",
        "a\0",
        "a\n",
    ] {
        assert_refused(
            validate_plugin_name(name),
            Code::INVALID_CONFIG,
            &["plugin name"],
        );
    }
}

// Hardware addresses

#[test]
fn hardware_addresses_have_6_8_or_20_bytes_in_three_notations() {
    let infiniband = "80:00:00:48:fe:80:00:00:00:00:00:00:00:11:22:33:44:55:66:77";
    for (text, printed) in [
        ("02:00:5E:10:00:01", "02:00:5e:10:00:01"),
        ("02-00-5e-10-00-01", "02:00:5e:10:00:01"),
        ("0200.5e10.0001", "02:00:5e:10:00:01"),
        ("02:00:5e:10:00:00:00:01", "02:00:5e:10:00:00:00:01"),
        (infiniband, infiniband),
    ] {
        let mac: Mac = text.parse().unwrap();
        assert_eq!(mac.to_string(), printed);
        assert_eq!(Mac::from_bytes(mac.as_bytes()), Some(mac));
    }
    for text in [
        "",
        "02",
        "02:00:5e:10:00",
        "02:00:5e:10:00:01:02",
        "2:0:5e:10:0:1",
        "02:00:5e:10:00:0g",
        "02:00-5e:10:00:01",
        "02005e100001",
        "+2:00:5e:10:00:01",
        " 02:00:5e:10:00:01",
        "ä:00:5e:10:00:01",
    ] {
        let error = text.parse::<Mac>().unwrap_err();
        assert!(error.contains("hardware address"), "{error}");
    }
    assert_eq!(Mac::from_bytes(&[0; 7]), None);
}

#[test]
fn group_and_zero_hardware_addresses_are_recognised() {
    assert!(Mac::from([0xff; 6]).is_multicast());
    assert!(!Mac::from([0x02, 0, 0, 0, 0, 1]).is_multicast());
    assert!(!Mac::from_bytes(&[0x81; 20]).unwrap().is_multicast());
    assert!(Mac::from([0; 6]).is_zero() && !Mac::from([0, 0, 0, 0, 0, 1]).is_zero());
}

// CNI_ARGS

fn args(text: &str) -> Args {
    text.parse().unwrap()
}

#[test]
fn cni_1_1_0_section_2_args_are_pairs_separated_by_semicolons() {
    let args = args("FOO=BAR;ABC=123;EMPTY=");
    assert!(
        args.iter()
            .eq([("FOO", "BAR"), ("ABC", "123"), ("EMPTY", "")])
    );
    assert_eq!(
        (args.get("ABC"), args.get("abc"), args.get("EMPTY")),
        (Some("123"), None, Some(""))
    );
    assert_eq!(args.to_string(), "FOO=BAR;ABC=123;EMPTY=");
    assert!("".parse::<Args>().unwrap().is_empty());
}

#[test]
fn the_last_of_equal_keys_counts() {
    assert_eq!(args("A=1;A=2").get("A"), Some("2"));
}

#[test]
fn malformed_args_are_code_4_and_name_the_pair() {
    for (text, pair) in [
        ("FOO", "`FOO`"),
        ("A=1;B", "`B`"),
        ("A=1;", "``"),
        (";", "``"),
        ("A=b=c", "`A=b=c`"),
        ("=x", "`=x`"),
    ] {
        let error = text.parse::<Args>().unwrap_err();
        assert_eq!(error.code, Code::INVALID_ENVIRONMENT);
        assert!(
            error.msg.contains("CNI_ARGS") && error.msg.contains(pair),
            "{error}"
        );
    }
}

#[test]
fn unknown_args_are_an_error_unless_they_are_to_be_ignored() {
    assert_eq!(args("IP=10.0.0.1;MAC=x").check_known(), Ok(()));
    for ignore in ["1", "true", "TRUE"] {
        let text = format!("K8S_POD_NAME=a;IgnoreUnknown={ignore}");
        assert_eq!(args(&text).check_known(), Ok(()));
    }
    for ignore in ["", ";IgnoreUnknown=0", ";IgnoreUnknown=false"] {
        let text = format!("IP=10.0.0.1;FOO=a;BAR=b{ignore}");
        let error = args(&text).check_known().unwrap_err();
        assert_eq!(error.code, Code::INVALID_ENVIRONMENT);
        assert!(error.msg.contains("FOO, BAR"), "{error}");
    }
    let error = args("IgnoreUnknown=maybe").check_known().unwrap_err();
    assert!(error.msg.contains("IgnoreUnknown=`maybe`"), "{error}");
}

#[test]
fn addresses_and_pods_are_looked_up() {
    let args = args(
        "IP=10.0.0.5/24,fd00::5;GATEWAY=10.0.0.1;MAC=02:00:00:00:00:01;K8S_POD_NAME=web;\
         K8S_POD_NAMESPACE=shop;K8S_POD_INFRA_CONTAINER_ID=abc;K8S_POD_UID=",
    );
    let ips: Vec<String> = args
        .ips()
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(ips, ["10.0.0.5/24", "fd00::5"]);
    assert_eq!(
        args.gateways().unwrap(),
        ["10.0.0.1".parse::<IpAddr>().unwrap()]
    );
    assert_eq!(args.mac().unwrap(), Some(Mac::from([2, 0, 0, 0, 0, 1])));
    let pod = args.pod();
    assert_eq!(
        (pod.namespace, pod.name, pod.uid),
        (Some("shop"), Some("web"), None)
    );
    assert_eq!(pod.infra_container_id, Some("abc"));

    let none = Args::default();
    assert_eq!(
        (none.ips(), none.gateways(), none.mac()),
        (Ok(vec![]), Ok(vec![]), Ok(None))
    );
}

#[test]
fn invalid_addresses_in_args_are_code_4_and_name_key_and_value() {
    let check = |error: Error, expected: &str| {
        assert_eq!(error.code, Code::INVALID_ENVIRONMENT);
        assert!(error.msg.contains(expected), "{error}");
    };
    check(args("IP=10.0.0").ips().unwrap_err(), "IP=`10.0.0`");
    check(
        args("IP=10.0.0.1/99").ips().unwrap_err(),
        "IP=`10.0.0.1/99`",
    );
    check(args("IP=10.0.0.1,").ips().unwrap_err(), "IP=`10.0.0.1,`");
    check(
        args("GATEWAY=10.0.0.1/8").gateways().unwrap_err(),
        "GATEWAY=",
    );
    check(args("MAC=1").mac().unwrap_err(), "MAC=`1`");
}

// Environment

const FULL: [(&str, &str); 9] = [
    ("CNI_COMMAND", "ADD"),
    ("CNI_CONTAINERID", "c1"),
    ("CNI_NETNS", "/run/netns/blue"),
    ("CNI_IFNAME", "eth0"),
    ("CNI_ARGS", "A=1"),
    ("CNI_PATH", "/opt/cni/bin::/usr/lib/cni"),
    ("CNI_NETNS_OVERRIDE", "TRUE"),
    ("HOME", "/root"),
    ("CNI_OTHER", "x"),
];

/// The full environment with some variables replaced.
fn read(changes: &[(&str, &str)]) -> Result<Environment, Error> {
    let changed = |name| {
        changes
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| *value)
    };
    let variables = FULL
        .iter()
        .map(|(name, value)| (*name, changed(*name).unwrap_or(value)));
    Environment::from_variables(variables)
}

#[test]
fn commands_parse_what_they_print() {
    for command in Command::ALL {
        assert_eq!(command.to_string().parse::<Command>(), Ok(command));
    }
    let error = "add".parse::<Command>().unwrap_err();
    assert_eq!(error.code, Code::INVALID_ENVIRONMENT);
    assert!(
        error.msg.contains("`add`") && error.msg.contains("STATUS, GC"),
        "{error}"
    );
    assert_eq!(Command::Check.since(), Version::V0_4_0);
}

#[test]
fn the_environment_is_read() {
    let environment = read(&[]).unwrap();
    assert_eq!(environment.command, Command::Add);
    assert_eq!(environment.container_id.as_deref(), Some("c1"));
    assert_eq!(environment.netns.as_deref(), Some("/run/netns/blue"));
    assert_eq!(environment.ifname.as_deref(), Some("eth0"));
    assert_eq!(environment.args.get("A"), Some("1"));
    assert_eq!(environment.path, ["/opt/cni/bin", "/usr/lib/cni"]);
    assert!(environment.netns_override);
}

#[test]
fn cni_1_1_0_section_2_required_variables_by_command() {
    let attachment = ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"];
    for command in Command::ALL {
        for variable in attachment {
            let changes = [("CNI_COMMAND", command.as_str()), (variable, "")];
            let required = match command {
                Command::Add | Command::Check => true,
                Command::Del => variable != "CNI_NETNS",
                Command::Status | Command::Gc | Command::Version => false,
            };
            match read(&changes) {
                Ok(_) => assert!(!required, "{command} needs {variable}"),
                Err(error) => {
                    assert!(required, "{command} does not need {variable}: {error}");
                    assert_eq!(error.code, Code::INVALID_ENVIRONMENT);
                    assert!(error.msg.ends_with(&format!(": {variable}")), "{error}");
                }
            }
        }
        let optional = [
            ("CNI_ARGS", ""),
            ("CNI_PATH", ""),
            ("CNI_NETNS_OVERRIDE", ""),
        ];
        let environment = read(&optional).unwrap();
        assert!(environment.args.is_empty() && environment.path.is_empty());
        assert!(!environment.netns_override);
    }
}

#[test]
fn all_missing_and_invalid_variables_are_named_at_once() {
    let error = read(&[
        ("CNI_CONTAINERID", "../x"),
        ("CNI_NETNS", ""),
        ("CNI_IFNAME", "a/b"),
        ("CNI_ARGS", "nonsense"),
    ])
    .unwrap_err();
    assert_eq!(error.code, Code::INVALID_ENVIRONMENT);
    assert_eq!(
        error.msg,
        "missing or invalid environment variables: CNI_NETNS, CNI_CONTAINERID, CNI_IFNAME, CNI_ARGS"
    );
    for expected in [
        "CNI_NETNS is not set, ADD requires it",
        "`../x`",
        "`a/b`",
        "`nonsense`",
    ] {
        assert!(error.details.contains(expected), "{error}");
    }
}

#[test]
fn a_missing_or_unknown_command_is_named_with_other_invalid_variables() {
    let nothing = Environment::from_variables::<&str, &str>([]).unwrap_err();
    assert_eq!(
        nothing.msg,
        "missing or invalid environment variables: CNI_COMMAND"
    );
    let error = read(&[("CNI_COMMAND", "PAUSE"), ("CNI_IFNAME", "..")]).unwrap_err();
    assert!(error.msg.ends_with("CNI_COMMAND, CNI_IFNAME"), "{error}");
    assert!(error.details.contains("`PAUSE` is unknown"), "{error}");
}

#[test]
fn variables_that_a_command_has_no_use_for_are_left_aside() {
    for command in ["VERSION", "GC", "STATUS"] {
        let environment = read(&[
            ("CNI_COMMAND", command),
            ("CNI_CONTAINERID", "../x"),
            ("CNI_IFNAME", "a/b"),
            ("CNI_ARGS", "nonsense"),
        ])
        .unwrap();
        assert_eq!((environment.container_id, environment.ifname), (None, None));
        assert_eq!(environment.netns, None);
        assert!(environment.args.is_empty());
    }
}
