//! Requests to one registry: with its credentials, through redirects, and without telling a secret to another server.

use std::cell::RefCell;

use http::header::AUTHORIZATION;
use http::uri::Scheme;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};

use super::authorization::{Challenge, MOST_TOKEN, ask, token};
use super::client::{Call, Client, explanation, status, with_path};
use super::connection::Answer;
use super::credentials::Credentials;
use super::error::{Error, Result};
use super::reference::Reference;

/// What is done with a repository, as a token's scope has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Pull,
    Push,
}

pub(crate) struct Session {
    client: Client,
    reference: Reference,
    credentials: Credentials,
    base: Uri,
    action: Action,
    authorization: RefCell<Option<HeaderValue>>,
}

impl Session {
    pub(crate) fn new(
        client: Client,
        reference: &Reference,
        credentials: Credentials,
        scheme: Scheme,
        action: Action,
    ) -> Result<Self> {
        let base = Uri::builder()
            .scheme(scheme)
            .authority(reference.server())
            .path_and_query("/v2/")
            .build();
        let base = base.map_err(|e| Error::Reference {
            text: reference.to_string().into(),
            why: e.to_string().into(),
        })?;
        Ok(Self {
            client,
            reference: reference.clone(),
            credentials,
            base,
            action,
            authorization: RefCell::new(None),
        })
    }

    /// The URL of a path below the repository, such as `manifests/1.0`.
    pub(crate) fn url(&self, path: &str) -> Result<Uri> {
        let path = format!("/v2/{}/{path}", self.reference.repository());
        with_path(&self.base, &path).ok_or_else(|| Error::Protocol {
            url: (&self.base).into(),
            why: format!("`{path}` is not a path").into(),
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
                host: self.reference.registry().into(),
                repository: self.reference.repository().into(),
                action: match self.action {
                    Action::Pull => "pulling",
                    Action::Push => "pushing to",
                },
                had: self.credentials.had().into(),
                said: explanation(answer).await.into(),
            }),
            _ => Ok(answer),
        }
    }

    fn unauthorized(&self) -> Error {
        Error::Unauthorized {
            host: self.reference.registry().into(),
            had: self.credentials.had().into(),
        }
    }

    /// Sends a request, and follows where it is redirected.
    async fn follow(&self, call: &Call) -> Result<Answer> {
        let authorize = |url: &Uri, headers: &mut HeaderMap| {
            // The registry's credentials are sent to no other server.
            if let Some(known) = &*self.authorization.borrow()
                && self.is_registry(url)
            {
                headers.insert(AUTHORIZATION, known.clone());
            }
        };
        self.client.follow(call, authorize).await
    }

    /// Where an answer sends its client.
    pub(crate) fn location(&self, answer: &Answer) -> Result<Uri> {
        self.client.location(answer)
    }

    /// Whether a URL is the registry's own: the same scheme, host and port.
    pub(crate) fn is_registry(&self, url: &Uri) -> bool {
        url.scheme() == self.base.scheme()
            && port(url) == port(&self.base)
            && (url.host().zip(self.base.host()))
                .is_some_and(|(host, own)| host.eq_ignore_ascii_case(own))
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
            url: (&self.base).into(),
            why: why.into(),
        };
        let server: Option<Uri> = realm.parse().ok();
        let server = server
            .filter(|server| server.authority().is_some())
            .ok_or_else(|| broken(format!("its token server `{realm}` is not a URL")))?;
        self.client.check_server(&self.base, &server)?;
        let actions = match self.action {
            Action::Pull => "pull",
            Action::Push => "pull,push",
        };
        let scope = format!("repository:{}:{actions}", self.reference.repository());
        let request = ask(realm, service, &scope, &self.credentials).map_err(broken)?;
        let answer = self.client.connection().send(request, 0).await?;
        let url = answer.url.clone();
        match answer.head.status {
            StatusCode::OK => token(&url, &answer.read("a token", MOST_TOKEN).await?),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(self.unauthorized()),
            _ => Err(status(answer).await),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::super::credentials::Source;
    use super::super::options::Options;
    use super::*;
    use crate::connection::Limits;

    fn session(plain_http: bool) -> Session {
        let reference: Reference = "registry.example/a:1".parse().expect("valid");
        let options = Options {
            plain_http,
            ..Options::default()
        };
        let client = Client::new(&options).expect("the system's authorities");
        let credentials =
            Credentials::find(&Source::Anonymous, &reference, Limits::default().total)
                .expect("none");
        let scheme = Scheme::HTTPS;
        Session::new(client, &reference, credentials, scheme, Action::Pull).expect("a session")
    }

    #[test]
    fn nothing_leads_from_tls_to_none_even_where_that_is_allowed() {
        let url = |text: &'static str| Uri::from_static(text);
        for plain_http in [false, true] {
            let session = session(plain_http);
            for target in ["http://registry.example/x", "http://localhost/x"] {
                let refused = session.client.check_server(&session.base, &url(target));
                let why = refused.expect_err(target).to_string();
                assert!(why.contains("from TLS to none"), "{why}");
            }
            let elsewhere = session
                .client
                .check_server(&session.base, &url("https://other.example/x"));
            assert!(elsewhere.is_ok());
            let plain = url("http://registry.example/x");
            let allowed = session
                .client
                .check_server(&plain, &url("http://other.example/x"));
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
