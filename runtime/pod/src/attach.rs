//! ADD of a pod: the cluster-wide default network first, then the others, one after another (sections 6.2 and
//! 7.3). When one fails, those after it are not tried, and those before it are torn down (section 7.2).

use std::time::Duration;

use serde_json::Value;
use weir_cni::{AddResult, Error};
use weir_network::{
    AddFailed, Attachment, LockedRecord, Record, RolledBack, Source, in_order, left_of, with_left,
};

use super::cluster::{Cluster, Event, EventKind, Pod, PodName};
use super::default_route::{self, Made};
use super::delegating_call::DelegatingCall;
use super::devices::info;
use super::kubernetes::Kubernetes;
use super::plan::{Plan, PlanContext, Planned};
use super::status::{self, About, NETWORK_STATUS, Status};
use super::{codes, detach, readiness, report, verify};

/// How long a pod waits for the default network: less than a runtime waits for a plugin.
const LONGEST_WAIT: Duration = Duration::from_secs(45);

/// Attaches a pod. Returns the default network's result.
///
/// Errors: see [`run`](super::run). Nothing stays attached behind one. Where something could not be torn down, or a
/// native plugin failed, the record stays for the DEL that the runtime owes.
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
    let attachments = plan.attachments.iter().map(Planned::recorded).collect();
    let record = Record::of_pod(network, attachment, name.clone(), attachments);
    let held = call.records.create(record)?;
    let made = match Attaching::new(call, attachment, &plan.attachments).all() {
        Ok(made) => made,
        Err(rolled_back) => return Err(keep_left(held, rolled_back)),
    };
    if let (Some((cluster, _)), Some(name)) = (&cluster, &name) {
        publish(call, cluster, name, &plan, &made);
    }
    let first = made.into_iter().next();
    first
        .map(|made| made.result)
        .ok_or_else(|| Error::internal("there is no network"))
}

fn existing(cluster: &Kubernetes, name: &PodName) -> Result<Pod, Error> {
    cluster.pod(name)?.ok_or_else(|| {
        let PodName {
            namespace, name, ..
        } = name;
        Error::new(
            codes::CLUSTER,
            format!("pod `{namespace}/{name}`: it is gone, or another one has its name by now"),
        )
    })
}

fn name_of(pod: &Pod) -> PodName {
    PodName {
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        uid: Some(pod.uid.clone()),
    }
}

/// The networks of a plan being made.
struct Attaching<'a> {
    call: &'a DelegatingCall<'a>,
    attachment: &'a Attachment,
    plan: &'a [Planned],
}

impl<'a> Attaching<'a> {
    fn new(call: &'a DelegatingCall<'a>, attachment: &'a Attachment, plan: &'a [Planned]) -> Self {
        Self {
            call,
            attachment,
            plan,
        }
    }

    fn all(self) -> Result<Vec<Made>, RolledBack> {
        let mut made = in_order::attach(
            self.plan,
            |planned, _| self.verified(planned),
            |planned, _| self.detach(planned),
        )?;
        match self.settle_default_routes(&mut made) {
            Ok(()) => Ok(made),
            Err(error) => Err(in_order::roll_back(self.plan, error.into(), |planned| {
                self.detach(planned)
            })),
        }
    }

    /// Attaches one, and detaches it again where it has not what the pod asked for.
    fn verified(&self, planned: &Planned) -> Result<Made, AddFailed> {
        let made = self.one(planned)?;
        let Err(error) = verify(planned, &made) else {
            return Ok(made);
        };
        Err(match self.detach(planned) {
            Ok(()) => error.into(),
            Err(left) => AddFailed {
                error: with_left(error, &[left]),
                owed: planned.list.plugins.len(),
            },
        })
    }

    fn detach(&self, planned: &Planned) -> Result<(), Error> {
        detach::one(self.call, self.attachment, &planned.recorded())
    }

    fn one(&self, planned: &Planned) -> Result<Made, AddFailed> {
        let recorded = planned.recorded();
        let attachment = recorded.attachment(self.attachment);
        let network = self.call.network(&recorded)?;
        let network = network.from_source(Source {
            asked_by_pod: planned.asked(),
            ..recorded.source()
        });
        self.prepare_device_info(planned)?;
        let result = network
            .add(&attachment)
            .inspect_err(|_| self.remove_device_info(planned))?;
        let wanted = planned.element.as_ref();
        Ok(Made {
            network: planned.network.clone(),
            ifname: planned.ifname.clone(),
            wanted: wanted.and_then(|element| element.default_route.clone()),
            result,
        })
    }

