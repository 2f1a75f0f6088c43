//! Puts a component that the policy lets in among the node's plugins, and records that.

use anyhow::{Result, bail, ensure};
use weir_gate::{Event, User};
use weir_sandbox::{Inspection, Provenance, Sandbox};

use crate::cli::output::show;

/// The plugin of that name; none if it is damaged.
pub fn installed(sandbox: &Sandbox, name: &str) -> Option<Inspection> {
    let plugin = sandbox.catalogue().find(name).ok()?;
    sandbox.inspect_plugin(&plugin).ok()
}

/// The version that a plugin reports; nothing if it fails to.
pub fn version(inspection: &Inspection) -> Option<&str> {
    let about = inspection.about.as_ref().ok();
    about.map(|about| about.version.as_str())
}

/// Errors: the version is older than the installed one, or has no order while that has one.
pub fn check_not_older(sandbox: &Sandbox, name: &str, added: &Inspection) -> Result<()> {
    check_version(
        name,
        installed_version(sandbox, name).as_deref(),
        version(added),
    )
}

/// The version that was recorded when a plugin was installed, which is known of one with a damaged component as well. An older weir
/// recorded none: that plugin is asked.
fn installed_version(sandbox: &Sandbox, name: &str) -> Option<String> {
    let plugin = sandbox.catalogue().find(name).ok()?;
    let recorded = plugin.provenance().and_then(|p| p.version.clone());
    recorded.or_else(|| version(&installed(sandbox, name)?).map(str::to_owned))
}

fn check_version(name: &str, installed: Option<&str>, added: Option<&str>) -> Result<()> {
    let parsed = |text: Option<&str>| semver::Version::parse(text?).ok();
    let Some(newest) = parsed(installed) else {
        return Ok(());
    };
    let shown = added.unwrap_or("unknown");
    ensure!(
        parsed(added).is_some_and(|added| added >= newest),
        "plugin `{name}` stays at version `{newest}`: `{shown}` is older, or is not a semantic version; give --allow-downgrade if you \
         want it"
    );
    Ok(())
}

/// Installs it, and records that. Nothing is installed if the audit log cannot be opened.
pub fn install(
    sandbox: &Sandbox,
    name: &str,
    inspection: &Inspection,
    provenance: &Provenance,
    replace: bool,
) -> Result<()> {
    let catalogue = sandbox.catalogue();
    if let Some(why) = sandbox.audit_log().failure() {
        bail!(
            "plugin `{name}` is not installed, because it cannot be recorded in the audit log: {why}"
        );
    }
    let before = catalogue.find(name).ok().map(|plugin| plugin.digest);
    // One that is added meanwhile is not replaced either.
    let installed = catalogue.install_compiled(name, &inspection.compiled, provenance, replace);
    let event = Event::Added {
        replaced: before.as_ref(),
        user: User::of_process(),
    };
    let outcome = installed.as_ref().map(|_| ());
    let recorded = sandbox.record(name, Some(&inspection.digest), &event, outcome);
    installed.map_err(show)?;
    recorded.map_err(|e| show(e.with_prefix(format_args!("plugin `{name}` is installed"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_version_does_not_replace_a_newer_one() {
        let check = |installed, added| check_version("labels", Some(installed), Some(added));
        for (installed, added) in [
            ("1.2.0", "1.2.0"),
            ("1.2.0", "1.10.0"),
            ("1.2.0-rc.1", "1.2.0"),
            // There was no order before either.
            ("monday", "1.0.0"),
            ("monday", "sunday"),
        ] {
            assert!(check(installed, added).is_ok(), "{installed} to {added}");
        }
        for (installed, added) in [
            ("1.2.0", "1.1.9"),
            ("1.10.0", "1.9.0"),
            ("1.2.0", "1.2.0-rc.1"),
            ("1.2.0", "latest"),
            ("1.2.0", ""),
        ] {
            let said = check(installed, added).expect_err(added).to_string();
            assert!(
                said.contains(&format!("stays at version `{installed}`")),
                "{said}"
            );
            assert!(said.contains("--allow-downgrade"), "{said}");
        }
        assert!(check_version("labels", Some("1.2.0"), None).is_err());
        assert!(check_version("labels", None, Some("1.0.0")).is_ok());
    }
}
