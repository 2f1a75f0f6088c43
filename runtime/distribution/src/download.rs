//! A component of a web server, and the signature beside it.

use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::uri::Scheme;
use http::{Method, StatusCode, Uri};

use super::blocking::Blocking;
use super::bundles::MOST_BUNDLE;
use super::client::{Call, Client, status};
use super::connection::Answer;
use super::error::{Error, Result, ServerUrl, host_of};
use super::manifest::MOST_COMPONENT;
use super::options::Options;
use super::reference::is_loopback;
use super::registry::{MOST_ATTEMPTS, is_interruption, pause};

/// Where a signature is: beside the component, as other tools name it.
const SIGNATURE: &str = ".sigstore.json";

/// What a web server has. Nothing of it is verified.
#[derive(Clone, Debug)]
pub struct Download {
    pub component: Vec<u8>,
    /// A bundle of sigstore, if there is one.
    pub signature: Option<Vec<u8>>,
}

/// Downloads a component, and the signature beside it, at the same URL with `.sigstore.json`. No credentials are sent.
///
/// Errors: it is larger than a component may be; a server without TLS that is not on this machine, unless the options allow it;
/// all that can happen on the way.
pub fn download(url: &str, options: &Options) -> Result<Download> {
    let url = checked(url, options)?;
    let signature = checked(&format!("{url}{SIGNATURE}"), options)?;
    let host = host_of(&url);
    let client = Client::new(options)?;
    Blocking::new(&host, options.limits)?.run(async {
        let component = get(&client, &url, "a component", MOST_COMPONENT).await?;
        Ok(Download {
            component: component.ok_or_else(|| wrong(&url.to_string(), "it is not there"))?,
            signature: get(&client, &signature, "a signature", MOST_BUNDLE).await?,
        })
    })
}

fn wrong(url: &str, why: impl ToString) -> Error {
    Error::Url {
        url: url.into(),
        why: why.to_string().into(),
    }
}

fn checked(text: &str, options: &Options) -> Result<Uri> {
    let url: Uri = text.parse().map_err(|e| wrong(text, e))?;
    let host = url.host().unwrap_or_default();
    if host.is_empty() {
        return Err(wrong(text, "it names no host"));
    }
    let server = url.authority().map(http::uri::Authority::as_str);
    if server.is_some_and(|server| server.len() > host.len()) && url.port_u16().is_none() {
        return Err(wrong(text, "its port is not a number"));
    }
    if url.scheme() == Some(&Scheme::HTTPS) {
        return Ok(url);
    }
    if url.scheme() != Some(&Scheme::HTTP) {
        return Err(wrong(text, "it is not a URL of HTTP"));
    }
    if options.plain_http || is_loopback(host) {
        return Ok(url);
    }
    let why = "anybody on the way to a server without TLS can answer in its place; --plain-http allows it";
    Err(wrong(text, why))
}

/// Downloads a file; none if the server does not have it. An interrupted download starts from the beginning, since nothing
/// shows that the rest would be of the same file.
async fn get(
    client: &Client,
    url: &Uri,
    what: &'static str,
    limit: u64,
) -> Result<Option<Vec<u8>>> {
    let call = Call::new(Method::GET, url.clone());
    let mut attempt = 1;
    loop {
        let answered = client.follow(&call, |_, _| ()).await;
        let received = match answered {
            Ok(answer) => receive(answer, what, limit).await,
            Err(error) => Err(error),
        };
        match received {
            Err(error) if is_interruption(&error) && attempt < MOST_ATTEMPTS => {
                pause(attempt).await;
            }
            received => return received,
        }
        attempt += 1;
    }
}

async fn receive(answer: Answer, what: &'static str, limit: u64) -> Result<Option<Vec<u8>>> {
    match answer.head.status {
        StatusCode::OK => {}
        // Some servers tell nobody what they do not have.
        StatusCode::NOT_FOUND | StatusCode::GONE | StatusCode::FORBIDDEN => return Ok(None),
        _ => return Err(status(answer).await),
    }
    let headers = &answer.head.headers;
    if let Some(coding) = headers.get(CONTENT_ENCODING) {
        let coding = coding.to_str().unwrap_or_default();
        let why = format!("the answer is encoded as `{coding}`; weir asked for no encoding");
        return Err(Error::Protocol {
            url: (&answer.url).into(),
            why: why.into(),
        });
    }
    let stated = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    let stated = stated.and_then(|text| text.parse::<u64>().ok());
    if let Some(size) = stated.filter(|size| *size > limit) {
        return Err(wrong(
            &ServerUrl::from(&answer.url).to_string(),
            format!("it has {size} bytes, more than the {limit} of {what}; it was not downloaded"),
        ));
    }
    answer.read(what, limit).await.map(Some)
}
