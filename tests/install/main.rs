//! `weir install --kubernetes` and `weir uninstall`, on a node's root directory of a test's own.

mod crash;
mod machine;
mod multus;
mod once;
mod options;
mod uninstall;
mod unprivileged;
mod watch;
