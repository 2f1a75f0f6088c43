//! Capability `conntrack`: what is to be deleted is recorded.

use weir_gate::Permit;
use weir_grant::address::Family;
use weir_grant::conntrack::{Delete, Filter};
use weir_kernel::{Changes, Error, Perform, Result};

use super::kernel::Model;

impl Perform<Delete> for Model {
    fn perform(&mut self, permit: &Permit<Delete>, _: &mut Changes<'_>) -> Result<()> {
        let delete = permit.operation();
        check(&delete.filter)?;
        self.change(|machine| {
            machine.state.of(delete.namespace)?;
            machine.state.forgotten.push(delete.clone());
            Ok(())
        })
    }
}

fn check(filter: &Filter) -> Result<()> {
    let mut given = filter.destination.iter().chain(&filter.reply_source);
    if filter.port.is_none() && given.clone().next().is_none() {
        return Err(Error::invalid("the filter has nothing but a protocol"));
    }
    match given.find(|address| Family::of(address) != filter.family) {
        Some(other) => Err(Error::invalid(format!("{other} is of another family"))),
        None => Ok(()),
    }
}
