//! Artifacts to and from a registry (OCI distribution specification 1.1).

use std::time::Duration;

use http::header::CONTENT_RANGE;
use http::uri::Scheme;
use http::{Method, StatusCode};
use hyper::body::Bytes;
use tokio::time::sleep;
use weir_grant::document::Digest;

use super::artifact::{Artifact, Description, check_manifest};
use super::blocking::Blocking;
use super::client::{Call, Client, status, with_parameter};
use super::connection::Answer;
use super::credentials::Credentials;
use super::error::{Error, Result};
use super::manifest::{Descriptor, MANIFEST, MOST_METADATA, Manifest};
use super::options::Options;
use super::reference::{Reference, Version};
use super::session::{Action, Session};

/// What may come in answer to the name of an artifact. An index is asked for so that an error can say that it is one.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
     application/vnd.docker.distribution.manifest.list.v2+json";

/// The digest of a manifest, as most registries state it.
const CONTENT_DIGEST: &str = "docker-content-digest";

/// How often a download is started or resumed.
pub(crate) const MOST_ATTEMPTS: u32 = 5;

/// How long weir waits before the first continuation; before each further one, twice as long.
const PAUSE: Duration = Duration::from_millis(100);

/// A repository of a registry.
pub struct Registry {
    blocking: Blocking,
    options: Options,
    reference: Reference,
}

impl Registry {
    /// Sends nothing yet.
    pub fn new(reference: &Reference, options: Options) -> Result<Self> {
        Ok(Self {
            blocking: Blocking::new(reference.registry(), options.limits)?,
            options,
            reference: reference.clone(),
        })
    }

    /// Uploads an artifact and gives it its tag. Returns its digest.
    ///
    /// The tag is set last: what fails before leaves it as it was.
    pub fn push(&self, artifact: &Artifact) -> Result<Digest> {
        let Version::Tag(_) = self.reference.version() else {
            return Err(Error::Reference {
                text: self.reference.to_string().into(),
                why: "an artifact is pushed under a tag, and its digest follows".into(),
            });
        };
        self.run(Action::Push, async |session| {
            push(session, &self.reference, artifact).await
        })
    }

    /// Downloads all of an artifact except its component.
    pub fn describe(&self) -> Result<Description> {
        self.run(Action::Pull, async |session| {
            describe(session, &self.reference).await
        })
    }

    /// Downloads an artifact, and checks its digests and sizes.
    pub fn pull(&self) -> Result<Artifact> {
        self.run(Action::Pull, async |session| {
            let description = describe(session, &self.reference).await?;
            let layer = description.manifest.component();
            let component = blob(session, "the component", layer).await?;
            Artifact::of(description, component)
        })
    }

    pub(crate) fn run<T>(
        &self,
        action: Action,
        work: impl AsyncFnOnce(&Session) -> Result<T>,
    ) -> Result<T> {
        self.blocking.run(async {
            let session = self.session(action)?;
            work(&session).await
        })
    }

    fn session(&self, action: Action) -> Result<Session> {
        let Options {
            credentials,
            authorities,
            plain_http,
            ..
        } = &self.options;
        let is_local = self.reference.is_loopback() && authorities.is_none();
        let scheme = if *plain_http || is_local {
            Scheme::HTTP
        } else {
            Scheme::HTTPS
        };
        let client = Client::new(&self.options)?;
        let credentials =
            Credentials::find(credentials, &self.reference, self.options.limits.total)?;
        Session::new(client, &self.reference, credentials, scheme, action)
    }
}

async fn push(session: &Session, reference: &Reference, artifact: &Artifact) -> Result<Digest> {
    let Artifact {
        description,
        component,
        ..
    } = artifact;
    let Manifest { config, .. } = &description.manifest;
    upload(session, description.manifest.component(), component).await?;
    upload(session, config, &description.config_bytes).await?;

    let name = reference.version().to_string();
    let answer = put_manifest(session, &name, MANIFEST, &description.manifest_bytes).await?;
    let expected = description.digest();
    check_stated(&answer, &expected)?;
    Ok(expected)
}

/// Uploads a manifest, or a list of some, under a tag or its digest.
pub(crate) async fn put_manifest(
    session: &Session,
    name: &str,
    media_type: &'static str,
    bytes: &[u8],
) -> Result<Answer> {
    let url = session.url(&format!("manifests/{name}"))?;
    let body = Bytes::copy_from_slice(bytes);
    let call = Call::new(Method::PUT, url).sending(media_type, body);
    let answer = session.send(&call).await?;
    if answer.head.status != StatusCode::CREATED {
        return Err(status(answer).await);
    }
    Ok(answer)
}

