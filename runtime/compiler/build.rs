//! Hands the target triple to the code: plugins are compiled for it, not for the building machine.

fn main() {
    let target = std::env::var("TARGET").expect("cargo sets TARGET");
    println!("cargo::rustc-env=WEIR_TARGET={target}");
    println!("cargo::rerun-if-changed=build.rs");
}
