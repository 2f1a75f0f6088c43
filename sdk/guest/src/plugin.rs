//! What a plugin is, and how it becomes a component.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use weir_cni::{AddResult, Error};

use crate::bindings::exports::weir::cni::commands::Guest;
use crate::bindings::weir::cni::cni as raw;
use crate::config::{self, Rules};
use crate::request::{GcRequest, Request, StatusRequest};
use crate::{check, log, panic};

/// A world of the contract, as in `wit/world.wit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// `plugin`: a main or chained plugin.
    Plugin,
    /// `ipam-plugin`: it chooses addresses for the plugin that runs it.
    IpamPlugin,
}

/// A network plugin: the commands of the CNI specification's section 2.
///
/// Configurations are read as [`config`](mod@crate::config) describes. DEL and GC ignore unknown keys
/// and do not [`validate`](Plugin::validate), so that what an earlier configuration made can always
/// be removed.
pub trait Plugin {
    /// The plugin's own configuration.
    type Config: DeserializeOwned;

    /// Its world. An IPAM plugin is given the whole configuration of the plugin that runs it; only the keys inside
    /// `ipam` are its own. It must not call a capability that `ipam-plugin` lacks: [`ipam::add`](crate::ipam::add)
    /// returns an error.
    const WORLD: World = World::Plugin;

    /// Checks what the types of the configuration cannot say, before `add`, `check` and `status`.
    fn validate(config: &Self::Config) -> Result<(), Error> {
        let _ = config;
        Ok(())
    }

    /// ADD: attaches the container to the network, or changes an attachment. Returns the plugin's
    /// own result or the previous one with its changes. When it fails, weir removes everything that it created,
    /// and restores the links and parameters of the container that it changed.
    fn add(request: Request<Self::Config>) -> Result<AddResult, Error>;

    /// DEL: undoes `add`. Must succeed when there is nothing left to remove.
    ///
    /// May be left out if everything that `add` makes disappears with the container's interface: addresses and routes
    /// of the container do, state and what is on the host do not. `weir plugin test` reports what is left behind.
    fn del(request: Request<Self::Config>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }

    /// CHECK: fails when the attachment is not as the previous result says. An error with
    /// [`codes::NOT_FOUND`](crate::codes::NOT_FOUND) becomes [`codes::NOT_AS_ATTACHED`](crate::codes::NOT_AS_ATTACHED).
    ///
    /// Cannot be left out: success means to the caller that the attachment was looked at (CNI section 2, CHECK).
    fn check(request: Request<Self::Config>) -> Result<(), Error>;

    /// STATUS: fails when the plugin cannot serve an ADD now.
    fn status(request: StatusRequest<Self::Config>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }

    /// GC: removes what belongs to no valid attachment.
    fn gc(request: GcRequest<Self::Config>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }
}

/// The package of a plugin, which [`export!`](crate::export) implements from its `Cargo.toml`.
pub trait Package {
    /// The plugin's name, as `type` in a configuration.
    const NAME: &'static str;
    /// The version.
    const VERSION: &'static str;
    /// What the plugin does, in one sentence.
    const DESCRIPTION: &'static str;
}

/// Returns how many bytes the name of the library has that a module is in, for [`export!`](crate::export).
#[doc(hidden)]
pub const fn library_name_length(module: &str) -> usize {
    let module = without_raw(module.as_bytes());
    let mut length = 0;
    while length < module.len() && module[length] != b':' {
        length += 1;
    }
    length
}

/// Returns the name of the library that a module is in, with hyphens for underscores, for [`export!`](crate::export).
#[doc(hidden)]
pub const fn library_name<const LENGTH: usize>(module: &str) -> [u8; LENGTH] {
    let module = without_raw(module.as_bytes());
    let mut name = [b'-'; LENGTH];
    let mut at = 0;
    while at < LENGTH {
        if module[at] != b'_' {
            name[at] = module[at];
        }
        at += 1;
    }
    name
}

