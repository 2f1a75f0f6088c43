//! The functions that a crate's users can call, and whether they take a permit.

use syn::visit::Visit;
use syn::{FnArg, ImplItem, ImplItemFn, Item, ItemFn, ItemImpl, Signature, Type, Visibility};

use crate::source::{Crate, below};

/// What of the kernel layer touches nothing: a module of checks, a function, and what makes and configures a kernel.
const PURE: [&str; 6] = [
    "checks::",
    "firewall::masquerade_chain",
    "Linux::for_add",
    "Linux::namespaces",
    "Linux::new",
    "Linux::with_stores_of",
];

/// Whether what has this name touches nothing.
pub fn is_pure(name: &str) -> bool {
    PURE.iter()
        .any(|pure| name == *pure || (pure.ends_with("::") && name.starts_with(pure)))
}

/// What stands for the gate's consent: its permit, or the gate itself, which is asked.
const CONSENT: [&str; 2] = ["Permit", "Gate"];

#[derive(Debug)]
pub struct Function {
    /// Where users find it.
    pub module: String,
    /// `link::create`.
    pub name: String,
    pub takes_permit: bool,
}

/// The functions of a crate's public modules: those that are defined there, and those that are re-exported.
pub fn public_functions(of: &Crate) -> Vec<Function> {
    let mut functions = Vec::new();
    for (module, content) in of.modules.iter().filter(|(_, module)| module.is_public) {
        let own = content.items.iter().filter_map(as_function);
        let own = own.filter(|function| matches!(function.vis, Visibility::Public(_)));
        functions.extend(own.map(|function| describe(module, &function.sig)));
        let exported = content.exported.iter().filter_map(|(name, path)| {
            let origin = of.resolve(module, path)?;
            let function = find(of, &origin, path.last()?)?;
            Some(Function {
                name: below(module, name),
                ..describe(module, &function.sig)
            })
        });
        functions.extend(exported);
    }
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    functions.dedup_by(|a, b| a.name == b.name);
    functions
}

fn as_function(item: &Item) -> Option<&ItemFn> {
    match item {
        Item::Fn(function) => Some(function),
        _ => None,
    }
}

fn find<'a>(of: &'a Crate, module: &str, name: &str) -> Option<&'a ItemFn> {
    let items = of.modules.get(module)?.items.iter();
    let mut functions = items.filter_map(as_function);
    functions.find(|function| {
        function.sig.ident == name && matches!(function.vis, Visibility::Public(_))
    })
}

fn describe(module: &str, signature: &Signature) -> Function {
    Function {
        module: module.to_owned(),
        name: below(module, &signature.ident.to_string()),
        takes_permit: signature.inputs.iter().any(is_permit),
    }
}

/// The public methods of a type that are its own and no trait's, in every module of the crate.
pub fn public_methods(of: &Crate, owner: &str) -> Vec<Function> {
    let items = of.modules.values().flat_map(|module| &module.items);
    let own = items.filter_map(|item| match item {
        Item::Impl(block) if block.trait_.is_none() && is_of(block, owner) => Some(block),
        _ => None,
    });
    let methods = own.flat_map(|block| block.items.iter().filter_map(as_public_method));
    methods.map(|method| describe(owner, &method.sig)).collect()
}

fn is_of(block: &ItemImpl, owner: &str) -> bool {
    match &*block.self_ty {
        Type::Path(path) => path.path.is_ident(owner),
        _ => false,
    }
}

fn as_public_method(item: &ImplItem) -> Option<&ImplItemFn> {
    match item {
        ImplItem::Fn(method) if matches!(method.vis, Visibility::Public(_)) => Some(method),
        _ => None,
    }
}

/// Whether an argument is of one of the types in [`CONSENT`], or several of them.
fn is_permit(argument: &FnArg) -> bool {
    struct Sought(bool);
    impl<'ast> Visit<'ast> for Sought {
        fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
            self.0 |= CONSENT.iter().any(|consent| segment.ident == consent);
            syn::visit::visit_path_segment(self, segment);
        }
    }
    let mut sought = Sought(false);
    sought.visit_fn_arg(argument);
    sought.0
}
