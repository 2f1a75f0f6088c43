//! The values that the placeholders of a grant have in one invocation.

/// This invocation's values for the placeholders of a grant: `{ifname}`, `{network}`,
/// `{containerid}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    pub container_id: String,
    pub ifname: String,
    pub network: String,
}
