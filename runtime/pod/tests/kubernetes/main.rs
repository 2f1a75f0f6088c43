//! weir and the Kubernetes API server: which requests it makes, what it does with each answer, and how long that takes.
//!
//! The API server is the stand-in; or a real one, for the tests in `common`, where `make test-cluster`
//! is run. Those in `stand_in` need faults, or have to see the requests.

mod common;
mod stand_in;
mod support;
