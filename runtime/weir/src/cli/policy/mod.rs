//! Analyses grants for people: describes, checks, compares and suggests them.
//!
//! All of it works on the fields of rules (`weir_grant::rule`), whatever the capability.
//!
//! | file | subject |
//! |---|---|
//! | `describe` | a grant in words |
//! | `lint` | rules that are wider than they look, and those that no operation can match |
//! | `compare` | what one grant allows and another does not |
//! | `least` | the least rules that would allow a denied operation |
//! | `points` | whether two grants differ for certain, in a single object |
//! | `reads` | the reads that a component needs, beside its grant and its imports |
//! | `reach` | whether a rule reaches the host |
//! | `suggest` | the smallest grant that covers what was recorded |

pub mod compare;
pub mod describe;
pub mod least;
pub mod lint;
mod points;
pub mod reach;
pub mod reads;
pub mod suggest;
#[cfg(test)]
mod tests;
