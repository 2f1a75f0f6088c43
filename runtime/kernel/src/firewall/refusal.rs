//! The kernel's refusal of a transaction, in terms of the command that it is about.

use netlink_bindings::nftables::ExprAttrs;
use netlink_bindings::utils::IterableChunks;
use nix::errno::Errno;
use weir_grant::firewall::{Apply, Command, Elements, Rule};

use crate::error::{Code, Error};
use crate::netlink::{Batch, FAMILY_HEADER, Refusal};

/// `struct nlmsghdr` and `struct nfgenmsg`: what stands before the attributes.
const HEADERS: usize = 16 + FAMILY_HEADER;

/// `NFTA_RULE_EXPRESSIONS`.
const RULE_EXPRESSIONS: u16 = 4;

/// `NFTA_CHAIN_TYPE`.
const CHAIN_TYPE: u16 = 7;

/// `NFTA_CHAIN_HOOK`.
const CHAIN_HOOK: u16 = 4;

/// Describes a command: `command 2, append a rule to chain `postrouting``.
pub(super) fn describe(index: usize, apply: &Apply) -> String {
    let what = match &apply.commands[index] {
        Command::AddChain(chain) => format!("add chain `{}`", chain.name),
        Command::CreateChain(chain) => format!("create chain `{}`", chain.name),
        Command::DeleteChain(chain) => format!("delete chain `{chain}`"),
        Command::FlushChain(chain) => format!("flush chain `{chain}`"),
        Command::AppendRule(rule) => format!("append {} to chain `{}`", a_rule(rule), rule.chain),
        Command::InsertRule(rule) => format!("insert {} into chain `{}`", a_rule(rule), rule.chain),
        Command::KeepRules(rules) => format!("keep {} rules", rules.len()),
        Command::DeleteRule(rule) => {
            format!("delete rule {} of chain `{}`", rule.handle, rule.chain)
        }
        Command::AddSet(set) => format!("add set `{}`", set.name),
        Command::CreateSet(set) => format!("create set `{}`", set.name),
        Command::DeleteSet(set) => format!("delete set `{set}`"),
        Command::AddElements(e) => format!("add {} to set `{}`", some_elements(e), e.set),
        Command::CreateElements(e) => format!("create {} in set `{}`", some_elements(e), e.set),
        Command::DeleteElements(e) => format!("delete {} from set `{}`", some_elements(e), e.set),
        Command::FlushSet(set) => format!("flush set `{set}`"),
        Command::DeleteTable => "delete the table".to_owned(),
    };
    let Apply {
        family,
        table,
        namespace,
        ..
    } = apply;
    format!(
        "table `{family} {table}` in {namespace}: command {}, {what}",
        index + 1
    )
}

fn a_rule(rule: &Rule) -> String {
    match &rule.comment {
        Some(comment) => format!("a rule (\"{comment}\")"),
        None => "a rule".to_owned(),
    }
}

fn some_elements(elements: &Elements) -> String {
    let [element] = &elements.elements[..] else {
        return format!("{} elements", elements.elements.len());
    };
    let key: Vec<_> = element.key.iter().map(ToString::to_string).collect();
    format!("element {}", key.join(" . "))
}

/// The refusal as an error that names the command. `owners` has the command of each message;
/// `chain_exists` says whether the table has a chain.
pub(super) fn explain(
    apply: &Apply,
    owners: &[usize],
    batch: &Batch,
    mut refusal: Refusal,
    mut chain_exists: impl FnMut(&str) -> bool,
) -> Error {
    let owner = refusal
        .sequence
        .and_then(|sequence| owners.get(sequence as usize - 1));
    let Some(index) = owner.copied() else {
        return explain_whole(apply, batch, refusal);
    };
    // The kernel has one error for a hook that the type lacks, and for a chain that exists on another hook.
    if let (Errno::EOPNOTSUPP, Command::AddChain(chain)) = (refusal.errno, &apply.commands[index])
        && chain_exists(&chain.name)
    {
        refusal.errno = Errno::EEXIST;
    }
    let message = refusal
        .sequence
        .and_then(|sequence| batch.message(sequence));
    let blamed = message
        .zip(refusal.offset)
        .and_then(|(message, offset)| blame(message, offset));
    let reading = read(
        &apply.commands[index],
        refusal.errno,
        blamed.as_ref(),
        apply,
    );
    let errno = refusal.errno;
    let mut error = Error::from(refusal);
    if let Some((code, meaning)) = reading {
        error.code = code;
        error.message = format!("{meaning} ({errno:?})");
    }
    error.at(describe(index, apply))
}

