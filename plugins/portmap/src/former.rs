//! Sets by the names that earlier versions gave them, on a node with containers attached then.
//!
//! The first ADD or GC whose grant allows it moves their elements to the present sets and removes them with their rules, in
//! one transaction. A tenant's network, or a pod that asks for ports, may not remove what networks share: such an ADD uses
//! the present sets beside the former ones, which serve the containers from before until another ADD moves them.

use weir_sdk::firewall::owned::{deletion, if_any};
use weir_sdk::firewall::shared::Shared;
use weir_sdk::firewall::{self, Command, Element, Elements, Rule, RuleHandle};
use weir_sdk::{ErrorCode, Namespace, OperationError, Outcome, log};

use crate::group::Group;
use crate::tables::{self, FAMILY};

/// The former names of sets, each with the present one.
const SETS: [(&str, &str); 6] = [
    ("at4", "hostip4"),
    ("at6", "hostip6"),
    ("back4", "hairpin4"),
    ("back6", "hairpin6"),
    ("all4", "masqall4"),
    ("all6", "masqall6"),
];

/// The former comments of the rules that look these sets up, each with the present one.
const RULES: [(&str, &str); 7] = [
    ("at4", "hostip4"),
    ("at6", "hostip6"),
    ("loopback", "loopback4"),
    ("local4", "hairpin4"),
    ("local6", "hairpin6"),
    ("all4", "masqall4"),
    ("all6", "masqall6"),
];

/// How often to try when others change the same sets at the same time.
const ATTEMPTS: usize = 8;

/// Whether a set of any group is a former one.
pub fn is_owned(set: &str) -> bool {
    SETS.iter().any(|(former, _)| *former == Group::plain(set))
}

/// Whether the table has former sets of the group.
pub fn is_there(group: &Group) -> Result<bool, OperationError> {
    let sets = if_any(firewall::list_sets(Namespace::Host, FAMILY))?.unwrap_or_default();
    let is_former = |set: &String| SETS.iter().any(|(former, _)| *set == group.name(former));
    Ok(sets.iter().any(is_former))
}

/// As [`settle`], with nothing to add. A failure is only logged: the former sets keep working.
pub fn settle_quietly(group: &Group) {
    if let Err(error) = settle(group, &[]) {
        let fields = [("error", error.message.as_str())];
        log::warn("mapped ports stay in sets by former names", &fields);
    }
}

/// Moves the elements of the group's former sets. Where the grant does not allow that, removes those with the keys of
/// `elements`, which are about to be added.
pub fn settle(group: &Group, elements: &[(String, Element)]) -> Result<(), OperationError> {
    if !is_there(group)? {
        return Ok(());
    }
    for _ in 0..ATTEMPTS {
        match move_elements(group) {
            Err(error) if [ErrorCode::NotFound, ErrorCode::Exists].contains(&error.code) => {}
            Err(error) if error.code == ErrorCode::Denied => return make_way(group, elements),
            moved => return moved,
        }
    }
    move_elements(group)
}

/// Elements whose keys the present sets have already are dropped: those ports were taken.
fn move_elements(group: &Group) -> Result<(), OperationError> {
    let mut commands = tables::shared(group).restoring()?;
    let mut removals: Vec<Command> = rules(group)?;
    for (former, present) in SETS.map(|(former, present)| (group.name(former), group.name(present)))
    {
        let Some(mut elements) = list(&former)? else {
            continue;
        };
        let keys = elements
            .iter()
            .map(|element| Element::new(element.key.clone()));
        let emptied = Elements::of(&*former, keys.collect::<Vec<_>>());
        let taken = list(&present)?.unwrap_or_default();
        elements.retain(|element| taken.iter().all(|taken| taken.key != element.key));
        commands.push(Command::AddElements(Elements::of(present, elements)));
        removals.extend([Command::DeleteElements(emptied), Command::DeleteSet(former)]);
    }
    commands.extend(removals);
    firewall::apply(Namespace::Host, FAMILY, &commands)?;
    log::info("mapped ports were moved to the sets of this version", &[]);
    Ok(())
}

fn list(set: &str) -> Result<Option<Vec<Element>>, OperationError> {
    if_any(firewall::list_elements(Namespace::Host, FAMILY, set))
}

/// The commands that remove the group's rules by their former comments.
fn rules(group: &Group) -> Result<Vec<Command>, OperationError> {
    let is_former = |rule: &Rule| {
        let comment = rule.comment.as_deref();
        RULES
            .iter()
            .any(|(former, _)| comment == Some(&group.name(former)))
    };
    let mut commands = Vec::new();
    for chain in tables::CHAINS {
        let listed = if_any(firewall::list_rules(Namespace::Host, FAMILY, chain))?;
        let rules = listed.into_iter().flatten().filter(is_former);
        commands.extend(rules.filter_map(|rule| Some(removal(chain, rule.handle?))));
    }
    Ok(commands)
}

fn removal(chain: &str, handle: u64) -> Command {
    Command::DeleteRule(RuleHandle {
        chain: chain.to_owned(),
        handle,
    })
}

fn make_way(group: &Group, coming: &[(String, Element)]) -> Result<(), OperationError> {
    for (set, element) in elements(group, coming.to_vec()) {
        let found = if_any(firewall::get_element(
            Namespace::Host,
            FAMILY,
            &set,
            &element.key,
        ))?;
        if let Some(found) = found.flatten() {
            firewall::apply(Namespace::Host, FAMILY, &[deletion((set, found))]).found()?;
        }
    }
    Ok(())
}

/// The same elements in the former sets. Sets that kept their names stay.
pub fn elements(group: &Group, elements: Vec<(String, Element)>) -> Vec<(String, Element)> {
    let former = |(set, element)| (former_of(&SETS, group, set), element);
    elements.into_iter().map(former).collect()
}

/// What the group's mappings share, by the former comments of its rules.
pub fn shared(group: &Group) -> Shared {
    let mut shared = tables::shared(group);
    for rule in &mut shared.rules {
        let comment = rule.comment.take();
        rule.comment = comment.map(|comment| former_of(&RULES, group, comment));
    }
    shared
}

/// The former name of what has this name in the group, where it had another.
fn former_of(names: &[(&str, &str)], group: &Group, name: String) -> String {
    let renamed = names
        .iter()
        .find(|(_, present)| group.name(present) == name);
    renamed.map_or(name, |(former, _)| group.name(former))
}
