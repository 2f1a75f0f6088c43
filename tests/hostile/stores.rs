//! Keys, places and values that reach out of a store.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Result;
use serde_json::{Value, json};

use super::puppet::{FAILURES, Puppet};

const OWN: &str = "{ store: [ { directories: [/srv/own] }, { files: [/etc/own.conf] } ] }";

/// What nobody may read or change, and the directory in which it is.
const SECRET: &str = "a secret of the host";

fn puppet() -> Result<(Puppet, PathBuf)> {
    let puppet = Puppet::under(OWN)?;
    let outside = puppet.fixture.node.root().join("srv/outside");
    fs::create_dir_all(&outside)?;
    fs::create_dir_all(puppet.fixture.node.root().join("srv/own"))?;
    fs::write(outside.join("secret"), SECRET)?;
    Ok((puppet, outside))
}

fn open() -> Value {
    json!({ "do": "store.open", "path": "/srv/own", "write": true })
}

/// Fails unless what is outside is as it was, and was never shown.
#[track_caller]
fn assert_untouched(puppet: &Puppet, outside: &Path) -> Result<()> {
    assert_eq!(fs::read_to_string(outside.join("secret"))?, SECRET);
    assert_eq!(fs::read_dir(outside)?.count(), 1, "something was written");
    for answer in puppet.said() {
        assert!(!answer.said.contains(SECRET), "{answer:#?}");
    }
    Ok(())
}

/// Property: a key names a file in the store's directory and nothing else.
#[test]
fn a_key_leads_nowhere_else() -> Result<()> {
    let (puppet, outside) = puppet()?;
    let long = "k".repeat(256);
    let keys = [
        "",
        ".",
        "..",
        "../outside/secret",
        "../../outside/secret",
        "/etc/passwd",
        "a/b",
        "a\0b",
        "a\n",
        "a b",
        "lock",
        ".weir~new",
        ".weir~old",
        "ключ",
        long.as_str(),
    ];
    for function in ["get", "put", "claim", "delete"] {
        let call = |key: &str| {
            let function = format!("store.transaction.{function}");
            json!({ "do": function, "key": key, "value": "mine" })
        };
        let mut orders = vec![open()];
        orders.extend(keys.iter().map(|key| call(key)));
        let answers = puppet.act(orders)?;
        for (answer, key) in answers[1..].iter().zip(keys) {
            assert_eq!(answer.answer, "invalid", "{key:?}: {answer:#?}");
        }
    }
    let longest = "k".repeat(255);
    let put = json!({ "do": "store.transaction.put", "key": longest, "value": "mine" });
    puppet.assert_each(vec![open(), put], "ok")?;
    assert_untouched(&puppet, &outside)
}

/// Property: a directory of a grant contains what is below it, by whatever path it is named.
#[test]
fn a_path_leads_nowhere_else() -> Result<()> {
    let (puppet, outside) = puppet()?;
    let paths = [
        "/srv/own/../outside",
        "/srv/own/./../outside",
        "/srv/ownother",
        "/srv",
        "/",
        "srv/own",
        "/srv/own\0/x",
        "/SRV/own",
        "/srv/own /x",
    ];
    let mut orders = Vec::new();
    for path in paths {
        for shared in [false, true] {
            orders
                .push(json!({ "do": "store.open", "path": path, "shared": shared, "write": true }));
        }
    }
    // It has a place of its own only where a rule names no other.
    orders.push(json!({ "do": "store.open", "write": true }));
    for file in [
        "/etc/own.conf/../shadow",
        "/etc/own.conf/x",
        "/etc/own.conf\0",
        "etc/own.conf",
        "/srv/outside/secret",
    ] {
        orders.push(json!({ "do": "store.read-file", "path": file }));
    }
    puppet.assert_denied(orders)?;
    let cut = json!({ "do": "store.open", "path": "/srv/own/a\0b", "write": true });
    puppet.assert_each(vec![cut], "failed")?;
    assert_untouched(&puppet, &outside)
}

