//! The Kubernetes API server, as weir speaks to it: five kinds of request, and a bound for everything.
//!
//! The crate `kube` reads kubeconfigs, `rustls` and `hyper` bring TLS and HTTP (docs/decisions/0025-kube.md). What is asked
//! is in `ask`, how often in `repeat`, what the objects look like in `object`, and what is said of a failure in `failure`.

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
use std::time::{Duration, Instant};

use weir_cni::Error;
use weir_files::Paths;

pub use self::repeat::Limits;

use self::ask::{Ask, DEFINITIONS, PODS, WHOLE_PODS};
use self::credentials::Source;
use self::failure::{Failure, GivenUp};
use self::repeat::Repetitions;
use self::session::Session;
use super::cluster::{Cluster, Definition, Event, Pod, PodName};
use super::reference::Reference;

/// Whether weir runs in a pod of a cluster, and so has a service account.
pub(crate) fn is_in_cluster() -> bool {
    std::env::var_os(credentials::HOST).is_some()
}

/// A cluster's API server. Nothing is read and nobody is asked before the first call; the connection
/// stays for the calls that follow.
pub struct Kubernetes {
    source: Source,
    limits: Limits,
    session: RefCell<Option<Session>>,
}

impl Kubernetes {
    /// By a kubeconfig, whose path is as the configuration has it; where there is none, by the service
    /// account of the pod that weir runs in.
    pub fn connect(kubeconfig: Option<&Path>, paths: &Paths, limits: Limits) -> Self {
        Self {
            source: Source::new(kubeconfig, paths),
            limits,
            session: RefCell::new(None),
        }
    }

    /// Asks, and again where that may help, until the deadline at the latest.
    fn ask(&self, ask: &Ask, deadline: Instant) -> Result<Vec<u8>, GivenUp> {
        let mut repetitions = Repetitions::new(self.limits, deadline);
        loop {
            match self.ask_once(ask, repetitions.time_for_one()) {
                Ok(answer) => return Ok(answer),
                Err(failure) => repetitions.pause_after(ask, failure)?,
            }
        }
    }

    /// One request; two where the first was refused for credentials that are not those on the disk any
    /// more.
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

    /// An object's JSON; none where there is no such object.
    fn get(&self, ask: &Ask) -> Result<Option<Vec<u8>>, Error> {
        match self.ask(ask, self.deadline()) {
            Ok(answer) => Ok(Some(answer)),
            Err(given_up) if given_up.failure.is_without_object() => Ok(None),
            Err(given_up) => Err(given_up.explain(ask, &self.source)),
        }
    }

    /// Sets or removes an annotation of a pod by reading it and writing it whole, which a role without `patch` may
    /// allow. What others write meanwhile stays: the API server refuses what was read before, and it is read anew.
    fn update(
        &self,
        pod: &PodName,
        change: Annotation<'_>,
        deadline: Instant,
    ) -> Result<(), Unwritten> {
        let place = place(pod)?;
        let get = Ask::get(&WHOLE_PODS, &place);
        let mut repetitions = Repetitions::new(self.limits, deadline);
        loop {
            repetitions.time_for_one();
            let answer = self.ask(&get, deadline);
            let Some(answer) = self.unless_gone(answer, &get)? else {
                return Ok(());
            };
            let changed = object::annotated(&answer, pod.uid.as_deref(), change.key, change.value);
            let changed = changed.map_err(|e| get.not_understood(&e))?;
            let Some(changed) = changed else {
                return Ok(());
            };
            let put = Ask::update_status(&PODS, &place, &changed);
            match self.ask(&put, deadline) {
                Err(given_up) if given_up.failure.is_conflict() => repetitions
                    .pause_after_conflict(given_up.failure)
                    .map_err(|given_up| given_up.explain(&put, &self.source))?,
                answer => return self.unless_gone(answer, &put).map(drop),
            }
        }
    }

    /// An answer; none where the pod is gone.
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

/// What is to be written of a pod.
#[derive(Clone, Copy)]
struct Annotation<'a> {
    key: &'a str,
    /// None to remove it.
    value: Option<&'a str>,
}

/// Why an annotation is not written.
enum Unwritten {
    /// That is not allowed.
    Forbidden,
    Failed(Error),
}

impl From<Error> for Unwritten {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Cluster for Kubernetes {
    fn pod(&self, name: &PodName) -> Result<Option<Pod>, Error> {
        let ask = Ask::get(&PODS, &place(name)?);
        let Some(answer) = self.get(&ask)? else {
            return Ok(None);
        };
        let pod = object::pod(&answer).map_err(|e| ask.not_understood(&e))?;
        Ok(Some(pod).filter(|pod| object::is_named(pod, name)))
    }

    fn definition(&self, reference: &Reference) -> Result<Option<Definition>, Error> {
        let ask = Ask::get(&DEFINITIONS, reference);
        let Some(answer) = self.get(&ask)? else {
            return Ok(None);
        };
        let definition = object::definition(&answer, reference);
        Ok(Some(definition.map_err(|e| ask.not_understood(&e))?))
    }

    /// By a patch. Where that is refused and `update` allowed, as by Multus' role, the pod is read and written whole.
    fn annotate(&self, pod: &PodName, key: &str, value: Option<&str>) -> Result<(), Error> {
        let patch = object::annotation(pod.uid.as_deref(), key, value);
        let ask = Ask::patch_status(&PODS, &place(pod)?, &patch);
        let deadline = self.deadline();
        match self.ask(&ask, deadline) {
            Ok(_) => Ok(()),
            Err(given_up) if given_up.failure.is_gone() => Ok(()),
            Err(given_up) if given_up.failure.is_forbidden() => {
                match self.update(pod, Annotation { key, value }, deadline) {
                    Ok(()) => Ok(()),
                    Err(Unwritten::Failed(error)) => Err(error),
                    Err(Unwritten::Forbidden) => Err(given_up.explain(&ask, &self.source)),
                }
            }
            Err(given_up) => Err(given_up.explain(&ask, &self.source)),
        }
    }

    /// All events within the time of one call. Those after one that fails are not tried.
    fn report(&self, pod: &PodName, events: &[Event]) -> Result<(), Error> {
        let place = place(pod)?;
        let deadline = self.deadline();
        let mut names = event::Names::new(&place.name);
        for event in events {
            let object = event::object(&names.next(), pod, event);
            let ask = Ask::create_event(&place, &object);
            match self.ask(&ask, deadline) {
                // The name is new: an earlier try got there, and only its answer was lost.
                Err(given_up) if given_up.tries > 1 && given_up.failure.is_existing() => {}
                Err(given_up) => return Err(given_up.explain(&ask, &self.source)),
                Ok(_) => {}
            }
        }
        Ok(())
    }
}

/// Where a pod is asked for: what `CNI_ARGS` says becomes part of a URL, so that it must be a name.
fn place(pod: &PodName) -> Result<Reference, Error> {
    Reference::new(&pod.namespace, &pod.name).map_err(|wrong| {
        let msg = format!("the pod in CNI_ARGS (K8S_POD_NAMESPACE, K8S_POD_NAME): {wrong}");
        Error::invalid_environment(msg)
    })
}
