//! The configuration, key by key.

use ipnet::IpNet;
use weir_sdk::Error;
use weir_sdk::cni::parse_cidr;

use crate::shaper::{Direction, Limit, Shaper, Subnets};

/// Bits in a byte: the configuration counts in bits, the kernel in bytes.
const BYTE: u64 = 8;

/// The largest burst in bits: the kernel counts bytes in 32 bits, and the reference plugin excludes the largest
/// value.
const MOST_BURST: u64 = BYTE * u32::MAX as u64 - 1;

/// A plugin configuration of the type `bandwidth`.
///
/// A rate or burst of 0 means none, but the key counts as given.
#[weir_sdk::config(rename_all = "camelCase", default)]
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The rate of what the container receives, in bits per second.
    pub ingress_rate: Option<u64>,
    /// Bits.
    pub ingress_burst: Option<u64>,
    /// The rate of what the container sends, in bits per second.
    pub egress_rate: Option<u64>,
    /// Bits.
    pub egress_burst: Option<u64>,
    /// Traffic with these networks has no limit.
    pub unshaped_subnets: Option<Vec<String>>,
    /// Traffic with other networks than these has no limit.
    pub shaped_subnets: Option<Vec<String>>,
    /// Capability arguments.
    pub runtime_config: RuntimeConfig,
}

/// `runtimeConfig`.
#[weir_sdk::config(default)]
#[derive(Clone, Debug, Default)]
pub struct RuntimeConfig {
    /// The same keys. A `runtimeConfig` among them has no effect, like any unknown key there.
    pub bandwidth: Option<Box<Config>>,
}

/// What is to be shaped, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shaping {
    /// What the container receives; none without a limit.
    pub ingress: Option<Shaper>,
    /// What the container sends; none without a limit.
    pub egress: Option<Shaper>,
}

impl Shaping {
    /// Whether nothing has a limit.
    pub fn is_nothing(&self) -> bool {
        self.ingress.is_none() && self.egress.is_none()
    }
}

impl Config {
    /// Reads what is to be shaped. Errors have code 7 and begin with the key.
    pub fn shaping(&self) -> Result<Shaping, Error> {
        let (keys, path) = self.in_force();
        let limit = |direction, rate, burst| limit(&format!("{path}{direction}"), rate, burst);
        let ingress = limit("ingress", keys.ingress_rate, keys.ingress_burst)?;
        let egress = limit("egress", keys.egress_rate, keys.egress_burst)?;
        let subnets = keys.subnets(path)?;
        let shaper = |direction, limit| Shaper {
            limit,
            subnets: subnets.clone(),
            direction,
        };
        Ok(Shaping {
            ingress: ingress.map(|limit| shaper(Direction::Ingress, limit)),
            egress: egress.map(|limit| shaper(Direction::Egress, limit)),
        })
    }

    /// The keys that count, and the path to them. A single key at the top replaces everything that the runtime
    /// requests.
    fn in_force(&self) -> (&Config, &'static str) {
        match &self.runtime_config.bandwidth {
            Some(requested) if !self.has_keys() => (requested, "runtimeConfig.bandwidth."),
            _ => (self, ""),
        }
    }

    fn has_keys(&self) -> bool {
        let numbers = [
            self.ingress_rate,
            self.ingress_burst,
            self.egress_rate,
            self.egress_burst,
        ];
        let lists = [&self.unshaped_subnets, &self.shaped_subnets];
        numbers.iter().any(Option::is_some) || lists.iter().any(|list| list.is_some())
    }

    fn subnets(&self, path: &str) -> Result<Subnets, Error> {
        let unshaped = networks(&format!("{path}unshapedSubnets"), &self.unshaped_subnets)?;
        let shaped = networks(&format!("{path}shapedSubnets"), &self.shaped_subnets)?;
        match (unshaped.is_empty(), shaped.is_empty()) {
            (true, true) => Ok(Subnets::All),
            (false, true) => Ok(Subnets::AllBut(unshaped)),
            (true, false) => Ok(Subnets::Only(shaped)),
            (false, false) => Err(Error::invalid_config(format!(
                "{path}unshapedSubnets and {path}shapedSubnets cannot both be given: remove one of \
                 them"
            ))),
        }
    }
}

