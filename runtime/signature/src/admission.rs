//! Decides whether a component may be installed under a name.

use std::cell::OnceCell;

use weir_grant::document::Digest;

use super::bundle::Bundle;
use super::crypto;
use super::digest::digest;
use super::error::{Error, Result};
use super::policy::{By, Keyless, Policy, Signer, Spec};
use super::subject::Subject;
use super::trust_root::TrustRoot;

/// A component that somebody wants to install.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The plugin's name on this node; none while it is not known. Then it is decided whether it may have any.
    pub name: Option<&'a str>,
    pub component: &'a [u8],
    /// The manifest of the artifact that it comes from, which must name the component.
    pub manifest: Option<&'a [u8]>,
    /// The signatures that came along.
    pub bundles: &'a [Vec<u8>],
    /// Components that somebody who may install plugins named by digest, and where.
    pub pinned: &'a [(Digest, String)],
}

/// Why a component may be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// By its digest, which is named there.
    Pinned { by: String },
    /// The policy lets plugins of this name be unsigned.
    Unsigned,
    /// It is signed by a signer of this name, with this identity if keyless.
    Signed {
        signer: String,
        identity: Option<String>,
        /// What the policy knows the signer by: [`Policy::proof`].
        proof: String,
        /// Which of the candidate's bundles says so.
        bundle: usize,
    },
}

impl Policy {
    /// Decides whether a component may be installed. A refused digest counts before all else, and a signature that a signer of the
    /// policy made before the component's digest, so that it is known who provided it.
    pub fn admit(&self, candidate: &Candidate<'_>) -> Result<Admitted> {
        crypto::install();
        let digest = digest(candidate.component);
        self.check_refused(candidate, &digest)?;
        let error = match self.check_signatures(candidate, &digest) {
            Ok(admitted) => return Ok(admitted),
            Err(error) => error,
        };
        if let Some(by) = self.pin(candidate, &digest) {
            return Ok(Admitted::Pinned { by });
        }
        match error {
            Error::TrustRoot { .. } => Err(error),
            _ if self.allows_unsigned(candidate) => Ok(Admitted::Unsigned),
            _ => Err(error),
        }
    }

    /// Where the policy is, in a sentence.
    fn by(&self) -> String {
        format!("the policy `{}`", self.path.display())
    }

    /// Checks that a component that was let in before, and the artifact that it came from, are not refused now.
    pub fn check_installed(&self, component: &Digest, artifact: Option<&Digest>) -> Result<()> {
        self.check_digests(component, artifact)
    }

    /// What the policy knows a signer by who may provide a plugin, such as `key sha256:…`; none if nobody of this name may. It is
    /// another one after the signer's key, identity or issuer was replaced, or the trust root that counts for it.
    ///
    /// Errors: the trust root cannot be used.
    pub fn proof(&self, signer: &str, plugin: &str) -> Result<Option<String>> {
        let mut signers = self.spec.iter().flat_map(|spec| &spec.signers);
        let known = signers.find(|known| known.name == signer && known.may_provide(plugin));
        let Some(known) = known else {
            return Ok(None);
        };
        let needs_root = known.needs_trust_root();
        let root = needs_root.then(|| self.trust_root()).transpose()?;
        Ok(Some(proof(known, root.as_ref())))
    }

    fn check_refused(&self, candidate: &Candidate<'_>, component: &Digest) -> Result<()> {
        self.check_digests(component, candidate.manifest.map(digest).as_ref())
    }

    fn check_digests(&self, component: &Digest, artifact: Option<&Digest>) -> Result<()> {
        let named = [("component", Some(component)), ("artifact", artifact)];
        let refused = self.spec.iter().flat_map(|spec| &spec.refused);
        for refusal in refused {
            let found = named
                .iter()
                .find(|(_, digest)| *digest == Some(&refusal.digest));
            if let Some((what, _)) = found {
                return Err(Error::Refused {
                    what,
                    digest: refusal.digest.clone(),
                    by: self.by(),
                    reason: refusal.reason.clone(),
                });
            }
        }
        Ok(())
    }

    /// Where the component's digest is named.
    fn pin(&self, candidate: &Candidate<'_>, digest: &Digest) -> Option<String> {
        if self.is_of_a_signer {
            return None;
        }
        let mut pinned = candidate.pinned.iter();
        if let Some((_, by)) = pinned.find(|(pinned, _)| pinned == digest) {
            return Some(by.clone());
        }
        let mut pinned = self.spec.iter().flat_map(|spec| &spec.pinned);
        let is_pinned = pinned.any(|pin| {
            let is_named = candidate.name.is_none_or(|name| pin.plugin == name);
            is_named && pin.digest == *digest
        });
        is_pinned.then(|| self.by())
    }

    fn allows_unsigned(&self, candidate: &Candidate<'_>) -> bool {
        let mut names = self.spec.iter().flat_map(|spec| &spec.unsigned);
        names.any(|known| candidate.name.is_none_or(|name| known.matches(name)))
    }

