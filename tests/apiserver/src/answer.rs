//! Answers as HTTP has them.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::channel::Channel;
use http_body_util::{Either, Full};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::Value;

use crate::discovery;
use crate::status::Status;

/// Whole, or told bit by bit.
pub type Body = Either<Full<Bytes>, Channel<Bytes>>;

pub const JSON: &str = "application/json";

/// An object.
pub fn object(status: StatusCode, object: &Value) -> Response<Body> {
    let response = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, JSON)
        .body(full(object.to_string()));
    response.expect("its parts are well-formed")
}

/// A `Status`.
pub fn refused(status: &Status) -> Response<Body> {
    let code = StatusCode::from_u16(status.code).expect("a status of HTTP");
    let mut response = object(code, &status.body());
    if let Some(time) = status.retry_after {
        response
            .headers_mut()
            .insert(RETRY_AFTER, time.as_secs().into());
    }
    response
}

/// To a path without objects.
pub fn about_the_api(path: &str, user: Option<&str>) -> Response<Body> {
    match (discovery::answer(path), user) {
        (_, None) => refused(&Status::unauthorized()),
        (Some(answer), _) => object(StatusCode::OK, &answer),
        (None, _) => not_served(),
    }
}

/// What the API server says of a path that no API has, of a custom resource without a definition among
/// others.
fn not_served() -> Response<Body> {
    text(StatusCode::NOT_FOUND, "404 page not found\n".to_owned())
}

/// No JSON.
pub fn text(status: StatusCode, body: String) -> Response<Body> {
    let response = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "text/plain; charset=utf-8")
        .body(full(body));
    response.expect("its parts are well-formed")
}

/// What comes bit by bit, until it ends.
pub fn stream(body: Channel<Bytes>) -> Response<Body> {
    let response = Response::builder()
        .header(CONTENT_TYPE, JSON)
        .body(Either::Right(body));
    response.expect("its parts are well-formed")
}

/// An answer that promises more than comes.
pub fn unfinished() -> Response<Body> {
    let (mut sender, body) = Channel::<Bytes, Infallible>::new(1);
    let _ = sender.try_send(hyper::body::Frame::data(Bytes::from_static(b"{\"kind\":")));
    let response = Response::builder()
        .header(CONTENT_TYPE, JSON)
        .header(CONTENT_LENGTH, "1000")
        .body(Either::Right(body));
    response.expect("its parts are well-formed")
}

fn full(body: String) -> Body {
    Either::Left(Full::new(body.into()))
}
