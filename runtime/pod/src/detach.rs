//! DEL of a pod: every attachment, last first. Failures are reported together at the end (section 7.2).

use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use weir_cni::Error;
use weir_network::{Attachment, LockedRecord, RecordedAttachment, Unusable, in_order, together};

use super::cluster::PodName;
use super::configuration::Level;
use super::delegating_call::DelegatingCall;
use super::devices::info;
use super::kubernetes::Limits;
use super::status::NETWORK_STATUS;

/// How long a DEL waits for the API server.
const SHORTLY: Limits = Limits {
    request: Duration::from_secs(2),
    call: Duration::from_secs(3),
};

/// Detaches a pod by its record alone: the pod, its networks' definitions and the API server may no longer exist.
///
/// Errors: all failures, as one error. The record then stays for the next DEL.
pub(crate) fn detach(call: &DelegatingCall<'_>, attachment: &Attachment) -> Result<(), Error> {
    match take(call, attachment)? {
        Some(held) => while_status_is_withdrawn(call, held.record.pod.clone(), || {
            recorded(call, attachment, held)
        }),
        None => {
            call.records.clear_up(attachment)?;
            unknown(call, attachment)
        }
    }
}

/// Detaches everything in a record, and removes it.
pub(crate) fn recorded(
    call: &DelegatingCall<'_>,
    attachment: &Attachment,
    held: LockedRecord,
) -> Result<(), Error> {
    let detach = |recorded: &RecordedAttachment| one(call, attachment, recorded);
    let failures = in_order::detach(&held.record.attachments, detach);
    together(failures.into_iter().map(|(_, error)| error))?;
    held.remove()
}

/// Detaches one of a pod's attachments.
pub(crate) fn one(
    call: &DelegatingCall<'_>,
    attachment: &Attachment,
    recorded: &RecordedAttachment,
) -> Result<(), Error> {
    let own = recorded.attachment(attachment);
    call.network(recorded)?.del(&own)?;
    match &recorded.device_info {
        Some(file) => info::remove(call.sandbox.paths(), file),
        None => Ok(()),
    }
}

/// The record, if there is one. A damaged one does not keep the pod from being deleted: it is set aside.
fn take(call: &DelegatingCall<'_>, attachment: &Attachment) -> Result<Option<LockedRecord>, Error> {
    match call.records.take(attachment) {
        Err(Unusable::Damaged(error)) => {
            let aside = call.records.set_aside(attachment)?;
            let message = format!("{error}; it is now `{}`", aside.display());
            call.journal.write(Level::Error, &message);
            Ok(None)
        }
        taken => Ok(taken?),
    }
}

/// A pod without a record was attached before weir was installed, or is already detached. DEL of the default network does
/// no harm, and needs no API server if the network is on this node.
fn unknown(call: &DelegatingCall<'_>, attachment: &Attachment) -> Result<(), Error> {
    let args = call.configuration.capability_args.clone();
    match call.default_network(None, args) {
        Ok(network) => network.del(attachment),
        Err(error) => {
            let message = format!("the pod has no record, and nothing is deleted: {error}");
            call.journal.write(Level::Info, &message);
            Ok(())
        }
    }
}

/// Detaches while the status is removed: the pod may still exist, and get other networks. The kernel takes longer to
/// remove a link than the API server to answer.
fn while_status_is_withdrawn(
    call: &DelegatingCall<'_>,
    pod: Option<PodName>,
    detach: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let (Some(pod), Some(cluster)) = (pod, call.cluster(SHORTLY)) else {
        return detach();
    };
    let withdraw = move || cluster.annotate(&pod, NETWORK_STATUS, None);
    let withdrawing = thread::Builder::new().spawn(withdraw);
    let detached = detach();
    let removed = match withdrawing.map(JoinHandle::join) {
        Ok(joined) => joined.unwrap_or_else(|panic| resume_unwind(panic)),
        Err(error) => Err(Error::io_failure(format!("cannot start a thread: {error}"))),
    };
    call.warn("the status of the pod's networks is not removed", removed);
    detached
}
