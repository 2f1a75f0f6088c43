//! Several networks of one container, one attachment at a time.

use weir_cni::{AddResult, Error};

use super::attachment::Attachment;
use super::failures::with_left;
use super::list::{AddFailed, Network};

/// A network, and the interface that it has in the container.
pub struct Member {
    pub network: Network,
    pub ifname: String,
}

/// An ADD that failed.
pub struct Failed {
    /// The failing network's error. What could not be taken back is in its details.
    pub error: Error,
    /// The networks of which something is left for the next DEL.
    pub left: Vec<Left>,
}

/// What is left of a network.
pub struct Left {
    /// Its place among the networks.
    pub place: usize,
    /// How many of its plugins, from the first one on, are to be deleted once more.
    pub plugins: usize,
}

/// ADD of each in order. When one fails, those before it are deleted again, the last first, and none after
/// it is tried.
pub(crate) fn add(members: &[Member], attachment: &Attachment) -> Result<Vec<AddResult>, Failed> {
    let mut results = Vec::new();
    for (done, member) in members.iter().enumerate() {
        match member.network.add(&member.attachment(attachment)) {
            Ok(result) => results.push(result),
            Err(failed) => return Err(take_back(members, done, attachment, failed)),
        }
    }
    Ok(results)
}

/// DEL of each, the last first, past failures: they are returned with the places of their networks.
pub(crate) fn del(members: &[Member], attachment: &Attachment) -> Vec<(usize, Error)> {
    let last_first = members.iter().enumerate().rev();
    last_first
        .filter_map(|(place, member)| {
            let deleted = member.network.del(&member.attachment(attachment));
            Some((place, deleted.err()?))
        })
        .collect()
}

/// CHECK of each in order. Errors: the first failing network's.
pub(crate) fn check(members: &[Member], attachment: &Attachment) -> Result<(), Error> {
    members
        .iter()
        .try_for_each(|member| member.network.check(&member.attachment(attachment)))
}

/// Deletes the networks before the one that failed.
fn take_back(
    members: &[Member],
    done: usize,
    attachment: &Attachment,
    AddFailed { error, owed }: AddFailed,
) -> Failed {
    let failures = del(&members[..done], attachment);
    let (places, errors): (Vec<usize>, Vec<Error>) = failures.into_iter().unzip();
    let of_failing = (owed > 0).then_some(Left {
        place: done,
        plugins: owed,
    });
    let whole = |place: usize| Left {
        place,
        plugins: members[place].network.list().plugins.len(),
    };
    Failed {
        error: with_left(error, &errors),
        left: places.into_iter().map(whole).chain(of_failing).collect(),
    }
}

impl Member {
    fn attachment(&self, container: &Attachment) -> Attachment {
        container.with_ifname(self.ifname.as_str())
    }
}
