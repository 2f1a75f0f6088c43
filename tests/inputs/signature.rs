//! Signatures, keys, trust roots and the policy for them: every input is one or an error, and no signature counts for what it was not
//! made for.

use std::path::Path;
use std::sync::LazyLock;

use weir_files::Paths;
use weir_signature::{
    Admitted, Bundle, Candidate, Identity, Keyless, Policy, PublicKey, Subject, TrustRoot,
};

/// A published file of Sigstore's conformance tests.
macro_rules! published {
    ($path:literal) => {
        include_str!(concat!(
            "../../runtime/signature/src/tests/conformance/",
            $path
        ))
    };
}

/// The key of one of the seeds, which is made for another file than [`SUBJECT`].
const KEY: &str = published!("managed-key-happy-path/key.pub");
const ROOT: &str = published!("invalid-ct-key_fail/trusted_root.json");
/// What nobody has signed.
const SUBJECT: &[u8] = b"not signed by anybody";

struct Trust {
    key: PublicKey,
    root: TrustRoot,
    signer: Keyless,
}

static TRUST: LazyLock<Trust> = LazyLock::new(|| Trust {
    key: PublicKey::from_pem(KEY).expect("a key"),
    root: TrustRoot::parse(ROOT).expect("a trust root"),
    signer: Keyless {
        identity: Identity::new("https://github.com/*").expect("an identity"),
        issuer: "https://token.actions.githubusercontent.com".to_owned(),
    },
});

/// One input.
pub fn check(input: &[u8]) {
    let Some((part, said)) = input.split_first() else {
        return;
    };
    match part {
        b'b' => bundle(said),
        b'k' => text(said, |pem| {
            if let Ok(key) = PublicKey::from_pem(pem) {
                PublicKey::from_pem(&key.to_pem()).expect("what was written can be read");
            }
        }),
        b't' => text(said, |json| drop(TrustRoot::parse(json))),
        _ => policy(said),
    }
}

fn text(bytes: &[u8], read: impl Fn(&str)) {
    if let Ok(text) = str::from_utf8(bytes) {
        read(text);
    }
}

fn bundle(bytes: &[u8]) {
    let Ok(bundle) = Bundle::read(bytes) else {
        return;
    };
    let subjects = [Subject::new("labels.wasm", SUBJECT)];
    let Trust { key, root, signer } = &*TRUST;
    let _ = bundle.check_subject(&subjects);
    assert!(bundle.verify_key(&subjects, key).is_err());
    assert!(bundle.verify_logged_key(&subjects, key, root).is_err());
    assert!(bundle.verify_keyless(&subjects, signer, root).is_err());
}

fn policy(bytes: &[u8]) {
    let paths = Paths::below(Path::new("/nowhere"));
    let policy = match Policy::parse(bytes, &paths) {
        Ok(policy) => policy,
        Err(mistakes) => {
            assert!(!mistakes.is_empty(), "it is refused for no reason");
            return;
        }
    };
    let admitted = policy.admit(&Candidate {
        name: Some("labels"),
        component: SUBJECT,
        manifest: None,
        bundles: &[],
        pinned: &[],
    });
    let is_signed = matches!(admitted, Ok(Admitted::Signed { .. }));
    assert!(!is_signed, "without a signature: {admitted:?}");
}
