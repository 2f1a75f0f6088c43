//! Who runs weir, for the records of what people do: plugins that are added and removed, and changed grants.

use std::{env, fs};

use nix::unistd::getuid;
use serde::Serialize;
use serde_with::skip_serializing_none;

/// Where the kernel says who logged in.
const LOGIN_UID: &str = "/proc/self/loginuid";

/// Nobody logged in: the kernel's `(uid_t) -1`.
const UNSET: u32 = u32::MAX;

/// The user of a process, by numbers.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    /// The process's real user.
    pub uid: u32,
    /// Who logged in. The kernel keeps it across `su` and `sudo`. None for a service, and for a kernel without audit.
    pub login_uid: Option<u32>,
    /// `SUDO_UID`, which is only what the environment says.
    pub sudo_uid: Option<u32>,
}

impl User {
    /// Returns the user of this process.
    pub fn of_process() -> Self {
        Self {
            uid: getuid().as_raw(),
            login_uid: fs::read_to_string(LOGIN_UID).ok().as_deref().and_then(id),
            sudo_uid: env::var("SUDO_UID").ok().as_deref().and_then(id),
        }
    }
}

/// A user's number; none for text that is not one, and for that of nobody.
fn id(text: &str) -> Option<u32> {
    let id = text.trim_end().parse().ok();
    id.filter(|id| *id != UNSET)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_that_stands_for_nobody_is_left_out() {
        for (text, expected) in [
            ("1000", Some(1000)),
            ("0\n", Some(0)),
            ("4294967295", None),
            ("-1", None),
            ("root", None),
            ("", None),
        ] {
            assert_eq!(id(text), expected, "{text:?}");
        }
        let service = User {
            uid: 0,
            login_uid: None,
            sudo_uid: None,
        };
        assert_eq!(json!(service), json!({ "uid": 0 }));
    }

    #[test]
    fn the_user_is_the_processes() {
        let user = User::of_process();
        assert_eq!(user.uid, getuid().as_raw());
        assert_ne!(user.login_uid, Some(UNSET));
    }
}
