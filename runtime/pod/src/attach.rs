//! ADD of a pod: the cluster-wide default network first, then the others in order (sections 6.2 and 7.3). If one fails,
//! those after it are not tried, and those before it are torn down (section 7.2).

use std::time::Duration;

use serde_json::Value;
use weir_cni::{AddResult, Error};
use weir_network::{
    AddFailed, Attachment, LockedRecord, Record, RolledBack, Source, in_order, left_of, with_left,
};

use super::cluster::{Event, EventKind, Pod, PodName};
use super::default_route::{self, Attached};
use super::delegating_call::DelegatingCall;
use super::devices::info;
use super::kubernetes::Kubernetes;
use super::plan::{Plan, PlanContext, Planned};
use super::status::{self, NETWORK_STATUS, Status};
use super::{codes, detach, readiness, report, verify};

/// How long a pod waits for the default network. Runtimes wait longer for a plugin.
const LONGEST_WAIT: Duration = Duration::from_secs(45);

/// Attaches a pod. Returns the default network's result.
///
/// Errors: see [`run`](super::run). Nothing stays attached then. If something could not be torn down, or a native plugin
/// failed, the record stays for the runtime's DEL.
pub(crate) fn attach(
    call: &DelegatingCall<'_>,
    attachment: &Attachment,
) -> Result<AddResult, Error> {
    if let Some(file) = &call.configuration.readiness_indicator {
        readiness::wait(file, LONGEST_WAIT)?;
    }
    let cluster = call.cluster_of_pod();
    let pod = match &cluster {
        Some((cluster, name)) => Some(existing(cluster, name)?),
        None => None,
    };
    let plan = Plan::new(PlanContext {
        pod: pod.as_ref(),
        kubelet_uid: call.pod.as_ref().and_then(|pod| pod.uid.as_deref()),
        container_id: &attachment.container_id,
        ifname: &attachment.ifname,
        ..call.plan_context(cluster.as_ref().map(|(cluster, _)| cluster))
    })?;
    let name = pod.as_ref().map(name_of);
    let network = &call.configuration.name;
    let attachments = plan
        .attachments
        .iter()
        .map(|planned| planned.recorded.clone());
    let record = Record::of_pod(network, attachment, name.clone(), attachments.collect());
    let held = call.records.create(record)?;
    let attaching = Attaching {
        call,
        attachment,
        plan: &plan.attachments,
    };
    let attached = match attaching.all() {
        Ok(attached) => attached,
        Err(rolled_back) => return Err(keep_left(held, rolled_back)),
    };
    if let (Some((cluster, _)), Some(name)) = (&cluster, &name) {
        publish(call, cluster, name, &plan, &attached);
    }
    let first = attached.into_iter().next();
    first
        .map(|attached| attached.result)
        .ok_or_else(|| Error::internal("the plan has no network"))
}

fn existing(cluster: &Kubernetes, name: &PodName) -> Result<Pod, Error> {
    cluster.pod(name)?.ok_or_else(|| {
        let pod = format!("{}/{}", name.namespace, name.name);
        let msg = format!("pod `{pod}` no longer exists, or another pod has its name");
        Error::new(codes::CLUSTER, msg)
    })
}

fn name_of(pod: &Pod) -> PodName {
    PodName {
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        uid: Some(pod.uid.clone()),
    }
}

/// A plan that is being carried out.
struct Attaching<'a> {
    call: &'a DelegatingCall<'a>,
    attachment: &'a Attachment,
    plan: &'a [Planned],
}

