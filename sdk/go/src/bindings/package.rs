//! A file of the SDK that is made of the contract.

use std::collections::HashSet;

use wit_parser::{InterfaceId, Type, TypeDefKind, TypeId};

use super::codec::Transfer;
use super::define::Definition;
use super::functions::Call;
use super::names;
use super::{Contract, FILE};

/// A package that is being written.
pub struct Package<'a> {
    contract: &'a Contract,
    name: String,
    text: String,
    /// Functions for values that are to be defined.
    needed: Vec<(Transfer, TypeId)>,
}

impl<'a> Package<'a> {
    /// The package of a capability: its path and its text.
    pub fn capability(contract: &'a Contract, id: InterfaceId) -> (String, String) {
        let interface = &contract.resolve().interfaces[id];
        let word = contract.name(id);
        let mut package = Self::new(contract, names::package(word));
        package.declare(id);
        let name = package.name.clone();
        for function in interface.functions.values() {
            let call = Call::new(contract, word, &name, function);
            let text = call.write(&mut |transfer, id| package.needed.push((transfer, id)));
            package.text.push_str(&text);
        }
        for id in interface.types.values() {
            if matches!(contract.resolve().types[*id].kind, TypeDefKind::Resource) {
                package.close(word, *id);
            }
        }
        package.define_needed(&|contract, id| contract.qualified(id, "", "").is_empty());
        (format!("{}/{FILE}", package.name), package.finish())
    }

    /// `internal/contract`: what capabilities share, and what commands take and return.
    pub fn shared(
        contract: &'a Contract,
        interfaces: &[InterfaceId],
        exports: &[InterfaceId],
    ) -> (String, String) {
        let mut package = Self::new(contract, "contract".to_owned());
        for id in interfaces {
            package.declare(*id);
        }
        package.need_of_commands(exports);
        package.define_needed(&|_, _| true);
        (format!("internal/contract/{FILE}"), package.finish())
    }

    fn new(contract: &'a Contract, name: String) -> Self {
        Self {
            contract,
            name,
            text: String::new(),
            needed: Vec::new(),
        }
    }

    fn declare(&mut self, id: InterfaceId) {
        for id in self.contract.resolve().interfaces[id].types.values() {
            self.text.push_str(&self.contract.declare(*id, &self.name));
        }
    }

    /// What commands take is read, and what they return is written. Capabilities fail with the two kinds of errors, and `ipam`
    /// answers with a result.
    fn need_of_commands(&mut self, exports: &[InterfaceId]) {
        let contract = self.contract;
        let mut needed = Vec::new();
        let mut need = |transfer, ty: &Type| {
            if let Type::Id(id) = ty {
                needed.push((transfer, contract.dealias(*id)));
            }
        };
        for id in exports {
            for function in contract.resolve().interfaces[*id].functions.values() {
                function
                    .params
                    .iter()
                    .for_each(|parameter| need(Transfer::Load, &parameter.ty));
                let result = function.result.as_ref();
                for ty in result
                    .into_iter()
                    .flat_map(|ty| contract.parts_of_result(ty))
                {
                    need(Transfer::Store, &ty);
                    need(Transfer::Load, &ty);
                }
            }
        }
        let types = contract.resolve().types.iter();
        let errors = types.filter(|(_, ty)| {
            ty.name.as_deref() == Some("error") && !matches!(ty.kind, TypeDefKind::Type(_))
        });
        needed.extend(errors.map(|(id, _)| (Transfer::Load, id)));
        self.needed = needed;
    }

    /// Defines what is needed, and what that needs, of those types that are this package's.
    fn define_needed(&mut self, is_own: &dyn Fn(&Contract, TypeId) -> bool) {
        let mut defined = HashSet::new();
        while let Some((transfer, id)) = self.needed.pop() {
            if !is_own(self.contract, id) || !defined.insert((transfer, id)) {
                continue;
            }
            let mut more = Vec::new();
            let definition = Definition {
                contract: self.contract,
                transfer,
                package: &self.name,
                need: &mut |transfer, id| more.push((transfer, id)),
                out: String::new(),
            };
            let text = definition.write(id);
            self.text.push_str(&text);
            self.needed.extend(more);
        }
    }

    /// Gives a resource back.
    fn close(&mut self, interface: &str, id: TypeId) {
        let kebab = self.contract.resolve().types[id]
            .name
            .as_deref()
            .expect("a name");
        let (name, version) = (names::of_type(kebab), &self.contract.version);
        self.text.push_str(&format!(
            "//go:wasmimport weir:cni/{interface}@{version} [resource-drop]{kebab}\n\
             func importDrop{name}(handle int32)\n\n\
             // Close ends it. It is not used after that.\n\
             func (self *{name}) Close() {{\n\
             \tif abi.IsNative {{\n\
             \t\tabi.Tell(\"{interface}.{kebab}.close\")\n\
             \t\treturn\n\
             \t}}\n\
             \timportDrop{name}(self.handle)\n\
             }}\n\n"
        ));
    }

    /// The file, with the imports that its text uses.
    fn finish(self) -> String {
        let used = |package: &&(&str, &str)| self.text.contains(package.0);
        let standard = [("netip.", "net/netip"), ("unsafe.", "unsafe")];
        let own = [
            ("abi.", "weir.dev/weir/internal/abi"),
            ("contract.", "weir.dev/weir/internal/contract"),
        ];
        let lines = |packages: &[(&str, &str)]| -> String {
            let found = packages.iter().filter(used);
            found.map(|(_, path)| format!("\t\"{path}\"\n")).collect()
        };
        let groups = [lines(&standard), lines(&own)];
        let groups: Vec<_> = groups
            .into_iter()
            .filter(|group| !group.is_empty())
            .collect();
        format!(
            "// Code generated by weir-go from wit/. DO NOT EDIT.\n\npackage {}\n\nimport (\n{})\n\n{}\n",
            self.name,
            groups.join("\n"),
            self.text.trim_end()
        )
    }
}
