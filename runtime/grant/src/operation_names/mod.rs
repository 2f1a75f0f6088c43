//! Operations by name, as people type them, `link.create namespace=host kind=bridge name=cni0`, and as a record of
//! the audit log has them.
//!
//! A field has a name for people and a place in the operation's JSON, the same as in the audit
//! log. The operation's own type reads that JSON and reports mistakes.

mod complete;
mod field;
pub mod function;
mod question;
pub mod recorded;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Capability;
use super::diagnostic::expected_one_of;
use super::query::Query;
use super::verb::Verb;
pub use field::{Field, Kind};
pub use question::{Case, question};
use table::OPERATIONS;

/// An operation that can be named.
pub struct Known {
    /// `link.create`: its name in a record.
    pub name: &'static str,
    /// The name in a query, `link.look-up`: it tells apart two operations that have one name in records.
    pub query_name: &'static str,
    verb: Verb,
    pub fields: &'static [Field],
    /// The defaults, as JSON.
    defaults: &'static str,
    /// Completes the operation's JSON.
    complete: fn(&mut Map<String, Value>) -> Result<(), complete::Missing>,
    read: fn(Value) -> Result<Box<dyn Query>, serde_json::Error>,
    /// A member that tells it from another operation of its name.
    only_with: Option<(&'static str, &'static str)>,
}

/// Lists the names that people use for operations, each once.
pub fn names() -> Vec<&'static str> {
    let plugins = OPERATIONS.iter().filter(|known| known.is_of_plugins());
    let mut names: Vec<&str> = plugins.map(|known| known.query_name).collect();
    names.dedup();
    names
}

/// Returns the operations of a capability.
pub fn of(capability: Capability) -> impl Iterator<Item = &'static Known> {
    let known = OPERATIONS.iter();
    known.filter(move |known| known.word() == capability.word())
}

/// Lists the names in records, each once.
pub fn recorded_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = OPERATIONS.iter().map(|known| known.name).collect();
    names.dedup();
    names
}

/// Reads the operation of a record of the audit log. Errors: what is wrong with it.
pub fn recorded(name: &str, arguments: &Value) -> Result<Box<dyn Query>, String> {
    let mut why = None;
    let name = &*current(name);
    let candidates: Vec<&Known> = OPERATIONS.iter().filter(|k| k.name == name).collect();
    if candidates.is_empty() {
        return Err(format!("no operation `{name}`"));
    }
    for known in candidates {
        if known.is_for(arguments) {
            match (known.read)(arguments.clone()) {
                Ok(operation) => return Ok(operation),
                Err(error) => why = why.or(Some(error.to_string())),
            }
        }
    }
    let why = why.unwrap_or_else(|| "a member is missing".to_owned());
    Err(format!("the arguments of `{name}`: {why}"))
}

/// The name that an operation of a record has now: `policy-rule.add` was `rule.add`.
fn current(name: &str) -> Cow<'_, str> {
    let renamed = name.split_once('.').and_then(|(word, operation)| {
        let former = Capability::FORMER_WORDS.iter();
        let (_, now) = former.copied().find(|(before, _)| *before == word)?;
        Some(format!("{now}.{operation}"))
    });
    renamed.map_or(Cow::Borrowed(name), Cow::Owned)
}

/// Makes the operation with this name from its fields, in any order.
///
/// Errors: unknown, missing and repeated fields, with the known ones; invalid values.
pub fn by_name(name: &str, given: &[(String, String)]) -> Result<Box<dyn Query>, String> {
    let candidates = candidates(name, given)?;
    let mut why = None;
    for known in &candidates {
        match known.build(given) {
            Ok(Some(operation)) => return Ok(operation),
            Ok(None) => {}
            Err(error) => why = why.or(Some(error)),
        }
    }
    Err(why.unwrap_or_else(|| wrong_fields(name, &candidates, given)))
}

/// The operations of a name. Errors: there is none, or a field is given twice.
fn candidates(name: &str, given: &[(String, String)]) -> Result<Vec<&'static Known>, String> {
    let plugins = OPERATIONS.iter().filter(|known| known.is_of_plugins());
    let candidates: Vec<&Known> = plugins.filter(|k| k.query_name == name).collect();
    if candidates.is_empty() {
        return Err(no_such(name));
    }
    for (at, (field, value)) in given.iter().enumerate() {
        if let Some((_, first)) = given[..at].iter().find(|(before, _)| before == field) {
            return Err(format!(
                "`{field}` is given twice, as `{first}` and as `{value}`; give it once"
            ));
        }
    }
    Ok(candidates)
}

