//! Values that are matched as they are: words of few, and texts.

use std::marker::PhantomData;

use super::{NO_EFFECT, one};
use crate::field::{FieldType, Flaw, Texts, Verbs};
use crate::invocation::Invocation;
use crate::namespace::Namespace;
use crate::verb::{Verb, VerbSet};
use crate::word::Word;

/// The namespace that an operation is in.
pub struct InNamespace;

impl FieldType for InNamespace {
    type Values = Namespace;
    type Fact<'r> = Namespace;
    const IS_LIST: bool = false;
    const EXAMPLES: &'static [&'static str] = Namespace::WORDS;

    fn matches(value: &Namespace, fact: Namespace, _: &Invocation) -> bool {
        *value == fact
    }

    fn text(fact: Namespace) -> Texts {
        one(fact)
    }
}

impl<R: VerbSet> FieldType for Verbs<R> {
    type Values = Vec<Verb>;
    type Fact<'r> = Verb;
    const EXAMPLES: &'static [&'static str] = R::VERB_WORDS;

    fn matches(verbs: &Vec<Verb>, fact: Verb, _: &Invocation) -> bool {
        verbs.contains(&fact)
    }

    fn text(fact: Verb) -> Texts {
        one(fact)
    }
}

/// One of few words.
pub struct Words<W>(PhantomData<W>);

impl<W: Word + ToString> FieldType for Words<W> {
    type Values = Vec<W>;
    type Fact<'r> = W;
    const EXAMPLES: &'static [&'static str] = W::WORDS;

    fn matches(words: &Vec<W>, fact: W, _: &Invocation) -> bool {
        words.contains(&fact)
    }

    fn text(fact: W) -> Texts {
        one(fact.word())
    }
}

/// One of few words; an operation may also have another of the kernel's.
pub struct KernelWords<W>(PhantomData<W>);

impl<W: Word> FieldType for KernelWords<W> {
    type Values = Vec<W>;
    type Fact<'r> = &'r str;
    const EXAMPLES: &'static [&'static str] = W::WORDS;

    fn matches(words: &Vec<W>, fact: &str, _: &Invocation) -> bool {
        words.iter().any(|word| word.word() == fact)
    }

    fn text(fact: &str) -> Texts {
        one(fact)
    }
}

/// Several words at once, all of which must be listed.
pub struct AllOf<W>(PhantomData<W>);

impl<W: Word> FieldType for AllOf<W> {
    type Values = Vec<W>;
    type Fact<'r> = &'r [W];
    const EXAMPLES: &'static [&'static str] = W::WORDS;

    fn matches(words: &Vec<W>, fact: &[W], _: &Invocation) -> bool {
        fact.iter().all(|word| words.contains(word))
    }

    fn text(fact: &[W]) -> Texts {
        fact.iter().map(|word| word.word().to_owned()).collect()
    }
}

/// Texts that are matched exactly.
pub struct Exact;

impl FieldType for Exact {
    type Values = Vec<String>;
    type Fact<'r> = &'r str;
    const EXAMPLES: &'static [&'static str] = &["0", "1", ""];
    const OTHER: Option<&'static str> = Some("another");

    fn matches(texts: &Vec<String>, fact: &str, _: &Invocation) -> bool {
        texts.iter().any(|text| text == fact)
    }

    fn text(fact: &str) -> Texts {
        one(fact)
    }

    /// Elsewhere in a rule it would match every value.
    fn flaws(texts: &Texts) -> Vec<Flaw> {
        let flaw = "`*` matches only the value `*`: without the list every value is allowed";
        let has_wildcard = texts.contains("*");
        has_wildcard
            .then(|| (NO_EFFECT, flaw.to_owned()))
            .into_iter()
            .collect()
    }
}
