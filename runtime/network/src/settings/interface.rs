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

    /// The free name with the smallest number, from 0. Errors: those of `is_taken`; no name is free.
    pub fn choose<E: From<NoneFree>>(
        &self,
        mut is_taken: impl FnMut(&str) -> Result<bool, E>,
    ) -> Result<String, E> {
        for n in 0.. {
            let name = self.text.replace(NUMBER, &u32::to_string(&n));
            if validate_interface_name(&name).is_err() {
                break;
            }
            if !is_taken(&name)? {
                return Ok(name);
            }
            if name == self.text {
                break;
            }
        }
        Err(NoneFree(self.text.clone()).into())
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// All names of a template are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoneFree(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(text: &str, taken: &[&str]) -> Result<String, NoneFree> {
        let template = Template::parse(text).expect("a template");
        template.choose(|name| Ok(taken.contains(&name)))
    }

    #[test]
    fn the_smallest_number_is_taken_that_is_free() {
        for (text, taken, expected) in [
            ("eth{n}", &[][..], "eth0"),
            ("eth{n}", &["eth0", "eth2"], "eth1"),
            ("{n}a", &["0a"], "1a"),
            ("eth0", &["eth1"], "eth0"),
        ] {
            assert_eq!(choose(text, taken).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_name_that_is_taken_is_not_chosen() {
        let none = NoneFree("eth0".to_owned());
        assert_eq!(choose("eth0", &["eth0"]), Err(none));
        let taken: Vec<String> = (0..10).map(|n| format!("interface-long{n}")).collect();
        let taken: Vec<&str> = taken.iter().map(String::as_str).collect();
        let none = NoneFree("interface-long{n}".to_owned());
        assert!(choose("interface-lon{n}", &[]).is_ok());
        // With a second digit the name would be too long.
        assert_eq!(
            Template::parse("interface-long{n}").map(|t| t.choose(|n| Ok(taken.contains(&n)))),
            Ok(Err(none))
        );
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