/// A library that is named as a keyword, such as `static`, is `r#static` to the compiler.
const fn without_raw(module: &[u8]) -> &[u8] {
    match module {
        [b'r', b'#', name @ ..] | name => name,
    }
}

/// The component that a plugin becomes; see [`export!`](crate::export).
pub struct Component<P>(PhantomData<P>);

impl<P: Plugin> Component<P> {
    const RULES: Rules = Rules {
        is_ipam: matches!(P::WORLD, World::IpamPlugin),
        is_lenient: false,
    };

    /// Reads a plugin configuration as for `add`, `check` and `status`. A plugin's tests need neither a
    /// component nor a container for it.
    pub fn configuration(text: &str) -> Result<P::Config, Error> {
        let (config, _) = config::parse(text, Self::RULES)?;
        P::validate(&config)?;
        Ok(config)
    }

    /// Reads a plugin configuration as for `del` and `gc`.
    pub fn configuration_for_removal(text: &str) -> Result<P::Config, Error> {
        let rules = Rules {
            is_lenient: true,
            ..Self::RULES
        };
        config::parse(text, rules).map(|(config, _)| config)
    }

    /// Reads a plugin configuration as [`configuration`](Self::configuration) does, and logs its unknown keys.
    fn logged(text: &str) -> Result<P::Config, Error> {
        let (config, unknown) = config::parse(text, Self::RULES)?;
        for message in unknown {
            log::warn(&message, &[]);
        }
        P::validate(&config)?;
        Ok(config)
    }
}

impl<P: Plugin + Package> Guest for Component<P> {
    fn add(request: raw::Request) -> Result<raw::AttachmentResult, raw::Failure> {
        panic::log();
        Ok(P::add(Request::read(request, Self::logged)?)?.into())
    }

    fn del(request: raw::Request) -> Result<(), raw::Failure> {
        panic::log();
        Ok(P::del(Request::read(
            request,
            Self::configuration_for_removal,
        )?)?)
    }

    fn check(request: raw::Request) -> Result<(), raw::Failure> {
        panic::log();
        let checked = P::check(Request::read(request, Self::logged)?);
        Ok(checked.map_err(check::what_is_gone)?)
    }

    fn status(request: raw::StatusRequest) -> Result<(), raw::Failure> {
        panic::log();
        let config = Self::logged(&request.config)?;
        let network = request.network;
        Ok(P::status(StatusRequest { network, config })?)
    }

    fn gc(request: raw::GcRequest) -> Result<(), raw::Failure> {
        panic::log();
        Ok(P::gc(GcRequest {
            config: Self::configuration_for_removal(&request.config)?,
            network: request.network,
            known_as: request.known_as,
            valid_attachments: request.valid_attachments,
        })?)
    }

