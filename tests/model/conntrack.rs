//! Capability `conntrack`: what is to be deleted is recorded.

use weir_gate::Permit;
use weir_grant::conntrack::Delete;
use weir_kernel::{Answer, Result, checks};

use super::kernel::Model;

impl Answer<Delete> for Model {
    fn answer(&mut self, permit: &Permit<Delete>) -> Result<()> {
        let delete = permit.operation();
        checks::filter(&delete.filter)?;
        self.change(|machine| {
            machine.state.of(delete.namespace)?;
            machine.state.forgotten.push(delete.clone());
            Ok(())
        })
    }
}
