//! What a registry's challenge asks for: the password itself, or a token of its token server.

use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_auth::parser::ChallengeParser;
use http_body_util::Full;
use hyper::body::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::ExposeSecret;
use serde::Deserialize;

use super::credentials::{Credentials, Secret};
use super::error::{Error, Result};

/// What stands for itself in a query (RFC 3986, section 2.3).
const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The largest answer of a token server, in bytes.
pub(crate) const MOST_TOKEN: u64 = 256 << 10;

/// What a registry wants before it answers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    Bearer {
        realm: String,
        service: Option<String>,
    },
}

impl Challenge {
    /// Reads the challenges of an answer: a token is preferred to a password.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(WWW_AUTHENTICATE).into_iter();
        let mut found: Vec<Self> = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| ChallengeParser::new(value).map_while(std::result::Result::ok))
            .filter_map(|challenge| Self::read(&challenge))
            .collect();
        let token = found.iter().position(|one| *one != Self::Basic);
        let first = token.or(if found.is_empty() { None } else { Some(0) })?;
        Some(found.swap_remove(first))
    }

    fn read(challenge: &http_auth::ChallengeRef<'_>) -> Option<Self> {
        if challenge.scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !challenge.scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let parameter = |name: &str| {
            let mut all = challenge.params.iter();
            let found = all.find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.to_unescaped())
        };
        Some(Self::Bearer {
            realm: parameter("realm")?,
            service: parameter("service"),
        })
    }
}

/// The request to a token server for a token of this scope (Docker's token authentication; with an identity token OAuth 2).
pub(crate) fn ask(
    realm: &str,
    service: Option<&str>,
    scope: &str,
    credentials: &Credentials,
) -> Result<Request<Full<Bytes>>, String> {
    let mut query = vec![("scope", scope)];
    query.extend(service.map(|service| ("service", service)));
    let request = match &credentials.secret {
        Secret::IdentityToken(token) => {
            query.extend([
                ("grant_type", "refresh_token"),
                ("client_id", "weir"),
                ("refresh_token", token.expose_secret()),
            ]);
            let form = Full::new(Bytes::from(encoded(&query)));
            Request::builder()
                .method(Method::POST)
                .uri(realm)
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(form)
        }
        _ => {
            let separator = if realm.contains('?') { '&' } else { '?' };
            let url = format!("{realm}{separator}{}", encoded(&query));
            Request::builder().uri(url).body(Full::default())
        }
    };
    let mut request = request.map_err(|e| format!("its token server `{realm}`: {e}"))?;
    if let Some(basic) = credentials.basic() {
        let headers = request.headers_mut();
        headers.insert(http::header::AUTHORIZATION, basic);
    }
    Ok(request)
}

fn encoded(query: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = query
        .iter()
        .map(|(key, value)| format!("{key}={}", utf8_percent_encode(value, QUERY)))
        .collect();
    pairs.join("&")
}

/// Reads the answer of a token server.
pub(crate) fn token(url: &Uri, answer: &[u8]) -> Result<HeaderValue> {
    #[derive(Deserialize)]
    struct Token {
        token: Option<String>,
        access_token: Option<String>,
    }
    let broken = |why: &str| Error::Protocol {
        url: url.into(),
        why: why.into(),
    };
    let read: Token = serde_json::from_slice(answer)
        .map_err(|_| broken("the answer of its token server is not JSON with a `token`"))?;
    let token = read.token.or(read.access_token);
    let token = token.ok_or_else(|| broken("its token server answers without a `token`"))?;
    let mut header = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| broken("the token is not one that a header can hold"))?;
    header.set_sensitive(true);
    Ok(header)
}
