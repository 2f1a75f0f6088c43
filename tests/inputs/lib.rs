//! What weir parses of others, each as a function of bytes that asserts what holds for all of them: `fuzz/README.md` has the
//! table. libFuzzer calls them (`make fuzz`), and the tests with the seeds in `fuzz/seeds` and with what is near them.

pub mod artifact;
pub mod cni_documents;
pub mod grant_decision;
pub mod grant_document;
pub mod netfilter_replies;
pub mod plugin_configuration;
pub mod route_replies;
pub mod signature;

mod permission;
mod replies;

#[cfg(test)]
mod tests;
