//! Which attachment gets the default routes of each family.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use weir_cni::Error;
use weir_grant::address::Family;

use super::Attached;
use crate::codes;

/// The new default routes of one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub family: Family,
    /// None if no attachment is to have any.
    pub winner: Option<Winner>,
}

/// The attachment that gets them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Winner {
    pub index: usize,
    pub gateway: IpAddr,
}

impl Move {
    /// Whether this attachment gets them.
    pub(super) fn is_won_by(&self, index: usize) -> bool {
        let winner = self.winner.as_ref();
        winner.is_some_and(|winner| winner.index == index)
    }
}

/// `0.0.0.0/0` or `::/0`.
pub(super) fn everywhere(family: Family) -> IpNet {
    match family {
        Family::Ipv4 => Ipv4Net::default().into(),
        Family::Ipv6 => Ipv6Net::default().into(),
    }
}

/// The moves that the selection asks for. Errors: `codes::SELECTION`.
pub(super) fn moves(attached: &[Attached]) -> Result<Vec<Move>, Error> {
    let is_empty = |one: &Attached| one.wanted.as_ref().is_some_and(Vec::is_empty);
    let takes_all = attached.iter().any(is_empty);
    let mut moves = Vec::new();
    for family in [Family::Ipv4, Family::Ipv6] {
        let winner = winner(attached, family)?;
        if winner.is_some() || takes_all {
            moves.push(Move { family, winner });
        }
    }
    Ok(moves)
}

fn winner(attached: &[Attached], family: Family) -> Result<Option<Winner>, Error> {
    let mut winner: Option<Winner> = None;
    for (index, one) in attached.iter().enumerate() {
        // A selection names at most one of each family.
        let mut gateways = one.wanted.iter().flatten();
        let Some(&gateway) = gateways.find(|gateway| Family::of(gateway) == family) else {
            continue;
        };
        if let Some(first) = winner {
            return Err(two_winners(&attached[first.index], one, family));
        }
        winner = Some(Winner { index, gateway });
    }
    Ok(winner)
}

fn two_winners(first: &Attached, second: &Attached, family: Family) -> Error {
    let family = match family {
        Family::Ipv4 => "IPv4",
        Family::Ipv6 => "IPv6",
    };
    let what = format!(
        "default-route: network `{}` (`{}`) and network `{}` (`{}`) both name {family} gateways",
        first.network, first.ifname, second.network, second.ifname
    );
    Error::new(codes::SELECTION, what).with_details(
        "the pod's default route can have one attachment: remove the key from the others",
    )
}

#[cfg(test)]
mod tests {
    use weir_cni::AddResult;

    use super::*;

    fn attached(ifname: &str, wanted: Option<&[&str]>) -> Attached {
        let address = |text: &&str| text.parse().expect("an address");
        Attached {
            network: format!("of-{ifname}"),
            ifname: ifname.to_owned(),
            wanted: wanted.map(|list| list.iter().map(address).collect()),
            result: AddResult::default(),
        }
    }

    /// Family, index and gateway of each move.
    fn planned(attached: &[Attached]) -> Vec<String> {
        let moves = moves(attached).expect("it is valid");
        let shown = moves.into_iter().map(|one| match one.winner {
            Some(Winner { index, gateway }) => format!("{:?} {index} [{gateway}]", one.family),
            None => format!("{:?} none", one.family),
        });
        shown.collect()
    }

    #[test]
    fn without_the_key_nothing_moves() {
        assert_eq!(
            planned(&[attached("eth0", None), attached("net1", None)]),
            [""; 0]
        );
        assert_eq!(planned(&[]), [""; 0]);
    }

    #[test]
    fn a_family_that_is_not_named_stays() {
        let pod = [
            attached("eth0", None),
            attached("net1", Some(&["10.0.0.1"])),
        ];
        assert_eq!(planned(&pod), ["Ipv4 1 [10.0.0.1]"]);
        let pod = [attached("eth0", None), attached("net1", Some(&["fd00::1"]))];
        assert_eq!(planned(&pod), ["Ipv6 1 [fd00::1]"]);
    }

    #[test]
    fn gateways_are_sorted_by_family() {
        let wanted = ["fd00::1", "10.0.0.1"];
        assert_eq!(
            planned(&[attached("net1", Some(&wanted))]),
            ["Ipv4 0 [10.0.0.1]", "Ipv6 0 [fd00::1]"]
        );
    }

    #[test]
    fn each_family_may_have_a_winner_of_its_own() {
        let pod = [
            attached("net1", Some(&["10.0.0.1"])),
            attached("net2", Some(&["fd00::1"])),
        ];
        assert_eq!(planned(&pod), ["Ipv4 0 [10.0.0.1]", "Ipv6 1 [fd00::1]"]);
    }

    #[test]
    fn an_empty_list_takes_what_nobody_else_names() {
        let pod = [attached("eth0", None), attached("net1", Some(&[]))];
        assert_eq!(planned(&pod), ["Ipv4 none", "Ipv6 none"]);
        let pod = [
            attached("net1", Some(&[])),
            attached("net2", Some(&["10.0.0.1"])),
        ];
        assert_eq!(planned(&pod), ["Ipv4 1 [10.0.0.1]", "Ipv6 none"]);
    }

    #[test]
    fn one_attachment_only_has_the_default_route() {
        let pod = [
            attached("net1", Some(&["10.0.0.1"])),
            attached("net2", Some(&["10.1.0.1"])),
        ];
        let error = moves(&pod).expect_err("two of one family");
        assert_eq!(error.code, codes::SELECTION);
        assert_eq!(
            error.msg,
            "default-route: network `of-net1` (`net1`) and network `of-net2` (`net2`) both name IPv4 gateways"
        );
    }
}