fn explain_whole(apply: &Apply, batch: &Batch, refusal: Refusal) -> Error {
    let Apply {
        family,
        table,
        namespace,
        ..
    } = apply;
    let mut error = Error::from(refusal);
    if error.is(Errno::EMSGSIZE) {
        let length = batch.length();
        error = error.at(format_args!(
            "the transaction has {length} bytes, more than the kernel takes at once; divide it"
        ));
    }
    error.at(format_args!("table `{family} {table}` in {namespace}"))
}

/// What an error number means for a command, if more than usual.
fn read(
    command: &Command,
    errno: Errno,
    blamed: Option<&Blamed>,
    apply: &Apply,
) -> Option<(Code, String)> {
    let is = |code, meaning: &str| Some((code, meaning.to_owned()));
    let family = apply.family;
    match (command, errno, blamed) {
        (_, Errno::ENOENT, Some(Blamed::Expression(name))) => match name.as_str() {
            "lookup" => is(Code::NotFound, "no such set or map"),
            "immediate" => is(Code::NotFound, "no such chain to go to"),
            other => {
                let meaning = format!("this kernel has no `{other}` for family {family}");
                Some((Code::Unsupported, meaning))
            }
        },
        (_, errno, Some(Blamed::Expression(name))) => {
            let meaning = format!("the kernel refuses its `{name}` here");
            Some((Error::from(errno).code, meaning))
        }
        (_, Errno::ENOENT, Some(Blamed::ChainType)) => {
            let meaning = format!("this kernel has no such chains for family {family}");
            Some((Code::Unsupported, meaning))
        }
        (_, Errno::ENOENT, Some(Blamed::ChainHook)) => is(Code::NotFound, "no such device"),
        (Command::CreateElements(_), Errno::EEXIST, _) => {
            is(Code::Exists, "it is in the set already")
        }
        (Command::AddElements(_), Errno::EEXIST, _)
        | (Command::AddElements(_) | Command::CreateElements(_), Errno::EBUSY, _) => {
            is(Code::Exists, "it is there already, with other data")
        }
        (Command::AddElements(_) | Command::CreateElements(_), Errno::ENOTEMPTY, _) => is(
            Code::Exists,
            "it overlaps a range that is in the set already",
        ),
        (Command::AddChain(_), Errno::EEXIST, _) => {
            is(Code::Exists, "it exists already, as another kind of chain")
        }
        (Command::AddSet(_), Errno::EEXIST, _) => {
            is(Code::Exists, "it exists already, with other types")
        }
        (
            Command::AppendRule(_) | Command::InsertRule(_) | Command::KeepRules(_),
            Errno::EOPNOTSUPP,
            None,
        ) => {
            let meaning =
                "one of its statements does not go with the type or the hook of the chain";
            is(Code::Unsupported, meaning)
        }
        (_, Errno::EMLINK | Errno::ELOOP, _) => is(
            Code::Invalid,
            "the chains would call each other in a circle",
        ),
        _ => None,
    }
}

/// The part of a message that the kernel blames.
enum Blamed {
    /// An expression of a rule, by the kernel's name.
    Expression(String),
    ChainType,
    ChainHook,
}

/// Finds what is at an offset of a message.
fn blame(message: &[u8], offset: usize) -> Option<Blamed> {
    let length = u32::from_ne_bytes(*message.first_chunk()?) as usize;
    let kind = u16::from_ne_bytes(*message.get(4..)?.first_chunk()?) & 0xff;
    let attributes = message.get(HEADERS..length)?;
    let (place, attribute, content) = enclosing(attributes, offset.checked_sub(HEADERS)?)?;
    match (kind, attribute) {
        (3, CHAIN_TYPE) => Some(Blamed::ChainType),
        (3, CHAIN_HOOK) => Some(Blamed::ChainHook),
        (6, RULE_EXPRESSIONS) => {
            let (_, _, expression) = enclosing(content, place)?;
            let name = ExprAttrs::new(expression).get_name().ok()?;
            Some(Blamed::Expression(name.to_string_lossy().into_owned()))
        }
        _ => None,
    }
}

/// The offset within the content of the attribute that it lies in, the attribute's type, and its content.
fn enclosing(attributes: &[u8], offset: usize) -> Option<(usize, u16, &[u8])> {
    let mut chunks = IterableChunks::new(attributes);
    let mut start = 0;
    while let Some((header, content)) = chunks.next() {
        if (start..chunks.pos).contains(&offset) {
            return Some((offset.saturating_sub(start + 4), header.r#type, content));
        }
        start = chunks.pos;
    }
    None
}
