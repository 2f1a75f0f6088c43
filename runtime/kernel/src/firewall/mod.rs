//! Capability `firewall`: a plugin's own nftables tables, over nfnetlink.
//!
//! A transaction costs the same however many elements a set has, with one exception of the kernel's:
//! an element that jumps makes it look for circles through all elements of the map, at 0.1 µs each.
//!
//! The socket is opened with the first call.

mod check;
mod comment;
mod expression;
pub(crate) mod family;
mod field;
pub(crate) mod find;
mod keep_rules;
pub(crate) mod kind;
pub(crate) mod object_name;
pub(crate) mod plugin_tables;
mod read;
pub(crate) mod reference;
mod refusal;
mod rule;
mod set;
mod transaction;
pub(crate) mod undo;
mod value;

use weir_gate::Permit;
use weir_grant::Namespace;
use weir_grant::firewall::{
    Apply, Chain, Element, Family, GetElement, ListChains, ListElements, ListRules, ListSets, Rule,
};

pub use self::reference::traces::{ACCEPTING, Traces, masquerade_chain};

use self::read::Reader;
use super::error::Result;
use crate::linux::Linux;
use crate::perform::{Answer, Changes, Perform};

/// Carries out commands as one transaction. Undo removes what it created in further transactions; what others have put
/// something into stays.
///
/// What counts as created: what a `create-…` command made, a rule that was appended or inserted
/// (unless the same commands flushed its chain), and everything where the table itself is new.
/// What `add-…` commands put into a table that was there is shared, and stays.
///
/// Errors: `Exists`, `NotFound`, `Busy`, `Invalid`, `Unsupported`, naming the command.
impl Perform<Apply> for Linux {
    fn perform(&mut self, permit: &Permit<Apply>, changes: &mut Changes<'_>) -> Result<()> {
        let apply = permit.operation();
        let created = self
            .namespaces
            .of(apply.namespace)?
            .netfilter(|socket| transaction::carry_out(socket, apply))?;
        created.note_undo(apply, changes);
        Ok(())
    }
}

/// Answers operations with what a reader of their table says.
macro_rules! answers {
    ($($(#[$doc:meta])* $operation:ident => $answer:ty: |$of:ident, $reader:ident| $read:expr;)*) => {$(
        $(#[$doc])*
        impl Answer<$operation, $answer> for Linux {
            fn answer(&mut self, permit: &Permit<$operation>) -> Result<$answer> {
                let $of = permit.operation();
                self.read_table($of.namespace, $of.family, &$of.table, |$reader| $read)
            }
        }
    )*};
}

answers! {
    /// The chains of a table; none if there is no table.
    ListChains => Vec<Chain>: |list, reader| reader.chains();
    /// The names of a table's sets and maps; none if there is no table.
    ListSets => Vec<String>: |list, reader| reader.sets();
    /// The handles and comments of a chain's rules, in order. Errors: `NotFound`.
    ListRules => Vec<Rule>: |list, reader| {
        check::name(&list.chain)?;
        reader.rules(&list.chain)
    };
    /// One element by its key, or the range that the key is in. Errors: `NotFound` without the set.
    GetElement => Option<Element>: |get, reader| {
        check::name(&get.set)?;
        reader.element(&get.set, &get.key)
    };
    /// All elements of a set. Errors: `NotFound`.
    ListElements => Vec<Element>: |list, reader| {
        check::name(&list.set)?;
        reader.elements(&list.set)
    };
}

impl Linux {
    /// Reads something of a table.
    fn read_table<T>(
        &mut self,
        namespace: Namespace,
        family: Family,
        table: &str,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
    ) -> Result<T> {
        self.namespaces
            .of(namespace)?
            .netfilter(|socket| read(&mut Reader::new(socket, family, table)))
    }
}