/// Says which field is unknown or missing.
fn wrong_fields(name: &str, candidates: &[&'static Known], given: &[(String, String)]) -> String {
    let mut fields: Vec<&Field> = Vec::new();
    for field in candidates.iter().flat_map(|known| known.fields) {
        if !fields.iter().any(|f| f.name == field.name) {
            fields.push(field);
        }
    }
    let is_required = |field: &&&Field| {
        let in_each = |known: &&Known| {
            let own = known.fields.iter().find(|f| f.name == field.name);
            own.is_some_and(|f| f.required)
        };
        candidates.iter().all(in_each)
    };
    let spelled: Vec<String> = fields
        .iter()
        .map(|f| {
            if is_required(&f) {
                f.name.to_owned()
            } else {
                format!("[{}]", f.name)
            }
        })
        .collect();
    let there_are = if spelled.is_empty() {
        "it has none".to_owned()
    } else {
        format!("its fields are {}", spelled.join(", "))
    };
    let unknown = given
        .iter()
        .find(|(key, _)| !fields.iter().any(|f| f.name == key));
    if let Some((key, _)) = unknown {
        return format!("`{name}` has no field `{key}`; {there_are}");
    }
    let missing: Vec<&str> = fields
        .iter()
        .filter(is_required)
        .filter(|f| !given.iter().any(|(key, _)| key == f.name))
        .map(|f| f.name)
        .collect();
    if missing.is_empty() {
        format!("the fields of `{name}` do not go together; {there_are}")
    } else {
        format!("`{name}` needs {}; {there_are}", missing.join(", "))
    }
}

/// Says that no operation has this name, with the known ones of its capability.
pub fn no_such(name: &str) -> String {
    let word = name.split('.').next().unwrap_or_default();
    let all = names();
    let of_word: Vec<&str> = match Capability::from_word(word) {
        Some(_) => all
            .into_iter()
            .filter(|n| n.starts_with(&format!("{word}.")))
            .collect(),
        None => all,
    };
    match of_word.as_slice() {
        [] => format!("no operation `{name}`: capability `{word}` has none to allow"),
        [only] => format!("no operation `{name}`; did you mean `{only}`?"),
        several => format!("no operation `{name}`; {}", expected_one_of(name, several)),
    }
}

impl Known {
    /// Whether a plugin can ask for it, so that a grant can allow it.
    fn is_of_plugins(&self) -> bool {
        Capability::from_word(self.word()).is_some()
    }

    /// Its capability's word.
    fn word(&self) -> &'static str {
        self.name.split('.').next().unwrap_or_default()
    }

    fn is_for(&self, arguments: &Value) -> bool {
        self.only_with
            .is_none_or(|(member, value)| arguments[member] == value)
    }

    /// None if fields are missing or belong to another operation.
    fn build(&self, given: &[(String, String)]) -> Result<Option<Box<dyn Query>>, String> {
        let mut operation: Value =
            serde_json::from_str(self.defaults).expect("defaults are JSON: a test reads them");
        for (key, text) in given {
            let Some(field) = self.fields.iter().find(|f| f.name == key) else {
                return Ok(None);
            };
            put(&mut operation, field.place, field.parse(text)?);
        }
        let is_given = |f: &Field| given.iter().any(|(key, _)| key == f.name);
        if !self.fields.iter().all(|f| !f.required || is_given(f)) || !self.is_for(&operation) {
            return Ok(None);
        }
        if let Value::Object(members) = &mut operation {
            (self.complete)(members).map_err(|missing| format!("`{}`: {missing}", self.name))?;
            question::without_owners_in_container(members);
        }
        let name = self.name;
        let built = (self.read)(operation).map_err(|e| format!("`{name}`: {e}"))?;
        Ok(Some(built))
    }
}

/// Puts a value at a JSON pointer, and creates the objects on the way.
fn put(document: &mut Value, place: &str, value: Value) {
    let mut at = document;
    for key in place.split('/').skip(1) {
        at = &mut at[key];
    }
    *at = value;
}