    /// What the device plugin says of the attachment's device, for the network's plugins.
    fn prepare_device_info(&self, planned: &Planned) -> Result<(), Error> {
        let (Some(device), Some(file)) = (&planned.device, &planned.device_info) else {
            return Ok(());
        };
        let paths = self.call.sandbox.paths();
        info::prepare(paths, file, &device.resource, &device.id)
            .map(|_| ())
            .map_err(|e| e.with_prefix(format_args!("network `{}`", planned.network)))
    }

    fn remove_device_info(&self, planned: &Planned) {
        if let Some(file) = &planned.device_info {
            let removed = info::remove(self.call.sandbox.paths(), file);
            self.call.tell("device-info is not removed", removed);
        }
    }

    /// What CHECK and DEL will be told is what stands then.
    fn settle_default_routes(&self, made: &mut [Made]) -> Result<(), Error> {
        let sandbox = self.call.sandbox;
        if !default_route::settle(sandbox, self.attachment, made)? {
            return Ok(());
        }
        for (planned, made) in self.plan.iter().zip(made) {
            let recorded = planned.recorded();
            let network = self.call.network(&recorded)?;
            network.remember(&recorded.attachment(self.attachment), &made.result)?;
        }
        Ok(())
    }
}

/// What the pod asked for must have been assigned (sections 4.1.2.1.3.2 and 4.1.2.1.4.2).
fn verify(planned: &Planned, made: &Made) -> Result<(), Error> {
    let Some(element) = &planned.element else {
        return Ok(());
    };
    let (ips, mac) = (&element.ips, element.mac.as_ref());
    verify::assigned(&made.result, &planned.ifname, ips, mac)
        .map_err(|e| e.with_prefix(format_args!("network `{}`", planned.network)))
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

/// Tells the cluster what the pod's attachments came to. The standard lets an implementation publish it
/// (section 5): a pod that has its networks is not failed for want of an annotation.
fn publish(
    call: &DelegatingCall<'_>,
    cluster: &Kubernetes,
    pod: &PodName,
    plan: &Plan,
    made: &[Made],
) {
    let statuses = plan.attachments.iter().zip(made);
    let statuses: Vec<Status> = statuses
        .map(|(planned, made)| status_of(call, planned, made))
        .collect();
    let text = status::annotation(&statuses);
    let told = cluster.annotate(pod, NETWORK_STATUS, Some(&text));
    let mut events = plan.events.clone();
    events.extend(
        statuses
            .iter()
            .zip(made)
            .map(|(status, made)| added(status, made)),
    );
    if let Err(error) = &told {
        events.push(Event {
            kind: EventKind::Warning,
            reason: "NetworkStatusNotWritten".to_owned(),
            message: format!("annotation {NETWORK_STATUS}: {error}"),
        });
    }
    call.tell("the status of the pod's networks is not written", told);
    let kubeconfig = call.configuration.kubeconfig.as_deref();
    let reported = report::later(report::OWN_PROGRAM.as_ref(), kubeconfig, pod, &events);
    let reported = reported.map_err(|e| Error::io_failure(e.to_string()));
    call.tell("the pod's events are not told", reported);
}

fn status_of(call: &DelegatingCall<'_>, planned: &Planned, made: &Made) -> Status {
    status::of(
        &made.result,
        &About {
            name: planned.network.clone(),
            ifname: planned.ifname.clone(),
            is_default: planned.is_default,
            device_info: device_info(call, planned),
        },
    )
}

/// What the attachment's plugins, or its device's, tell of its device.
fn device_info(call: &DelegatingCall<'_>, planned: &Planned) -> Option<Value> {
    let file = planned.device_info.as_ref()?;
    let told = info::read(call.sandbox.paths(), file);
    told.unwrap_or_else(|error| {
        call.tell("device-info is left out of the status", Err(error));
        None
    })
}

/// `Add net1 [10.1.1.7] from default/net-b`, as Multus words it.
fn added(status: &Status, made: &Made) -> Event {
    Event {
        kind: EventKind::Normal,
        reason: "AddedInterface".to_owned(),
        message: format!(
            "Add {} [{}] from {}",
            made.ifname,
            status.ips.join(" "),
            status.name
        ),
    }
}
