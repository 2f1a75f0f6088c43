//! Web servers that lie, stall or never end, and what is there instead of a component.

use super::*;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

const PATH: &str = "/plugins/labels.wasm";

fn url(server: &Server) -> String {
    format!("http://{}{PATH}", server.address)
}

/// Has the component at its path, and nothing else.
fn at_path(seen: &Seen) -> Answer {
    if seen.path == PATH {
        Answer::ok(COMPONENT)
    } else {
        Answer::status(404)
    }
}

#[track_caller]
fn not_downloaded(server: &Server) -> String {
    let downloaded = download(&url(server), &options());
    let error = downloaded.expect_err("this must not be downloaded");
    error.to_string()
}

#[test]
fn a_component_and_the_signature_beside_it_are_downloaded() {
    let server = Server::start(at_path);
    let downloaded = download(&url(&server), &options()).expect("it is there");
    assert_eq!(downloaded.component, COMPONENT);
    assert_eq!(downloaded.signature, None);
    let paths: Vec<String> = server.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(paths, [PATH.to_owned(), format!("{PATH}.sigstore.json")]);
    for seen in server.seen() {
        assert_eq!(seen.header("authorization"), None);
    }
    let signed = Server::start(|seen| {
        if seen.path == PATH {
            Answer::ok(COMPONENT)
        } else {
            Answer::ok(b"{}")
        }
    });
    let downloaded = download(&url(&signed), &options()).expect("both");
    assert_eq!(downloaded.signature.as_deref(), Some(&b"{}"[..]));
}

#[test]
fn a_download_from_a_website_that_breaks_off_is_begun_again() {
    let requests = std::sync::atomic::AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        let first = requests.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        let answer = at_path(seen);
        if first { answer.broken_off(7) } else { answer }
    });
    let downloaded = download(&url(&server), &options()).expect("the second time");
    assert_eq!(downloaded.component, COMPONENT);
    // What came before may be of another file.
    assert!(
        server
            .seen()
            .iter()
            .all(|seen| seen.header("range").is_none())
    );

    let always = Server::start(|seen| at_path(seen).broken_off(7));
    not_downloaded(&always);
    assert_eq!(always.seen().len(), 5);
}

#[test]
fn what_is_too_large_or_encoded_is_refused() {
    let server = Server::start(|_| Answer::ok(b"x").with("x", "y"));
    assert!(download(&url(&server), &options()).is_ok());
    let encoded = Server::start(|_| Answer::ok(COMPONENT).with("content-encoding", "gzip"));
    assert_contains(
        &not_downloaded(&encoded),
        &["gzip", "asked for no encoding"],
    );
    for status in [403, 404, 410] {
        let missing = Server::start(move |_| Answer::status(status));
        assert_contains(
            &not_downloaded(&missing),
            &["labels.wasm`", "it is not there"],
        );
    }
    let broken = Server::start(|_| Answer::status(418).with_body(b"I am a teapot"));
    assert_contains(&not_downloaded(&broken), &["418", "I am a teapot"]);
}

/// Answers every request with this head, and with bytes until the client goes away.
fn endless(head: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(head.as_bytes());
            while stream.write_all(&[0; 64 << 10]).is_ok() {}
        }
    });
    format!("http://{address}{PATH}")
}

#[test]
fn a_server_that_never_ends_is_left() {
    let stated = endless("HTTP/1.1 200 X\r\ncontent-length: 1073741824\r\n\r\n");
    let error = download(&stated, &options()).expect_err("it states a gibibyte");
    assert_contains(&error.to_string(), &["1073741824 bytes", "not downloaded"]);
    let silent = endless("HTTP/1.1 200 X\r\n\r\n");
    let error = download(&silent, &options()).expect_err("it has no end");
    assert_contains(
        &error.to_string(),
        &["more than 67108864 bytes", "not to be trusted"],
    );
    let slow = Server::start(|seen| at_path(seen).slowly(Duration::from_millis(20)));
    let limits = Limits {
        total: Duration::from_millis(300),
        ..options().limits
    };
    let hurried = Options {
        limits,
        ..options()
    };
    let error = download(&url(&slow), &hurried).expect_err("it is slow");
    assert_contains(&error.to_string(), &["not done within 0.3 s"]);
}

#[test]
fn redirects_end_and_do_not_leave_tls() {
    let target = Server::start(at_path);
    let to = url(&target);
    let server = Server::start({
        let to = to.clone();
        move |seen| {
            if seen.path == PATH {
                Answer::status(302).with("location", to.clone())
            } else {
                Answer::status(404)
            }
        }
    });
    let downloaded = download(&url(&server), &options()).expect("it is followed");
    assert_eq!(downloaded.component, COMPONENT);
    super::refuses_redirects(not_downloaded);
}

#[test]
fn a_url_that_leads_nowhere_is_refused_before_anything_is_sent() {
    for (url, why) in [
        ("http://r.example/x.wasm", "--plain-http allows it"),
        ("http://localhost.example/x.wasm", "--plain-http allows it"),
        ("ftp://localhost/x.wasm", "not a URL of HTTP"),
        ("/x.wasm", "names no host"),
        ("https://user:secret/x.wasm", "cannot be downloaded"),
        ("https://[::1/x.wasm", "cannot be downloaded"),
    ] {
        let error = download(url, &options()).expect_err(url).to_string();
        assert_contains(&error, &[why]);
    }
}
