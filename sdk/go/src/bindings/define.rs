//! The functions that read, write and pass values of the contract's own types.

use std::fmt::Write;

use wit_parser::{Case, Record, Type, TypeDefKind, TypeId, Variant};

use super::Contract;
use super::codec::Transfer;
use super::names;

/// The address of a part.
pub fn at(offset: usize) -> String {
    if offset == 0 {
        "at".to_owned()
    } else {
        format!("unsafe.Add(at, {offset})")
    }
}

/// A function for the values of a type, as it is written.
pub struct Definition<'a, 'n> {
    pub contract: &'a Contract,
    pub transfer: Transfer,
    pub package: &'a str,
    /// Told of functions for values of other types.
    pub need: &'n mut dyn FnMut(Transfer, TypeId),
    pub out: String,
}

impl Definition<'_, '_> {
    /// Writes the function of a type, such as `storeNewLink`.
    pub fn write(mut self, id: TypeId) -> String {
        let ty = &self.contract.resolve().types[id];
        let own = names::of_type(ty.name.as_deref().expect("a type with a name"));
        let is_handle = matches!(ty.kind, TypeDefKind::Resource);
        let of = if is_handle {
            format!("*{own}")
        } else {
            own.clone()
        };
        let name = self.contract.own_name(self.transfer, id);
        self.line(format_args!(
            "func {name}{} {{",
            self.transfer.signature(&of)
        ));
        match &ty.kind {
            TypeDefKind::Record(record) => self.record(&own, record),
            TypeDefKind::Variant(variant) => self.variant(&own, variant),
            TypeDefKind::Resource => {
                self.line(format_args!(
                    "\treturn &{own}{{handle: abi.Load[int32](at)}}"
                ));
            }
            other => panic!("the contract has no {} of its own", other.as_str()),
        }
        self.out + "}\n\n"
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.out, "{line}");
    }

    fn function(&mut self, ty: &Type) -> String {
        self.contract
            .function(self.transfer, ty, self.package, self.need)
    }

    fn record(&mut self, own: &str, record: &Record) {
        let types: Vec<&Type> = record.fields.iter().map(|field| &field.ty).collect();
        let lengths = record
            .fields
            .iter()
            .map(|field| names::exported(&field.name).len());
        let width = lengths.max().unwrap_or_default() + 1;
        if self.transfer == Transfer::Load {
            self.line(format_args!("\treturn {own}{{"));
        }
        for (field, offset) in record.fields.iter().zip(self.contract.offsets(&types)) {
            let (function, at) = (self.function(&field.ty), at(offset));
            let name = names::exported(&field.name);
            match self.transfer {
                Transfer::Load => {
                    self.line(format_args!("\t\t{:width$} {function}({at}),", name + ":"))
                }
                Transfer::Store => self.line(format_args!("\t{function}({at}, value.{name})")),
                Transfer::Pass => self.line(format_args!("\t{function}(call, value.{name})")),
            }
        }
        if self.transfer == Transfer::Load {
            self.line(format_args!("\t}}"));
        }
    }

    fn variant(&mut self, own: &str, variant: &Variant) {
        let payloads = variant.cases.iter().map(|case| case.ty.as_ref());
        let offset = self
            .contract
            .payload_offset(variant.tag(), payloads.clone());
        let counts = payloads.flatten().map(|ty| self.contract.count(ty));
        let most = counts.max().unwrap_or_default();
        let (switch, value) = match self.transfer {
            Transfer::Load => ("abi.Load[uint8](at)", "nil"),
            Transfer::Store | Transfer::Pass => ("value := value.(type)", "value"),
        };
        self.line(format_args!("\tswitch {switch} {{"));
        for (number, case) in variant.cases.iter().enumerate() {
            let name = format!("{own}{}", names::exported(&case.name));
            match self.transfer {
                Transfer::Load => self.load_case(number, &name, case, offset),
                Transfer::Store => self.store_case(number, &name, case, offset),
                Transfer::Pass => self.pass_case(number, &name, case, most),
            }
        }
        self.line(format_args!(
            "\tdefault:\n\t\tpanic(abi.NoCase(\"{own}\", {value}))\n\t}}"
        ));
    }

    fn load_case(&mut self, number: usize, name: &str, case: &Case, offset: usize) {
        let made = match &case.ty {
            None => format!("{name}{{}}"),
            Some(ty) => {
                let read = format!("{}({})", self.function(ty), at(offset));
                if self.contract.is_variant(ty) {
                    format!("{name}{{{read}}}")
                } else {
                    format!("{name}({read})")
                }
            }
        };
        self.line(format_args!("\tcase {number}:\n\t\treturn {made}"));
    }

    fn store_case(&mut self, number: usize, name: &str, case: &Case, offset: usize) {
        self.line(format_args!(
            "\tcase {name}:\n\t\tabi.Store(at, uint8({number}))"
        ));
        if let Some(ty) = &case.ty {
            let (function, payload) = (self.function(ty), self.payload_of_value(ty));
            self.line(format_args!("\t\t{function}({}, {payload})", at(offset)));
        }
    }

    fn pass_case(&mut self, number: usize, name: &str, case: &Case, most: usize) {
        self.line(format_args!("\tcase {name}:\n\t\tcall.Push({number})"));
        let mut count = 0;
        if let Some(ty) = &case.ty {
            let (function, payload) = (self.function(ty), self.payload_of_value(ty));
            self.line(format_args!("\t\t{function}(call, {payload})"));
            count = self.contract.count(ty);
        }
        if count < most {
            self.line(format_args!("\t\tcall.Pad({})", most - count));
        }
    }

    /// What a case in Go has of its payload: it is defined as that, or has it as an embedded interface.
    fn payload_of_value(&self, ty: &Type) -> String {
        let go = self.contract.go(ty, self.package);
        if self.contract.is_variant(ty) {
            format!("value.{go}")
        } else {
            format!("{go}(value)")
        }
    }
}
