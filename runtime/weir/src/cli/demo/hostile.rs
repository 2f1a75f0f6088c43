//! The demo's hostile plugin: its grant is narrow, and it tries everything.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use weir_sandbox::{self as sandbox, Catalogue};

use super::report::Report;
use super::world::World;
use crate::cli::output::{print_line, show as show_error};
use crate::cli::record::{self, Record, Verdict};
use crate::cli::scratch_node::Container;

/// Installs the plugin with a narrow grant, runs it, and shows what was denied.
pub fn show(report: &Report, world: &World, container: &Container) -> Result<()> {
    report.title("A hostile plugin");
    report.say("It may read one interface of its container, and this is its whole grant:");
    let what = "weir plugin add hostile.wasm (compiled now, not in an ADD)";
    let digest = report.step(what, || {
        let catalogue = Catalogue::new(&world.node.paths());
        let installed = catalogue.install("hostile", sandbox::hostile()?);
        installed.map_err(show_error)
    })?;
    let grant = grant(&digest.to_string());
    fs::create_dir_all(world.node.paths().grants())?;
    fs::write(world.node.paths().grants().join("hostile.yaml"), &grant)?;
    for line in grant.lines() {
        print_line!("      {line}");
    }
    print_line!();
    world.link("hostile")?;
    let config = json!({
        "cniVersion": "1.1.0",
        "name": "demo",
        "type": "hostile",
        "ipam": { "type": "host-local", "subnet": "10.99.0.0/24" },
    });
    let ran = report.step("ADD with the hostile plugin", || {
        Ok(world.plugin("hostile", "ADD", container, &config))
    })?;
    match ran {
        Ok(_) => report.say("It returned a result; what it tried was denied:"),
        Err(error) => report.say(&format!("It gave up: {error}. What it tried was denied:")),
    }
    let denied = denied(world)?;
    ensure!(
        !denied.is_empty(),
        "nothing was denied to the hostile plugin"
    );
    for record in &denied {
        let operation = &record.operation;
        let answer = record.remark().unwrap_or_default();
        report.say(&format!("denied  {operation:<18} {answer}"));
    }
    Ok(())
}

fn grant(digest: &str) -> String {
    format!(
        "apiVersion: weir.dev/v1alpha1
kind: PluginGrant
metadata:
  name: hostile
spec:
  plugin:
    name: hostile
    digest: {digest}
  networks: [\"*\"]
  capabilities:
    link:
      - {{ namespace: container, names: [\"{{ifname}}\"], verbs: [read] }}
"
    )
}

fn denied(world: &World) -> Result<Vec<Record>> {
    let mut denied = Vec::new();
    let mut take = |record: &Record| {
        if record.subject.plugin == "hostile" && record.verdict == Verdict::Denied {
            denied.push(record.clone());
        }
        Ok(())
    };
    record::read(&world.node.paths().audit_log(), &mut take).context("read the audit log")?;
    Ok(denied)
}
