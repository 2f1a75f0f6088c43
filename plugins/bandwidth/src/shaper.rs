//! What shapes the traffic of one direction: a token bucket for all of it, or, where it is for some
//! networks only, two classes and filters that tell them apart.

use ipnet::IpNet;
use weir_sdk::traffic::{Class, Filter, TokenBucket, handle};

/// The minor numbers of the two classes, as the reference plugin's.
const UNSHAPED: u16 = 0x1;
const SHAPED: u16 = 0x30;

/// The rate of the class without limit, in bytes per second: the reference plugin's, whose CHECK looks
/// for it.
const UNLIMITED_RATE: u64 = 100_000_000_000;
/// Bytes: several packets of the largest size, so that none waits.
const UNLIMITED_BURST: u32 = 1 << 20;

/// How long a packet may wait for its turn before it is dropped, in microseconds.
const LATENCY: u32 = 25_000;

/// The size of a frame's headers in bytes: Ethernet with a VLAN tag.
const HEADER: u32 = 18;

/// The kernel keeps a burst as the time that it takes at the rate: 32 bits of 64 ns.
const MOST_SECONDS: u64 = 274;

/// The tolerance for a burst read from the kernel, in microseconds: the kernel rounds to 64 ns, and the reference
/// plugin to microseconds before that.
const ROUNDING: u64 = 2;

const MICROSECONDS: u64 = 1_000_000;

/// Priorities of filters. One priority has filters of one family.
const IPV6_PRIORITY: u16 = 15;
const IPV4_PRIORITY: u16 = 16;

/// How much may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes per second, more than 0.
    pub rate: u64,
    /// How much may pass at once after a pause, in bytes, more than 0.
    pub burst: u32,
}

/// The networks whose traffic is shaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subnets {
    /// All traffic.
    All,
    /// Traffic with these.
    Only(Vec<IpNet>),
    /// Traffic with all others.
    AllBut(Vec<IpNet>),
}

/// Whether packets come to the container or from it: on which side the network is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the container: the network is the source.
    Ingress,
    /// From the container: the network is the destination.
    Egress,
}

/// What shapes a direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// The limit for all shaped traffic together.
    pub limit: Limit,
    /// Which traffic is shaped.
    pub subnets: Subnets,
    /// The direction.
    pub direction: Direction,
}

impl Shaper {
    /// Returns the token bucket for everything; none where some traffic has no limit.
    ///
    /// It drops packets larger than its burst, which is therefore at least one packet of the link's `mtu`.
    pub fn token_bucket(&self, mtu: u32) -> Option<TokenBucket> {
        if self.subnets != Subnets::All {
            return None;
        }
        let Limit { rate, burst } = self.limit;
        let burst = self.limit.countable(burst.max(mtu.saturating_add(HEADER)));
        // The kernel counts the burst and the backlog together, in 32 bits.
        let room = u64::from(u32::MAX - burst).saturating_mul(MICROSECONDS) / rate;
        Some(TokenBucket {
            rate,
            burst,
            latency: u32::try_from(room).map_or(LATENCY, |room| room.min(LATENCY)),
        })
    }

    /// Returns the minor number of the class for what no filter matches.
    pub fn default_class(&self) -> u16 {
        match self.subnets {
            Subnets::All | Subnets::AllBut(_) => SHAPED,
            Subnets::Only(_) => UNSHAPED,
        }
    }

    /// Returns the class with the limit, and the one without.
    pub fn classes(&self) -> [Class; 2] {
        let Limit { rate, burst } = self.limit;
        [
            Class::new(handle(1, SHAPED), rate, self.limit.countable(burst)),
            Class::new(handle(1, UNSHAPED), UNLIMITED_RATE, UNLIMITED_BURST),
        ]
    }

    /// Returns the filters that put the networks' traffic into the class that is not the default.
    pub fn filters(&self) -> Vec<Filter> {
        match &self.subnets {
            Subnets::All => Vec::new(),
            Subnets::Only(networks) => self.filters_into(SHAPED, networks),
            Subnets::AllBut(networks) => self.filters_into(UNSHAPED, networks),
        }
    }

    fn filters_into(&self, class: u16, networks: &[IpNet]) -> Vec<Filter> {
        let filter = |network: &IpNet| Filter {
            priority: match network {
                IpNet::V4(_) => IPV4_PRIORITY,
                IpNet::V6(_) => IPV6_PRIORITY,
            },
            source: (self.direction == Direction::Ingress).then(|| (*network).into()),
            destination: (self.direction == Direction::Egress).then(|| (*network).into()),
            ..Filter::classify(handle(1, class))
        };
        networks.iter().map(filter).collect()
    }
}

impl Limit {
    /// As much of a burst as the kernel can count at the rate, in bytes.
    fn countable(&self, burst: u32) -> u32 {
        let most = self.rate.saturating_mul(MOST_SECONDS);
        u32::try_from(most).map_or(burst, |most| most.min(burst))
    }
}

/// Whether two bursts at a rate, in bytes, are the same within the rounding.
pub fn is_same_burst(rate: u64, one: u32, other: u32) -> bool {
    let bytes = u128::from(rate) * u128::from(ROUNDING) / u128::from(MICROSECONDS);
    u128::from(one.abs_diff(other)) <= bytes + 1
}

/// Whether two token buckets are the same within the rounding.
pub fn is_same_bucket(one: &TokenBucket, other: &TokenBucket) -> bool {
    // The kernel keeps the backlog in bytes, less the burst.
    let of_bytes = 2 * MICROSECONDS / one.rate.max(1);
    one.rate == other.rate
        && is_same_burst(one.rate, one.burst, other.burst)
        && u64::from(one.latency.abs_diff(other.latency)) <= ROUNDING + 1 + of_bytes
}

