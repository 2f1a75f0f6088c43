//! What a plugin translates addresses with: told by what it leaves in the kernel, for neither its version
//! nor its answers tell.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use weir_kit::Namespace;

/// While a port is mapped in this namespace by the reference. The calling thread is inside afterwards.
pub fn find(host: &Namespace) -> Result<String> {
    host.enter()?;
    // All chains of the reference are named so, in every version.
    if output("iptables-save", &["-t", "nat"])?.contains("CNI-") {
        return Ok(output("iptables", &["--version"])?.trim().to_owned());
    }
    Ok("nftables".to_owned())
}

fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .with_context(|| format!("run `{program}`: install the package iptables"))?;
    ensure!(output.status.success(), "`{program}` failed: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}
