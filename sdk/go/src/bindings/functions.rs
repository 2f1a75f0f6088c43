//! The functions that a plugin calls, each with its import.

use std::fmt::Write;

use wit_parser::abi::{AbiVariant, WasmSignature, WasmType};
use wit_parser::{Function, FunctionKind, Result_, Type, TypeDefKind, TypeId};

use super::Contract;
use super::codec::Transfer;
use super::declare::comment;
use super::define::at;
use super::names;

/// A function in its package.
pub struct Call<'a> {
    contract: &'a Contract,
    /// `link`.
    interface: &'a str,
    package: &'a str,
    function: &'a Function,
    signature: WasmSignature,
    /// The resource of a method.
    resource: Option<&'a str>,
}

impl<'a> Call<'a> {
    pub fn new(
        contract: &'a Contract,
        interface: &'a str,
        package: &'a str,
        function: &'a Function,
    ) -> Self {
        let resource = match function.kind {
            FunctionKind::Freestanding => None,
            FunctionKind::Method(id) => contract.resolve().types[id].name.as_deref(),
            _ => panic!("`{}` is neither a function nor a method", function.name),
        };
        Self {
            contract,
            interface,
            package,
            function,
            signature: contract
                .resolve()
                .wasm_signature(AbiVariant::GuestImport, function),
            resource,
        }
    }

    fn word(&self) -> &str {
        self.function.item_name()
    }

    /// `importGet`, and of a method `importTransactionGet`.
    fn import(&self) -> String {
        let of = self.resource.map(names::exported).unwrap_or_default();
        format!("import{of}{}", names::exported(self.word()))
    }

    /// The parameters of the function in Go.
    fn parameters(&self) -> impl Iterator<Item = (String, &'a Type)> {
        let first = usize::from(self.resource.is_some());
        let parameters = self.function.params[first..].iter();
        parameters.map(|parameter| (names::private(&parameter.name), &parameter.ty))
    }

