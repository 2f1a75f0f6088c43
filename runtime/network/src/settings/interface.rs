//! The template of an interface's name: `eth{n}`.

use std::fmt;

use weir_cni::validate_interface_name;

/// The placeholder for a number.
const NUMBER: &str = "{n}";

/// A name, or names with a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
}

impl Template {
    /// Reads a template. Errors: its mistake.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest = text.replacen(NUMBER, "0", 1);
        if rest.contains(['{', '}']) {
            return Err(format!(
                "`{text}` has a brace that does not belong to a placeholder; expected a name with `{NUMBER}` at most once, \
                 such as `eth{NUMBER}`"
            ));
        }
        match validate_interface_name(&rest) {
            Ok(()) => Ok(Self {
                text: text.to_owned(),
            }),
            Err(_) => Err(format!(
                "`{text}` is not an interface name; expected at most 15 bytes without `/`, `:` and white \
                 space, such as `eth{NUMBER}`"
            )),
        }
    }

    /// Returns the free name with the smallest number, from 0; none if all are taken. Errors: those of `is_taken`.
    pub fn choose<E>(
        &self,
        mut is_taken: impl FnMut(&str) -> Result<bool, E>,
    ) -> Result<Option<String>, E> {
        for n in 0.. {
            let name = self.text.replace(NUMBER, &u32::to_string(&n));
            if validate_interface_name(&name).is_err() {
                break;
            }
            if !is_taken(&name)? {
                return Ok(Some(name));
            }
            if name == self.text {
                break;
            }
        }
        Ok(None)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn choose(text: &str, taken: &[&str]) -> Option<String> {
        let template = Template::parse(text).expect("a template");
        let Ok(chosen) = template.choose(|name| Ok::<_, Infallible>(taken.contains(&name)));
        chosen
    }

    #[test]
    fn the_smallest_number_is_taken_that_is_free() {
        for (text, taken, expected) in [
            ("eth{n}", &[][..], "eth0"),
            ("eth{n}", &["eth0", "eth2"], "eth1"),
            ("{n}a", &["0a"], "1a"),
            ("eth0", &["eth1"], "eth0"),
        ] {
            assert_eq!(choose(text, taken).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_name_that_is_taken_is_not_chosen() {
        assert_eq!(choose("eth0", &["eth0"]), None);
        let taken: Vec<String> = (0..10).map(|n| format!("interface-long{n}")).collect();
        let taken: Vec<&str> = taken.iter().map(String::as_str).collect();
        assert!(choose("interface-lon{n}", &[]).is_some());
        // With a second digit the name would be too long.
        assert_eq!(choose("interface-long{n}", &taken), None);
    }

    #[test]
    fn what_is_no_name_is_no_template() {
        for text in [
            "",
            "a b",
            "a/b",
            "..",
            "eth{m}",
            "eth{n",
            "eth}",
            "{n}{n}",
            "interface-longer{n}",
        ] {
            let why = Template::parse(text).expect_err("no template");
            assert!(why.contains("eth{n}"), "{why}");
        }
    }
}
