//! Waiting, against the kernel's inotify. A change is made when the wait is about to sleep, never after a
//! time.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use tempfile::TempDir;

use super::*;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// A directory of a test's own.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().expect("it is made"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str) {
        fs::write(self.path(name), "").expect("it is written");
    }

    fn make(&self, name: &str) {
        fs::create_dir(self.path(name)).expect("it is made");
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).expect("it is renamed");
    }

    fn link(&self, name: &str, target: &str) {
        symlink(target, self.path(name)).expect("it is linked");
    }
}

/// Waits in a thread, and makes each of the changes when the wait has looked in vain again. Returns how
/// often it has.
fn waiting(file: &Path, changes: &[&dyn Fn()]) -> Result<u32, Error> {
    thread::scope(|scope| {
        let (asleep, is_asleep) = channel();
        let wait = scope.spawn(move || {
            let mut looked = 0;
            let mut in_vain = || {
                looked += 1;
                let _ = asleep.send(());
            };
            let outcome = Waiting::new(file, LONG, &mut in_vain).until_there();
            outcome.map(|()| looked)
        });
        for (number, change) in changes.iter().enumerate() {
            if is_asleep.recv().is_err() {
                panic!("the wait ended before change {number}");
            }
            change();
        }
        wait.join().expect("the wait does not panic")
    })
}

#[test]
fn a_file_that_is_there_is_not_waited_for() {
    let place = Place::new();
    place.write("ready");
    place.link("link", "ready");
    for name in ["ready", "link", "."] {
        let looked = waiting(&place.path(name), &[]).expect(name);
        assert_eq!(looked, 0, "{name}");
    }
    wait(&place.path("ready"), Duration::ZERO).expect("no time is needed");
}

#[test]
fn npwg_6_1_2_attaching_waits_until_the_default_network_is_ready() {
    let place = Place::new();
    let looked = waiting(&place.path("ready"), &[&|| place.write("ready")]);
    assert!(looked.expect("it is there") > 0);
}

#[test]
fn directories_appear_one_by_one() {
    let place = Place::new();
    let changes: [&dyn Fn(); 3] = [&|| place.make("a"), &|| place.make("a/b"), &|| {
        place.write("a/b/ready")
    }];
    waiting(&place.path("a/b/ready"), &changes).expect("it is there");
}

#[test]
fn directories_appear_at_once() {
    let place = Place::new();
    let make = || {
        place.make("new");
        place.make("new/b");
        place.write("new/b/ready");
        place.rename("new", "a");
    };
    waiting(&place.path("a/b/ready"), &[&make]).expect("it is there");
    // And while they are looked at.
    let make = || {
        fs::create_dir_all(place.path("c/d/e")).expect("they are made");
        place.write("c/d/e/ready");
    };
    waiting(&place.path("c/d/e/ready"), &[&make]).expect("it is there");
}

#[test]
fn a_file_may_be_moved_into_place() {
    let place = Place::new();
    let put = || {
        place.write(".ready.tmp");
        place.rename(".ready.tmp", "ready");
    };
    waiting(&place.path("ready"), &[&put]).expect("it is there");
}

#[test]
fn a_directory_may_be_made_anew() {
    let place = Place::new();
    place.make("a");
    let anew = || {
        fs::remove_dir(place.path("a")).expect("it is removed");
        place.make("a");
    };
    let moved = || {
        place.rename("a", "old");
        place.write("old/ready");
        place.make("a");
    };
    let changes: [&dyn Fn(); 3] = [&anew, &moved, &|| place.write("a/ready")];
    waiting(&place.path("a/ready"), &changes).expect("it is there");
}

#[test]
fn a_directory_above_may_be_another_one() {
    let place = Place::new();
    fs::create_dir_all(place.path("a/b/c")).expect("they are made");
    let another = || {
        fs::create_dir_all(place.path("new/b/c")).expect("they are made");
        place.write("new/b/c/ready");
        place.rename("a", "old");
        place.rename("new", "a");
    };
    waiting(&place.path("a/b/c/ready"), &[&another]).expect("it is there");
}

#[test]
fn a_file_in_the_place_of_a_directory_may_go() {
    let place = Place::new();
    place.write("a");
    let replace = || {
        fs::remove_file(place.path("a")).expect("it is removed");
        place.make("a");
    };
    let changes: [&dyn Fn(); 2] = [&replace, &|| place.write("a/ready")];
    waiting(&place.path("a/ready"), &changes).expect("it is there");
}

#[test]
fn a_link_may_lead_to_what_comes_later() {
    let place = Place::new();
    place.link("ready", "a/../b/target");
    let changes: [&dyn Fn(); 3] = [&|| place.make("a"), &|| place.make("b"), &|| {
        place.write("b/target")
    }];
    waiting(&place.path("ready"), &changes).expect("it is there");
}

#[test]
fn a_link_to_a_directory_may_be_replaced() {
    let place = Place::new();
    place.link("current", "v1");
    place.make("v2");
    place.write("v2/ready");
    let replace = || {
        place.link("new", "v2");
        place.rename("new", "current");
    };
    let changes: [&dyn Fn(); 2] = [&|| place.make("v1"), &replace];
    waiting(&place.path("current/ready"), &changes).expect("it is there");
}

#[test]
fn a_link_to_itself_may_be_replaced() {
    let place = Place::new();
    place.link("ready", "ready");
    let replace = || {
        place.write("new");
        place.rename("new", "ready");
    };
    waiting(&place.path("ready"), &[&replace]).expect("it is there");
}

#[test]
fn what_is_beside_the_way_is_not_looked_at() {
    let place = Place::new();
    let noise_and_file = || {
        for number in 0..500 {
            place.write(&format!("noise-{number}"));
        }
        place.write("ready");
    };
    let looked = waiting(&place.path("ready"), &[&noise_and_file]);
    // Others may make something of the name of a directory on the way, but not each time.
    let looked = looked.expect("it is there");
    assert!((1..10).contains(&looked), "{looked}");
}

/// The time for which a processor has worked for this thread.
fn worked() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("the kernel knows");
    let worked = usage.user_time() + usage.system_time();
    Duration::from_micros(worked.num_microseconds().try_into().expect("not negative"))
}

#[test]
fn the_wait_has_an_end_and_sleeps_until_then() {
    let place = Place::new();
    let file = place.path("a/ready");
    let bound = Duration::from_millis(500);
    let (start, worked_before) = (Instant::now(), worked());
    let error = wait(&file, bound).expect_err("nobody makes it");
    let (waited, worked) = (start.elapsed(), worked() - worked_before);
    assert!(waited >= bound, "{waited:?}");
    assert!(worked < bound / 5, "{worked:?} of {waited:?}");
    assert_eq!(error.code, codes::NOT_READY);
    let shown = file.display().to_string();
    assert!(error.msg.contains(&shown), "{error:?}");
    assert!(error.msg.contains("does not exist after "), "{error:?}");
    let end = format!("exists up to `{}`", place.0.path().display());
    assert!(error.details.contains(&end), "{error:?}");
}

#[test]
fn a_path_that_does_not_begin_at_the_root_is_refused() {
    let error = wait(Path::new("no/such/file"), LONG).expect_err("from where?");
    assert_eq!(error.code, codes::NOT_READY);
    assert!(error.msg.contains("not an absolute path"), "{error:?}");
}