/// Uploads a blob, unless the registry has it.
pub(crate) async fn upload(session: &Session, descriptor: &Descriptor, bytes: &[u8]) -> Result<()> {
    let Descriptor { digest, .. } = descriptor;
    let there = Call::new(Method::HEAD, session.url(&format!("blobs/{digest}"))?);
    if session.send(&there).await?.head.status == StatusCode::OK {
        return Ok(());
    }
    let begin = Call::new(Method::POST, session.url("blobs/uploads/")?);
    let answer = session.send(&begin).await?;
    if answer.head.status != StatusCode::ACCEPTED {
        return Err(status(answer).await);
    }
    let location = session.location(&answer)?;
    let url = with_parameter(&location, "digest", &digest.to_string());
    let url = url.ok_or_else(|| Error::Protocol {
        url: (&answer.url).into(),
        why: "its `Location` for the upload is not a URL".into(),
    })?;
    let body = Bytes::copy_from_slice(bytes);
    let put = Call::new(Method::PUT, url).sending("application/octet-stream", body);
    let answer = session.send(&put).await?;
    if answer.head.status != StatusCode::CREATED {
        return Err(status(answer).await);
    }
    Ok(())
}

async fn describe(session: &Session, reference: &Reference) -> Result<Description> {
    let url = session.url(&format!("manifests/{}", reference.version()))?;
    let answer = session
        .send(&Call::new(Method::GET, url).accepting(MANIFESTS))
        .await?;
    match answer.head.status {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => {
            return Err(Error::Missing {
                host: reference.registry().into(),
                name: reference.to_string().into(),
            });
        }
        _ => return Err(status(answer).await),
    }
    let stated = stated(&answer);
    let bytes = answer.read("a manifest", MOST_METADATA).await?;
    if let Version::Digest(digest) = reference.version() {
        check_manifest(digest, &bytes)?;
    }
    if let Some(stated) = stated {
        check_manifest(&stated, &bytes)?;
    }
    let manifest = Manifest::read(&bytes)?;
    let config = blob(session, "the artifact's configuration", &manifest.config).await?;
    Description::of(bytes, config)
}

/// The digest of a manifest that a registry states; none if it states none, or one of another algorithm.
fn stated(answer: &Answer) -> Option<Digest> {
    let stated = answer.head.headers.get(CONTENT_DIGEST)?;
    stated.to_str().ok()?.parse().ok()
}

fn check_stated(answer: &Answer, expected: &Digest) -> Result<()> {
    match stated(answer) {
        Some(found) if found != *expected => Err(Error::Digest {
            what: "the manifest that the registry keeps".into(),
            expected: expected.clone(),
            found,
        }),
        _ => Ok(()),
    }
}

/// Downloads a blob. A download that breaks off is continued where it ended.
pub(crate) async fn blob(
    session: &Session,
    what: &str,
    descriptor: &Descriptor,
) -> Result<Vec<u8>> {
    let url = session.url(&format!("blobs/{}", descriptor.digest))?;
    let mut received = Vec::new();
    for attempt in 1.. {
        let call = Call::new(Method::GET, url.clone()).after(received.len());
        let ended = part(session, &call, what, descriptor, &mut received).await;
        match ended {
            Ok(()) if received.len() as u64 == descriptor.size => break,
            Err(error) if !is_interruption(&error) => return Err(error),
            // Never begun: that is not a download that breaks off.
            Err(error) if received.is_empty() && attempt == MOST_ATTEMPTS => return Err(error),
            _ if attempt == MOST_ATTEMPTS => {
                return Err(Error::Truncated {
                    url: (&url).into(),
                    digest: descriptor.digest.clone(),
                    received: received.len() as u64,
                    size: descriptor.size,
                    attempts: attempt,
                });
            }
            _ => pause(attempt).await,
        }
    }
    descriptor.check(what, &received)?;
    Ok(received)
}

/// Receives what comes in answer to one request for a blob, as far as it comes.
async fn part(
    session: &Session,
    call: &Call,
    what: &str,
    descriptor: &Descriptor,
    received: &mut Vec<u8>,
) -> Result<()> {
    let mut answer = session.send(call).await?;
    match answer.head.status {
        StatusCode::OK => received.clear(),
        StatusCode::PARTIAL_CONTENT if continues(&answer, received.len()) => {}
        StatusCode::PARTIAL_CONTENT => {
            return Err(Error::Protocol {
                url: (&answer.url).into(),
                why: "it continued the download at another offset than requested".into(),
            });
        }
        _ => return Err(status(answer).await),
    }
    while let Some(part) = answer.next().await? {
        received.extend_from_slice(&part);
        let found = received.len() as u64;
        if found > descriptor.size {
            return Err(Error::Size {
                what: what.into(),
                expected: descriptor.size,
                found,
            });
        }
    }
    Ok(())
}

/// Whether an answer is that to a request for what comes after so many bytes.
fn continues(answer: &Answer, bytes: usize) -> bool {
    let range = answer.head.headers.get(CONTENT_RANGE);
    let range = range.and_then(|range| range.to_str().ok());
    bytes > 0 && range.is_some_and(|range| range.starts_with(&format!("bytes {bytes}-")))
}

/// Waits before another attempt.
pub(crate) async fn pause(attempt: u32) {
    sleep(PAUSE * 2_u32.pow(attempt - 1)).await;
}

/// Whether another attempt may help.
pub(crate) fn is_interruption(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::Slow { .. } => true,
        Error::Status { status, .. } => status.is_server_error(),
        _ => false,
    }
}
