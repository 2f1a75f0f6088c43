//! A deserializer over a JSON value that knows the path to each value and the rules for keys.

use std::cell::RefCell;
use std::fmt::{self, Display};
use std::iter::Enumerate;
use std::net::IpAddr;
use std::slice;

use ipnet::IpNet;
use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value, map};
use weir_cni::{parse_cidr, shown};

use super::{Rules, keys};

/// Where a value is in the configuration.
pub(super) enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl Path<'_> {
    fn depth(&self) -> usize {
        match self {
            Path::Root => 0,
            Path::Key(parent, _) | Path::Index(parent, _) => 1 + parent.depth(),
        }
    }

    /// The key at the top of the configuration that this is below.
    fn top(&self) -> Option<&str> {
        match self {
            Path::Root => None,
            Path::Key(Path::Root, key) => Some(key),
            Path::Key(parent, _) | Path::Index(parent, _) => parent.top(),
        }
    }
}

impl Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => f.write_str("configuration"),
            Path::Key(Path::Root, key) => f.write_str(key),
            Path::Key(parent, key) => write!(f, "{parent}.{key}"),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// What is wrong with the configuration.
#[derive(Debug)]
pub(super) struct Fault {
    message: String,
    /// The message has the path already.
    is_placed: bool,
}

impl Fault {
    fn placed(path: &Path<'_>, message: impl Display) -> Self {
        Fault {
            message: format!("{path}: {message}"),
            is_placed: true,
        }
    }

    /// The same fault, at `path` unless it has a path already.
    fn at(self, path: &Path<'_>) -> Self {
        if self.is_placed {
            self
        } else {
            Fault::placed(path, self.message)
        }
    }
}

/// What is read, or what is wrong with it.
type Read<T> = Result<T, Fault>;

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Fault {
            message: message.to_string(),
            is_placed: false,
        }
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Fault::custom(format_args!("expected {expected}"))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Fault::custom(format_args!("expected {expected}"))
    }

    fn missing_field(field: &'static str) -> Self {
        Fault::custom(format_args!("key `{field}` is missing"))
    }
}

/// One value of the configuration.
#[derive(Clone, Copy)]
pub(super) struct Node<'v, 'p> {
    value: &'v Value,
    path: &'p Path<'p>,
    rules: Rules,
    /// A message about each unknown key that was met.
    unknown: &'p RefCell<Vec<String>>,
}

impl<'v, 'p> Node<'v, 'p> {
    pub(super) fn new(
        value: &'v Value,
        path: &'p Path<'p>,
        rules: Rules,
        unknown: &'p RefCell<Vec<String>>,
    ) -> Self {
        Node {
            value,
            path,
            rules,
            unknown,
        }
    }

    /// Reads a value below this one.
    fn read<'de, T: DeserializeSeed<'de>>(
        &self,
        value: &Value,
        path: &Path<'_>,
        seed: T,
    ) -> Read<T::Value> {
        let below = Node::new(value, path, self.rules, self.unknown);
        seed.deserialize(below).map_err(|fault| fault.at(path))
    }

    /// The fault that the value is not what was `expected`.
    fn not(&self, expected: impl Display) -> Fault {
        let found = shown(self.value);
        Fault::placed(
            self.path,
            format_args!("expected {expected}, found {found}"),
        )
    }

    /// A fault that a visitor found with this value.
    fn refused(&self, fault: Fault) -> Fault {
        if fault.is_placed {
            return fault;
        }
        match expected_cidr(&fault, self.value) {
            Some(expected) => self.not(expected),
            None => {
                let found = shown(self.value);
                Fault::placed(self.path, format_args!("{fault}, found {found}"))
            }
        }
    }

    fn integer(&self, least: i64, most: u64) -> Read<i128> {
        let signed = self.value.as_i64().map(i128::from);
        let number = signed.or_else(|| self.value.as_u64().map(i128::from));
        let range = i128::from(least)..=i128::from(most);
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| self.not(format_args!("an integer from {least} to {most}")))
    }

    fn object(&self) -> Read<&'v Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.not("an object"))
    }

    fn list(&self) -> Read<&'v Vec<Value>> {
        self.value.as_array().ok_or_else(|| self.not("a list"))
    }

    /// Whether a key of this object is accepted although it is not a field.
    fn accepts(&self, key: &str) -> bool {
        let is = |key: &str, known: &str| key.eq_ignore_ascii_case(known);
        let shared = match self.path.top() {
            None => self.rules.is_ipam || keys::is_well_known(key),
            Some(top) if is(top, "args") || is(top, "runtimeConfig") => true,
            // The keys are the IPAM plugin's, except the one by which it was found.
            Some(top) if is(top, "ipam") => {
                !self.rules.is_ipam || self.path.depth() == 1 && is(key, "type")
            }
            Some(_) => false,
        };
        shared || keys::is_foreign(key)
    }

    fn check_keys(&self, fields: &'static [&'static str]) -> Read<()> {
        for key in self.object()?.keys() {
            if !self.rules.is_lenient && keys::field(key, fields).is_none() && !self.accepts(key) {
                let path = Path::Key(self.path, key);
                let message = format!("{path}: {}", keys::unknown(key, fields));
                self.unknown.borrow_mut().push(message);
            }
        }
        Ok(())
    }

    fn visit_list<'de, V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let items = Items {
            rest: self.list()?.iter().enumerate(),
            node: self,
        };
        visitor
            .visit_seq(items)
            .map_err(|fault| fault.at(self.path))
    }

    fn visit_object<'de, V: Visitor<'de>>(
        self,
        fields: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Read<V::Value> {
        let object = self.object()?;
        let members = Members {
            object,
            rest: object.iter(),
            current: None,
            fields,
            node: self,
        };
        visitor
            .visit_map(members)
            .map_err(|fault| fault.at(self.path))
    }
}

