//! What the host routes for containers, in the table of the family `inet`.
//!
//! ```text
//! chain forward {
//!     type filter hook forward priority filter; policy accept
//!     iifname @bridges oifname @bridges iifname . oifname != @within drop
//!     jump admins
//!     ip daddr @pods4 ct state established,related accept
//!     ip saddr @pods4 accept
//!     (and the same for IPv6)
//! }
//! chain admins { jump CNI-ADMIN }
//! chain CNI-ADMIN { }                               # the administrator's
//! set bridges { "cni0" }                            # with the policy same-bridge or isolated
//! set within { "cni0" . "cni0" }                    # with the policy same-bridge
//! set pods4 { 10.1.0.5 comment "<attachment>" }
//! ```
//!
//! A bridge stays in the sets as long as the table exists: it may have containers that this plugin was not run for.

use std::net::IpAddr;

use weir_sdk::check::wrong;
use weir_sdk::firewall::owned::{self, Found, creation};
use weir_sdk::firewall::shared::Shared;
use weir_sdk::firewall::{
    self, Chain, ChainType, Command, Condition, DataType, Element, Elements, Family, Field, Hook,
    MaskedComparison, Rule, Set, Statement, Value,
};
use weir_sdk::owner::{Owner, Valid};
use weir_sdk::{
    AddResult, Context, Error, GcRequest, IpFamily, Namespace, OperationError, Request,
};

use crate::bridge::Attached;
use crate::config::{ADMIN_CHAIN, Config, IngressPolicy};

const FAMILY: Family = Family::Inet;
const FORWARD: &str = "forward";
const ADMINS: &str = "admins";
const FILTER: i32 = 0;
const BRIDGES: &str = "bridges";
const WITHIN: &str = "within";
const PODS: [&str; 2] = ["pods4", "pods6"];

/// How many rules `forward` has.
const RULES: usize = 6;

/// `NF_CT_STATE_BIT(IP_CT_ESTABLISHED)` and `NF_CT_STATE_BIT(IP_CT_RELATED)`.
const ESTABLISHED_OR_RELATED: u32 = 2 | 4;

/// What the host accepts for one attachment: what the container sends, and the answers to it, as far as the
/// administrator and the policy allow.
pub struct Accepted<'a> {
    pub owner: Owner,
    config: &'a Config,
    previous: &'a AddResult,
    /// The bridge and port that a policy other than `open` is about.
    attached: Option<Attached>,
}

impl<'a> Accepted<'a> {
    /// Errors: code 7 where the policy needs a bridge and the previous result names none.
    pub fn of(request: &'a Request<Config>, previous: &'a AddResult) -> Result<Self, Error> {
        let config = &request.config;
        let attached = match config.ingress_policy {
            IngressPolicy::Open => None,
            policy => Some(Attached::of(policy, previous)?),
        };
        Ok(Accepted {
            owner: Owner::of(request),
            config,
            previous,
            attached,
        })
    }

    /// Returns the container's port where the policy isolates it.
    pub fn isolated_port(&self) -> Option<&str> {
        let attached = self.attached.as_ref()?;
        (self.config.ingress_policy == IngressPolicy::Isolated).then_some(&attached.port)
    }

    /// Adds the rules and the attachment's elements in one transaction.
    pub fn add(&self) -> Result<(), Error> {
        self.try_add().context("cannot set up the filter")
    }

    fn try_add(&self) -> Result<(), OperationError> {
        let policy = || self.policy().map(addition);
        let commands = policy().chain(self.pods().map(creation));
        owned::add(&shared(self.config), commands.collect(), || {
            // An address may belong to another container, which had no DEL.
            let pods = owned::replacing(FAMILY, self.pods())?;
            Ok(policy().chain(pods).collect())
        })
    }

    /// Fails if something that ADD set up is missing. Errors: `codes::NOT_AS_ATTACHED`.
    pub fn check(&self) -> Result<(), Error> {
        self.try_check().context("the filter")
    }

