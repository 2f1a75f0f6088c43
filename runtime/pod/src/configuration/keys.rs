//! The keys of a document. Errors name the key, its value and what was expected.

use std::path::PathBuf;

use serde_json::{Map, Value};
use weir_cni::Error;

/// The keys of an object, and its path.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    map: &'a Map<String, Value>,
    prefix: &'a str,
}

impl<'a> Keys<'a> {
    /// Returns the keys of a whole document.
    pub fn of(map: &'a Map<String, Value>) -> Self {
        Self { map, prefix: "" }
    }

    /// Returns the keys of an object under `prefix`, such as `logOptions.`.
    pub fn below(map: &'a Map<String, Value>, prefix: &'a str) -> Self {
        Self { map, prefix }
    }

    /// Returns a value; `null` counts as missing.
    pub fn value(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// Returns a string; an empty one counts as missing.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>, Error> {
        let text = self.typed(key, "a string", Value::as_str)?;
        Ok(text.filter(|text| !text.is_empty()))
    }

    /// Returns an absolute path.
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

    /// Returns a flag; false if it is missing.
    pub fn flag(&self, key: &str) -> Result<bool, Error> {
        Ok(self
            .typed(key, "true or false", Value::as_bool)?
            .unwrap_or_default())
    }

    pub fn count(&self, key: &str) -> Result<Option<u64>, Error> {
        self.typed(key, "a whole number, 0 or more", Value::as_u64)
    }

    pub fn texts(&self, key: &str) -> Result<Option<Vec<String>>, Error> {
        const EXPECTED: &str = "a list of strings";
        let Some(items) = self.typed(key, EXPECTED, Value::as_array)? else {
            return Ok(None);
        };
        let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
        let texts: Option<Vec<String>> = texts.collect();
        texts.map(Some).ok_or_else(|| self.wrong(key, EXPECTED))
    }

    pub fn object(&self, key: &str) -> Result<Option<&'a Map<String, Value>>, Error> {
        self.typed(key, "an object", Value::as_object)
    }

    /// Returns the error for an unexpected value: code 7.
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
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        read(value)
            .map(Some)
            .ok_or_else(|| self.wrong(key, expected))
    }
}

/// The most characters of a value that an error repeats.
const LONGEST_SHOWN: usize = 80;