impl Attaching<'_> {
    fn all(self) -> Result<Vec<Attached>, RolledBack> {
        let detach = |planned: &Planned| self.detach(planned);
        let mut attached = in_order::attach(
            self.plan,
            |planned, _| self.verified(planned),
            |planned, _| detach(planned),
        )?;
        let settled = self.settle_default_routes(&mut attached);
        match settled.and_then(|()| self.check_result(&attached)) {
            Ok(()) => Ok(attached),
            Err(error) => Err(in_order::roll_back(self.plan, error.into(), detach)),
        }
    }

    /// Checks that the runtime's version can express the result that it gets, whose network may have a later one.
    fn check_result(&self, attached: &[Attached]) -> Result<(), Error> {
        let Some(first) = attached.first() else {
            return Ok(());
        };
        first.result.check_addresses(self.call.cni_version)
    }

    /// Attaches one, and detaches it again if it lacks what the pod requested.
    fn verified(&self, planned: &Planned) -> Result<Attached, AddFailed> {
        let attached = self.one(planned)?;
        let Err(error) = verify(planned, &attached) else {
            return Ok(attached);
        };
        Err(match self.detach(planned) {
            Ok(()) => error.into(),
            Err(left) => AddFailed {
                error: with_left(error, &[left]),
                owed: (planned.recorded.list()).map_or(0, |list| list.plugins.len()),
            },
        })
    }

    fn detach(&self, planned: &Planned) -> Result<(), Error> {
        detach::one(self.call, self.attachment, &planned.recorded)
    }

    fn one(&self, planned: &Planned) -> Result<Attached, AddFailed> {
        let recorded = &planned.recorded;
        let attachment = recorded.attachment(self.attachment);
        let network = self.call.network(recorded)?;
        let network = network.from_source(Source {
            requested_by_pod: planned.requests(),
            ..recorded.source()
        });
        self.prepare_device_info(planned)?;
        let result = network
            .add(&attachment)
            .inspect_err(|_| self.remove_device_info(planned))?;
        let wanted = planned.element.as_ref();
        Ok(Attached {
            network: recorded.network.clone(),
            ifname: recorded.ifname.clone(),
            wanted: wanted.and_then(|element| element.default_route.clone()),
            result,
        })
    }

    /// Copies the device plugin's description of the device, for the network's plugins.
    fn prepare_device_info(&self, planned: &Planned) -> Result<(), Error> {
        let (Some(device), Some(file)) = (&planned.device, &planned.recorded.device_info) else {
            return Ok(());
        };
        let paths = self.call.sandbox.paths();
        info::prepare(paths, file, &device.resource, &device.id)
            .map(drop)
            .map_err(|e| e.with_prefix(format_args!("network `{}`", planned.recorded.network)))
    }

    fn remove_device_info(&self, planned: &Planned) {
        if let Some(file) = &planned.recorded.device_info {
            let removed = info::remove(self.call.sandbox.paths(), file);
            self.call.warn("device information is not removed", removed);
        }
    }

    /// Moves the default routes, and caches the changed results for CHECK and DEL.
    fn settle_default_routes(&self, attached: &mut [Attached]) -> Result<(), Error> {
        let sandbox = self.call.sandbox;
        if !default_route::settle(sandbox, self.attachment, attached)? {
            return Ok(());
        }
        for (planned, attached) in self.plan.iter().zip(attached) {
            let recorded = &planned.recorded;
            let network = self.call.network(recorded)?;
            network.remember(&recorded.attachment(self.attachment), &attached.result)?;
        }
        Ok(())
    }
}

/// Checks that the plugins assigned what the pod requested (sections 4.1.2.1.3.2 and 4.1.2.1.4.2).
fn verify(planned: &Planned, attached: &Attached) -> Result<(), Error> {
    let Some(element) = &planned.element else {
        return Ok(());
    };
    let (ips, mac) = (&element.ips, element.mac.as_ref());
    verify::assigned(&attached.result, &attached.ifname, ips, mac)
        .map_err(|e| e.with_prefix(format_args!("network `{}`", attached.network)))
}

/// Keeps in the record of a pod that is not attached what could not be torn down, and the plugins of the failed network
/// that must be deleted once more. Returns why it is not attached.
fn keep_left(mut held: LockedRecord, rolled_back: RolledBack) -> Error {
    let RolledBack { error, left, .. } = rolled_back;
    held.record.attachments = left_of(&held.record.attachments, &left);
    match held.keep() {
        Ok(()) => error,
        Err(left) => with_left(error, &[left]),
    }
}

/// Publishes the pod's status and events. The standard does not require it (section 5), so a failure is only logged.
fn publish(
    call: &DelegatingCall<'_>,
    cluster: &Kubernetes,
    pod: &PodName,
    plan: &Plan,
    attached: &[Attached],
) {
    let statuses = plan.attachments.iter().zip(attached);
    let statuses: Vec<Status> = statuses
        .map(|(planned, attached)| status_of(call, planned, attached))
        .collect();
    let text = status::annotation(&statuses);
    let written = cluster.annotate(pod, NETWORK_STATUS, Some(&text));
    let mut events = plan.events.clone();
    let added = statuses.iter().zip(attached);
    events.extend(added.map(|(status, attached)| added_event(status, attached)));
    if let Err(error) = &written {
        let message = format!("annotation {NETWORK_STATUS}: {error}");
        events.push(Event::warning("NetworkStatusNotWritten", message));
    }
    call.warn("the status of the pod's networks is not written", written);
    let kubeconfig = call.configuration.kubeconfig.as_deref();
    let reported = report::later(report::OWN_PROGRAM.as_ref(), kubeconfig, pod, &events);
    let reported = reported.map_err(|e| Error::io_failure(e.to_string()));
    call.warn("the pod's events are not reported", reported);
}

fn status_of(call: &DelegatingCall<'_>, planned: &Planned, attached: &Attached) -> Status {
    let device_info = device_info(call, planned);
    status::of(attached, planned.recorded.is_default, device_info)
}

/// The description of the attachment's device.
fn device_info(call: &DelegatingCall<'_>, planned: &Planned) -> Option<Value> {
    let file = planned.recorded.device_info.as_ref()?;
    let info = info::read(call.sandbox.paths(), file);
    info.unwrap_or_else(|error| {
        call.warn("device-info is left out of the status", Err(error));
        None
    })
}

/// `Add net1 [10.1.1.7] from default/net-b`, as Multus words it.
fn added_event(status: &Status, attached: &Attached) -> Event {
    Event {
        kind: EventKind::Normal,
        reason: "AddedInterface".to_owned(),
        message: format!(
            "Add {} [{}] from {}",
            attached.ifname,
            status.ips.join(" "),
            status.name
        ),
    }
}
