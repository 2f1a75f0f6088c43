//! The plugin `labels`: writes on the container's interface which network it belongs to.
//!
//! In a container with several interfaces, such as `eth0` and `net1`, nothing shows which networks they lead to. With
//! this plugin `ip link` shows `alias green/5f3c…/eth0`. It comes after the plugin that makes the interface, and needs
//! a grant to read and change it.
//!
//! | key | default | what |
//! |---|---|---|
//! | `label` | `{network}/{containerid}/{ifname}` | the alias; `{NAME}` stands for the argument `NAME` of `CNI_ARGS`, such as `{K8S_POD_NAME}` |

use weir_sdk::link::{self, Changes, Link};
use weir_sdk::{AddResult, Args, Context, Error, Namespace, Plugin, Request, check};

/// The most bytes that an alias has (`IFALIASZ`, without the NUL at the end).
const MOST: usize = 255;

/// The plugin.
pub struct Labels;

/// What the network configuration says.
#[weir_sdk::config(default)]
#[derive(Debug)]
pub struct Config {
    /// The alias, with placeholders.
    pub label: String,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            label: "{network}/{containerid}/{ifname}".to_owned(),
        }
    }
}

impl Plugin for Labels {
    type Config = Config;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let result = request.chained()?.clone();
        let interface = request.container_interface()?;
        set_alias(&interface, &label(&request)?)?;
        Ok(result)
    }

    /// With the container's namespace the interface is gone, and its alias with it.
    fn del(request: Request<Config>) -> Result<(), Error> {
        match request.find_container_interface()? {
            Some(interface) => set_alias(&interface, ""),
            None => Ok(()),
        }
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        let interface = request.container_interface()?;
        let (expected, found) = (label(&request)?, &interface.alias);
        if expected == *found {
            Ok(())
        } else {
            Err(check::wrong(format!(
                "interface `{}`: expected the alias `{expected}`, found `{found}`",
                interface.name
            )))
        }
    }
}

fn set_alias(link: &Link, alias: &str) -> Result<(), Error> {
    let changes = Changes {
        alias: Some(alias.to_owned()),
        ..Changes::default()
    };
    let changed = link::update(Namespace::Container, link, changes);
    changed.context(format!("cannot set the alias of `{}`", link.name))
}

fn label(request: &Request<Config>) -> Result<String, Error> {
    let of_attachment = |name: &str| match name {
        "network" => Some(request.network.as_str()),
        "containerid" => Some(request.container_id.as_str()),
        "ifname" => Some(request.ifname.as_str()),
        _ => None,
    };
    fill(&request.config.label, &request.args, of_attachment)
}

/// Replaces the placeholders. Errors: code 7 for an unknown placeholder and for too long a label.
fn fill<'a>(
    label: &str,
    args: &'a Args,
    of_attachment: impl Fn(&str) -> Option<&'a str>,
) -> Result<String, Error> {
    let (mut filled, mut rest) = (String::new(), label);
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or_else(|| {
            Error::invalid_config(format!("label: `{label}` has a brace that is not closed"))
        })?;
        let value = of_attachment(name).or_else(|| args.get(name));
        let value = value.ok_or_else(|| {
            Error::invalid_config(format!(
                "label: unknown placeholder `{name}`: expected network, containerid, ifname or the name \
                 of an argument in CNI_ARGS"
            ))
        })?;
        filled.push_str(before);
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    match filled.len() {
        ..=MOST => Ok(filled),
        length => Err(Error::invalid_config(format!(
            "label: `{filled}` has {length} bytes, expected at most {MOST}"
        ))),
    }
}

weir_sdk::export!(Labels);

#[cfg(test)]
mod tests {
    use weir_sdk::testing::{FakeHost, Invocation};
    use weir_sdk::{ErrorCode, codes};

    use super::*;

    fn host() -> FakeHost {
        let host = FakeHost::new();
        host.create_pair("veth0", "eth0").expect("a pair");
        host
    }

    fn invocation(label: &str) -> Invocation {
        let config = format!(r#"{{"type": "labels", "label": "{label}"}}"#);
        Invocation::new(config).with_previous(AddResult::default())
    }

    #[test]
    fn the_interface_has_the_label_until_del() {
        let host = host();
        let labelled = invocation("{K8S_POD_NAME} on {network}").with_arg("K8S_POD_NAME", "web-0");
        host.add::<Labels>(&labelled).unwrap();
        host.check::<Labels>(&labelled).unwrap();
        host.del::<Labels>(&labelled).unwrap();
        assert_eq!(
            host.changes(),
            [
                r#"link.update container eth0 alias="web-0 on test""#,
                r#"link.update container eth0 alias="""#,
            ]
        );
        let error = host.check::<Labels>(&labelled).unwrap_err();
        assert_eq!(error.code, codes::NOT_AS_ATTACHED);
    }

    #[test]
    fn an_interface_that_is_gone_is_missing_to_add_and_nothing_to_del() {
        let host = host();
        let other = invocation("x").with_ifname("net1");
        let error = host.add::<Labels>(&other).unwrap_err();
        assert!(error.msg.contains("`net1`"), "{error}");
        host.del::<Labels>(&other).unwrap();
        host.remove_container();
        host.del::<Labels>(&invocation("x")).unwrap();
        assert_eq!(host.changes(), [""; 0]);
    }

    #[test]
    fn a_label_that_cannot_be_set_fails_add() {
        let host = host();
        host.fail_next("link.update", ErrorCode::Busy);
        let error = host.add::<Labels>(&invocation("x")).unwrap_err();
        assert_eq!(error.code, weir_sdk::Code::TRY_AGAIN_LATER);
        assert!(error.msg.contains("alias of `eth0`"), "{error}");
    }

    fn filled(label: &str) -> Result<String, Error> {
        let args: Args = "IgnoreUnknown=1;K8S_POD_NAME=web-0"
            .parse()
            .expect("arguments");
        fill(label, &args, |name| (name == "ifname").then_some("eth0"))
    }

    #[test]
    fn placeholders_are_the_attachments_and_the_arguments() {
        assert_eq!(filled("{K8S_POD_NAME}/{ifname}!").unwrap(), "web-0/eth0!");
        assert_eq!(filled("plain").unwrap(), "plain");
    }

    #[test]
    fn what_cannot_be_a_label_is_refused() {
        assert!(filled("{nobody}").unwrap_err().msg.contains("`nobody`"));
        assert!(filled("{ifname").unwrap_err().msg.contains("not closed"));
        let long = filled(&"x".repeat(256)).unwrap_err();
        assert!(long.msg.contains("256 bytes"), "{long}");
    }
}
