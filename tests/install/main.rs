//! `weir install --kubernetes` and `weir uninstall`, in a root directory for each test.

mod crash;
mod listed;
mod listed_versions;
mod machine;
mod multus;
mod once;
mod options;
mod settings;
mod uninstall;
mod unprivileged;
mod watch;