    fn try_check(&self) -> Result<(), Error> {
        shared(self.config).check()?;
        for (set, pod) in self.pods() {
            owned::check(FAMILY, set, &pod.key, &self.owner)?;
        }
        for (set, Element { key, .. }) in self.policy() {
            let found = firewall::get_element(Namespace::Host, FAMILY, set, &key);
            if owned::if_any(found)?.flatten().is_none() {
                let value = &key[0];
                let missing = format!("element {value} is missing in set `{set}`");
                return Err(wrong(missing));
            }
        }
        Ok(())
    }

    /// The container's addresses, and the set of each.
    fn pods(&self) -> impl Iterator<Item = (&'static str, Element)> {
        self.previous.addresses().map(|address| {
            let element = Element::new([address.into()]).owned_by(&self.owner);
            (set_of(address), element)
        })
    }

    /// The elements of the bridge that the policy needs.
    fn policy(&self) -> impl Iterator<Item = (&'static str, Element)> + use<> {
        let is_within = self.config.ingress_policy == IngressPolicy::SameBridge;
        let bridge = self
            .attached
            .as_ref()
            .map(|to| Value::from(to.bridge.as_str()));
        let within = bridge.clone().filter(|_| is_within);
        let bridge = bridge.map(|bridge| (BRIDGES, Element::new([bridge])));
        let within = within.map(|bridge| (WITHIN, Element::new([bridge.clone(), bridge])));
        bridge.into_iter().chain(within)
    }
}

fn addition((set, element): (&'static str, Element)) -> Command {
    Command::AddElements(Elements::of(set, [element]))
}

fn set_of(address: IpAddr) -> &'static str {
    match IpFamily::of(address) {
        IpFamily::Ipv4 => PODS[0],
        IpFamily::Ipv6 => PODS[1],
    }
}

/// What all networks share, and the administrator's chain that this one has.
fn shared(config: &Config) -> Shared {
    let mut admin_chains = vec![ADMIN_CHAIN, config.admin_chain()];
    admin_chains.dedup();
    let regular = admin_chains.iter().copied().chain([ADMINS]);
    let forward = Chain::base(FORWARD, ChainType::Filter, Hook::Forward, FILTER);
    let jump = |chain: &str| {
        let jump = Statement::Jump(chain.to_owned());
        Rule::new(ADMINS).known_as(chain).then(jump)
    };
    Shared {
        family: FAMILY,
        chains: regular.map(Chain::regular).chain([forward]).collect(),
        sets: vec![
            Set::new(BRIDGES, [DataType::LinkName]),
            Set::new(WITHIN, [DataType::LinkName, DataType::LinkName]),
            Set::new(PODS[0], [DataType::Ipv4Address]),
            Set::new(PODS[1], [DataType::Ipv6Address]),
        ],
        rules: admin_chains.into_iter().map(jump).chain(rules()).collect(),
    }
}

fn rules() -> [Rule; RULES] {
    let rule = |comment: &str| Rule::new(FORWARD).known_as(comment);
    let between = rule(BRIDGES)
        .when(Condition::in_set([Field::InputLinkName], BRIDGES))
        .when(Condition::in_set([Field::OutputLinkName], BRIDGES))
        .when(Condition::not_in_set(
            [Field::InputLinkName, Field::OutputLinkName],
            WITHIN,
        ))
        .then(Statement::Drop);
    let admins = rule(ADMINS).then(Statement::Jump(ADMINS.to_owned()));
    let answers = |field, pods: &str| {
        let state = Condition::Masked(MaskedComparison {
            field: Field::ConnectionState,
            mask: ESTABLISHED_OR_RELATED,
            value: 0,
            negate: true,
        });
        rule(&format!("answers to {pods}"))
            .when(Condition::in_set([field], pods))
            .when(state)
            .then(Statement::Accept)
    };
    let sent = |field, pods: &str| {
        rule(pods)
            .when(Condition::in_set([field], pods))
            .then(Statement::Accept)
    };
    [
        between,
        admins,
        answers(Field::Ipv4Destination, PODS[0]),
        sent(Field::Ipv4Source, PODS[0]),
        answers(Field::Ipv6Destination, PODS[1]),
        sent(Field::Ipv6Source, PODS[1]),
    ]
}