    fn check_signatures(&self, candidate: &Candidate<'_>, digest: &Digest) -> Result<Admitted> {
        let unsigned = |policy: String| Error::Unsigned {
            digest: digest.clone(),
            policy,
        };
        let Some(spec) = &self.spec else {
            if !candidate.bundles.is_empty() {
                let (digest, path) = (digest.clone(), self.path.clone());
                return Err(Error::NoPolicy { digest, path });
            }
            return Err(unsigned(format!(
                "there is no policy `{}`",
                self.path.display()
            )));
        };
        if candidate.bundles.is_empty() {
            let why = format!("{} does not name it below `unsigned`", self.by());
            return Err(unsigned(why));
        }
        let (mut bundles, mut unreadable) = (Vec::new(), None);
        for (place, bytes) in candidate.bundles.iter().enumerate() {
            match Bundle::read(bytes) {
                Ok(bundle) => bundles.push((place, bundle)),
                Err(error) => unreadable = unreadable.or(Some(error)),
            }
        }
        match unreadable {
            Some(error) if bundles.is_empty() => Err(error),
            _ => self.find_signer(spec, candidate, &bundles),
        }
    }

    /// `bundles` are those that can be read, with their places among the candidate's.
    fn find_signer(
        &self,
        spec: &Spec,
        candidate: &Candidate<'_>,
        bundles: &[(usize, Bundle)],
    ) -> Result<Admitted> {
        let check = Check {
            policy: self,
            candidate,
            root: OnceCell::new(),
        };
        let may_provide = |signer: &&Signer| candidate.name.is_none_or(|n| signer.may_provide(n));
        let (named, others): (Vec<&Signer>, Vec<&Signer>) =
            spec.signers.iter().partition(may_provide);
        let mut failures = Vec::new();
        for signer in &named {
            for (place, bundle) in bundles {
                match check.verify(bundle, signer) {
                    Err(error @ Error::TrustRoot { .. }) => return Err(error),
                    Err(error) => failures.push((signer, error)),
                    Ok(identity) => {
                        return Ok(Admitted::Signed {
                            signer: signer.name.clone(),
                            identity,
                            proof: proof(signer, check.root.get()),
                            bundle: *place,
                        });
                    }
                }
            }
        }
        if failures.len() == 1 {
            let (_, error) = failures.remove(0);
            return Err(error);
        }
        if failures.is_empty() {
            return Err(self.no_signer(&check, &others, bundles));
        }
        let why = failures
            .iter()
            .map(|(signer, error)| format!("`{}`: {error}", signer.name));
        Err(Error::NotAccepted {
            by: self.by(),
            why: why.collect(),
        })
    }

    /// Why signatures do not count for a plugin that the policy names no signer for.
    fn no_signer(
        &self,
        check: &Check<'_>,
        others: &[&Signer],
        bundles: &[(usize, Bundle)],
    ) -> Error {
        let mut of_another = None;
        for (signer, bundle) in others
            .iter()
            .flat_map(|s| bundles.iter().map(move |(_, b)| (s, b)))
        {
            match check.verify(bundle, signer) {
                Ok(_) => {
                    let (by, known) = (self.by(), Some(signer.name.clone()));
                    return Error::NoSigner { by, known };
                }
                Err(error @ Error::OtherDigest { .. }) => of_another = Some(error),
                Err(_) => {}
            }
        }
        of_another.unwrap_or_else(|| Error::NoSigner {
            by: self.by(),
            known: None,
        })
    }
}

/// What is verified, with the trust root once it is read.
struct Check<'a> {
    policy: &'a Policy,
    candidate: &'a Candidate<'a>,
    root: OnceCell<TrustRoot>,
}

impl Check<'_> {
    /// Verifies that a signer made a signature. Returns the identity if keyless.
    fn verify(&self, bundle: &Bundle, signer: &Signer) -> Result<Option<String>> {
        let subjects = self.subjects();
        match &signer.by {
            By::Key { key, logged: false } => bundle.verify_key(&subjects, key).map(|()| None),
            By::Key { key, logged: true } => {
                let root = self.root()?;
                bundle
                    .verify_logged_key(&subjects, key, root)
                    .map(|()| None)
            }
            By::Keyless(keyless) => {
                let root = self.root()?;
                bundle.verify_keyless(&subjects, keyless, root).map(Some)
            }
        }
    }

    fn subjects(&self) -> Vec<Subject<'_>> {
        let Candidate {
            name,
            component,
            manifest,
            ..
        } = self.candidate;
        let name = name.unwrap_or_default();
        let manifest = manifest.iter().map(|manifest| Subject::new(name, manifest));
        [Subject::new(name, component)]
            .into_iter()
            .chain(manifest)
            .collect()
    }

    fn root(&self) -> Result<&TrustRoot> {
        if let Some(root) = self.root.get() {
            return Ok(root);
        }
        let root = self.policy.trust_root()?;
        Ok(self.root.get_or_init(|| root))
    }
}

/// `key sha256:…`, `identity … of …, by the trust root sha256:…`
fn proof(signer: &Signer, root: Option<&TrustRoot>) -> String {
    let known = match &signer.by {
        By::Key { key, .. } => format!("key {}", key.digest()),
        By::Keyless(Keyless { identity, issuer }) => format!("identity {identity} of {issuer}"),
    };
    match root.filter(|_| signer.needs_trust_root()) {
        Some(root) => format!("{known}, by the trust root {}", root.digest),
        None => known,
    }
}
