//! What people ask of a grant and no decision needs: what it says in words, whether it says too much or nothing, how
//! two differ, and the smallest one that covers what was recorded.
//!
//! All of it works on rules as their fields (`weir_grant::rule_fields`), whatever the capability.
//!
//! | file | subject |
//! |---|---|
//! | `describe` | a grant in words |
//! | `lint` | rules that are wider than they look, and those that no operation can match |
//! | `compare` | what one grant allows and another does not |
//! | `suggest` | the smallest grant that covers what was recorded |

pub mod compare;
pub mod describe;
pub mod lint;
pub mod suggest;
#[cfg(test)]
mod tests;