    fn version() -> raw::About {
        raw::About {
            name: P::NAME.to_owned(),
            version: P::VERSION.to_owned(),
            description: P::DESCRIPTION.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use weir_cni::Code;

    use super::*;
    use crate::codes;

    #[test]
    fn a_plugin_is_named_after_its_library() {
        assert_eq!(&library_name::<6>("host_x::tests"), b"host-x");
        assert_eq!(library_name_length("host_x::tests"), 6);
        assert_eq!(&library_name::<6>("r#static"), b"static");
        assert_eq!(library_name_length("r#static"), 6);
    }

    struct Echo;

    #[derive(Deserialize)]
    #[serde(default)]
    struct Config {
        mtu: u32,
    }

    impl Default for Config {
        fn default() -> Self {
            Config { mtu: 1500 }
        }
    }

    /// Passes its configuration on as the name of an interface.
    impl Plugin for Echo {
        type Config = Config;

        fn validate(config: &Config) -> Result<(), Error> {
            match config.mtu {
                0 => Err(Error::invalid_config("mtu: expected more than 0")),
                _ => Ok(()),
            }
        }

        fn add(request: Request<Config>) -> Result<AddResult, Error> {
            let mut result = request.previous.unwrap_or_default();
            result.interfaces.push(weir_cni::Interface {
                name: format!("{}:{:?}", request.config.mtu, request.args.get("MAC")),
                ..weir_cni::Interface::default()
            });
            Ok(result)
        }

        fn check(request: Request<Config>) -> Result<(), Error> {
            match request.config.mtu {
                404 => Err(Error::new(
                    codes::NOT_FOUND,
                    "the container has no interface",
                )),
                _ => Ok(()),
            }
        }
    }

    impl Package for Echo {
        const NAME: &'static str = "echo";
        const VERSION: &'static str = "1.2.3";
        const DESCRIPTION: &'static str = "passes its configuration on";
    }

    fn request(config: &str) -> raw::Request {
        raw::Request {
            container_id: "5f3c".to_owned(),
            ifname: "eth0".to_owned(),
            network: "net".to_owned(),
            known_as: "net".to_owned(),
            args: vec![("MAC".to_owned(), "02:00:00:00:00:01".to_owned())],
            config: config.to_owned(),
            previous: None,
            has_container: true,
            sandbox: "/run/netns/a".to_owned(),
        }
    }

    fn code<T>(answer: Result<T, raw::Failure>) -> Result<(), Code> {
        answer.map(drop).map_err(|failure| Code(failure.code))
    }

    #[test]
    fn add_hands_arguments_and_configuration_to_the_plugin() {
        let result = Component::<Echo>::add(request(r#"{"type": "echo", "mtu": 9}"#)).unwrap();
        assert_eq!(result.interfaces[0].name, "9:Some(\"02:00:00:00:00:01\")");
    }

    #[test]
    fn add_and_check_refuse_what_del_passes_over() {
        for config in [r#"{"mut": 9, "weir.dev/strict": true}"#, r#"{"mtu": 0}"#] {
            let refused = Err(Code::INVALID_CONFIG);
            assert_eq!(code(Component::<Echo>::add(request(config))), refused);
            assert_eq!(code(Component::<Echo>::check(request(config))), refused);
            assert_eq!(code(Component::<Echo>::del(request(config))), Ok(()));
        }
    }

    #[test]
    fn what_check_does_not_find_is_not_as_attached() {
        let gone = request(r#"{"mtu": 404}"#);
        assert_eq!(
            code(Component::<Echo>::check(gone)),
            Err(codes::NOT_AS_ATTACHED)
        );
    }

    #[test]
    fn del_status_and_gc_succeed_unless_the_plugin_says_otherwise() {
        assert_eq!(code(Component::<Echo>::del(request("{}"))), Ok(()));
        let status = raw::StatusRequest {
            network: "net".to_owned(),
            config: "{}".to_owned(),
        };
        assert_eq!(code(Component::<Echo>::status(status)), Ok(()));
        let gc = raw::GcRequest {
            network: "net".to_owned(),
            known_as: "net".to_owned(),
            config: "{}".to_owned(),
            valid_attachments: Vec::new(),
        };
        assert_eq!(code(Component::<Echo>::gc(gc)), Ok(()));
    }

    #[test]
    fn the_name_is_the_librarys() {
        for (module, expected) in [
            ("host_local", "host-local"),
            ("bridge", "bridge"),
            ("a_b_c::inner_module", "a-b-c"),
        ] {
            let named = |length| match length {
                10 => library_name::<10>(module).to_vec(),
                6 => library_name::<6>(module).to_vec(),
                _ => library_name::<5>(module).to_vec(),
            };
            let name = named(library_name_length(module));
            assert_eq!(String::from_utf8(name).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn version_is_the_plugins_own() {
        let about = Component::<Echo>::version();
        assert_eq!(
            (about.name, about.version),
            ("echo".to_owned(), "1.2.3".to_owned())
        );
    }
}