/// Property: no grant makes a store of what weir goes by, or of what it says: grants, plugins, results,
/// configurations, logs, and whatever contains them.
#[test]
fn weirs_own_directories_are_no_stores() -> Result<()> {
    let puppet = Puppet::under("{ store: [ { directories: [/] }, {} ] }")?;
    let root = puppet.fixture.node.root();
    // By another way, too.
    fs::create_dir_all(root.join("srv"))?;
    symlink("../var", root.join("srv/way"))?;
    let within = [
        "/etc/weir",
        "/etc/weir/grants.d",
        "/etc/cni/net.d",
        "/etc/cni/multus/net.d",
        "/run/weir",
        "/var/lib/cni/multus",
        "/var/lib/cni/multus/results",
        "/var/lib/cni/results",
        "/var/lib/weir",
        "/var/lib/weir/indexes",
        "/var/lib/weir/plugins",
        "/var/lib/weir/plugins/bridge",
        "/var/lib/weir/plugins/puppet",
        "/var/lib/weir/stores",
        "/var/lib/weir/stores/other",
        "/var/log/weir",
        "/var/log/weir/audit.jsonl",
        "/srv/way/lib/weir/plugins",
        "/srv/way/log/weir",
    ];
    let around = [
        "/",
        "/etc",
        "/etc/cni",
        "/run",
        "/var",
        "/var/lib",
        "/var/lib/cni",
        "/var/log",
        "/srv/way",
        "/srv/way/lib",
    ];
    // What every call makes is there.
    puppet.act(Vec::new())?;
    let before = tree(root)?;
    let mut orders = Vec::new();
    for write in [false, true] {
        let open = |path: &str, shared: bool| {
            let mut order = json!({ "do": "store.open", "path": path, "write": write });
            order["shared"] = shared.into();
            order
        };
        orders.extend(
            within
                .iter()
                .flat_map(|path| [open(path, true), open(path, false)]),
        );
        orders.extend(around.iter().map(|path| open(path, true)));
    }
    let answers = puppet.assert_each(orders, "invalid")?;
    for answer in answers {
        let told = answer.said.contains("where no plugin may have a store");
        assert!(told, "{answer:#?}");
    }
    assert_eq!(tree(root)?, before, "something was made");

    // Its own place is where it was, and directories beside those are what they were.
    for path in [
        "",
        "/var/lib/cni/networks",
        "/var/lib/weirdo",
        "/run/own",
        "/etc/own",
    ] {
        let opened = json!({ "do": "store.open", "path": path, "write": true });
        let put = json!({ "do": "store.transaction.put", "key": "key", "value": "mine" });
        puppet.assert_each(vec![opened, put], "ok")?;
    }
    Ok(())
}

/// A network's name is a directory's as well.
#[test]
fn no_network_is_named_into_weirs_own_directories() -> Result<()> {
    let puppet = Puppet::under("{ store: [ { directories: [/] } ] }")?;
    for (network, path) in [
        ("multus", "/var/lib/cni"),
        ("results", "/var/lib/cni"),
        ("weir", "/var/log"),
        ("etc", "/"),
    ] {
        let order = json!({ "do": "store.open", "path": path, "write": true });
        let answers = puppet.act_with(json!({ "name": network, "orders": [order] }))?;
        assert_eq!(answers[0].answer, "invalid", "{answers:#?}");
        assert!(
            answers[0].said.contains("no plugin may have a store"),
            "{answers:#?}"
        );
    }
    Ok(())
}

/// All that is on a node but its two logs, to which every call adds, and the head of one.
fn tree(directory: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let (path, kind) = entry.and_then(|e| Ok((e.path(), e.file_type()?)))?;
        let logs = ["audit.jsonl", "audit.head", "weir.log"];
        let is_log = logs.iter().any(|log| path.ends_with(log));
        match () {
            () if kind.is_dir() => found.extend(tree(&path)?),
            () if kind.is_file() && !is_log => found.push((path.clone(), fs::read(&path)?)),
            () => {}
        }
        if !is_log {
            found.push((path, Vec::new()));
        }
    }
    found.sort();
    Ok(found)
}

