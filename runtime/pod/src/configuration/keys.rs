//! One document's keys, read one by one, with errors that name the key, what it has and what was expected.

use std::path::PathBuf;

use serde_json::{Map, Value};
use weir_cni::Error;

/// The keys of an object, and the path that leads to it.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    map: &'a Map<String, Value>,
    prefix: &'a str,
}

impl<'a> Keys<'a> {
    /// The keys of a whole document.
    pub fn of(map: &'a Map<String, Value>) -> Self {
        Self { map, prefix: "" }
    }

    /// The keys of an object that stands under `prefix`, such as `logOptions.`.
    pub fn below(map: &'a Map<String, Value>, prefix: &'a str) -> Self {
        Self { map, prefix }
    }

    /// A value; `null` is the same as none.
    pub fn value(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// A text; an empty one is the same as none.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>, Error> {
        let text = self.typed(key, "a text", Value::as_str)?;
        Ok(text.filter(|text| !text.is_empty()))
    }

    /// An absolute path.
    pub fn path(&self, key: &str) -> Result<Option<PathBuf>, Error> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        let path = PathBuf::from(text);
        if path.is_absolute() {
            Ok(Some(path))
        } else {
            Err(self.wrong(key, "an absolute path"))
        }
    }

    /// A flag; false where it is missing.
    pub fn flag(&self, key: &str) -> Result<bool, Error> {
        Ok(self
            .typed(key, "true or false", Value::as_bool)?
            .unwrap_or_default())
    }

    /// A number that counts something.
    pub fn count(&self, key: &str) -> Result<Option<u64>, Error> {
        self.typed(key, "a number from 0", Value::as_u64)
    }

    /// A list of texts.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<String>>, Error> {
        const EXPECTED: &str = "a list of texts";
        let Some(items) = self.typed(key, EXPECTED, Value::as_array)? else {
            return Ok(None);
        };
        let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
        let texts: Option<Vec<String>> = texts.collect();
        texts.map(Some).ok_or_else(|| self.wrong(key, EXPECTED))
    }

    /// An object.
    pub fn object(&self, key: &str) -> Result<Option<&'a Map<String, Value>>, Error> {
        self.typed(key, "an object", Value::as_object)
    }

    /// The error that a key has another value than was expected: code 7.
    pub fn wrong(&self, key: &str, expected: &str) -> Error {
        let value = self.map.get(key).map(Value::to_string).unwrap_or_default();
        let shown: String = value.chars().take(LONGEST_SHOWN).collect();
        let prefix = self.prefix;
        Error::invalid_config(format!("{prefix}{key}: {shown}: expected {expected}"))
    }

    fn typed<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        match self.value(key) {
            None => Ok(None),
            Some(value) => match read(value) {
                Some(read) => Ok(Some(read)),
                None => Err(self.wrong(key, expected)),
            },
        }
    }
}

/// So much of a value is shown in an error, in characters.
const LONGEST_SHOWN: usize = 80;