/// The limit of a direction, whose keys begin with `key`.
fn limit(key: &str, rate: Option<u64>, burst: Option<u64>) -> Result<Option<Limit>, Error> {
    let (rate, burst) = (rate.unwrap_or(0), burst.unwrap_or(0));
    match (rate, burst) {
        (0, 0) => return Ok(None),
        (0, _) | (_, 0) => {
            let msg = format!(
                "{key}Rate and {key}Burst: expected both or neither, found a rate of {rate} bits \
                 per second and a burst of {burst} bits"
            );
            return Err(Error::invalid_config(msg));
        }
        _ => {}
    }
    at_least_a_byte(&format!("{key}Rate"), rate)?;
    at_least_a_byte(&format!("{key}Burst"), burst)?;
    match u32::try_from(burst / BYTE) {
        Ok(bytes) if burst <= MOST_BURST => Ok(Some(Limit {
            rate: rate / BYTE,
            burst: bytes,
        })),
        _ => Err(Error::invalid_config(format!(
            "{key}Burst: expected at most {MOST_BURST} bits, found {burst}"
        ))),
    }
}

fn at_least_a_byte(key: &str, bits: u64) -> Result<(), Error> {
    if bits >= BYTE {
        Ok(())
    } else {
        Err(Error::invalid_config(format!(
            "{key}: expected at least {BYTE}, because the kernel counts in bytes, found {bits}"
        )))
    }
}

fn networks(key: &str, texts: &Option<Vec<String>>) -> Result<Vec<IpNet>, Error> {
    let texts = texts.iter().flatten().enumerate();
    let networks = texts.map(|(index, text)| {
        let network = parse_cidr(text).map_err(|expected| {
            Error::invalid_config(format!(
                "{key}[{index}]: expected {expected}, found `{}`",
                text.escape_debug()
            ))
        })?;
        Ok(network.trunc())
    });
    networks.collect()
}

#[cfg(test)]
mod tests {
    use weir_sdk::Code;

    use super::*;

    fn shaping(text: &str) -> Result<Shaping, Error> {
        serde_json::from_str::<Config>(text).unwrap().shaping()
    }

    fn fault(text: &str) -> String {
        let error = shaping(text).unwrap_err();
        assert_eq!(error.code, Code::INVALID_CONFIG);
        error.msg
    }

    fn nets(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn bits_become_bytes() {
        let shaping = shaping(
            r#"{"ingressRate": 1000000, "ingressBurst": 8015,
                "egressRate": 8, "egressBurst": 34359738359}"#,
        )
        .unwrap();
        let ingress = Limit {
            rate: 125_000,
            burst: 1001,
        };
        let egress = Limit {
            rate: 1,
            burst: u32::MAX - 1,
        };
        assert_eq!(shaping.ingress.unwrap().limit, ingress);
        let shaper = shaping.egress.unwrap();
        assert_eq!(
            (shaper.limit, shaper.direction),
            (egress, Direction::Egress)
        );
        assert_eq!(shaper.subnets, Subnets::All);
    }