/// Property: a store is a directory and its values are files: what was put in their place leads nowhere.
#[test]
fn planted_links_are_not_followed() -> Result<()> {
    let (puppet, outside) = puppet()?;
    let own = puppet.fixture.node.root().join("srv/own");
    let secret = outside.join("secret");
    // The store's directory, and the one above it.
    symlink(&outside, own.join("hostile"))?;
    symlink(&outside, own.join("planted"))?;
    puppet.assert_each(
        vec![
            open(),
            json!({ "do": "store.open", "path": "/srv/own/planted", "write": true }),
            json!({ "do": "store.open", "path": "/srv/own/planted", "shared": true, "write": true }),
        ],
        "invalid",
    )?;
    // The files in it.
    fs::remove_file(own.join("hostile"))?;
    fs::create_dir(own.join("hostile"))?;
    symlink(&secret, own.join("hostile/key"))?;
    symlink(&secret, own.join("hostile/.weir~new"))?;
    symlink(&secret, own.join("hostile/.weir~old"))?;
    let mut orders = vec![open()];
    for function in ["get", "put", "delete"] {
        let function = format!("store.transaction.{function}");
        orders.push(json!({ "do": function, "key": "key", "value": "mine" }));
    }
    let answers = puppet.act(orders)?;
    assert_eq!(answers[0].answer, "ok", "{answers:#?}");
    assert!(
        answers[1..].iter().all(|a| a.answer == "invalid"),
        "{answers:#?}"
    );
    let put = json!({ "do": "store.transaction.put", "key": "other", "value": "mine" });
    puppet.assert_each(vec![open(), put.clone(), put], "ok")?;
    // The lock.
    fs::remove_file(own.join("hostile/lock"))?;
    symlink(&secret, own.join("hostile/lock"))?;
    let answers = puppet.act(vec![open()])?;
    assert_ne!(answers[0].answer, "ok", "{answers:#?}");
    assert_untouched(&puppet, &outside)
}

/// Property: the same while another process plants and removes the link all the time.
#[test]
fn a_link_that_is_planted_meanwhile_is_not_followed() -> Result<()> {
    let (puppet, outside) = puppet()?;
    let store = puppet.fixture.node.root().join("srv/own/hostile");
    fs::create_dir(&store)?;
    let (planted, key) = (store.join("planted"), store.join("key"));
    let over = AtomicBool::new(false);
    let answers = thread::scope(|scope| {
        scope.spawn(|| {
            // Whatever comes of each step: the plugin changes the same name.
            while !over.load(Ordering::Relaxed) {
                let _ = symlink(outside.join("secret"), &planted);
                let _ = fs::rename(&planted, &key);
                let _ = fs::remove_file(&key);
            }
        });
        let call = |function: &str| {
            let function = format!("store.transaction.{function}");
            json!({ "do": function, "key": "key", "value": "mine" })
        };
        let mut orders = vec![open()];
        for _ in 0..700 {
            orders.extend(["put", "get", "delete"].map(call));
        }
        let answers = puppet.act(orders);
        over.store(true, Ordering::Relaxed);
        answers
    })?;
    assert!(
        answers
            .iter()
            .any(|a| a.answer == "ok" && a.function.ends_with("put")),
        "the plugin did nothing"
    );
    assert_untouched(&puppet, &outside)
}

/// Property: a value has at most 64 KiB.
#[test]
fn a_huge_value_is_refused() -> Result<()> {
    let (puppet, _) = puppet()?;
    let put = |size: usize| json!({ "do": "store.transaction.put", "key": "key", "size": size });
    puppet.assert_each(vec![open(), put((64 << 10) - 1), put(64 << 10)], "ok")?;
    let answers = puppet.act(vec![open(), put((64 << 10) + 1), put(900 << 10)])?;
    assert!(
        answers[1..].iter().all(|a| a.answer == "invalid"),
        "{answers:#?}"
    );
    Ok(())
}

/// Property: so many keys as the plugin has calls, and none of them stays.
#[test]
fn a_million_keys_end_with_the_calls() -> Result<()> {
    let (puppet, _) = puppet()?;
    puppet.grant(OWN, "{ calls: 3000 }")?;
    let many = json!({
        "do": "store.transaction.put-many", "key": "k", "value": "mine", "many": 1_000_000,
    });
    let commit = json!({ "do": "store.transaction.commit" });
    let outcome = puppet.run(vec![open(), many, commit], "")?;
    assert_eq!(outcome.code(), 213, "{outcome:?}");
    let store = puppet.fixture.node.root().join("srv/own/hostile");
    let keys = fs::read_dir(store)?.filter_map(Result::ok);
    let keys = keys.filter(|e| e.file_name().to_string_lossy().starts_with('k'));
    assert_eq!(keys.count(), 0, "keys were left behind");
    Ok(())
}

/// Property: what was committed goes all the same when the ADD fails.
#[test]
fn what_was_committed_goes_with_a_failed_add() -> Result<()> {
    let (puppet, _) = puppet()?;
    let put = json!({ "do": "store.transaction.put", "key": "key", "value": "mine" });
    let commit = json!({ "do": "store.transaction.commit" });
    for (end, code) in FAILURES {
        let orders = vec![open(), put.clone(), commit.clone()];
        assert_eq!(puppet.run(orders, end)?.code(), code);
        let key = puppet.fixture.node.root().join("srv/own/hostile/key");
        assert!(!key.exists(), "{end}");
    }
    Ok(())
}
