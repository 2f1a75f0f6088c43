//! Which keys are accepted although the plugin has no such field, and what a mistyped one may mean.

use std::fmt::Write;

/// Keys of the network configuration that CNI sections 1 and 3, its conventions and the multiple
/// networks' specification define for every plugin.
const WELL_KNOWN: [&str; 16] = [
    "cniVersion",
    "cniVersions",
    "name",
    "type",
    "args",
    "ipMasq",
    "ipam",
    "dns",
    "capabilities",
    "runtimeConfig",
    "prevResult",
    "disableCheck",
    "disableGC",
    "loadOnlyInlinedPlugins",
    "deviceID",
    "pciBusID",
];

/// Whether a key at the top of a configuration is defined for every plugin.
pub(super) fn is_well_known(key: &str) -> bool {
    WELL_KNOWN
        .iter()
        .any(|known| known.eq_ignore_ascii_case(key))
}

/// Whether a key is a comment or namespaced.
pub(super) fn is_foreign(key: &str) -> bool {
    key.starts_with('_') || key.contains(['.', '/', ':'])
}

/// Returns the field that a key of a configuration means.
pub(super) fn field(key: &str, fields: &'static [&'static str]) -> Option<&'static str> {
    let exact = fields.iter().find(|field| **field == key);
    let any_case = || fields.iter().find(|field| field.eq_ignore_ascii_case(key));
    exact.or_else(any_case).copied()
}

/// Returns the message about a key that means no field.
pub(super) fn unknown(key: &str, fields: &[&str]) -> String {
    let mut message = "unknown key".to_owned();
    // Writing to a string does not fail.
    let _ = match nearest(key, fields) {
        Some(field) => write!(message, "; did you mean `{field}`?"),
        None if fields.is_empty() => Ok(()),
        None => write!(message, "; the keys are {}", fields.join(", ")),
    };
    message
}

/// The field that a key with few letters wrong is likely to mean.
fn nearest<'f>(key: &str, fields: &[&'f str]) -> Option<&'f str> {
    let key = key.to_ascii_lowercase();
    let distance = |field: &str| strsim::osa_distance(&key, &field.to_ascii_lowercase());
    let measured = fields.iter().map(|field| (distance(field), *field));
    let (distance, field) = measured.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + field.len() / 4).then_some(field)
}
