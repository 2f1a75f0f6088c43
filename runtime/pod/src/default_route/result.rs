//! The results of the attachments, brought in line with the default routes in the kernel.

use weir_cni::Route;
use weir_grant::route::MAIN_TABLE;

use super::Attached;
use super::plan::{Move, everywhere};

/// Replaces the default routes in the results. Returns whether any result changed.
pub(super) fn amend(attached: &mut [Attached], moves: &[Move]) -> bool {
    let mut changed = false;
    for (index, one) in attached.iter_mut().enumerate() {
        let before = one.result.routes.clone();
        for moved in moves {
            let to = everywhere(moved.family);
            let routes = &mut one.result.routes;
            routes.retain(|route| !(route.dst == to && is_main(route)));
            if let Some(winner) = moved.winner.as_ref().filter(|w| w.index == index) {
                routes.push(Route::new(to, Some(winner.gateway)));
            }
        }
        changed |= one.result.routes != before;
    }
    changed
}

/// The kernel takes table 0 for the main one.
pub(crate) fn is_main(route: &Route) -> bool {
    matches!(route.table, None | Some(0 | MAIN_TABLE))
}

#[cfg(test)]
mod tests {
    use weir_cni::AddResult;

    use super::super::plan::moves;
    use super::*;

    fn route(dst: &str, gw: Option<&str>) -> Route {
        let gw = gw.map(|gw| gw.parse().expect("an address"));
        Route::new(dst.parse().expect("a network"), gw)
    }

    fn attached(ifname: &str, wanted: Option<&[&str]>, routes: &[Route]) -> Attached {
        let address = |text: &&str| text.parse().expect("an address");
        Attached {
            network: "n".to_owned(),
            ifname: ifname.to_owned(),
            wanted: wanted.map(|list| list.iter().map(address).collect()),
            result: AddResult {
                routes: routes.to_vec(),
                ..AddResult::default()
            },
        }
    }

    fn amended(mut attached: Vec<Attached>) -> (bool, Vec<Vec<Route>>) {
        let moves = moves(&attached).expect("it is valid");
        let changed = amend(&mut attached, &moves);
        (
            changed,
            attached.into_iter().map(|m| m.result.routes).collect(),
        )
    }

    #[test]
    fn the_winner_has_them_and_the_others_have_not() {
        let other = route("192.0.2.0/24", Some("10.0.0.1"));
        let of_table = Route {
            table: Some(100),
            ..route("0.0.0.0/0", Some("10.0.0.1"))
        };
        let metric = Route {
            priority: Some(50),
            table: Some(254),
            ..route("0.0.0.0/0", Some("10.0.0.2"))
        };
        let ipv6 = route("::/0", Some("fd00::1"));
        let first = [
            route("0.0.0.0/0", None),
            other.clone(),
            of_table.clone(),
            metric,
            ipv6.clone(),
        ];
        let second = [route("0.0.0.0/0", Some("10.1.0.9"))];
        let (changed, routes) = amended(vec![
            attached("eth0", None, &first),
            attached("net1", Some(&["10.1.0.1"]), &second),
        ]);
        assert!(changed);
        assert_eq!(routes[0], [other, of_table, ipv6]);
        assert_eq!(routes[1], [route("0.0.0.0/0", Some("10.1.0.1"))]);
    }

    #[test]
    fn what_is_so_already_is_no_change() {
        let own = [route("0.0.0.0/0", Some("10.1.0.1"))];
        let (changed, routes) = amended(vec![
            attached("eth0", None, &[]),
            attached("net1", Some(&["10.1.0.1"]), &own),
        ]);
        assert!(!changed);
        assert_eq!(routes[1], own);
    }

    #[test]
    fn an_empty_list_takes_both_families() {
        let both = [
            route("0.0.0.0/0", Some("10.0.0.1")),
            route("::/0", Some("fd00::1")),
        ];
        let (changed, routes) = amended(vec![
            attached("eth0", None, &both),
            attached("net1", Some(&[]), &both),
        ]);
        assert!(changed);
        assert_eq!(routes, [[], []]);
    }
}
