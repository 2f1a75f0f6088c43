//! CHECK of a pod: every attachment, as it is recorded.

use weir_cni::Error;
use weir_network::Attachment;

use super::delegating_call::DelegatingCall;

/// Errors: code 3 for an unknown attachment; the first failing plugin's, naming the network.
pub(crate) fn check(call: &DelegatingCall<'_>, attachment: &Attachment) -> Result<(), Error> {
    let held = call.records.take(attachment)?.ok_or_else(|| {
        Error::unknown_container(&attachment.container_id).with_details(format!(
            "interface `{}` was not attached to network `{}` by weir",
            attachment.ifname, call.configuration.name
        ))
    })?;
    for recorded in &held.record.attachments {
        let network = call.network(recorded)?;
        network.check(&recorded.attachment(attachment))?;
    }
    Ok(())
}
