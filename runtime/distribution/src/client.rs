//! Requests that follow redirects, but not from TLS to none.

use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, LOCATION, RANGE, USER_AGENT};
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use hyper::body::Bytes;
use serde::Deserialize;

use super::connection::{Answer, Connection};
use super::error::{Error, Result};
use super::options::Options;
use super::reference::is_loopback;
use super::tls;

const WEIR: &str = concat!("weir/", env!("CARGO_PKG_VERSION"));

/// The most redirects of one request.
const MOST_REDIRECTS: usize = 5;

/// The largest answer that explains a failure, in bytes.
const MOST_EXPLANATION: u64 = 64 << 10;

/// The most of it that an error shows, in characters.
const MOST_SAID: usize = 300;

pub(crate) struct Client {
    connection: Connection,
    /// Whether the user allows servers without TLS.
    plain_http: bool,
}

/// One request.
pub(crate) struct Call {
    method: Method,
    url: Uri,
    headers: HeaderMap,
    body: Bytes,
}

impl Call {
    pub(crate) fn new(method: Method, url: Uri) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    pub(crate) fn accepting(mut self, media_types: &'static str) -> Self {
        let value = HeaderValue::from_static(media_types);
        self.headers.insert(ACCEPT, value);
        self
    }

    /// Asks for what comes after so many bytes.
    pub(crate) fn after(mut self, bytes: usize) -> Self {
        if bytes > 0 {
            let range = HeaderValue::try_from(format!("bytes={bytes}-"));
            self.headers.insert(RANGE, range.expect("a number"));
        }
        self
    }

    pub(crate) fn sending(mut self, media_type: &'static str, body: Bytes) -> Self {
        let value = HeaderValue::from_static(media_type);
        self.headers.insert(CONTENT_TYPE, value);
        self.body = body;
        self
    }

    /// The request to a server.
    fn request(&self, url: &Uri) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = url.clone();
        let headers = request.headers_mut();
        headers.extend(self.headers.clone());
        headers.insert(USER_AGENT, HeaderValue::from_static(WEIR));
        if !self.may_be_redirected() {
            headers.insert(CONTENT_LENGTH, self.body.len().into());
        }
        request
    }

    /// Whether the request may be sent to where an answer redirects.
    fn may_be_redirected(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }
}

impl Client {
    /// Sends nothing yet. Errors: the authorities cannot be used.
    pub(crate) fn new(options: &Options) -> Result<Self> {
        let tls = tls::trusting(options.authorities.as_deref())?;
        Ok(Self {
            connection: Connection::new(tls, options.limits),
            plain_http: options.plain_http,
        })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Sends a request, and follows where it is redirected. `authorize` adds what the server of a URL may know.
    pub(crate) async fn follow(
        &self,
        call: &Call,
        authorize: impl Fn(&Uri, &mut HeaderMap),
    ) -> Result<Answer> {
        let mut url = call.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let mut request = call.request(&url);
            authorize(&url, request.headers_mut());
            let answer = self.connection.send(request, call.body.len()).await?;
            let is_redirect = answer.head.status.is_redirection();
            if !is_redirect || !call.may_be_redirected() {
                return Ok(answer);
            }
            url = self.location(&answer)?;
        }
        Err(Error::Redirect {
            url: (&call.url).into(),
            to: (&url).into(),
            why: "that is the sixth redirect of one request",
        })
    }

    /// Where an answer sends its client.
    pub(crate) fn location(&self, answer: &Answer) -> Result<Uri> {
        let from = &answer.url;
        let location = answer.head.headers.get(LOCATION);
        let location = location.and_then(|value| value.to_str().ok());
        let target = location.and_then(|location| {
            if location.starts_with('/') && !location.starts_with("//") {
                return with_path(from, location);
            }
            let target: Uri = location.parse().ok()?;
            (target.scheme().is_some() && target.authority().is_some()).then_some(target)
        });
        let target = target.ok_or_else(|| Error::Protocol {
            url: from.into(),
            why: "it answers without a `Location` that is a URL".into(),
        })?;
        self.check_server(from, &target)?;
        Ok(target)
    }

    /// Errors: a server without TLS, where the user did not allow that, or after one with TLS.
    pub(crate) fn check_server(&self, from: &Uri, target: &Uri) -> Result<()> {
        let refused = |why| Error::Redirect {
            url: from.into(),
            to: target.into(),
            why,
        };
        if target.scheme() == Some(&Scheme::HTTPS) {
            return Ok(());
        }
        if target.scheme() != Some(&Scheme::HTTP) {
            return Err(refused("that is not a URL of HTTP"));
        }
        if from.scheme() == Some(&Scheme::HTTPS) {
            return Err(refused("that leads from TLS to none"));
        }
        if !self.plain_http && !is_loopback(target.host().unwrap_or_default()) {
            return Err(refused("that server has no TLS; --plain-http allows it"));
        }
        Ok(())
    }
}

/// The error of an answer that is not the expected one.
pub(crate) async fn status(answer: Answer) -> Error {
    Error::Status {
        url: (&answer.url).into(),
        status: answer.head.status,
        said: explanation(answer).await.into(),
    }
}

/// What a server says of a failure, as registries do (OCI distribution specification, "Error Codes"); nothing if it cannot be read.
pub(crate) async fn explanation(answer: Answer) -> String {
    #[derive(Deserialize)]
    struct Envelope {
        errors: Vec<One>,
    }
    #[derive(Deserialize)]
    struct One {
        code: String,
        #[serde(default)]
        message: String,
    }
    let Ok(body) = answer.read("an error", MOST_EXPLANATION).await else {
        return String::new();
    };
    let said = match serde_json::from_slice::<Envelope>(&body) {
        Ok(envelope) => {
            let errors = envelope.errors.into_iter();
            let errors: Vec<String> = errors
                .map(|one| format!("{}: {}", one.code, one.message))
                .collect();
            errors.join("; ")
        }
        Err(_) => String::from_utf8_lossy(&body).into_owned(),
    };
    said.trim().chars().take(MOST_SAID).collect()
}

/// The same server at another path.
pub(crate) fn with_path(url: &Uri, path: &str) -> Option<Uri> {
    let mut parts = url.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(path).ok()?);
    Uri::from_parts(parts).ok()
}

/// A URL with one more parameter.
pub(crate) fn with_parameter(url: &Uri, key: &str, value: &str) -> Option<Uri> {
    let path = url.path_and_query().map_or("/", PathAndQuery::as_str);
    let separator = if path.contains('?') { '&' } else { '?' };
    with_path(url, &format!("{path}{separator}{key}={value}"))
}
