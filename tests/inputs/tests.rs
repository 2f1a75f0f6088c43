//! The seeds in `fuzz/seeds`, and what a few edits make of them.

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestError, TestRunner};

/// How many inputs are made of the seeds of one function.
const INPUTS: u32 = 3000;

macro_rules! holds_for_inputs_like_the_seeds {
    ($($function:ident)+) => {$(
        #[test]
        fn $function() {
            holds(stringify!($function), super::$function::check);
        }
    )+};
}

holds_for_inputs_like_the_seeds! {
    artifact
    cni_documents
    grant_decision
    grant_document
    netfilter_replies
    plugin_configuration
    route_replies
    signature
}

fn holds(name: &str, check: fn(&[u8])) {
    let seeds = seeds(name);
    seeds.iter().for_each(|seed| check(seed));
    let mut runner = TestRunner::new(Config {
        cases: INPUTS,
        failure_persistence: None,
        ..Config::default()
    });
    let held = runner.run(&edited(seeds), |input| {
        check(&input);
        Ok(())
    });
    match held {
        Ok(()) => (),
        Err(TestError::Fail(why, input)) => {
            panic!("{why}, with the input \"{}\"", input.escape_ascii())
        }
        Err(error) => panic!("{error}"),
    }
}

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let files = fs::read_dir(all.join(name)).expect("the seeds");
    files
        .map(|file| fs::read(file.expect("a seed").path()).expect("its bytes"))
        .collect()
}

/// A seed of which some parts are replaced.
fn edited(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<Index>(), replacement(seeds.clone()));
    (select(seeds), vec(edit, 0..4)).prop_map(|(mut input, edits)| {
        for (at, (length, bytes)) in edits {
            let start = at.index(input.len() + 1);
            let end = input.len().min(start + length);
            input.splice(start..end, bytes);
        }
        input
    })
}

/// How many bytes are replaced, and by which: as many others, nothing, more, or a part of a seed.
fn replacement(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = (usize, Vec<u8>)> {
    let byte = prop_oneof![
        0..16_u8,
        any::<u8>(),
        (0..8_u32).prop_map(|bit| 1_u8 << bit)
    ];
    let part = (select(seeds), any::<Index>(), 0..64_usize).prop_map(|(seed, at, length)| {
        let start = at.index(seed.len() + 1);
        seed[start..].iter().take(length).copied().collect()
    });
    prop_oneof![
        4 => vec(byte.clone(), 1..5).prop_map(|bytes| (bytes.len(), bytes)),
        1 => (1..64_usize).prop_map(|length| (length, Vec::new())),
        1 => vec(byte, 1..5).prop_map(|bytes| (0, bytes)),
        1 => (0..64_usize, part),
    ]
}
