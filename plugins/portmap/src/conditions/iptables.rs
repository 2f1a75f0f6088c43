//! Conditions in the words of iptables(8).

use weir_sdk::Error;
use weir_sdk::firewall::{Condition, Field};

use super::words::Words;

/// The options that are understood, for an error.
const EXPECTED: &str = "-s, -d, -i, -o, -p, --sport, --dport, --mark, --src-type, --dst-type or \
                        --comment, with ! in front of it or not";

/// The modules that have these options.
const MODULES: [&str; 6] = ["tcp", "udp", "sctp", "mark", "addrtype", "comment"];

/// Takes one option; none for one that does not restrict packets.
pub fn next(words: &mut Words) -> Result<Option<Condition>, Error> {
    let negate = words.take_if("!");
    let option = words.take_after(if negate { "!" } else { "" })?;
    let source = words.address_field(true);
    let destination = words.address_field(false);
    let condition = match option.as_str() {
        "-s" | "--source" | "--src" => words.value(&option, |w, v| w.within(source, v, negate)),
        "-d" | "--destination" | "--dst" => {
            words.value(&option, |w, v| w.within(destination, v, negate))
        }
        "-i" | "--in-interface" => {
            words.value(&option, |w, v| w.name(Field::InputLinkName, v, negate))
        }
        "-o" | "--out-interface" => {
            words.value(&option, |w, v| w.name(Field::OutputLinkName, v, negate))
        }
        "-p" | "--protocol" => words.value(&option, |w, v| w.protocol(v, negate)),
        "--sport" | "--source-port" => {
            words.value(&option, |w, v| w.port(Field::SourcePort, v, negate))
        }
        "--dport" | "--destination-port" => {
            words.value(&option, |w, v| w.port(Field::DestinationPort, v, negate))
        }
        "--mark" => words.value(&option, |w, v| w.mark(v, negate)),
        "--src-type" => {
            let field = Field::SourceAddressType;
            words.value(&option, |w, v| w.address_type(field, v, negate))
        }
        "--dst-type" => {
            let field = Field::DestinationAddressType;
            words.value(&option, |w, v| w.address_type(field, v, negate))
        }
        "-m" | "--match" => return module(words, &option),
        "--comment" => return comment(words),
        _ => Err(words.unknown(&option, EXPECTED)),
    };
    condition.map(Some)
}

fn module(words: &mut Words, option: &str) -> Result<Option<Condition>, Error> {
    let module = words.take_after(option)?;
    if MODULES.contains(&module.as_str()) {
        Ok(None)
    } else {
        Err(words.unknown(&module, &format!("one of {}", MODULES.join(", "))))
    }
}

/// A comment's words continue up to the next option.
fn comment(words: &mut Words) -> Result<Option<Condition>, Error> {
    words.take_after("--comment")?;
    while words
        .peek()
        .is_some_and(|word| word != "!" && !word.starts_with('-'))
    {
        words.take_after("--comment")?;
    }
    Ok(None)
}

impl Words {
    fn value(
        &mut self,
        option: &str,
        condition: impl FnOnce(&Self, &str) -> Result<Condition, Error>,
    ) -> Result<Condition, Error> {
        let value = self.take_after(option)?;
        condition(self, &value)
    }
}
