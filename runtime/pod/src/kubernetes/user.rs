//! The user of a kubeconfig: its headers, and its certificate.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use kube::config::AuthInfo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use secrecy::ExposeSecret;

use super::tls::Identity;

/// Escaped in the name of a header. The API server unescapes all that is escaped.
const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// The headers of each request. Errors: the key that cannot be sent.
pub(super) fn headers(user: &AuthInfo) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    if let Some(authorization) = authorization(user) {
        let mut value = value("token", &authorization)?;
        value.set_sensitive(true);
        headers.append(AUTHORIZATION, value);
    }
    if let Some(name) = &user.impersonate {
        headers.append("impersonate-user", value("as", name)?);
    }
    if let Some(uid) = &user.impersonate_uid {
        headers.append("impersonate-uid", value("as-uid", uid)?);
    }
    for group in user.impersonate_groups.iter().flatten() {
        headers.append("impersonate-group", value("as-groups", group)?);
    }
    for (extra, texts) in user.impersonate_user_extra.iter().flatten() {
        let extra = percent_encode(extra.as_bytes(), &ESCAPED);
        let name = format!("impersonate-extra-{extra}").to_ascii_lowercase();
        let name = HeaderName::try_from(name).map_err(|error| format!("as-user-extra: {error}"))?;
        for text in texts {
            headers.append(name.clone(), value("as-user-extra", text)?);
        }
    }
    Ok(headers)
}

/// A password comes before a token, as with other clients.
fn authorization(user: &AuthInfo) -> Option<String> {
    if let (Some(name), Some(password)) = (&user.username, &user.password) {
        let both = format!("{name}:{}", password.expose_secret());
        return Some(format!("Basic {}", BASE64_STANDARD.encode(both)));
    }
    let token = user.token.as_ref()?;
    Some(format!("Bearer {}", token.expose_secret()))
}

fn value(key: &str, text: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_str(text).map_err(|_| {
        format!("{key}: it has a character that an HTTP header cannot have, such as a line break")
    })
}

/// The user's certificate and key, whose files `read` reads. Errors: the key that cannot be read.
pub(super) fn identity(
    user: &AuthInfo,
    read: impl Fn(&str) -> Result<String, String>,
) -> Result<Option<Identity>, String> {
    let load = |key: &str, data: Option<&str>, file: Option<&str>| match (data, file) {
        (Some(data), _) => {
            let decoded = BASE64_STANDARD.decode(data.trim());
            decoded
                .map(Some)
                .map_err(|error| format!("{key}-data: {error}"))
        }
        (None, Some(file)) => {
            let text = read(file).map_err(|error| format!("{key} {file}: {error}"))?;
            Ok(Some(text.into_bytes()))
        }
        (None, None) => Ok(None),
    };
    let certificate = load(
        "client-certificate",
        user.client_certificate_data.as_deref(),
        user.client_certificate.as_deref(),
    )?;
    let key = load(
        "client-key",
        user.client_key_data.as_ref().map(|key| key.expose_secret()),
        user.client_key.as_deref(),
    )?;
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(Identity { certificate, key })),
        (None, None) => Ok(None),
        (Some(_), None) => Err("client-certificate needs client-key".to_owned()),
        (None, Some(_)) => Err("client-key needs client-certificate".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn sent(user: &AuthInfo) -> Vec<String> {
        let headers = headers(user).unwrap();
        let texts = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
        texts.collect()
    }

    #[test]
    fn a_password_comes_before_a_token() {
        let mut user = AuthInfo {
            token: Some("abc".to_owned().into()),
            ..AuthInfo::default()
        };
        assert_eq!(sent(&user), ["authorization: Bearer abc"]);
        user.username = Some("weir".to_owned());
        user.password = Some("secret".to_owned().into());
        assert_eq!(sent(&user), ["authorization: Basic d2VpcjpzZWNyZXQ="]);
    }

    #[test]
    fn a_user_can_ask_for_another() {
        let user = AuthInfo {
            impersonate: Some("web".to_owned()),
            impersonate_uid: Some("7".to_owned()),
            impersonate_groups: Some(vec!["one".to_owned(), "two".to_owned()]),
            impersonate_user_extra: Some(HashMap::from([(
                "example.org/Scope%".to_owned(),
                vec!["all".to_owned()],
            )])),
            ..AuthInfo::default()
        };
        let expected = [
            "impersonate-user: web",
            "impersonate-uid: 7",
            "impersonate-group: one",
            "impersonate-group: two",
            "impersonate-extra-example.org%2fscope%25: all",
        ];
        let sent = sent(&user);
        assert!(
            expected
                .iter()
                .all(|header| sent.iter().any(|s| s == header)),
            "{sent:?}"
        );
        assert_eq!(sent.len(), expected.len());
    }

    #[test]
    fn what_no_header_has_is_named_by_its_key() {
        let user = AuthInfo {
            impersonate: Some("a\nb".to_owned()),
            ..AuthInfo::default()
        };
        assert!(headers(&user).unwrap_err().starts_with("as: "));
    }

    #[test]
    fn a_certificate_needs_its_key() {
        let user = AuthInfo {
            client_certificate_data: Some(BASE64_STANDARD.encode("a certificate")),
            ..AuthInfo::default()
        };
        let told = identity(&user, |_| unreachable!()).map(|_| ()).unwrap_err();
        assert_eq!(told, "client-certificate needs client-key");
    }
}