/// Returns the addresses that the attachment gives up: those of the previous result that another container does not
/// have by now; without that result, those found in the sets.
pub fn addresses(owner: &Owner, previous: Option<&AddResult>) -> Result<Vec<IpAddr>, Error> {
    let Some(previous) = previous else {
        let found = owned::find(FAMILY, &PODS, |element| element.is_of(owner))?;
        return Ok(found.iter().filter_map(address).collect());
    };
    let mut own = Vec::new();
    for address in previous.addresses() {
        let (set, key) = (set_of(address), [address.into()]);
        let element = owned::if_any(firewall::get_element(Namespace::Host, FAMILY, set, &key))?;
        if element.flatten().is_none_or(|element| element.is_of(owner)) {
            own.push(address);
        }
    }
    Ok(own)
}

/// Returns the addresses of attachments that are not valid.
pub fn garbage<C>(request: &GcRequest<C>) -> Result<Vec<IpAddr>, Error> {
    let found = owned::garbage(FAMILY, &PODS, &Valid::of(request))?;
    Ok(found.iter().filter_map(address).collect())
}

fn address((_, element): &Found) -> Option<IpAddr> {
    match element.key.first() {
        Some(Value::Address(address)) => Some((*address).into()),
        _ => None,
    }
}

/// Removes the attachment's elements: by the addresses of the previous result, or, without these or where one is
/// missing, by searching the sets.
pub fn remove(owner: &Owner, previous: Option<&AddResult>) -> Result<(), Error> {
    let addresses = previous.into_iter().flat_map(AddResult::addresses);
    let known: Vec<_> = addresses
        .map(|address| (set_of(address), vec![address.into()]))
        .collect();
    owned::remove_or_reference(FAMILY, owner, &known, || Ok(PODS.to_vec()))
        .context("cannot remove the filter")
}

/// Removes the elements of attachments that are not valid.
pub fn retain<C>(request: &GcRequest<C>) -> Result<(), Error> {
    owned::retain(FAMILY, &PODS, &Valid::of(request)).context("cannot remove leftover filters")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        serde_json::from_str(text).unwrap()
    }

    fn sets(text: &str) -> Vec<&'static str> {
        let attached = Attached {
            bridge: "cni0".to_owned(),
            port: "veth0".to_owned(),
        };
        let (config, previous) = (config(text), AddResult::default());
        let accepted = Accepted {
            owner: Owner::new("net", "container", "eth0"),
            config: &config,
            previous: &previous,
            attached: Some(attached).filter(|_| config.ingress_policy != IngressPolicy::Open),
        };
        accepted.policy().map(|(set, _)| set).collect()
    }

    #[test]
    fn policies_are_recognised_by_the_bridges_sets() {
        assert!(sets("{}").is_empty());
        assert_eq!(
            sets(r#"{"ingressPolicy": "same-bridge"}"#),
            [BRIDGES, WITHIN]
        );
        assert_eq!(sets(r#"{"ingressPolicy": "isolated"}"#), [BRIDGES]);
    }

    #[test]
    fn policies_come_before_the_administrator_and_that_before_what_is_accepted() {
        let first = |rule: &Rule| rule.statements[0].clone();
        let rules = rules();
        assert!(matches!(first(&rules[0]), Statement::Drop));
        assert!(matches!(first(&rules[1]), Statement::Jump(chain) if chain == ADMINS));
        assert!(
            rules[2..]
                .iter()
                .all(|rule| matches!(first(rule), Statement::Accept))
        );
    }
}
