//! A main plugin, whose commands run those of its IPAM plugin as well.

use serde::de::DeserializeOwned;
use weir_cni::{AddResult, Error};

use crate::config::Ipam;
use crate::plugin::Plugin;
use crate::request::{GcRequest, Request, StatusRequest};
use crate::{check, interface};

/// The configuration of a [`MainPlugin`].
pub trait MainConfig: DeserializeOwned {
    /// Returns the key `ipam`.
    fn ipam(&self) -> &Ipam;

    /// Checks what the types cannot say, before `add`, `check` and `status`. Errors have code 7 and begin with the key.
    ///
    /// By default an IPAM plugin must be named. A plugin that also makes interfaces without addresses says otherwise here.
    fn validate(&self) -> Result<(), Error> {
        self.ipam().require("its interface needs addresses")
    }
}

/// A plugin that makes an interface, which the IPAM plugin of its configuration gives addresses.
///
/// It says what is its own. As a [`Plugin`], which it is with this, it also runs the IPAM plugin's commands, if the
/// configuration names one:
///
/// | command | order |
/// |---|---|
/// | ADD | `add` calls [`Ipam::assign`] where it needs the addresses |
/// | DEL | `del`, then the IPAM plugin; the other way round for `dhcp`: see [`Ipam::del_with`] |
/// | CHECK, STATUS | the IPAM plugin, then `check` or `status` unless the first fails |
/// | GC | `gc`, then the IPAM plugin in any case |
pub trait MainPlugin {
    /// The plugin's own configuration.
    type Config: MainConfig;

    /// The kernel's name of the kind of the interface that `add` makes, such as `macvlan`.
    const KIND: &'static str;

    /// ADD: makes the interface and gives it its addresses. See [`Plugin::add`].
    fn add(request: Request<Self::Config>) -> Result<AddResult, Error>;

    /// DEL: removes what `add` made. Must succeed when there is nothing left to remove. Where it fails, the addresses stay
    /// assigned.
    ///
    /// By default it is [`interface::delete_own`].
    fn del(request: &Request<Self::Config>) -> Result<(), Error> {
        interface::delete_own(request, Self::KIND)
    }

    /// CHECK: fails when the attachment is not as the previous result says. See [`Plugin::check`].
    ///
    /// By default it is [`check::attached`](crate::check::attached()).
    fn check(request: &Request<Self::Config>) -> Result<(), Error> {
        check::attached(request, Self::KIND).map(drop)
    }

    /// STATUS: fails when the plugin itself cannot serve an ADD now.
    fn status(request: &StatusRequest<Self::Config>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }

    /// GC: removes what belongs to no valid attachment.
    fn gc(request: &GcRequest<Self::Config>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }
}

impl<P: MainPlugin> Plugin for P {
    type Config = P::Config;

    fn validate(config: &P::Config) -> Result<(), Error> {
        config.validate()
    }

    fn add(request: Request<P::Config>) -> Result<AddResult, Error> {
        P::add(request)
    }

    fn del(request: Request<P::Config>) -> Result<(), Error> {
        let ipam = request.config.ipam();
        ipam.del_with(|| P::del(&request))
    }

    fn check(request: Request<P::Config>) -> Result<(), Error> {
        request.config.ipam().check()?;
        P::check(&request)
    }

    fn status(request: StatusRequest<P::Config>) -> Result<(), Error> {
        request.config.ipam().status()?;
        P::status(&request)
    }

    fn gc(request: GcRequest<P::Config>) -> Result<(), Error> {
        let collected = P::gc(&request);
        let released = request.config.ipam().gc();
        collected.and(released)
    }
}
