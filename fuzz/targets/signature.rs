#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_inputs::signature::check(input));