    #[test]
    fn a_direction_without_rate_and_burst_has_no_limit() {
        for text in [
            "{}",
            r#"{"ingressRate": 0, "ingressBurst": 0}"#,
            r#"{"shapedSubnets": []}"#,
        ] {
            assert!(shaping(text).unwrap().is_nothing(), "{text}");
        }
        let egress = shaping(r#"{"egressRate": 8, "egressBurst": 8}"#).unwrap();
        assert!(egress.ingress.is_none() && egress.egress.is_some());
    }

    #[test]
    fn one_key_at_the_top_takes_the_place_of_all_of_the_runtimes() {
        let asked = r#""runtimeConfig": {"bandwidth": {"egressRate": 800, "egressBurst": 80}}"#;
        let of_runtime = shaping(&format!("{{{asked}}}")).unwrap();
        assert_eq!(of_runtime.egress.unwrap().limit.rate, 100);
        let of_both = shaping(&format!(
            r#"{{"ingressRate": 8, "ingressBurst": 8, {asked}}}"#
        ))
        .unwrap();
        assert!(of_both.ingress.is_some() && of_both.egress.is_none());
        for key in [r#""egressRate": 0"#, r#""shapedSubnets": []"#] {
            let nothing = shaping(&format!("{{{key}, {asked}}}")).unwrap();
            assert!(nothing.is_nothing(), "{key}");
        }
    }

    #[test]
    fn subnets_are_truncated_to_their_prefix() {
        let subnets = |keys: &str| {
            let text = format!(r#"{{"egressRate": 8, "egressBurst": 8, {keys}}}"#);
            shaping(&text).unwrap().egress.unwrap().subnets
        };
        let unshaped =
            subnets(r#""unshapedSubnets": ["10.1.2.3/8", "fd00::1/64"], "shapedSubnets": []"#);
        assert_eq!(
            unshaped,
            Subnets::AllBut(nets(&["10.0.0.0/8", "fd00::/64"]))
        );
        let shaped = subnets(r#""shapedSubnets": ["0.0.0.0/0"]"#);
        assert_eq!(shaped, Subnets::Only(nets(&["0.0.0.0/0"])));
    }

    #[test]
    fn faults_begin_with_the_keys() {
        for (text, expected) in [
            (
                r#"{"ingressRate": 1000}"#,
                "ingressRate and ingressBurst: expected both or neither, found a rate of 1000 ",
            ),
            (
                r#"{"ingressBurst": 1000}"#,
                "ingressRate and ingressBurst: expected both or neither, found a rate of 0 ",
            ),
            (
                r#"{"egressRate": 0, "egressBurst": 1000}"#,
                "egressRate and egressBurst: expected both or neither",
            ),
            (
                r#"{"egressRate": 7, "egressBurst": 1000}"#,
                "egressRate: expected at least 8, because the kernel counts in bytes, found 7",
            ),
            (
                r#"{"egressRate": 8, "egressBurst": 1}"#,
                "egressBurst: expected at least 8, because the kernel counts in bytes, found 1",
            ),
            (
                r#"{"egressRate": 8, "egressBurst": 34359738360}"#,
                "egressBurst: expected at most 34359738359 bits, found 34359738360",
            ),
            (
                r#"{"egressRate": 8, "egressBurst": 18446744073709551615}"#,
                "egressBurst: expected at most 34359738359 bits",
            ),
            (
                r#"{"unshapedSubnets": ["10.0.0.0/8"], "shapedSubnets": ["10.0.0.0/8"]}"#,
                "unshapedSubnets and shapedSubnets cannot both be given",
            ),
            (
                r#"{"unshapedSubnets": ["10.0.0.0/8", "hello"]}"#,
                "unshapedSubnets[1]: expected an IP address with a prefix length, such as `10.1.0.5/16`, found `hello`",
            ),
            (
                r#"{"shapedSubnets": ["10.0.0.0"]}"#,
                "shapedSubnets[0]: expected a prefix length after the address",
            ),
            (
                r#"{"shapedSubnets": ["fd00::/129"]}"#,
                "shapedSubnets[0]: expected a prefix length from 0 to 128 after the address",
            ),
            (
                r#"{"runtimeConfig": {"bandwidth": {"egressRate": 8}}}"#,
                "runtimeConfig.bandwidth.egressRate and runtimeConfig.bandwidth.egressBurst: ",
            ),
            (
                r#"{"runtimeConfig": {"bandwidth": {"shapedSubnets": [""]}}}"#,
                "runtimeConfig.bandwidth.shapedSubnets[0]: ",
            ),
        ] {
            let fault = fault(text);
            assert!(fault.starts_with(expected), "{text}: {fault}");
        }
    }
}
