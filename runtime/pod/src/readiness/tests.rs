//! Waiting, against the kernel's inotify. A change is made when the wait is about to sleep, never after a
//! time.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;
use std::{fs, io};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use tempfile::TempDir;

use super::*;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// A directory of a test's own.
struct Directory(TempDir);

impl Directory {
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

    /// Makes a directory in the place of what `remove` removes.
    fn put_directory(&self, name: &str, remove: fn(PathBuf) -> io::Result<()>) {
        remove(self.path(name)).expect("it is removed");
        self.make(name);
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).expect("it is renamed");
    }

    /// What makes a directory, if the path ends with a slash, or a file.
    fn appearing(&self, path: &'static str) -> impl Fn() {
        move || match path.strip_suffix('/') {
            Some(directory) => self.make(directory),
            None => self.write(path),
        }
    }

    /// Writes a file under one name, and gives it another.
    fn move_in(&self, from: &str, to: &str) {
        self.write(from);
        self.rename(from, to);
    }

    fn link(&self, name: &str, target: &str) {
        symlink(target, self.path(name)).expect("it is linked");
    }
}

/// Waits in a thread, and makes each of the changes when the wait has looked again and found nothing. Returns how
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
    let directory = Directory::new();
    directory.write("ready");
    directory.link("link", "ready");
    for name in ["ready", "link", "."] {
        let looked = waiting(&directory.path(name), &[]).expect(name);
        assert_eq!(looked, 0, "{name}");
    }
    wait(&directory.path("ready"), Duration::ZERO).expect("no time is needed");
}

#[test]
fn npwg_6_1_2_attaching_waits_until_the_default_network_is_ready() {
    let directory = Directory::new();
    let looked = waiting(&directory.path("ready"), &[&|| directory.write("ready")]);
    assert!(looked.expect("it is there") > 0);
}

#[test]
fn directories_appear_one_by_one() {
    let directory = Directory::new();
    let [a, b, ready] = ["a/", "a/b/", "a/b/ready"].map(|path| directory.appearing(path));
    waiting(&directory.path("a/b/ready"), &[&a, &b, &ready]).expect("it is there");
}

#[test]
fn directories_appear_at_once() {
    let directory = Directory::new();
    let make = || {
        directory.make("new");
        directory.make("new/b");
        directory.write("new/b/ready");
        directory.rename("new", "a");
    };
    waiting(&directory.path("a/b/ready"), &[&make]).expect("it is there");
    // And while they are looked at.
    let make = || {
        fs::create_dir_all(directory.path("c/d/e")).expect("they are made");
        directory.write("c/d/e/ready");
    };
    waiting(&directory.path("c/d/e/ready"), &[&make]).expect("it is there");
}

#[test]
fn a_file_may_be_moved_into_place() {
    let directory = Directory::new();
    let put = || directory.move_in(".ready.tmp", "ready");
    waiting(&directory.path("ready"), &[&put]).expect("it is there");
}

#[test]
fn a_directory_may_be_made_anew() {
    let directory = Directory::new();
    directory.make("a");
    let anew = || directory.put_directory("a", fs::remove_dir);
    let moved = || {
        directory.rename("a", "old");
        directory.write("old/ready");
        directory.make("a");
    };
    let changes: [&dyn Fn(); 3] = [&anew, &moved, &|| directory.write("a/ready")];
    waiting(&directory.path("a/ready"), &changes).expect("it is there");
}

#[test]
fn a_directory_above_may_be_another_one() {
    let directory = Directory::new();
    fs::create_dir_all(directory.path("a/b/c")).expect("they are made");
    let another = || {
        fs::create_dir_all(directory.path("new/b/c")).expect("they are made");
        directory.write("new/b/c/ready");
        directory.rename("a", "old");
        directory.rename("new", "a");
    };
    waiting(&directory.path("a/b/c/ready"), &[&another]).expect("it is there");
}

#[test]
fn a_file_in_the_place_of_a_directory_may_go() {
    let directory = Directory::new();
    directory.write("a");
    let replace = || directory.put_directory("a", fs::remove_file);
    let changes: [&dyn Fn(); 2] = [&replace, &|| directory.write("a/ready")];
    waiting(&directory.path("a/ready"), &changes).expect("it is there");
}

#[test]
fn a_link_may_lead_to_what_comes_later() {
    let directory = Directory::new();
    directory.link("ready", "a/../b/target");
    let [a, b, target] = ["a/", "b/", "b/target"].map(|path| directory.appearing(path));
    waiting(&directory.path("ready"), &[&a, &b, &target]).expect("it is there");
}

#[test]
fn a_link_to_a_directory_may_be_replaced() {
    let directory = Directory::new();
    directory.link("current", "v1");
    directory.make("v2");
    directory.write("v2/ready");
    let replace = || {
        directory.link("new", "v2");
        directory.rename("new", "current");
    };
    let changes: [&dyn Fn(); 2] = [&|| directory.make("v1"), &replace];
    waiting(&directory.path("current/ready"), &changes).expect("it is there");
}

#[test]
fn a_link_to_itself_may_be_replaced() {
    let directory = Directory::new();
    directory.link("ready", "ready");
    let replace = || directory.move_in("new", "ready");
    waiting(&directory.path("ready"), &[&replace]).expect("it is there");
}

#[test]
fn what_is_beside_the_way_is_not_looked_at() {
    let directory = Directory::new();
    let noise_and_file = || {
        for number in 0..500 {
            directory.write(&format!("noise-{number}"));
        }
        directory.write("ready");
    };
    let looked = waiting(&directory.path("ready"), &[&noise_and_file]);
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
    let directory = Directory::new();
    let file = directory.path("a/ready");
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
    let end = format!("exists up to `{}`", directory.0.path().display());
    assert!(error.details.contains(&end), "{error:?}");
}

#[test]
fn a_path_that_does_not_begin_at_the_root_is_refused() {
    let error = wait(Path::new("no/such/file"), LONG).expect_err("from where?");
    assert_eq!(error.code, codes::NOT_READY);
    assert!(error.msg.contains("not an absolute path"), "{error:?}");
}
