//! An artifact that came from a registry or a layout: what it says of itself, whether it is a plugin, and its files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use weir_distribution::{Artifact, Description, GRANT};
use weir_grant::Capability;
use weir_sandbox::{Inspection, Sandbox, parse_grant};
use weir_signature::Admitted;

use super::arrival::{Arrival, origin_beside, signature_beside};
use super::staged::write_all;
use crate::cli::output::{capability_words, print_list, say, show};

/// What an artifact says of itself.
#[derive(Serialize)]
pub struct Described {
    /// The artifact's digest: that of its manifest, by which it can be pulled again.
    artifact: String,
    /// The component's digest, by which a grant names it.
    component: String,
    /// The size of the component, in bytes.
    size: u64,
    capabilities: BTreeSet<Capability>,
    annotations: BTreeMap<String, String>,
    /// The grant that its author proposes, as YAML.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposed_grant: Option<String>,
}

impl Described {
    pub fn of(description: &Description) -> Self {
        let component = description.manifest.component();
        let mut annotations = description.annotations().clone();
        annotations.remove(GRANT);
        Self {
            artifact: description.digest().to_string(),
            component: component.digest.to_string(),
            size: component.size,
            capabilities: description.capabilities(),
            annotations,
            proposed_grant: description.grant().map(str::to_owned),
        }
    }

    pub fn print(&self) {
        say!("{:<11} {}", "artifact", self.artifact);
        say!(
            "{:<11} {}, {} bytes",
            "component",
            self.component,
            self.size
        );
        let capabilities: Vec<Capability> = self.capabilities.iter().copied().collect();
        let requested = match &capabilities[..] {
            [] => "nothing".to_owned(),
            capabilities => capability_words(capabilities),
        };
        say!("{:<11} {requested}", "requests");
        let annotations = self.annotations.iter();
        print_list(
            "says",
            annotations.map(|(key, value)| {
                let key = key.strip_prefix("org.opencontainers.image.").unwrap_or(key);
                format!("{key}: {value}")
            }),
        );
    }

    /// The proposed grant itself, where it is not written to a file.
    pub fn print_grant(&self) {
        let lines = self.proposed_grant.iter().flat_map(|grant| grant.lines());
        print_list("proposes", lines);
    }
}

/// Checks that an artifact is a plugin that this weir can run, as `weir plugin add` does, and that it says what is so.
pub fn check(sandbox: &Sandbox, artifact: &Artifact) -> Result<Inspection> {
    let inspection = sandbox.inspect(&artifact.component).map_err(show)?;
    inspection.check().map_err(show)?;
    compare(artifact, &inspection, None)?;
    Ok(inspection)
}

/// Checks that an artifact requests what its component imports, and proposes no grant for another. `file` is where the grant is, for
/// errors. Returns the plugin that the grant is for, if there is one.
pub fn compare(
    artifact: &Artifact,
    inspection: &Inspection,
    file: Option<&Path>,
) -> Result<Option<String>> {
    let called = file.unwrap_or(Path::new("the proposed grant"));
    artifact.check_requests(inspection.imports.capabilities())?;
    let Some(grant) = artifact.description.grant() else {
        return Ok(None);
    };
    let grant = parse_grant(called, grant).context("the grant is not valid")?;
    let plugin = grant.document.spec.plugin;
    ensure!(
        (plugin.digest.as_ref()).is_none_or(|named| *named == inspection.digest),
        "`{}` is for another component than the artifact's",
        called.display()
    );
    Ok(Some(plugin.name))
}

/// The files of a pulled or loaded artifact.
#[derive(Serialize)]
pub struct Files {
    component: PathBuf,
    /// The grant that the author proposes, beside the component. It is not in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    grant: Option<PathBuf>,
    /// The signature that counts, beside the component.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<PathBuf>,
    /// What the artifact was, beside the component.
    origin: PathBuf,
    /// What `weir plugin add` needs beside the file.
    #[serde(skip)]
    options: String,
}

impl Files {
    /// Checks that the files of an artifact can be written, before it is downloaded.
    pub fn check_free(component: &Path, replace: bool) -> Result<()> {
        for file in [component.to_owned()].iter().chain(&beside(component)) {
            if file.symlink_metadata().is_ok() && !replace {
                bail!(
                    "`{}` exists: give --replace, or the name of another file",
                    file.display()
                );
            }
        }
        Ok(())
    }

    /// Writes an artifact's component, and beside it what came along: all, or nothing. A kill can leave what is beside it alone,
    /// which allows nothing.
    pub fn write(
        artifact: &Artifact,
        arrival: &Arrival,
        admitted: &Admitted,
        component: &Path,
        replace: bool,
    ) -> Result<Self> {
        Self::check_free(component, replace)?;
        let grant = artifact.description.grant().map(str::as_bytes);
        let [grant_file, signature_file, origin_file] = beside(component);
        if grant.is_none() && grant_file.exists() {
            bail!(
                "`{}` is the proposal for another component, and this artifact has none: remove it",
                grant_file.display()
            );
        }
        let signature = arrival.signature(admitted);
        let origin = serde_json::to_vec_pretty(&arrival.origin)?;
        let contents = [
            (&grant_file, grant),
            (&signature_file, signature),
            (&origin_file, Some(&origin[..])),
            (&component.to_owned(), Some(&artifact.component[..])),
        ];
        write_all(&contents, replace)?;
        Ok(Self {
            component: component.to_owned(),
            grant: grant.is_some().then(|| grant_file.clone()),
            signature: signature.is_some().then(|| signature_file.clone()),
            origin: origin_file.clone(),
            options: match admitted {
                Admitted::Pinned { .. } => {
                    format!(
                        " --digest {}",
                        artifact.description.manifest.component().digest
                    )
                }
                _ => String::new(),
            },
        })
    }

    pub fn print(&self) {
        let component = self.component.display();
        say!("written to {component}");
        if let Some(grant) = &self.grant {
            let grant = grant.display();
            say!(
                "its author proposes the grant in {grant}, which is not in force: `weir plugin inspect {component} --grant {grant}`"
            );
        }
        say!("`weir plugin add {component}{}` installs it", self.options);
    }
}

/// What may be beside a component: the proposed grant, the signature, and the origin.
fn beside(component: &Path) -> [PathBuf; 3] {
    [
        grant_beside(component),
        signature_beside(component),
        origin_beside(component),
    ]
}

pub fn grant_beside(component: &Path) -> PathBuf {
    component.with_extension("grant.yaml")
}
