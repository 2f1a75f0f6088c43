//! A crate as the parser sees it: its modules, what they define, and what they import.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use syn::visit::Visit;
use syn::{Item, ItemMod, ItemUse, Macro, UseTree, Visibility};
use weir_lines::{directory_of_children, is_for_tests};

/// The longest chain of re-exports that is followed.
const MOST_STEPS: usize = 16;

/// The segments of a path.
pub type Segments = Vec<String>;

pub struct Crate {
    pub name: String,
    /// By their paths: `link::create`, and `` for the root.
    pub modules: BTreeMap<String, Module>,
}

#[derive(Default)]
pub struct Module {
    pub is_public: bool,
    /// Without other modules, and without tests.
    pub items: Vec<Item>,
    /// The names that `use` brings into it, and where they come from.
    pub used: Vec<(String, Segments)>,
    /// Those of them that others can import from it.
    pub exported: Vec<(String, Segments)>,
    /// The modules that it imports whole.
    globs: Vec<Segments>,
    /// All paths in it that lead through the crate.
    pub paths: Vec<Segments>,
}

impl Crate {
    /// The crate in a directory; none where it has no source.
    pub fn read(directory: &Path) -> Option<Self> {
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| directory.join(root));
        let root = roots.into_iter().find(|root| root.is_file())?;
        let mut modules = BTreeMap::new();
        read_file(&root, String::new(), true, &mut modules);
        let name = directory.file_name().unwrap_or_default();
        Some(Self {
            name: name.to_string_lossy().into_owned(),
            modules,
        })
    }

    /// The module in which what a path means is defined; none for what is not in the crate.
    pub fn resolve(&self, from: &str, path: &[String]) -> Option<String> {
        self.follow(from, path, MOST_STEPS)
    }

    fn follow(&self, from: &str, path: &[String], steps: usize) -> Option<String> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" | "$crate" => self.descend("", rest, steps),
            "self" => self.descend(from, rest, steps),
            "super" => {
                let above = parent(from);
                if rest.first().is_some_and(|next| next == "super") {
                    self.follow(above, rest, steps)
                } else {
                    self.descend(above, rest, steps)
                }
            }
            child if self.modules.contains_key(&below(from, child)) => {
                self.descend(from, path, steps)
            }
            _ => None,
        }
    }

    fn descend(&self, from: &str, path: &[String], steps: usize) -> Option<String> {
        let steps = steps.checked_sub(1)?;
        let Some((first, rest)) = path.split_first() else {
            return Some(from.to_owned());
        };
        let child = below(from, first);
        if self.modules.contains_key(&child) {
            return self.descend(&child, rest, steps);
        }
        let module = self.modules.get(from)?;
        if let Some((_, origin)) = module.used.iter().find(|(name, _)| name == first) {
            let whole: Segments = origin.iter().chain(rest).cloned().collect();
            return self.follow(from, &whole, steps);
        }
        let mut globs = module.globs.iter();
        let imported = globs.find_map(|glob| {
            let origin = self.follow(from, glob, steps)?;
            let defines = self.modules[&origin].defines(first);
            defines.then(|| self.descend(&origin, path, steps))
        });
        imported.unwrap_or_else(|| Some(from.to_owned()))
    }
}

impl Module {
    fn defines(&self, name: &str) -> bool {
        let is_defined = self.items.iter().any(|item| match item {
            Item::Const(item) => item.ident == name,
            Item::Enum(item) => item.ident == name,
            Item::Fn(item) => item.sig.ident == name,
            Item::Static(item) => item.ident == name,
            Item::Struct(item) => item.ident == name,
            Item::Trait(item) => item.ident == name,
            Item::Type(item) => item.ident == name,
            _ => false,
        });
        is_defined || self.used.iter().any(|(used, _)| used == name)
    }
}

/// `a::b` for `b` in `a`.
pub fn below(module: &str, name: &str) -> String {
    match module {
        "" => name.to_owned(),
        module => format!("{module}::{name}"),
    }
}

fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(above, _)| above)
}

fn read_file(file: &Path, name: String, is_public: bool, modules: &mut BTreeMap<String, Module>) {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let directory = directory_of_children(file);
    read_items(parsed.items, &directory, name, is_public, modules);
}

fn read_items(
    items: Vec<Item>,
    directory: &Path,
    name: String,
    is_public: bool,
    modules: &mut BTreeMap<String, Module>,
) {
    let mut module = Module {
        is_public,
        ..Module::default()
    };
    for item in items.into_iter().filter(|item| !is_for_tests(item)) {
        match item {
            Item::Mod(child) => {
                let is_public = is_public && matches!(child.vis, Visibility::Public(_));
                read_child(child, directory, &name, is_public, modules);
            }
            item => module.add(item),
        }
    }
    modules.insert(name, module);
}

