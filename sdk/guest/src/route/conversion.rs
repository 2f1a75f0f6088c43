//! The kernel's routes, and those of results and configurations, made from each other.

use std::fmt::Display;
use std::net::IpAddr;

use weir_cni::{Error, Route as ResultRoute};

use super::{Route, RouteKind};

/// Keeps everything: what a result's route cannot say, such as the link, is not given. 0 is the same as none for MTU,
/// segment size and priority, as in results.
impl From<&ResultRoute> for Route {
    fn from(route: &ResultRoute) -> Self {
        let given = |value: Option<u32>| value.filter(|value| *value != 0);
        Route {
            gateway: route.gw.map(Into::into),
            table: route.table,
            scope: route.scope,
            priority: given(route.priority),
            mtu: given(route.mtu),
            advmss: given(route.advmss),
            ..Route::new(route.dst)
        }
    }
}

/// Keeps everything but the link, which is the attachment's interface in a result, and the protocol. Errors: code 999
/// for a route that a result cannot express: with a source, with several next hops, of another kind than unicast, or
/// with a gateway that is on the link by order.
impl TryFrom<&Route> for ResultRoute {
    type Error = Error;

    fn try_from(route: &Route) -> Result<Self, Error> {
        let inexpressible = |what: &dyn Display| {
            let msg = format!("{route}: {what} cannot be expressed in a result");
            Err(Error::internal(msg))
        };
        if let Some(source) = route.source {
            return inexpressible(&format_args!("source {}", IpAddr::from(source)));
        }
        if route.on_link {
            return inexpressible(&"`on_link`");
        }
        if !route.next_hops.is_empty() {
            return inexpressible(&"more than one next hop");
        }
        if !matches!(route.kind, RouteKind::Unicast) {
            return inexpressible(&format_args!("kind {:?}", route.kind));
        }
        Ok(ResultRoute {
            mtu: route.mtu,
            advmss: route.advmss,
            priority: route.priority,
            table: route.table,
            scope: route.scope,
            ..ResultRoute::new(route.destination(), route.gateway.map(Into::into))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> ResultRoute {
        ResultRoute {
            dst: "fd00:1::/64".parse().unwrap(),
            gw: "fd00::1".parse().ok(),
            mtu: Some(1400),
            advmss: Some(1360),
            priority: Some(7),
            table: Some(100),
            scope: Some(0),
        }
    }

    #[test]
    fn a_results_route_comes_back_whole() {
        let plain = ResultRoute::new("10.0.0.0/8".parse().unwrap(), None);
        for route in [whole(), plain] {
            let of_kernel = Route::from(&route).over("eth0");
            assert_eq!(ResultRoute::try_from(&of_kernel), Ok(route));
        }
    }

    #[test]
    fn zero_is_none_as_in_results() {
        let zero = ResultRoute {
            mtu: Some(0),
            advmss: Some(0),
            priority: Some(0),
            ..whole()
        };
        let route = Route::from(&zero);
        assert_eq!(
            (route.mtu, route.advmss, route.priority),
            (None, None, None)
        );
    }

    #[test]
    fn what_a_result_cannot_express_is_refused() {
        let hop = super::super::NextHop {
            gateway: None,
            link: Some("eth0".into()),
            weight: 1,
            on_link: false,
        };
        let route = || Route::from(&whole());
        for (route, what) in [
            (route().on_link(), "`on_link`"),
            (
                Route {
                    source: Some(IpAddr::from([10, 0, 0, 1]).into()),
                    ..route()
                },
                "source 10.0.0.1",
            ),
            (
                Route {
                    next_hops: vec![hop],
                    ..route()
                },
                "next hop",
            ),
            (
                Route {
                    kind: RouteKind::Blackhole,
                    ..route()
                },
                "Blackhole",
            ),
        ] {
            let error = ResultRoute::try_from(&route).unwrap_err();
            assert!(
                error.msg.starts_with("route fd00:1::/64 via fd00::1: "),
                "{error}"
            );
            assert!(error.msg.contains(what), "{error}");
        }
    }
}
