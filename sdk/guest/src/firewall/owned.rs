//! Set elements on the host that belong to an attachment, which their comments name.

use super::shared::Shared;
use super::{Command, Element, Elements, Family, Value};
use crate::check::wrong;
use crate::owner::{Owner, Valid};
use crate::{Error, ErrorCode, Namespace, Outcome, Result, firewall, log};

pub use super::shared::if_any;

/// An element and the set that it is in.
pub type Found = (String, Element);

/// How often to try when others change the same objects at the same time.
const ATTEMPTS: usize = 8;

/// Adds an attachment's elements, in one transaction, which also makes what is missing of what it shares with others.
/// Where something is in the way, the commands of `replacing` are carried out instead.
pub fn add(
    shared: &Shared,
    commands: Vec<Command>,
    replacing: impl Fn() -> Result<Vec<Command>>,
) -> Result<()> {
    let mut outcome = apply(shared, commands.clone());
    for _ in 0..ATTEMPTS {
        outcome = match &outcome {
            // Another process has just removed the sets.
            Err(error) if error.code == ErrorCode::NotFound => apply(shared, commands.clone()),
            Err(error) if error.code == ErrorCode::Exists => {
                replacing().and_then(|commands| apply(shared, commands))
            }
            _ => return outcome,
        };
    }
    outcome
}

/// Carries commands out behind those that make what is missing of what is shared.
pub fn apply(shared: &Shared, commands: Vec<Command>) -> Result<()> {
    let mut whole = shared.restoring()?;
    whole.extend(commands);
    firewall::apply(Namespace::Host, shared.family, &whole)
}

/// Returns the commands that remove what has the keys of these elements, whatever its owner, and then
/// create them.
pub fn replacing<S: Into<String>>(
    family: Family,
    elements: impl IntoIterator<Item = (S, Element)>,
) -> Result<Vec<Command>> {
    let mut commands = Vec::new();
    for (set, element) in elements {
        let set = set.into();
        let left = firewall::get_element(Namespace::Host, family, &set, &element.key)?;
        commands.extend(left.map(|left| deletion((set.as_str(), left))));
        commands.push(creation((set, element)));
    }
    Ok(commands)
}

/// Returns all elements of these sets that pass; none where there is no such set.
pub fn find(
    family: Family,
    sets: &[impl AsRef<str>],
    passes: impl Fn(&Element) -> bool,
) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for set in sets.iter().map(AsRef::as_ref) {
        let elements = if_any(firewall::list_elements(Namespace::Host, family, set))?;
        let elements = elements.unwrap_or_default().into_iter();
        found.extend(elements.filter(&passes).map(|e| (set.to_owned(), e)));
    }
    Ok(found)
}

/// Returns the element of a set, where it is the attachment's; none where there is no such set.
pub fn get(family: Family, set: &str, key: &[Value], owner: &Owner) -> Result<Option<Found>> {
    let element = if_any(firewall::get_element(Namespace::Host, family, set, key))?;
    let own = element.flatten().filter(|element| element.is_of(owner));
    Ok(own.map(|element| (set.to_owned(), element)))
}

/// Fails unless the element is in the set and the attachment's. Errors:
/// [`codes::NOT_AS_ATTACHED`](crate::codes::NOT_AS_ATTACHED).
pub fn check(family: Family, set: &str, key: &[Value], owner: &Owner) -> Result<Element, Error> {
    let shown = || {
        key.iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join(" . ")
    };
    match if_any(firewall::get_element(Namespace::Host, family, set, key))?.flatten() {
        None => Err(wrong(format!(
            "element {} is missing in set `{set}`",
            shown()
        ))),
        Some(element) if element.is_of(owner) => Ok(element),
        Some(element) => Err(wrong(format!(
            "element {} of set `{set}` is another attachment's: `{}`",
            shown(),
            element.comment.unwrap_or_default()
        ))),
    }
}

/// Removes all elements of these sets that belong to no valid attachment of the network.
pub fn retain(family: Family, sets: &[impl AsRef<str>], valid: &Valid) -> Result<()> {
    delete(family, garbage(family, sets, valid)?)
}

/// Returns all elements of these sets that belong to no valid attachment of the network.
pub fn garbage(family: Family, sets: &[impl AsRef<str>], valid: &Valid) -> Result<Vec<Found>> {
    find(family, sets, |element| {
        valid.is_garbage(element.comment.as_deref().unwrap_or_default())
    })
}

/// Removes an attachment's elements: those with the keys that it is known to have, each with its set;
/// or, where none are known or not all are there, what is found among all elements of `sets`. Returns whether there
/// was any: if not, weir may not have attached the container.
pub fn remove<S: AsRef<str>>(
    family: Family,
    owner: &Owner,
    known: &[(S, Vec<Value>)],
    sets: impl FnOnce() -> Result<Vec<S>>,
) -> Result<bool> {
    let mut found = Vec::with_capacity(known.len());
    for (set, key) in known {
        found.extend(get(family, set.as_ref(), key, owner)?);
    }
    if known.is_empty() || found.len() < known.len() {
        found = find(family, &sets()?, |element| element.is_of(owner))?;
    }
    let is_any = !found.is_empty();
    delete(family, found)?;
    Ok(is_any)
}

/// Removes the attachment's elements as [`remove`] does, and where there are none, what the reference plugin made in their
/// place: a node may change to weir with containers running. A grant that does not allow it leaves that where it is.
pub fn remove_or_reference<S: AsRef<str>>(
    family: Family,
    owner: &Owner,
    known: &[(S, Vec<Value>)],
    sets: impl FnOnce() -> Result<Vec<S>>,
) -> Result<()> {
    if remove(family, owner, known, sets)? {
        return Ok(());
    }
    match firewall::remove_reference_rules() {
        Ok(0) => {}
        Ok(count) => log::info(
            "what the reference plugin made for this attachment is removed",
            &[("rules", &*count.to_string())],
        ),
        Err(error) if error.code == ErrorCode::Denied => log::warn(
            "what the reference plugin may have made for this attachment stays",
            &[("error", &*error.message)],
        ),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Removes elements, in one transaction where all are still there.
pub fn delete(family: Family, found: Vec<Found>) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let commands: Vec<Command> = found.into_iter().map(deletion).collect();
    if firewall::apply(Namespace::Host, family, &commands)
        .found()?
        .is_some()
    {
        return Ok(());
    }
    for command in commands {
        firewall::apply(Namespace::Host, family, &[command]).found()?;
    }
    Ok(())
}

/// Returns the command that removes an element.
pub fn deletion((set, element): (impl Into<String>, Element)) -> Command {
    let key = Element {
        key_end: element.key_end,
        ..Element::new(element.key)
    };
    Command::DeleteElements(Elements::of(set, [key]))
}

/// Returns the command that creates an element.
pub fn creation((set, element): (impl Into<String>, Element)) -> Command {
    Command::CreateElements(Elements::of(set, [element]))
}
