//! weir: a CNI runtime in which every network plugin is a sandboxed WebAssembly component.
//!
//! The house has floors, ground first, and a floor imports only from floors below it:
//!
//! | floor | module | what it is about |
//! |---|---|---|
//! | 0 | `weir_cni` | CNI types, conversions, validation |
//! | 0 | `weir_files` | where files are on a node, whose they are, and how one is replaced |
//! | 1 | `weir_grant` | the policy document, operations and their matching |
//! | 2 | `weir_gate` | authorises an operation, records it, hands out the permit |
//! | 3 | `weir_kernel` | netlink, namespaces, nftables, sysctl, state files |
//! | 4 | `weir_host` | contract call → operation → gate → kernel |
//! | 5 | `weir_sandbox` | one invocation of one plugin |
//! | 6 | `weir_network` | a network configuration list carried out |
//! | 7 | `weir_pod` | the networks of a pod: selection, plan, state, status |
//! | 8 | [`cli`] | people, and the CNI protocol |

pub mod cli;
