//! `weir grants diff`: what one grant allows and another does not, or what two components ask for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::policy::compare::{Change, Difference, Networks, compare};
use crate::cli::policy::describe::subject;
use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use weir_files::Paths;
use weir_grant::pattern::{is_glob, network_covers};
use weir_grant::{Capability, Document};
use weir_sandbox::{Sandbox, parse_grant, shipped_grant};

use super::document::wrapped;
use super::grant_state;
use super::show_error;
use crate::cli::component::{self, ComponentArgument};
use crate::cli::output::{Answer, Format, print_line, say};
use crate::cli::outside::refuse;
use crate::cli::plugin::difference::{Difference as Versions, Version};

#[derive(Args)]
pub struct Arguments {
    /// A document's file, a component's file, the name of a plugin whose grant is in force, or
    /// `shipped:PLUGIN`, the grant that comes with weir.
    first: String,
    /// The same, to compare with.
    second: String,
    #[command(flatten)]
    format: Format,
}

/// The first bytes of every WebAssembly file.
const WEBASSEMBLY: &[u8] = b"\0asm";

enum Side {
    Grant(Box<Document>),
    Component(PathBuf, Vec<u8>),
}

/// The prefix for a shipped grant, even if it is replaced.
const SHIPPED: &str = "shipped:";

#[derive(Serialize)]
struct Imports {
    first: Version,
    second: Version,
    /// Functions that only the second imports, by capability.
    more: BTreeMap<Capability, Vec<String>>,
    /// Functions that only the first imports.
    less: BTreeMap<Capability, Vec<String>>,
}

/// Yes if there is no difference; of two grants, another answer if the second is only narrower.
pub fn run(paths: Paths, arguments: &Arguments) -> Result<Answer> {
    let first = side(&paths, &arguments.first)?;
    let second = side(&paths, &arguments.second)?;
    match (first, second) {
        (Side::Grant(first), Side::Grant(second)) => {
            let difference = compare(&first, &second);
            arguments.format.print(&difference, print)?;
            Ok(answer(&difference))
        }
        (Side::Component(first, one), Side::Component(second, two)) => {
            let imports = imports(paths, (&first, &one), (&second, &two))?;
            arguments.format.print(&imports, print_imports)?;
            Ok((imports.first.digest == imports.second.digest).into())
        }
        _ => bail!(
            "`{}` and `{}` are a grant and a component; compare two grants or two components",
            arguments.first,
            arguments.second
        ),
    }
}

fn answer(difference: &Difference) -> Answer {
    if difference.is_empty() {
        Answer::Yes
    } else if difference.is_narrower() {
        Answer::Narrower
    } else {
        Answer::No
    }
}

fn side(paths: &Paths, name: &str) -> Result<Side> {
    if let Some(plugin) = name.strip_prefix(SHIPPED) {
        refuse(paths, plugin)?;
        let document = shipped_grant(plugin)
            .with_context(|| format!("no grant of plugin `{plugin}` ships with weir"))?;
        return Ok(Side::Grant(Box::new(document)));
    }
    let file = match ComponentArgument::by(Path::new(name)) {
        ComponentArgument::Plugin(name) => {
            refuse(paths, name)?;
            return in_force(paths, name).map(|document| Side::Grant(Box::new(document)));
        }
        ComponentArgument::File(file) => file,
    };
    let bytes = component::read(file)?;
    if bytes.starts_with(WEBASSEMBLY) {
        return Ok(Side::Component(file.to_owned(), bytes));
    }
    let text = String::from_utf8(bytes)
        .with_context(|| format!("`{name}` is neither a document nor a component"))?;
    let loaded = parse_grant(file, &text).context("the grant is not valid")?;
    Ok(Side::Grant(Box::new(loaded.document)))
}

fn in_force(paths: &Paths, plugin: &str) -> Result<Document> {
    let mut grants = grant_state::grants(paths)?;
    grants.retain(|grant| grant.plugin() == plugin && grant.is_in_force());
    if grants.len() > 1 {
        let origins: Vec<String> = grants.iter().map(|g| g.loaded.origin.to_string()).collect();
        bail!(
            "plugin `{plugin}` has several grants in force: {}; name the file to compare",
            origins.join(", ")
        );
    }
    match grants.pop() {
        Some(grant) => Ok(grant.loaded.document),
        None => bail!("`{plugin}` is neither a file nor a plugin with a grant in force"),
    }
}