    fn result(&self) -> Option<&'a Result_> {
        let ty = self.function.result.as_ref()?;
        let Type::Id(id) = ty else {
            panic!("`{}` returns no result", self.function.name)
        };
        match &self.contract.resolve().types[*id].kind {
            TypeDefKind::Result(result) => Some(result),
            _ => panic!("`{}` returns no result", self.function.name),
        }
    }

    /// The function and its import.
    pub fn write(&self, need: &mut dyn FnMut(Transfer, TypeId)) -> String {
        let mut out = self.declare_import();
        comment(
            &mut out,
            "",
            &names::exported(self.word()),
            &self.function.docs,
        );
        let receiver = self
            .resource
            .map(|resource| format!("(self *{}) ", names::of_type(resource)));
        let parameters: Vec<_> = self
            .parameters()
            .map(|(name, ty)| format!("{name} {}", self.contract.go(ty, self.package)))
            .collect();
        let _ = writeln!(
            out,
            "func {}{}({}){} {{",
            receiver.unwrap_or_default(),
            names::exported(self.word()),
            parameters.join(", "),
            self.returned()
        );
        self.write_native(&mut out);
        self.write_call(&mut out, need);
        out.push_str("}\n\n");
        out
    }

    fn returned(&self) -> String {
        match self.result() {
            None => String::new(),
            Some(Result_ { ok: None, .. }) => " error".to_owned(),
            Some(Result_ { ok: Some(ty), .. }) => {
                format!(" ({}, error)", self.contract.go(ty, self.package))
            }
        }
    }

    fn declare_import(&self) -> String {
        assert!(self.signature.results.is_empty(), "results are in memory");
        let mut out = format!(
            "//go:wasmimport weir:cni/{}@{} {}\n",
            self.interface, self.contract.version, self.function.name
        );
        let types = self.signature.params.iter().enumerate();
        let named: Vec<_> = types
            .map(|(number, ty)| format!("p{number} {}", core_type(*ty)))
            .collect();
        let _ = writeln!(out, "func {}({})\n", self.import(), named.join(", "));
        out
    }

    /// In a native test, what the test says is answered.
    fn write_native(&self, out: &mut String) {
        let name = match self.resource {
            Some(resource) => format!("{}.{resource}.{}", self.interface, self.word()),
            None => format!("{}.{}", self.interface, self.word()),
        };
        let mut arguments = vec![format!("\"{name}\"")];
        arguments.extend(self.parameters().map(|(name, _)| name));
        let arguments = arguments.join(", ");
        let fake_call = match self.result() {
            None => format!("abi.Tell({arguments})\n\t\treturn"),
            Some(Result_ { ok: None, .. }) => format!("return abi.Tell({arguments})"),
            Some(Result_ { ok: Some(ty), .. }) => {
                format!(
                    "return abi.Ask[{}]({arguments})",
                    self.contract.go(ty, self.package)
                )
            }
        };
        let _ = writeln!(out, "\tif abi.IsNative {{\n\t\t{fake_call}\n\t}}");
    }

    fn write_call(&self, out: &mut String, need: &mut dyn FnMut(Transfer, TypeId)) {
        let size = self
            .function
            .result
            .as_ref()
            .map_or(0, |ty| self.contract.size(ty));
        let _ = writeln!(out, "\tcall := abi.Begin({size})");
        let mut arguments = if self.signature.indirect_params {
            self.store_parameters(out, need);
            vec!["abi.Address(at)".to_owned()]
        } else {
            self.pass_parameters(out, need)
        };
        if self.signature.retptr {
            arguments.push("call.Result()".to_owned());
        }
        let _ = writeln!(
            out,
            "\tcall.Leave()\n\t{}({})",
            self.import(),
            arguments.join(", ")
        );
        self.write_answer(out, need);
    }

    fn pass_parameters(
        &self,
        out: &mut String,
        need: &mut dyn FnMut(Transfer, TypeId),
    ) -> Vec<String> {
        if self.resource.is_some() {
            out.push_str("\tcall.Push(uint64(self.handle))\n");
        }
        for (name, ty) in self.parameters() {
            let function = self
                .contract
                .function(Transfer::Pass, ty, self.package, need);
            let _ = writeln!(out, "\t{function}(call, {name})");
        }
        let count = self.signature.params.len() - usize::from(self.signature.retptr);
        let types = self.signature.params[..count].iter().enumerate();
        types
            .map(|(number, ty)| format!("call.{}({number})", core_type(*ty).replace("int", "I")))
            .collect()
    }

    fn store_parameters(&self, out: &mut String, need: &mut dyn FnMut(Transfer, TypeId)) {
        let parameters: Vec<_> = self.parameters().collect();
        let types: Vec<&Type> = parameters.iter().map(|(_, ty)| *ty).collect();
        let size = self.contract.size_of_all(&types);
        let _ = writeln!(out, "\tat := abi.Allocate({size})");
        for ((name, ty), offset) in parameters.iter().zip(self.contract.offsets(&types)) {
            let function = self
                .contract
                .function(Transfer::Store, ty, self.package, need);
            let _ = writeln!(out, "\t{function}({}, {name})", at(offset));
        }
    }

    fn write_answer(&self, out: &mut String, need: &mut dyn FnMut(Transfer, TypeId)) {
        let Some(Result_ { ok, err }) = self.result() else {
            out.push_str("\tcall.End()\n");
            return;
        };
        let err = err.as_ref().expect("an error");
        let failed = self
            .contract
            .function(Transfer::Load, err, self.package, need);
        let offset = self
            .contract
            .payload_offset(wit_parser::Int::U8, [ok.as_ref(), Some(err)].into_iter());
        let _ = match ok {
            None => writeln!(out, "\treturn abi.Done(call, {offset}, {failed})"),
            Some(ty) => {
                let load = self
                    .contract
                    .function(Transfer::Load, ty, self.package, need);
                writeln!(out, "\treturn abi.Answer(call, {offset}, {load}, {failed})")
            }
        };
    }
}

/// A type of an import's parameter.
fn core_type(ty: WasmType) -> &'static str {
    match ty {
        WasmType::I32 | WasmType::Pointer | WasmType::Length => "int32",
        WasmType::I64 | WasmType::PointerOrI64 => "int64",
        WasmType::F32 | WasmType::F64 => panic!("the contract has no floating point numbers"),
    }
}
