//! Reads a document's verbs and networks, and says what is wrong with an invalid one.

use std::fmt;
use std::marker::PhantomData;

use ipnet::IpNet;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weir_cni::parse_cidr;

use crate::diagnostic::{choice, expected_one_of};
use crate::verb::{Verb, VerbSet};

/// `with` for the verbs of a rule: only those that the rule's capability has.
pub struct Verbs<R>(PhantomData<R>);

impl<R: VerbSet> Verbs<R> {
    pub(crate) fn serialize<S: Serializer>(
        verbs: &Option<Vec<Verb>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        verbs.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<Verb>>, D::Error> {
        let verbs = Option::<Vec<VerbOf<R>>>::deserialize(deserializer)?;
        Ok(verbs.map(|list| list.into_iter().map(|verb| verb.verb).collect()))
    }
}

/// A verb that a capability has.
struct VerbOf<R> {
    verb: Verb,
    rule: PhantomData<R>,
}

impl<'de, R: VerbSet> Deserialize<'de> for VerbOf<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(VerbVisitor(PhantomData))
    }
}

struct VerbVisitor<R>(PhantomData<R>);

impl<R: VerbSet> Visitor<'_> for VerbVisitor<R> {
    type Value = VerbOf<R>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&choice(R::VERB_WORDS))
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<VerbOf<R>, E> {
        let found = R::VERBS.iter().find(|verb| verb.word() == word);
        let verb = *found.ok_or_else(|| {
            let expected = expected_one_of(word, R::VERB_WORDS);
            let capability = R::CAPABILITY;
            E::custom(format!(
                "`{word}` is not a verb of `{capability}`; {expected}"
            ))
        })?;
        Ok(VerbOf {
            verb,
            rule: PhantomData,
        })
    }
}

/// `with` for networks, which says what is wrong with an invalid one.
pub struct Networks;

impl Networks {
    pub(crate) fn serialize<S: Serializer>(
        networks: &Option<Vec<IpNet>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        networks.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<IpNet>>, D::Error> {
        let networks = Option::<Vec<Network>>::deserialize(deserializer)?;
        Ok(networks.map(|list| list.into_iter().map(|network| network.0).collect()))
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Network(IpNet);

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let network = parse_cidr(&text).map(Self);
        network.map_err(|expected| format!("`{text}` is not a network; expected {expected}"))
    }
}