/// What was expected, if the value is an address without a prefix length that its field needs, or with one that is too long:
/// the error of `ipnet` is the same for every mistake.
fn expected_cidr(fault: &Fault, value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let address = text.split('/').next()?;
    address.parse::<IpAddr>().ok()?;
    let is_of_ipnet = fault.message == text.parse::<IpNet>().err()?.to_string();
    parse_cidr(text).err().filter(|_| is_of_ipnet)
}

/// Deserializes an integer type; an error names its range.
macro_rules! integers {
    ($($method:ident $visit:ident $type:ty;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
            let number = self.integer(<$type>::MIN as i64, <$type>::MAX as u64)?;
            visitor.$visit(number as $type).map_err(|fault| self.refused(fault))
        }
    )*};
}

/// Deserializes a value of one JSON type, which an error names.
macro_rules! scalars {
    ($($method:ident $as:ident $visit:ident $expected:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
            let value = self.value.$as().ok_or_else(|| self.not($expected))?;
            visitor.$visit(value).map_err(|fault| self.refused(fault))
        }
    )*};
}

impl<'de> Deserializer<'de> for Node<'_, '_> {
    type Error = Fault;

    integers! {
        deserialize_i8 visit_i8 i8;
        deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
        deserialize_u8 visit_u8 u8;
        deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
    }

    scalars! {
        deserialize_bool as_bool visit_bool "true or false";
        deserialize_f32 as_f64 visit_f64 "a number";
        deserialize_f64 as_f64 visit_f64 "a number";
        deserialize_str as_str visit_str "a string";
        deserialize_string as_str visit_str "a string";
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        let visited = match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_str(text),
            Value::Array(_) => return self.visit_list(visitor),
            Value::Object(_) => return self.visit_object(None, visitor),
        };
        visited.map_err(|fault| self.refused(fault))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Read<V::Value> {
        visitor
            .visit_newtype_struct(self)
            .map_err(|fault| self.refused(fault))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.visit_list(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.visit_object(None, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        self.check_keys(fields)?;
        self.visit_object(Some(fields), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        match self.value {
            Value::String(text) if variants.contains(&text.as_str()) => {
                let variant: StrDeserializer<'_, Fault> = text.as_str().into_deserializer();
                visitor
                    .visit_enum(variant)
                    .map_err(|fault| self.refused(fault))
            }
            Value::Object(_) => self
                .value
                .clone()
                .deserialize_enum(name, variants, visitor)
                .map_err(|error| self.refused(de::Error::custom(error))),
            _ => Err(self.not(format_args!("`{}`", variants.join("` or `")))),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
    }
}

/// The items of a list.
struct Items<'v, 'p> {
    rest: Enumerate<slice::Iter<'v, Value>>,
    node: Node<'v, 'p>,
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Read<Option<T::Value>> {
        let Some((index, value)) = self.rest.next() else {
            return Ok(None);
        };
        let path = Path::Index(self.node.path, index);
        self.node.read(value, &path, seed).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The members of an object that have a field and a value.
struct Members<'v, 'p> {
    object: &'v Map<String, Value>,
    rest: map::Iter<'v>,
    current: Option<(&'v str, &'v Value)>,
    /// None for a map, whose keys are data.
    fields: Option<&'static [&'static str]>,
    node: Node<'v, 'p>,
}

impl<'v> Members<'v, '_> {
    /// The name under which the visitor knows a key; none for one that it must not see.
    fn name(&self, key: &'v str) -> Option<&'v str> {
        let Some(fields) = self.fields else {
            return Some(key);
        };
        let field = keys::field(key, fields)?;
        let is_shadowed = field != key && self.shadows(field, key);
        (!is_shadowed).then_some(field)
    }

    /// Whether another key stands for the field: the exact one, or else the last in order.
    fn shadows(&self, field: &str, key: &str) -> bool {
        let same = |other: &&String| other.eq_ignore_ascii_case(field);
        self.object.contains_key(field) || self.object.keys().rfind(same).is_some_and(|k| k != key)
    }
}

impl<'de> MapAccess<'de> for Members<'_, '_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Read<Option<K::Value>> {
        while let Some((key, value)) = self.rest.next() {
            let is_absent = self.fields.is_some() && value.is_null();
            let Some(name) = self.name(key).filter(|_| !is_absent) else {
                continue;
            };
            self.current = Some((key, value));
            let name: StrDeserializer<'_, Fault> = name.into_deserializer();
            return seed.deserialize(name).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Read<T::Value> {
        let (key, value) = self
            .current
            .take()
            .ok_or_else(|| de::Error::custom("a value was read before its key"))?;
        let path = Path::Key(self.node.path, key);
        self.node.read(value, &path, seed)
    }
}
