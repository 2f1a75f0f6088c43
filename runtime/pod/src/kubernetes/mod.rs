//! The Kubernetes API server: five kinds of request, all limited in time.
//!
//! `kube` reads kubeconfigs, and `rustls` and `hyper` do TLS and HTTP (docs/decisions/0025-kube.md). The requests are in
//! `ask`, repetition is in `repeat`, objects are in `object`, and errors in `failure`.

mod ask;
mod connection;
mod credentials;
mod event;
mod failure;
mod object;
mod repeat;
mod session;
mod tls;
mod user;

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use weir_cni::Error;
use weir_files::Paths;

pub use self::repeat::Limits;

use self::ask::{Ask, DEFINITIONS, PODS, WHOLE_PODS};
use self::credentials::Source;
use self::failure::{Failure, GivenUp};
use self::repeat::Repetitions;
use self::session::Session;
use super::cluster::{Definition, Event, Pod, PodName};
use super::reference::Reference;

/// Whether weir runs in a pod, and so has a service account.
pub(crate) fn is_in_cluster() -> bool {
    std::env::var_os(credentials::HOST).is_some()
}

/// A cluster's API server. The first call reads the credentials and connects; later calls use the same connection. Each call
/// is one request, apart from repetitions, and is limited in time.
///
/// Errors: `codes::CLUSTER`, with the request, the answer, and what to do; code 11, "try again later", if a later request
/// may succeed; code 4 for an invalid pod name.
pub struct Kubernetes {
    source: Source,
    limits: Limits,
    session: RefCell<Option<Session>>,
}

impl Kubernetes {
    /// By a kubeconfig, whose path is below weir's root, or by the service account of the pod that weir runs in.
    pub fn connect(kubeconfig: Option<&Path>, paths: &Paths, limits: Limits) -> Self {
        Self {
            source: Source::new(kubeconfig, paths),
            limits,
            session: RefCell::new(None),
        }
    }

    /// Sends a request, and repeats it until the deadline if that may help.
    fn ask(&self, ask: &Ask, deadline: Instant) -> Result<Vec<u8>, GivenUp> {
        let mut repetitions = Repetitions::new(self.limits, deadline);
        loop {
            match self.ask_once(ask, repetitions.time_for_one()) {
                Ok(answer) => return Ok(answer),
                Err(failure) => repetitions.pause_after(ask, failure)?,
            }
        }
    }

    /// Sends one request, and another if the first was refused and the credentials on disk are new.
    fn ask_once(&self, ask: &Ask, limit: Duration) -> Result<Vec<u8>, Failure> {
        let mut session = self.session.borrow_mut();
        let session = match &mut *session {
            Some(session) => session,
            none => none.insert(Session::open(&self.source, self.limits)?),
        };
        match session.send(ask, limit) {
            Err(refused) if refused.is_unknown_user() && session.renew(&self.source)? => {
                session.send(ask, limit)
            }
            answered => answered,
        }
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.limits.call
    }

    /// An object's JSON, if the object exists.
    fn get(&self, ask: &Ask) -> Result<Option<Vec<u8>>, Error> {
        match self.ask(ask, self.deadline()) {
            Ok(answer) => Ok(Some(answer)),
            Err(given_up) if given_up.failure.is_without_object() => Ok(None),
            Err(given_up) => Err(given_up.explain(ask, &self.source)),
        }
    }

    /// Sets or removes an annotation of a pod by reading it and writing it whole, which a role without `patch` may allow. If
    /// the pod was written in between, the API server refuses, and it is read again.
    fn update(
        &self,
        pod: &PodName,
        key: &str,
        value: Option<&str>,
        deadline: Instant,
    ) -> Result<(), Unwritten> {
        let reference = reference(pod)?;
        let get = Ask::get(&WHOLE_PODS, &reference);
        let mut repetitions = Repetitions::new(self.limits, deadline);
        loop {
            repetitions.time_for_one();
            let answer = self.ask(&get, deadline);
            let Some(answer) = self.unless_gone(answer, &get)? else {
                return Ok(());
            };
            let changed = object::annotated(&answer, pod.uid.as_deref(), key, value);
            let changed = changed.map_err(|e| get.not_understood(&e))?;
            let Some(changed) = changed else {
                return Ok(());
            };
            let put = Ask::update_status(&PODS, &reference, &changed);
            match self.ask(&put, deadline) {
                Err(given_up) if given_up.failure.is_conflict() => repetitions
                    .pause_after_conflict(given_up.failure)
                    .map_err(|given_up| given_up.explain(&put, &self.source))?,
                answer => return self.unless_gone(answer, &put).map(drop),
            }
        }
    }

