//! Declarations of the contract's types.

use std::fmt::Write;

use wit_parser::{Case, Docs, Record, Type, TypeDefKind, TypeId, Variant};

use super::Contract;
use super::codec;
use super::names;

/// The type whose fields are keys of configurations, too.
const WITH_KEYS: &str = "result-route";

/// Writes a comment. The first line begins with the name that it is about, if one is given.
pub fn comment(out: &mut String, indent: &str, name: &str, docs: &Docs) {
    let Some(text) = &docs.contents else { return };
    for (number, line) in text.trim_end().lines().enumerate() {
        let is_first = number == 0 && !name.is_empty();
        let line = if is_first {
            format!("{name} {}", lowercase_first(line))
        } else {
            line.to_owned()
        };
        let _ = writeln!(out, "{}", format!("{indent}// {line}").trim_end());
    }
}

/// `Returns one link` follows a name as `returns one link`; a word in capitals stays.
fn lowercase_first(line: &str) -> String {
    let second = line.chars().nth(1);
    let is_word = second.is_some_and(|second| !second.is_ascii_uppercase());
    let mut chars = line.chars();
    match chars.next() {
        Some(first) if is_word => first.to_ascii_lowercase().to_string() + chars.as_str(),
        _ => line.to_owned(),
    }
}

/// The comment of a type: what it is.
fn what(out: &mut String, name: &str, docs: &Docs) {
    if docs.contents.is_some() {
        comment(out, "", &format!("{name}:"), docs);
    } else {
        let _ = writeln!(out, "// {name} is a type of the contract.");
    }
}

impl Contract {
    /// Declares a type, unless that is done by hand or Go has it.
    pub fn declare(&self, id: TypeId, package: &str) -> String {
        let ty = &self.resolve().types[id];
        let mut out = String::new();
        let name = ty.name.as_deref();
        let Some(kebab) = name.filter(|name| !codec::is_by_hand(name)) else {
            return out;
        };
        let name = names::of_type(kebab);
        let mut text = String::new();
        match &ty.kind {
            TypeDefKind::Record(record) => {
                self.declare_record(&mut text, &name, kebab == WITH_KEYS, record, package);
            }
            TypeDefKind::Enum(cases) => {
                let cases = cases.cases.iter();
                let cases = cases.map(|case| (case.name.as_str(), &case.docs));
                enumeration(&mut text, &name, &cases.collect::<Vec<_>>());
            }
            TypeDefKind::Flags(flags) => {
                let flags = flags.flags.iter();
                let flags = flags.map(|flag| (flag.name.as_str(), &flag.docs));
                constants(&mut text, &name, "1 << iota", &flags.collect::<Vec<_>>());
            }
            TypeDefKind::Variant(variant) => {
                self.declare_variant(&mut text, &name, variant, package);
            }
            TypeDefKind::Resource => {
                let _ = writeln!(text, "type {name} struct {{\n\thandle int32\n}}\n");
            }
            _ => return out,
        }
        what(&mut out, &name, &ty.docs);
        out + &text
    }

    fn declare_record(
        &self,
        out: &mut String,
        name: &str,
        has_keys: bool,
        record: &Record,
        package: &str,
    ) {
        let _ = writeln!(out, "type {name} struct {{");
        for (number, field) in record.fields.iter().enumerate() {
            if number > 0 {
                out.push('\n');
            }
            comment(out, "\t", "", &field.docs);
            let (key, of) = (&field.name, self.go(&field.ty, package));
            let _ = write!(out, "\t{} {of}", names::exported(key));
            if has_keys {
                let _ = write!(out, " `json:\"{key}\"`");
            }
            out.push('\n');
        }
        out.push_str("}\n\n");
    }

    /// An interface, which each case implements.
    fn declare_variant(&self, out: &mut String, name: &str, variant: &Variant, package: &str) {
        let cases = variant.cases.iter();
        let cases: Vec<_> = cases
            .map(|case| format!("[{name}{}]", names::exported(&case.name)))
            .collect();
        let _ = writeln!(out, "//\n// It is one of {}.", cases.join(", "));
        let _ = writeln!(out, "type {name} interface {{\n\tis{name}()\n}}\n");
        for case in &variant.cases {
            self.declare_case(out, name, case, package);
        }
    }

    fn declare_case(&self, out: &mut String, variant: &str, case: &Case, package: &str) {
        let name = format!("{variant}{}", names::exported(&case.name));
        let payload = case.ty.as_ref().map(|ty| self.payload(ty, package));
        let of = payload.unwrap_or_else(|| "struct{}".to_owned());
        if case.docs.contents.is_some() {
            what(out, &name, &case.docs);
        } else {
            let _ = writeln!(out, "// {name} is the case `{}`.", case.name);
        }
        let _ = writeln!(
            out,
            "type {name} {of}\n\nfunc ({name}) is{variant}() {{}}\n"
        );
    }

    /// What a case is defined as. An interface cannot have a method of the case's own.
    fn payload(&self, ty: &Type, package: &str) -> String {
        let go = self.go(ty, package);
        if self.is_variant(ty) {
            format!("struct{{ {go} }}")
        } else {
            go
        }
    }

    /// Whether a type is an interface in Go.
    pub fn is_variant(&self, ty: &Type) -> bool {
        let Type::Id(id) = ty else { return false };
        let ty = &self.resolve().types[self.dealias(*id)];
        let by_hand = ty.name.as_deref().is_some_and(codec::is_by_hand);
        matches!(ty.kind, TypeDefKind::Variant(_)) && !by_hand
    }
}

/// An enumeration, and the words of its values.
fn enumeration(out: &mut String, name: &str, cases: &[(&str, &Docs)]) {
    constants(out, name, "iota", cases);
    let words: Vec<_> = cases
        .iter()
        .map(|(case, _)| format!("\"{case}\""))
        .collect();
    let _ = writeln!(
        out,
        "// String returns the contract's word.\nfunc (value {name}) String() string {{\n\
         \treturn abi.Word(value, {})\n}}\n",
        words.join(", ")
    );
}

fn constants(out: &mut String, name: &str, first: &str, cases: &[(&str, &Docs)]) {
    let _ = writeln!(
        out,
        "type {name} uint8\n\n// The values of {name}.\nconst ("
    );
    for (number, (case, docs)) in cases.iter().enumerate() {
        comment(out, "\t", "", docs);
        let case = names::exported(case);
        let _ = match number {
            0 => writeln!(out, "\t{name}{case} {name} = {first}"),
            _ => writeln!(out, "\t{name}{case}"),
        };
    }
    out.push_str(")\n\n");
}
