//! Downloads that break off, stall, lie about their size, or come from nowhere.

use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::*;

/// A server of honest content whose component comes as a test says, by the number of the request for it.
fn with_component(answer: impl Fn(usize, &Seen) -> Answer + Send + Sync + 'static) -> Server {
    let content = Content::honest();
    let component = digest(COMPONENT).to_string();
    let requests = AtomicUsize::new(0);
    Server::start(move |seen| {
        if seen.path.ends_with(&component) {
            answer(requests.fetch_add(1, Ordering::Relaxed), seen)
        } else {
            content.answer(seen)
        }
    })
}

/// The part of the component that a request asks for.
fn rest(seen: &Seen) -> Answer {
    let range = seen.header("range").expect("it is continued");
    let from = range.trim_start_matches("bytes=").trim_end_matches('-');
    let at: usize = from.parse().expect("a number");
    let range = format!("bytes {at}-{}/{}", COMPONENT.len() - 1, COMPONENT.len());
    Answer::status(206)
        .with_body(&COMPONENT[at..])
        .with("content-range", range)
}

#[test]
fn an_artifact_comes_as_it_was_made() {
    let content = Content::honest();
    let server = Server::start(move |seen| content.answer(seen));
    let pulled = registry(&server, options()).pull().expect("it is honest");
    assert_eq!(pulled.component, COMPONENT);
    assert_eq!(pulled.digest(), artifact().digest());
    let description = &pulled.description;
    assert_eq!(description.grant(), Some("kind: PluginGrant"));
    assert_eq!(description.annotations()["a.b"], "c");
    pulled.check_requests([Capability::Link]).expect("it does");
}

#[test]
fn what_it_requests_is_known_without_the_component() {
    let content = Content::honest();
    let server = Server::start(move |seen| content.answer(seen));
    let described = registry(&server, options()).describe().expect("honest");
    assert!(described.capabilities().contains(&Capability::Link));
    assert_eq!(server.paths().len(), 2, "{:?}", server.paths());
}

#[test]
fn a_download_that_breaks_off_is_continued() {
    let server = with_component(|request, seen| match request {
        0 => Answer::ok(COMPONENT).broken_off(7),
        1 => rest(seen).broken_off(5),
        _ => rest(seen),
    });
    let pulled = registry(&server, options()).pull().expect("in three parts");
    assert_eq!(pulled.component, COMPONENT);
    let ranges: Vec<Option<String>> = (server.seen().iter().skip(2))
        .map(|seen| seen.header("range").map(str::to_owned))
        .collect();
    let asked = |range: &str| Some(range.to_owned());
    assert_eq!(ranges, [None, asked("bytes=7-"), asked("bytes=12-")]);
}

#[test]
fn a_server_that_cannot_continue_begins_again() {
    let server = with_component(|request, _| match request {
        0 => Answer::ok(COMPONENT).broken_off(7),
        _ => Answer::ok(COMPONENT),
    });
    let pulled = registry(&server, options())
        .pull()
        .expect("the second time");
    assert_eq!(pulled.component, COMPONENT);
}

#[test]
fn a_continuation_from_elsewhere_is_refused() {
    let server = with_component(|request, _| match request {
        0 => Answer::ok(COMPONENT).broken_off(7),
        _ => Answer::status(206)
            .with_body(&COMPONENT[9..])
            .with("content-range", "bytes 9-47/48"),
    });
    assert_contains(
        &refused(&server),
        &["breaks the protocol", "another offset"],
    );
}

#[test]
fn a_download_that_always_breaks_off_ends() {
    let server = with_component(|request, seen| match request {
        0 => Answer::ok(COMPONENT).broken_off(7),
        _ => rest(seen).broken_off(1),
    });
    let error = refused(&server);
    assert_contains(&error, &["after 11 of 48 bytes", "5 times", "try again"]);
}

#[test]
fn a_failure_of_the_server_is_tried_again_and_one_of_the_request_is_not() {
    let server = with_component(|request, _| match request {
        0 => Answer::status(503),
        _ => Answer::ok(COMPONENT),
    });
    let pulled = registry(&server, options()).pull();
    assert_eq!(pulled.expect("the second time").component, COMPONENT);
    let server = with_component(|_, _| {
        let said = br#"{"errors":[{"code":"BLOB_UNKNOWN","message":"it was removed"}]}"#;
        Answer::status(404).with_body(said)
    });
    let error = refused(&server);
    assert_contains(&error, &["404", "BLOB_UNKNOWN: it was removed"]);
    assert_eq!(server.paths().len(), 3);
}

#[test]
fn another_component_is_refused() {
    let server = with_component(|_, _| Answer::ok(&COMPONENT.to_ascii_uppercase()));
    let error = refused(&server);
    assert_contains(
        &error,
        &["the component has digest", "instead of", "nothing of it"],
    );
}

#[test]
fn a_size_that_lies_is_refused() {
    let more = [COMPONENT, b"!"].concat();
    let server = with_component(move |_, _| Answer::ok(&more));
    assert_contains(&refused(&server), &["49 bytes instead of the 48"]);
    // Less, and the connection ends well each time.
    let server = with_component(|_, _| Answer::ok(&COMPONENT[..40]));
    assert_contains(&refused(&server), &["40 of 48 bytes"]);
}

#[test]
fn a_layer_of_a_gibibyte_is_refused_before_it_is_downloaded() {
    let content = Content::with_manifest(|manifest| {
        manifest["layers"][0]["size"] = (1_u64 << 30).into();
    });
    let server = Server::start(move |seen| content.answer(seen));
    let error = refused(&server);
    assert_contains(&error, &["1.0 GiB", "64.0 MiB", "not downloaded"]);
    assert_eq!(server.paths(), ["manifests/1.0"]);
}

#[test]
fn metadata_without_an_end_is_refused() {
    let endless = vec![b' '; 5 << 20];
    let server = Server::start(move |_| Answer::ok(&endless));
    let error = refused(&server);
    assert_contains(&error, &["more than 4194304 bytes", "a manifest"]);
}

#[test]
fn a_registry_that_does_not_answer_is_not_waited_for() {
    let limits = |idle, total| Options {
        limits: Limits {
            idle: Duration::from_millis(idle),
            total: Duration::from_millis(total),
            ..options().limits
        },
        ..options()
    };
    let stalling = Server::start(|_| Answer::ok(b"{}").broken_off(1).stalling());
    let error = registry(&stalling, limits(100, 20_000)).pull();
    let error = error.expect_err("it stalls").to_string();
    assert_contains(&error, &["did not answer within 0.1 s", "--timeout"]);

    let server = with_component(|_, _| Answer::ok(COMPONENT).slowly(Duration::from_millis(20)));
    let started = Instant::now();
    let error = registry(&server, limits(5_000, 300)).pull();
    let error = error.expect_err("it is slow").to_string();
    assert_contains(&error, &["not done within 0.3 s", "--timeout"]);
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_registry_that_is_away_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let reference: Reference = format!("{address}/a:1").parse().expect("a reference");
    let registry = Registry::new(&reference, options()).expect("a registry");
    let error = registry.pull().expect_err("nobody is there").to_string();
    assert_contains(
        &error,
        &[&address.to_string(), "cannot be reached", "refused"],
    );
}

#[test]
fn an_artifact_that_is_not_there_is_named() {
    let server = Server::start(|_| Answer::status(404));
    assert_contains(
        &refused(&server),
        &["has no", "plugins/labels:1.0", "check"],
    );
}
