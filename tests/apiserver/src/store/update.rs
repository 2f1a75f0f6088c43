//! What an update of an object may say, and what it leaves.

use serde_json::Value;

use crate::route::Route;
use crate::status::Status;

/// What an update comes from, which decides what a wrong uid is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// The whole object: its uid is a precondition.
    Put,
    /// A part of it: its uid is a field, which cannot change.
    Patch,
}

/// A request for the status leaves the specification, and one for the object leaves its status.
pub fn keep_the_other_part(route: &Route, present: &Value, new: &mut Value) {
    let has_status = route.resource.subresources.contains(&"status");
    let part = match (has_status, route.subresource) {
        (false, _) => return,
        (true, Some(_)) => "spec",
        (true, None) => "status",
    };
    match present.get(part) {
        Some(kept) => new[part] = kept.clone(),
        None => {
            if let Some(new) = new.as_object_mut() {
                new.remove(part);
            }
        }
    }
}

/// What an update says of the object that it is meant for must be right, and what it does not say is as
/// it was.
pub fn check_identity(
    route: &Route,
    present: &Value,
    new: &mut Value,
    by: Update,
) -> Result<(), Status> {
    const MODIFIED: &str = "the object has been modified; please apply your changes to the latest version and try again";
    let about = route.about();
    if !new["metadata"].is_object() {
        return Err(Status::bad_request("the object has no metadata"));
    }
    for field in ["name", "namespace"] {
        let (was, is) = (&present["metadata"][field], &new["metadata"][field]);
        if !is.is_null() && is != was {
            let message = format!(
                "the {field} of the object ({is}) does not match the one on the URL ({was})"
            );
            return Err(Status::bad_request(message));
        }
    }
    let (was, is) = (&present["metadata"]["uid"], &new["metadata"]["uid"]);
    match by {
        _ if is.is_null() || is == was => {}
        Update::Put => {
            let why = format!(
                "Precondition failed: UID in precondition: {is}, UID in object meta: {was}"
            );
            return Err(Status::conflict(&about, &why));
        }
        Update::Patch => {
            let wrong = format!("Invalid value: {is}: field is immutable");
            let kind = route.resource.kind;
            return Err(Status::invalid(&about, kind, "metadata.uid", &wrong));
        }
    }
    let (was, is) = (
        &present["metadata"]["resourceVersion"],
        &new["metadata"]["resourceVersion"],
    );
    if is.is_null() && !route.resource.group.is_empty() {
        let wrong = "Invalid value: 0: must be specified for an update";
        let kind = route.resource.kind;
        return Err(Status::invalid(
            &about,
            kind,
            "metadata.resourceVersion",
            wrong,
        ));
    }
    if !is.is_null() && is != was {
        return Err(Status::conflict(&about, MODIFIED));
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if let Some(value) = present["metadata"].get(field) {
            new["metadata"][field] = value.clone();
        }
    }
    new["apiVersion"] = present["apiVersion"].clone();
    new["kind"] = present["kind"].clone();
    Ok(())
}
