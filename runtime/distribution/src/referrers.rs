//! What refers to an artifact (OCI distribution specification 1.1, "Listing Referrers"), and the list of it that weir keeps in a
//! registry that keeps none ("Referrers Tag Schema").

use http::header::LINK;
use http::{Method, StatusCode, Uri};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use weir_grant::document::Digest;

use super::client::{Call, status, with_path};
use super::connection::Answer;
use super::error::{Error, Result};
use super::manifest::{INDEX, MOST_METADATA, Referrer};
use super::registry::put_manifest;
use super::session::Session;

/// The most pages of a list that are read.
const MOST_PAGES: usize = 16;

/// A list, with what weir does not know: other tools add to it, too.
#[derive(Serialize, Deserialize)]
struct List {
    manifests: Vec<Value>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl List {
    fn empty() -> Self {
        let mut others = Map::new();
        others.insert("schemaVersion".to_owned(), json!(2));
        others.insert("mediaType".to_owned(), json!(INDEX));
        Self {
            manifests: Vec::new(),
            others,
        }
    }
}

/// What a registry lists for an artifact. An entry that is not of a manifest with a SHA-256 digest is left out.
pub(crate) async fn of(session: &Session, artifact: &Digest) -> Result<Vec<Referrer>> {
    let mut listed = Vec::new();
    let mut next = Some(session.url(&format!("referrers/{artifact}"))?);
    for page in 0..MOST_PAGES {
        let Some(url) = next else {
            return Ok(referrers(listed));
        };
        match get(session, url).await? {
            Some((list, following)) => {
                listed.extend(list.manifests);
                next = following;
            }
            None if page == 0 => return tagged(session, artifact).await,
            None => return Ok(referrers(listed)),
        }
    }
    Err(Error::NotAPlugin {
        what: "its signatures are not looked at",
        why: format!("the list of what refers to it has more than {MOST_PAGES} pages").into(),
    })
}

/// What is in the list that a tag of the registry names.
async fn tagged(session: &Session, artifact: &Digest) -> Result<Vec<Referrer>> {
    let url = session.url(&format!("manifests/{}", tag(artifact)))?;
    let list = get(session, url).await?;
    Ok(list
        .map(|(list, _)| referrers(list.manifests))
        .unwrap_or_default())
}

fn referrers(listed: Vec<Value>) -> Vec<Referrer> {
    let read = |value| serde_json::from_value(value).ok();
    listed.into_iter().filter_map(read).collect()
}

/// Adds a manifest to the list that a tag of the registry names.
pub(crate) async fn add(session: &Session, artifact: &Digest, referrer: &Referrer) -> Result<()> {
    let tag = tag(artifact);
    let url = session.url(&format!("manifests/{tag}"))?;
    let mut list = match get(session, url).await? {
        Some((list, _)) => list,
        None => List::empty(),
    };
    let added = json(referrer);
    if list.manifests.contains(&added) {
        return Ok(());
    }
    list.manifests.push(added);
    put_manifest(session, &tag, INDEX, json(&list).to_string().as_bytes()).await?;
    Ok(())
}

/// One page of a list, and where the next is; none if there is no such list.
async fn get(session: &Session, url: Uri) -> Result<Option<(List, Option<Uri>)>> {
    let call = Call::new(Method::GET, url).accepting(INDEX);
    let answer = session.send(&call).await?;
    match answer.head.status {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Ok(None),
        _ => return Err(status(answer).await),
    }
    let url = answer.url.clone();
    let broken = |why: String| Error::Protocol {
        url: (&url).into(),
        why: why.into(),
    };
    let next = next_page(session, &answer).map_err(broken)?;
    let bytes = answer.read("a list of signatures", MOST_METADATA).await?;
    let list = serde_json::from_slice(&bytes)
        .map_err(|e| broken(format!("its list of signatures is not valid: {e}")))?;
    Ok(Some((list, next)))
}

/// Where the next page of a list is: `Link: </v2/…>; rel="next"` (RFC 8288). It is on the same server.
fn next_page(session: &Session, answer: &Answer) -> Result<Option<Uri>, String> {
    let Some(link) = answer.head.headers.get(LINK) else {
        return Ok(None);
    };
    let link = link.to_str().unwrap_or_default();
    let Some((target, parameters)) = link.strip_prefix('<').and_then(|l| l.split_once('>')) else {
        return Err("its `Link` is not one of a list of signatures".to_owned());
    };
    let is_next = |parameter: &str| matches!(parameter.trim(), "rel=\"next\"" | "rel=next");
    if !parameters.split(';').any(is_next) {
        return Ok(None);
    }
    let next = if target.starts_with('/') && !target.starts_with("//") {
        with_path(&answer.url, target)
    } else {
        target.parse().ok()
    };
    match next {
        Some(next) if session.is_registry(&next) => Ok(Some(next)),
        _ => Err("its `Link` does not lead to the next page on the same server".to_owned()),
    }
}

/// The tag of the list of what refers to an artifact.
fn tag(artifact: &Digest) -> String {
    artifact.to_string().replace(':', "-")
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("text and numbers are JSON")
}
