//! Requests to one registry: with its credentials, through redirects, and without telling a secret to another server.

use std::cell::RefCell;

use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, LOCATION, RANGE, USER_AGENT,
};
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Bytes;
use serde::Deserialize;

use super::authorization::{Challenge, MOST_TOKEN, ask, token, without_query};
use super::connection::{Answer, Connection};
use super::credentials::Credentials;
use super::error::{Error, Result};
use super::reference::{Reference, is_loopback};

const WEIR: &str = concat!("weir/", env!("CARGO_PKG_VERSION"));

/// The most redirects of one request.
const MOST_REDIRECTS: usize = 5;

/// The largest answer that explains a failure, in bytes.
const MOST_EXPLANATION: u64 = 64 << 10;

/// The most of it that an error shows, in characters.
const MOST_SAID: usize = 300;

/// What is done with a repository, as a token's scope has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Pull,
    Push,
}

pub(crate) struct Session {
    connection: Connection,
    reference: Reference,
    credentials: Credentials,
    /// Whether the user allows servers without TLS.
    plain_http: bool,
    base: Uri,
    action: Action,
    authorization: RefCell<Option<HeaderValue>>,
}

/// One request to a registry.
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

    /// Whether the request may be sent to where an answer redirects.
    fn may_be_redirected(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }
}

impl Session {
    pub(crate) fn new(
        connection: Connection,
        reference: &Reference,
        credentials: Credentials,
        scheme: Scheme,
        plain_http: bool,
        action: Action,
    ) -> Result<Self> {
        let base = Uri::builder()
            .scheme(scheme)
            .authority(reference.server())
            .path_and_query("/v2/")
            .build();
        let base = base.map_err(|e| Error::Reference {
            text: reference.to_string(),
            why: e.to_string(),
        })?;
        Ok(Self {
            connection,
            reference: reference.clone(),
            credentials,
            plain_http,
            base,
            action,
            authorization: RefCell::new(None),
        })
    }

    /// The URL of a path below the repository, such as `manifests/1.0`.
    pub(crate) fn url(&self, path: &str) -> Result<Uri> {
        let path = format!("/v2/{}/{path}", self.reference.repository());
        with_path(&self.base, &path).ok_or_else(|| Error::Protocol {
            url: self.base.to_string(),
            why: format!("`{path}` is not a path"),
        })
    }

    /// Sends a request, and again with a token if the registry wants one. The answer is not a 401 or 403.
    pub(crate) async fn send(&self, call: &Call) -> Result<Answer> {
        let answer = self.follow(call).await?;
        if answer.head.status != StatusCode::UNAUTHORIZED || !self.is_registry(&answer.url) {
            return self.checked(answer).await;
        }
        self.authorize(&answer).await?;
        let answer = self.follow(call).await?;
        self.checked(answer).await
    }

    /// Errors: the registry knows who asks and does not allow it, or does not know.
    async fn checked(&self, answer: Answer) -> Result<Answer> {
        match answer.head.status {
            StatusCode::UNAUTHORIZED if self.is_registry(&answer.url) => Err(self.unauthorized()),
            StatusCode::FORBIDDEN if self.is_registry(&answer.url) => Err(Error::Forbidden {
                host: self.reference.registry().to_owned(),
                repository: self.reference.repository().to_owned(),
                action: match self.action {
                    Action::Pull => "pulling",
                    Action::Push => "pushing to",
                },
                had: self.credentials.had(),
                said: explanation(answer).await,
            }),
            _ => Ok(answer),
        }
    }

    fn unauthorized(&self) -> Error {
        Error::Unauthorized {
            host: self.reference.registry().to_owned(),
            had: self.credentials.had(),
        }
    }