    /// An answer; none if the pod no longer exists.
    fn unless_gone(
        &self,
        answer: Result<Vec<u8>, GivenUp>,
        ask: &Ask,
    ) -> Result<Option<Vec<u8>>, Unwritten> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(given_up) if given_up.failure.is_gone() => Ok(None),
            Err(given_up) if given_up.failure.is_forbidden() => Err(Unwritten::Forbidden),
            Err(given_up) => Err(given_up.explain(ask, &self.source).into()),
        }
    }
}

/// Why an annotation is not written.
enum Unwritten {
    /// The user may not do it.
    Forbidden,
    Failed(Error),
}

impl From<Error> for Unwritten {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Kubernetes {
    /// Returns the pod; none if it no longer exists, or another one has its name.
    pub fn pod(&self, name: &PodName) -> Result<Option<Pod>, Error> {
        let ask = Ask::get(&PODS, &reference(name)?);
        let Some(answer) = self.get(&ask)? else {
            return Ok(None);
        };
        let pod = object::pod(&answer).map_err(|e| ask.not_understood(&e))?;
        Ok(Some(pod).filter(|pod| object::is_named(pod, name)))
    }

    /// Returns a NetworkAttachmentDefinition; none if it does not exist.
    pub fn definition(&self, reference: &Reference) -> Result<Option<Definition>, Error> {
        let ask = Ask::get(&DEFINITIONS, reference);
        let Some(answer) = self.get(&ask)? else {
            return Ok(None);
        };
        let definition = object::definition(&answer, reference);
        Ok(Some(definition.map_err(|e| ask.not_understood(&e))?))
    }

    /// Sets or removes one annotation of the pod, and leaves the others alone, even if they are written at the same time.
    /// Does nothing if the pod no longer exists, or another one has its name.
    ///
    /// By a patch, or if only `update` is allowed, as by Multus' role, by reading the pod and writing it whole.
    pub fn annotate(&self, pod: &PodName, key: &str, value: Option<&str>) -> Result<(), Error> {
        let patch = object::annotation(pod.uid.as_deref(), key, value);
        let ask = Ask::patch_status(&PODS, &reference(pod)?, &patch);
        let deadline = self.deadline();
        match self.ask(&ask, deadline) {
            Ok(_) => Ok(()),
            Err(given_up) if given_up.failure.is_gone() => Ok(()),
            Err(given_up) if given_up.failure.is_forbidden() => {
                match self.update(pod, key, value, deadline) {
                    Ok(()) => Ok(()),
                    Err(Unwritten::Failed(error)) => Err(error),
                    Err(Unwritten::Forbidden) => Err(given_up.explain(&ask, &self.source)),
                }
            }
            Err(given_up) => Err(given_up.explain(&ask, &self.source)),
        }
    }

    /// Records events about the pod, in order, all within the time of one call. Events after one that fails are not sent.
    pub fn report(&self, pod: &PodName, events: &[Event]) -> Result<(), Error> {
        let reference = reference(pod)?;
        let deadline = self.deadline();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_nanos();
        for (event, time) in events.iter().zip(now..) {
            let object = event::object(&event::name(&reference.name, time), pod, event);
            let ask = Ask::create_event(&reference, &object);
            match self.ask(&ask, deadline) {
                // The name is new: an earlier attempt succeeded, and its answer was lost.
                Err(given_up) if given_up.tries > 1 && given_up.failure.is_existing() => {}
                Err(given_up) => return Err(given_up.explain(&ask, &self.source)),
                Ok(_) => {}
            }
        }
        Ok(())
    }
}

/// The pod's name, which becomes part of a URL, and comes from `CNI_ARGS`.
fn reference(pod: &PodName) -> Result<Reference, Error> {
    Reference::new(&pod.namespace, &pod.name).map_err(|wrong| {
        let msg = format!("the pod in CNI_ARGS (K8S_POD_NAMESPACE, K8S_POD_NAME): {wrong}");
        Error::invalid_environment(msg)
    })
}
