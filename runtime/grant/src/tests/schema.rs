//! The JSON Schema of a document, generated from its types and published as
//! `docs/plugin-grant.schema.json`. What runs has only the published copy.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::{env, fs};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, schema_for};
use serde_json::Value;

use crate::document::{Digest, Document};
use crate::field::{Networks, Verbs};
use crate::pattern::{Directory, File, Pattern, Range};
use crate::quantity::{Size, Time};
use crate::rule::Rule;

/// Set to write the published copy instead of comparing it.
const UPDATE: &str = "UPDATE_SCHEMA";

#[test]
fn the_published_schema_is_that_of_the_types() {
    let generated = generate();
    if env::var_os(UPDATE).is_some() {
        let text = serde_json::to_string_pretty(&generated).expect("JSON");
        fs::write(published(), text + "\n").expect("the schema can be written");
    }
    let text = fs::read_to_string(published()).expect("the published schema");
    let copy: Value = serde_json::from_str(&text).expect("JSON");
    assert!(
        copy == generated,
        "docs/plugin-grant.schema.json is not the schema of the types: run this test with \
         {UPDATE}=1 to write it anew"
    );
}

fn published() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plugin-grant.schema.json")
}

fn generate() -> Value {
    let mut schema = schema_for!(Document).to_value();
    adapt(&mut schema);
    schema
}

/// A key may be left out, but not be empty: a document has no `null`. And numbers have an end.
fn adapt(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(adapt),
        Value::Object(members) => {
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|word| word != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(words)) = members.get_mut("enum") {
                words.retain(|word| !word.is_null());
            }
            let is_nothing = |value: &Value| value.is_null() || *value == Value::Array(Vec::new());
            if members.get("default").is_some_and(is_nothing) {
                members.remove("default");
            }
            one_of_one(members);
            if members.get("format") == Some(&Value::from("uint32")) {
                members.insert("maximum".to_owned(), u32::MAX.into());
            }
            members.values_mut().for_each(adapt);
        }
        _ => {}
    }
}

/// A choice between something and `null` becomes that something.
fn one_of_one(members: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(choices)) = members.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| choice.get("type") != Some(&Value::from("null")));
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        members.remove("anyOf");
        for (key, value) in only {
            members.entry(key).or_insert(value);
        }
    }
}

/// Implements `JsonSchema` for types that are written down as text.
macro_rules! text {
    ($($type:ty, $name:literal, $description:literal, $pattern:expr;)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "description": $description,
                    "pattern": $pattern,
                })
            }
        }
    )*};
}

text! {
    Pattern, "Glob",
        "A glob: `*`, `?`, `[a-z]`. `{ifname}`, `{network}` and `{containerid}` stand for the invocation's values; `{hostInterfaces}`, alone, for the interfaces of weir's configuration.",
        r"^(?![\s\S]*\*\*)(?![\s\S]*[^.]\{hostInterfaces)(?![\s\S]*\{hostInterfaces\}[^.])([^{}\[]|\{(ifname|network|containerid|hostInterfaces)\}|\[(![^{}][^\]{}]*|[^!{}][^\]{}]*)\])*$";
    Directory, "Directory",
        "An absolute path without `..`: a directory, and everything below it. Or `{dataDir}`, which the node's own configuration names.",
        r"^(/(?!(.*/)?\.\.(/|$))|\{dataDir\}$)";
    File, "File",
        "An absolute path without `..`: a file. Or `{resolvConf}`, which the node's own configuration names.",
        r"^(/(?!(.*/)?\.\.(/|$))|\{resolvConf\}$)";
    Digest, "Digest",
        "The SHA-256 digest of the component's bytes.",
        "^sha256:[0-9a-fA-F]{64}$";
    Size, "Size",
        "A size, such as `64MiB`.",
        r"^[0-9]+(\.[0-9]+)? ?([kKmMgGtTpP]([iI]?[bB])?|[bB])?$";
    Time, "Duration",
        "A duration from `1ms` to `60s`.",
        "^(1m(in)?|60s|([1-9]|[1-5][0-9])s( [1-9][0-9]{0,2}ms)?|([1-9][0-9]{0,3}|[1-5][0-9]{4}|60000)ms)$";
    Network, "Network",
        "An address and a prefix length, such as `10.0.0.0/8`.",
        network_pattern();
}

/// One of [`Networks`].
struct Network;

impl JsonSchema for Networks {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Networks".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let network = generator.subschema_for::<Network>();
        json_schema!({ "type": "array", "items": network })
    }
}

fn network_pattern() -> String {
    let octet = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    let ipv4 = format!(r"{octet}(\.{octet}){{3}}");
    let group = "[0-9a-fA-F]{1,4}";
    // Groups before `::`, and groups after it, are seven at most together.
    let shortened: Vec<String> = (1..=6)
        .map(|before| {
            let after = 7 - before;
            format!("({group}:){{1,{before}}}(:{group}){{1,{after}}}")
        })
        .collect();
    let ipv6 = format!(
        "({group}:){{7}}{group}|({group}:){{1,7}}:|{}|:((:{group}){{1,7}}|:)|::([fF]{{4}}:)?{ipv4}",
        shortened.join("|")
    );
    let short = "(3[0-2]|[12]?[0-9])";
    let long = "(12[0-8]|1[01][0-9]|[1-9]?[0-9])";
    format!("^({ipv4}/{short}|({ipv6})/{long})$")
}

impl<R: Rule> JsonSchema for Verbs<R> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("VerbsOf{}", R::CAPABILITY).into()
    }

    fn schema_id() -> Cow<'static, str> {
        Self::schema_name()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": { "enum": R::VERB_WORDS } })
    }
}

/// Numbers in words of a pattern, each as far as its type goes.
trait Digits {
    const PATTERN: &'static str;
    const NAME: &'static str;
}

impl Digits for u16 {
    const PATTERN: &'static str =
        "(0|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";
    const NAME: &'static str = "Range16";
}

impl Digits for u32 {
    const PATTERN: &'static str = "(0|[1-9][0-9]{0,8}|[1-3][0-9]{9}|4[01][0-9]{8}|42[0-8][0-9]{7}|429[0-3][0-9]{6}|4294[0-8][0-9]{5}|42949[0-5][0-9]{4}|429496[0-6][0-9]{3}|4294967[01][0-9]{2}|42949672[0-8][0-9]|429496729[0-5])";
    const NAME: &'static str = "Range32";
}

impl<T: Digits + crate::pattern::Number> JsonSchema for Range<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let number = T::PATTERN;
        json_schema!({
            "description": "A number, or a range with both ends such as `30000-32767`.",
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": T::MAX },
                { "type": "string", "pattern": format!("^{number}(-{number})?$") },
            ],
        })
    }
}
