//! What people ask of a grant and no decision needs: what it says in words, how wide it is, how two differ, and the
//! smallest one that covers what was recorded.
//!
//! | file | subject |
//! |---|---|
//! | `outline` | a rule as its fields, whatever its capability; the other four work on these |
//! | `words` | a grant in words |
//! | `width` | what is wider than it looks, and what is never effective |
//! | `compare` | what one grant allows and another does not |
//! | `suggest` | the smallest grant that covers what was recorded |

pub mod compare;
pub mod outline;
pub mod suggest;
pub mod width;
pub mod words;
