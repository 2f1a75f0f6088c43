//! Runs the component in temporary namespaces, under its grant, without root, by `weir plugin test`.
//!
//! The variable `WEIR` names weir's binary; the default is the one in `PATH`.

use std::env;
use std::path::Path;
use std::process::Command;

#[test]
fn it_attaches_and_leaves_nothing_behind() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| project.join("target"), |shared| project.join(shared));
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "--target=wasm32-wasip2"])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(project)
        .status()
        .expect("cargo runs");
    assert!(
        built.success(),
        "is the target installed? rustup target add wasm32-wasip2"
    );

    let weir = env::var_os("WEIR").unwrap_or_else(|| "weir".into());
    let output = Command::new(&weir)
        .args(["plugin", "test"])
        .arg(target.join("wasm32-wasip2/release/{{file}}.wasm"))
        .arg(project.join("network.conflist"))
        .output()
        .unwrap_or_else(|error| panic!("run {weir:?}: {error}; set WEIR to weir's path"));
    let (said, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{said}{errors}");
    println!("{said}");
}