    /// Sends a request, and follows where it is redirected.
    async fn follow(&self, call: &Call) -> Result<Answer> {
        let mut url = call.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let request = self.request(call, &url);
            let answer = self.connection.send(request, call.body.len()).await?;
            let is_redirect = answer.head.status.is_redirection();
            if !is_redirect || !call.may_be_redirected() {
                return Ok(answer);
            }
            url = self.location(&answer)?;
        }
        Err(Error::Redirect {
            url: without_query(&call.url),
            to: without_query(&url),
            why: "that is the sixth redirect of one request",
        })
    }

    fn request(&self, call: &Call, url: &Uri) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(call.body.clone()));
        *request.method_mut() = call.method.clone();
        *request.uri_mut() = url.clone();
        let headers = request.headers_mut();
        headers.extend(call.headers.clone());
        headers.insert(USER_AGENT, HeaderValue::from_static(WEIR));
        if !call.may_be_redirected() {
            headers.insert(CONTENT_LENGTH, call.body.len().into());
        }
        // No other server gets to know what the registry knows.
        if let Some(known) = &*self.authorization.borrow()
            && self.is_registry(url)
        {
            headers.insert(AUTHORIZATION, known.clone());
        }
        request
    }

    /// Whether a URL is the registry's own: the same scheme, host and port.
    fn is_registry(&self, url: &Uri) -> bool {
        url.scheme() == self.base.scheme()
            && port(url) == port(&self.base)
            && (url.host().zip(self.base.host()))
                .is_some_and(|(host, own)| host.eq_ignore_ascii_case(own))
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
            url: without_query(from),
            why: "it answers without a `Location` that is a URL".to_owned(),
        })?;
        self.check_server(from, &target)?;
        Ok(target)
    }

    /// Errors: a server without TLS, where the user did not allow that, or after one with TLS.
    fn check_server(&self, from: &Uri, target: &Uri) -> Result<()> {
        let refused = |why| Error::Redirect {
            url: without_query(from),
            to: without_query(target),
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

    /// Gets what the registry wants to see, for this and all further requests.
    async fn authorize(&self, answer: &Answer) -> Result<()> {
        let challenge = Challenge::of(&answer.head.headers);
        let known = match challenge.ok_or_else(|| self.unauthorized())? {
            Challenge::Basic => self
                .credentials
                .basic()
                .ok_or_else(|| self.unauthorized())?,
            Challenge::Bearer { realm, service } => self.token(&realm, service.as_deref()).await?,
        };
        *self.authorization.borrow_mut() = Some(known);
        Ok(())
    }

    async fn token(&self, realm: &str, service: Option<&str>) -> Result<HeaderValue> {
        let broken = |why: String| Error::Protocol {
            url: self.base.to_string(),
            why,
        };
        let server: Option<Uri> = realm.parse().ok();
        let server = server
            .filter(|server| server.authority().is_some())
            .ok_or_else(|| broken(format!("its token server `{realm}` is not a URL")))?;
        self.check_server(&self.base, &server)?;
        let actions = match self.action {
            Action::Pull => "pull",
            Action::Push => "pull,push",
        };
        let scope = format!("repository:{}:{actions}", self.reference.repository());
        let request = ask(realm, service, &scope, &self.credentials).map_err(broken)?;
        let answer = self.connection.send(request, 0).await?;
        let url = answer.url.clone();
        match answer.head.status {
            StatusCode::OK => token(&url, &answer.read("a token", MOST_TOKEN).await?),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(self.unauthorized()),
            _ => Err(status(answer).await),
        }
    }
}

/// The error of an answer that is not the expected one.
pub(crate) async fn status(answer: Answer) -> Error {
    Error::Status {
        url: without_query(&answer.url),
        status: answer.head.status,
        said: explanation(answer).await,
    }
}

/// What a registry says of a failure (OCI distribution specification, "Error Codes"); nothing if it cannot be read.
async fn explanation(answer: Answer) -> String {
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
fn with_path(url: &Uri, path: &str) -> Option<Uri> {
    let mut parts = url.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(path).ok()?);
    Uri::from_parts(parts).ok()
}

/// The port of a URL, which may leave out that of its scheme.
fn port(url: &Uri) -> u16 {
    let usual = if url.scheme() == Some(&Scheme::HTTPS) {
        443
    } else {
        80
    };
    url.port_u16().unwrap_or(usual)
}

/// The URL of a server, for an error about it.
pub(crate) fn shown(answer: &Answer) -> String {
    without_query(&answer.url)
}

/// A URL with one more parameter.
pub(crate) fn with_parameter(url: &Uri, key: &str, value: &str) -> Option<Uri> {
    let path = url.path_and_query().map_or("/", PathAndQuery::as_str);
    let separator = if path.contains('?') { '&' } else { '?' };
    with_path(url, &format!("{path}{separator}{key}={value}"))
}

#[cfg(test)]
mod tests {
    use super::super::connection::Limits;
    use super::super::credentials::Source;
    use super::super::tls;
    use super::*;

    fn session(plain_http: bool) -> Session {
        let reference: Reference = "registry.example/a:1".parse().expect("valid");
        let connection = Connection::new(
            tls::trusting(None).expect("the system's authorities"),
            Limits::default(),
        );
        let credentials = Credentials::find(&Source::Anonymous, &reference).expect("none");
        let scheme = Scheme::HTTPS;
        Session::new(
            connection,
            &reference,
            credentials,
            scheme,
            plain_http,
            Action::Pull,
        )
        .expect("a session")
    }

    #[test]
    fn nothing_leads_from_tls_to_none_even_where_that_is_allowed() {
        let url = |text: &'static str| Uri::from_static(text);
        for plain_http in [false, true] {
            let session = session(plain_http);
            for target in ["http://registry.example/x", "http://localhost/x"] {
                let refused = session.check_server(&session.base, &url(target));
                let why = refused.expect_err(target).to_string();
                assert!(why.contains("from TLS to none"), "{why}");
            }
            let elsewhere = session.check_server(&session.base, &url("https://other.example/x"));
            assert!(elsewhere.is_ok());
            let plain = url("http://registry.example/x");
            let allowed = session.check_server(&plain, &url("http://other.example/x"));
            assert_eq!(allowed.is_ok(), plain_http);
        }
    }

    #[test]
    fn only_the_same_scheme_host_and_port_are_the_registry() {
        let session = session(false);
        for (url, is_registry) in [
            ("https://registry.example/v2/", true),
            ("http://registry.example/v2/", false),
            ("https://registry.example:444/v2/", false),
            ("https://registry.example.evil/v2/", false),
            ("https://REGISTRY.example:443/v2/", true),
            ("https://registry.example@evil.example/v2/", false),
        ] {
            assert_eq!(
                session.is_registry(&Uri::from_static(url)),
                is_registry,
                "{url}"
            );
        }
    }
}
