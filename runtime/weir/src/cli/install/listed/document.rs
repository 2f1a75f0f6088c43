//! The list: a `PluginInstallation` document.

use serde::{Deserialize, Deserializer, de};
use weir_grant::document::{API_VERSION, Digest, constant};
use weir_grant::reading::read;
use weir_sandbox::{Catalogue, PluginUri};

/// The document. Unknown keys are errors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "apiVersion", deserialize_with = "api_version")]
    _api_version: (),
    #[serde(rename = "kind", deserialize_with = "kind")]
    _kind: (),
    spec: Spec,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "WrittenSpec")]
struct Spec {
    plugins: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSpec {
    plugins: Vec<Entry>,
}

/// A plugin to install.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Entry {
    /// Its name on every node.
    #[serde(deserialize_with = "name")]
    pub name: String,
    #[serde(deserialize_with = "uri")]
    pub uri: PluginUri,
    /// Of the component.
    pub digest: Digest,
    #[serde(default)]
    pub trust: Trust,
    /// Lets an older version replace a newer one.
    #[serde(default)]
    pub allow_downgrade: bool,
}

/// What lets a plugin in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Trust {
    /// Its digest in the list.
    #[default]
    Digest,
    /// The digest, and a signature of a signer whom the node's policy names.
    Signature,
}

impl TryFrom<WrittenSpec> for Spec {
    type Error = String;

    fn try_from(WrittenSpec { plugins }: WrittenSpec) -> Result<Self, String> {
        for (place, entry) in plugins.iter().enumerate() {
            if plugins[..place]
                .iter()
                .any(|other| other.name == entry.name)
            {
                return Err(format!("plugin `{}` is there twice", entry.name));
            }
        }
        Ok(Self { plugins })
    }
}

/// Reads a list. Errors: its mistakes, with line and column.
pub fn parse(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let document = read::<Document>(bytes, "a list, with `apiVersion`, `kind` and `spec`");
    match document {
        Ok(document) => Ok(document.spec.plugins),
        Err(mistakes) => {
            let mistakes: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            Err(mistakes.join("; "))
        }
    }
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    Catalogue::check_name(&name).map_err(|error| de::Error::custom(error.msg))?;
    Ok(name)
}

fn uri<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PluginUri, D::Error> {
    let uri = String::deserialize(deserializer)?;
    uri.parse().map_err(de::Error::custom)
}

fn api_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    constant(deserializer, "apiVersion", API_VERSION).map(drop)
}

fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    constant(deserializer, "kind", "PluginInstallation").map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &str) -> Result<Vec<Entry>, String> {
        let digest = format!("sha256:{}", "a".repeat(64));
        let entries = entries.replace("DIGEST", &digest);
        let document = format!(
            "apiVersion: weir.dev/v1alpha1\nkind: PluginInstallation\nspec:\n  plugins: [{entries}]\n"
        );
        parse(document.as_bytes())
    }

    #[test]
    fn an_entry_has_a_name_a_uri_and_a_digest() {
        let read = list("{ name: labels, uri: \"oci://r.example/labels:1\", digest: DIGEST }");
        let read = read.expect("valid");
        assert_eq!(read[0].name, "labels");
        assert_eq!(read[0].trust, Trust::Digest);
        assert!(!read[0].allow_downgrade);
        assert!(list("").expect("an empty list").is_empty());
    }

    #[test]
    fn mistakes_are_reported() {
        let uri = "uri: \"oci://r.example/labels:1\"";
        for (entries, why) in [
            (format!("{{ name: labels, {uri} }}"), "digest"),
            (
                format!("{{ name: labels, {uri}, digest: latest }}"),
                "digest",
            ),
            (
                format!("{{ name: weir, {uri}, digest: DIGEST }}"),
                "weir itself",
            ),
            (
                format!("{{ name: ../x, {uri}, digest: DIGEST }}"),
                "plugin name",
            ),
            (
                "{ name: x, uri: labels, digest: DIGEST }".to_owned(),
                "is not a URI",
            ),
            (
                "{ name: x, uri: \"https://u:hunter2@r.example/x\", digest: DIGEST }".to_owned(),
                "has credentials",
            ),
            (
                format!("{{ name: x, {uri}, digest: DIGEST, trust: nobody }}"),
                "nobody",
            ),
            (
                format!("{{ name: x, {uri}, digest: DIGEST, policy: all }}"),
                "policy",
            ),
            (
                format!(
                    "{{ name: x, {uri}, digest: DIGEST }}, {{ name: x, {uri}, digest: DIGEST }}"
                ),
                "there twice",
            ),
        ] {
            let said = list(&entries).expect_err(&entries);
            assert!(said.contains(why), "{entries}: {said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
        assert!(parse(b"kind: ConfigMap\n").is_err());
    }
}