fn read_child(
    child: ItemMod,
    directory: &Path,
    parent: &str,
    is_public: bool,
    modules: &mut BTreeMap<String, Module>,
) {
    let own = child.ident.to_string();
    let name = below(parent, own.trim_start_matches("r#"));
    let inner = directory.join(&own);
    match child.content {
        Some((_, items)) => read_items(items, &inner, name, is_public, modules),
        None => {
            let files = [inner.with_extension("rs"), inner.join("mod.rs")];
            let file = files.into_iter().find(|file| file.is_file());
            let file = file.unwrap_or_else(|| panic!("module {name} has no file"));
            read_file(&file, name, is_public, modules);
        }
    }
}

impl Module {
    fn add(&mut self, item: Item) {
        let mut paths = Paths::default();
        paths.visit_item(&item);
        self.paths.extend(paths.found);
        if let Item::Use(item) = &item {
            let mut imported = Vec::new();
            expand(&item.tree, &mut Vec::new(), &mut imported);
            for Imported { name, path } in imported {
                let Some(name) = name else {
                    self.globs.push(path);
                    continue;
                };
                if matches!(item.vis, Visibility::Public(_)) {
                    self.exported.push((name.clone(), path.clone()));
                }
                self.used.push((name, path));
            }
        }
        self.items.push(item);
    }
}

/// One name that a `use` item imports; none for all of a module.
struct Imported {
    name: Option<String>,
    path: Segments,
}

fn expand(tree: &UseTree, before: &mut Segments, found: &mut Vec<Imported>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            expand(&path.tree, before, found);
            before.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                expand(tree, before, found);
            }
        }
        UseTree::Name(name) if name.ident == "self" => found.push(Imported {
            name: before.last().cloned(),
            path: before.clone(),
        }),
        UseTree::Name(name) => found.push(named(before, &name.ident, &name.ident)),
        UseTree::Rename(renamed) => found.push(named(before, &renamed.ident, &renamed.rename)),
        _ => found.push(Imported {
            name: None,
            path: before.clone(),
        }),
    }
}

fn named(before: &Segments, last: &syn::Ident, name: &syn::Ident) -> Imported {
    let mut path = before.clone();
    if last != "self" {
        path.push(last.to_string());
    }
    Imported {
        name: Some(name.to_string()),
        path,
    }
}

/// Collects the paths of an item, also those in a macro's arguments.
#[derive(Default)]
struct Paths {
    found: Vec<Segments>,
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter();
        self.found
            .push(segments.map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut imported = Vec::new();
        expand(&item.tree, &mut Vec::new(), &mut imported);
        self.found.extend(imported.into_iter().map(|i| i.path));
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        self.found.extend(in_tokens(&called.tokens.to_string()));
        syn::visit::visit_macro(self, called);
    }
}

/// The paths among tokens that begin with `crate`, `self` or `super`.
fn in_tokens(tokens: &str) -> Vec<Segments> {
    let mut found = Vec::new();
    let mut words = tokens.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let mut path: Segments = word.split("::").map(str::to_owned).collect();
        while let Some(next) =
            words.next_if(|next| *next == "::" || path.ends_with(&[String::new()]))
        {
            match next {
                "::" => path.push(String::new()),
                name => path.extend(name.split("::").map(str::to_owned)),
            }
        }
        path.retain(|segment| !segment.is_empty());
        let begins = path.first().is_some_and(|first| {
            ["crate", "self", "super"]
                .contains(&first.trim_start_matches(['$', '(', '[', '{', '&']))
        });
        if begins && path.len() > 1 {
            let clean = |segment: &String| {
                let is_name = |c: char| c.is_alphanumeric() || c == '_';
                segment.trim_matches(|c| !is_name(c)).to_owned()
            };
            found.push(path.iter().map(clean).collect());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_a_macros_arguments_are_seen() {
        let call: Macro = syn::parse_str(
            r#"bindgen!({ with: { "a": crate::resource::Transaction }, x: super::Y, z: std::mem::take(&mut crate::z::Z) })"#,
        )
        .expect("a macro's call");
        let found = in_tokens(&call.tokens.to_string());
        let joined: Vec<String> = found.iter().map(|path| path.join("::")).collect();
        assert_eq!(
            joined,
            ["crate::resource::Transaction", "super::Y", "crate::z::Z"]
        );
    }
}
