//! What is taken back, or let stand, under a condition.

use std::time::Instant;

use weir_gate::Permit;
use weir_grant::link::Delete;
use weir_grant::sysctl::Write;

use super::error::{Error, Result};
use super::link;
use super::linux::Linux;
use super::perform::Kernel;
use super::without_permit::SharedLock;

impl Kernel for Linux {
    fn delete_links(&mut self, permits: &[Permit<Delete>]) -> Result<()> {
        self.links.forget_all();
        link::delete_all(&mut self.namespaces, permits)
    }

    fn set_back(&mut self, permit: &Permit<Write>, changed: &str) -> Result<()> {
        let unnoted = || Error::failed("only an ADD notes what it changes of the host");
        let notes = self.notes().ok_or_else(unnoted)?;
        notes.set_back(&mut self.namespaces, permit, changed)
    }

    fn keep_parameter(&mut self, write: &Write) -> Result<()> {
        self.notes().map_or(Ok(()), |notes| notes.keep(write))
    }

    fn is_alone(&mut self) -> Result<bool> {
        let alone = self.lock.as_mut().map(SharedLock::try_exclusive);
        Ok(alone.transpose()? == Some(true))
    }

    fn wait_until(&mut self, deadline: Instant) {
        self.deadline = self.deadline.max(deadline);
        self.firewalld.wait_until(self.deadline);
    }
}