#[cfg(test)]
mod tests {
    use weir_sdk::traffic::Action;

    use super::*;

    fn shaper(rate: u64, burst: u32, subnets: Subnets) -> Shaper {
        Shaper {
            limit: Limit { rate, burst },
            subnets,
            direction: Direction::Ingress,
        }
    }

    fn bucket(rate: u64, burst: u32) -> (u64, u32, u32) {
        let shaper = shaper(rate, burst, Subnets::All);
        let bucket = shaper.token_bucket(1500).unwrap();
        (bucket.rate, bucket.burst, bucket.latency)
    }

    fn nets(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_token_bucket_is_as_configured() {
        assert_eq!(bucket(12_500_000, 125_000), (12_500_000, 125_000, 25_000));
    }

    #[test]
    fn a_token_bucket_lets_a_full_packet_through() {
        assert_eq!(bucket(12_500_000, 57), (12_500_000, 1518, 25_000));
    }

    #[test]
    fn a_burst_is_no_more_than_the_kernel_can_count() {
        assert_eq!(bucket(125_000, 268_435_455), (125_000, 34_250_000, 25_000));
        assert_eq!(bucket(1, u32::MAX - 1), (1, 274, 25_000));
        let classes = shaper(125_000, 268_435_455, Subnets::Only(Vec::new())).classes();
        assert_eq!(
            (classes[0].burst, classes[0].cburst),
            (34_250_000, 34_250_000)
        );
    }

    #[test]
    fn burst_and_what_waits_fit_into_32_bits() {
        for (rate, burst) in [
            (u64::MAX / 8, 1),
            (u64::MAX / 8, u32::MAX - 1),
            (12_500_000_000, u32::MAX - 1),
            (200_000_000_000, 1_000_000),
        ] {
            let (rate, burst, latency) = bucket(rate, burst);
            let waiting = u128::from(rate) * u128::from(latency) / 1_000_000;
            assert!(
                waiting + u128::from(burst) <= u128::from(u32::MAX),
                "{rate} {burst} {latency}"
            );
        }
        assert!(bucket(200_000_000_000, 1_000_000).2 > 20_000);
    }

    #[test]
    fn classes_are_the_reference_plugins() {
        let [shaped, unshaped] = shaper(125, 1000, Subnets::AllBut(Vec::new())).classes();
        assert_eq!((shaped.handle, shaped.parent), (0x1_0030, 0x1_0000));
        assert_eq!((shaped.rate, shaped.ceil, shaped.burst), (125, 125, 1000));
        assert_eq!(
            (unshaped.handle, unshaped.rate),
            (0x1_0001, 100_000_000_000)
        );
    }

    #[test]
    fn the_default_class_is_the_one_that_filters_do_not_lead_to() {
        let networks = nets(&["10.0.0.0/8"]);
        let all_but = shaper(125, 1000, Subnets::AllBut(networks.clone()));
        assert_eq!(all_but.default_class(), 0x30);
        assert!(matches!(
            all_but.filters()[0].action,
            Action::Classify(0x1_0001)
        ));
        let only = shaper(125, 1000, Subnets::Only(networks));
        assert_eq!(only.default_class(), 0x1);
        assert!(matches!(
            only.filters()[0].action,
            Action::Classify(0x1_0030)
        ));
        assert!(only.token_bucket(1500).is_none());
    }

    #[test]
    fn filters_look_at_the_side_where_the_network_is() {
        let networks = nets(&["10.0.0.0/8", "fd00::/8"]);
        let mut shaper = shaper(125, 1000, Subnets::Only(networks.clone()));
        let filters = shaper.filters();
        let priorities: Vec<u16> = filters.iter().map(|filter| filter.priority).collect();
        assert_eq!(priorities, [16, 15]);
        for (filter, network) in filters.iter().zip(&networks) {
            let network = Some((*network).into());
            assert_eq!((filter.source, filter.destination), (network, None));
        }
        shaper.direction = Direction::Egress;
        for (filter, network) in shaper.filters().iter().zip(&networks) {
            let network = Some((*network).into());
            assert_eq!((filter.source, filter.destination), (None, network));
        }
    }

    #[test]
    fn bursts_are_compared_to_two_microseconds() {
        assert!(is_same_burst(12_500_000, 125_000, 125_026));
        assert!(!is_same_burst(12_500_000, 125_000, 125_027));
        assert!(is_same_burst(1, 57, 57));
        assert!(!is_same_burst(1, 57, 59));
    }

    #[test]
    fn buckets_differ_by_rate_and_burst_and_latency() {
        let bucket = |rate, burst, latency| TokenBucket {
            rate,
            burst,
            latency,
        };
        let expected = bucket(12_500_000, 125_000, 25_000);
        for (found, is_same) in [
            (bucket(12_500_000, 124_987, 25_001), true),
            (bucket(12_500_000, 125_000, 25_003), true),
            (bucket(12_500_001, 125_000, 25_000), false),
            (bucket(12_500_000, 125_100, 25_000), false),
            (bucket(12_500_000, 125_000, 25_004), false),
        ] {
            assert_eq!(is_same_bucket(&expected, &found), is_same, "{found:?}");
        }
        assert!(is_same_bucket(
            &bucket(10, 1518, 25_000),
            &bucket(10, 1518, 0)
        ));
    }
}