fn imports(paths: Paths, first: (&Path, &[u8]), second: (&Path, &[u8])) -> Result<Imports> {
    let sandbox = Sandbox::new(paths, false).map_err(show_error)?;
    let inspect = |(file, bytes): (&Path, &[u8])| component::inspect(&sandbox, file, bytes);
    let Versions {
        installed,
        new,
        asks_for_more,
        asks_no_more_for,
    } = Versions::between(&inspect(first)?, &inspect(second)?);
    Ok(Imports {
        first: installed,
        second: new,
        more: asks_for_more,
        less: asks_no_more_for,
    })
}

pub fn print(difference: &Difference) {
    if difference.is_empty() {
        print_line!("They allow the same.");
        return;
    }
    let Difference {
        possible,
        impossible,
        more_networks,
        fewer_networks,
        members,
    } = difference;
    print_networks(
        "With the second, a plugin can run on",
        "so far",
        more_networks,
    );
    print_networks("It no longer runs on", "still", fewer_networks);
    let groups = [
        (
            "With the second, a plugin can",
            "",
            possible,
            whole as Group,
        ),
        (
            "With the second, a plugin can do more of this",
            "so far",
            possible,
            part,
        ),
        ("It can do less of this", "still", impossible, part),
        ("It can no longer", "", impossible, whole),
        (
            "It may be able to do more of this, which is not certain",
            "so far",
            possible,
            uncertain,
        ),
        (
            "It may be able to do less of this, which is not certain",
            "still",
            impossible,
            uncertain,
        ),
    ];
    for (title, other, changes, is_in) in groups {
        let changes: Vec<&Change> = changes.iter().filter(|change| is_in(change)).collect();
        print_changes(title, other, &changes);
    }
    let changed = possible.len() + impossible.len() + more_networks.len() + fewer_networks.len();
    if changed == 0 {
        print_line!("They allow the same operations.");
    }
    for member in members {
        say!("{}: {} -> {}", member.key, member.from, member.to);
    }
    if difference.is_narrower() {
        print_line!("The second allows nothing that the first does not.");
    }
}

type Group = fn(&Change) -> bool;

/// Whether the other grant allows nothing of the change.
fn whole(change: &Change) -> bool {
    change.certain && change.other_allows.is_empty()
}

/// Whether the other grant allows a part of the change.
fn part(change: &Change) -> bool {
    change.certain && !change.other_allows.is_empty()
}

fn uncertain(change: &Change) -> bool {
    !change.certain
}

fn print_networks(title: &str, other: &str, networks: &[Networks]) {
    if !networks.is_empty() {
        print_line!("{title}");
    }
    for Networks { glob, other_covers } in networks {
        say!("  * {}", networks_of(glob));
        for covered in other_covers {
            if network_covers(glob, covered) {
                say!("    {other}: {}", networks_of(covered));
            } else {
                say!("    {other}: those that `{covered}` matches as well");
            }
        }
    }
}

fn networks_of(glob: &str) -> String {
    match glob {
        "*" => "every network of the node's own".to_owned(),
        "*/*" => "every network of a NetworkAttachmentDefinition".to_owned(),
        glob if is_glob(glob) => format!("the networks `{glob}`"),
        network => format!("the network `{network}`"),
    }
}

/// `other` says when the other grant allows what is printed below a change.
fn print_changes(title: &str, other: &str, changes: &[&Change]) {
    if !changes.is_empty() {
        print_line!("{title}");
    }
    for change in changes {
        let whose = if change.for_tenants {
            "for tenants, "
        } else {
            ""
        };
        let text = format!("{whose}{}: {}", change.capability, change.what);
        print_line!("{}", wrapped(&text, "  * "));
        for allowed in &change.other_allows {
            print_line!("{}", wrapped(&format!("{other}: {}", allowed.what), "    "));
        }
    }
}

fn print_imports(imports: &Imports) {
    let Imports {
        first,
        second,
        more,
        less,
    } = imports;
    if first.digest == second.digest {
        say!("They are the same component, {}.", first.digest);
        return;
    }
    say!("first   {first}");
    say!("second  {second}");
    print_functions("The second asks for more:", more);
    print_functions("It no longer asks for:", less);
    if more.is_empty() && less.is_empty() {
        print_line!("They ask for the same functions of the same capabilities.");
    }
}

fn print_functions(title: &str, capabilities: &BTreeMap<Capability, Vec<String>>) {
    if !capabilities.is_empty() {
        print_line!("{title}");
    }
    for (capability, functions) in capabilities {
        let functions = if functions.is_empty() {
            String::new()
        } else {
            format!(": {}", functions.join(", "))
        };
        let text = format!("{capability} ({}){functions}", subject(*capability));
        print_line!("{}", wrapped(&text, "  * "));
    }
}
