//! CHECK of a pod: every attachment, as it is recorded.

use weir_cni::Error;
use weir_network::Attachment;

use super::execution::{Execution, own_attachment};

/// Errors: code 3 for an attachment that is not known; the first failing plugin's, naming the network.
pub(crate) fn check(execution: &Execution<'_>, attachment: &Attachment) -> Result<(), Error> {
    let held = execution.records.take(attachment)?.ok_or_else(|| {
        Error::unknown_container(&attachment.container_id).with_details(format!(
            "interface `{}` was not attached to network `{}` by weir",
            attachment.ifname, execution.configuration.name
        ))
    })?;
    for recorded in &held.record.attachments {
        let network = execution.network(recorded)?;
        network.check(&own_attachment(attachment, recorded))?;
    }
    Ok(())
}
