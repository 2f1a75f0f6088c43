//! The discipline at the root of a link, which everything that leaves the link passes.

use ipnet::IpNet;
use weir_sdk::check::wrong;
use weir_sdk::link::Link;
use weir_sdk::traffic::{
    self, Action, Class, Discipline, Filter, Handle, Qdisc, ROOT, TokenBucket, handle,
};
use weir_sdk::{Context, Error, Namespace, OperationError, Outcome};

use crate::shaper::{Shaper, is_same_bucket, is_same_burst};

/// The handle of the discipline, as the reference plugin's.
const HANDLE: Handle = handle(1, 0);

/// Shapes what leaves a link.
pub fn add(link: &Link, shaper: &Shaper) -> Result<(), Error> {
    let added = match shaper.token_bucket(link.mtu) {
        Some(bucket) => traffic::add_qdisc(Namespace::Host, link, Qdisc::tbf(bucket)),
        None => add_classes(link, shaper),
    };
    added.context(format!("cannot shape the traffic of `{}`", link.name))
}

fn add_classes(link: &Link, shaper: &Shaper) -> Result<(), OperationError> {
    traffic::add_qdisc(Namespace::Host, link, Qdisc::htb(shaper.default_class()))?;
    for class in shaper.classes() {
        traffic::add_class(Namespace::Host, link, class)?;
    }
    for filter in shaper.filters() {
        traffic::add_filter(Namespace::Host, link, filter)?;
    }
    Ok(())
}

/// Removes the discipline of [`add`] or of the reference plugin. Another one stays.
pub fn remove(link: &Link) -> Result<(), Error> {
    let removed = || {
        if find(link, ROOT)?.is_some_and(|root| is_ours(&root)) {
            traffic::delete_qdisc(Namespace::Host, link, ROOT).found()?;
        }
        Ok::<_, OperationError>(())
    };
    removed().context(format!("cannot end the shaping of `{}`", link.name))
}

fn is_ours(root: &Qdisc) -> bool {
    let is_shaping = matches!(root.discipline, Discipline::Tbf(_) | Discipline::Htb(_));
    is_shaping && root.handle == HANDLE
}

/// Returns the discipline at a place of a link; none if the place is empty or the link gone.
pub fn find(link: &Link, parent: Handle) -> Result<Option<Qdisc>, OperationError> {
    let qdiscs = traffic::list_qdiscs(Namespace::Host, link).found()?;
    let mut qdiscs = qdiscs.into_iter().flatten();
    Ok(qdiscs.find(|qdisc| qdisc.parent == parent))
}

/// Fails unless a link's traffic is shaped as configured.
///
/// Classes are accepted in place of a token bucket: newer versions of the reference plugin always use them.
pub fn check(link: &Link, shaper: &Shaper) -> Result<(), Error> {
    let name = &link.name;
    let root = find(link, ROOT).context(format!("cannot read the disciplines of `{name}`"))?;
    let found = root.map(|root| root.discipline);
    match (shaper.token_bucket(link.mtu), found) {
        (Some(expected), Some(Discipline::Tbf(found))) => check_bucket(name, &expected, &found),
        (_, Some(Discipline::Htb(default))) => check_classes(link, shaper, default),
        (expected, found) => Err(wrong(format!(
            "`{name}`: expected its traffic to be shaped by {}, found {}",
            if expected.is_some() { "tbf" } else { "htb" },
            found.as_ref().map_or("nothing", word),
        ))),
    }
}

/// The kernel's word for a discipline.
fn word(discipline: &Discipline) -> &str {
    match discipline {
        Discipline::Tbf(_) => "tbf",
        Discipline::Htb(_) => "htb",
        Discipline::Ingress => "ingress",
        Discipline::Clsact => "clsact",
        Discipline::Other(word) => word,
    }
}

fn check_bucket(name: &str, expected: &TokenBucket, found: &TokenBucket) -> Result<(), Error> {
    if is_same_bucket(expected, found) {
        return Ok(());
    }
    let shown = |bucket: &TokenBucket| {
        let TokenBucket {
            rate,
            burst,
            latency,
        } = bucket;
        format!("{rate} bytes per second, a burst of {burst} bytes and a latency of {latency} µs")
    };
    Err(wrong(format!(
        "`{name}`: expected {}, found {}",
        shown(expected),
        shown(found)
    )))
}

fn check_classes(link: &Link, shaper: &Shaper, default: u32) -> Result<(), Error> {
    let name = &link.name;
    let reading = || format!("cannot read the classes of `{name}`");
    let expected = shaper.default_class();
    if default != u32::from(expected) {
        return Err(wrong(format!(
            "`{name}`: expected class 1:{expected:x} to be the default one, found 1:{default:x}"
        )));
    }
    let found = traffic::list_classes(Namespace::Host, link).context(reading())?;
    let [shaped, unshaped] = shaper.classes();
    check_class(name, &shaped, &found, true)?;
    // The reference plugin gives it no burst.
    check_class(name, &unshaped, &found, false)?;
    let found = traffic::list_filters(Namespace::Host, link, HANDLE).context(reading())?;
    check_filters(name, &shaper.filters(), &found)
}

fn check_class(
    name: &str,
    expected: &Class,
    found: &[Class],
    with_burst: bool,
) -> Result<(), Error> {
    let title = format!("`{name}`: class 1:{:x}", expected.handle & 0xffff);
    let found = found.iter().find(|class| class.handle == expected.handle);
    let found = found.ok_or_else(|| wrong(format!("{title} is missing")))?;
    let is_same_rate = found.rate == expected.rate;
    let is_same_burst = || is_same_burst(expected.rate, expected.burst, found.burst);
    if is_same_rate && (!with_burst || is_same_burst()) {
        Ok(())
    } else {
        Err(wrong(format!(
            "{title}: expected {} bytes per second with a burst of {}, found {} with {}",
            expected.rate, expected.burst, found.rate, found.burst
        )))
    }
}

/// Fails unless all of the filters are there, and no others.
fn check_filters(name: &str, expected: &[Filter], found: &[Filter]) -> Result<(), Error> {
    let missing = expected
        .iter()
        .find(|one| !found.iter().any(|other| is_same(one, other)));
    let surplus = found
        .iter()
        .find(|one| !expected.iter().any(|other| is_same(one, other)));
    match (missing, surplus) {
        (None, None) => Ok(()),
        (Some(filter), _) => Err(wrong(format!("`{name}`: {} is missing", title(filter)))),
        (None, Some(filter)) => Err(wrong(format!("`{name}`: {} is unknown", title(filter)))),
    }
}

fn is_same(one: &Filter, other: &Filter) -> bool {
    let class = |filter: &Filter| match filter.action {
        Action::Classify(class) => Some(class),
        Action::Redirect(_) => None,
    };
    let networks = |filter: &Filter| (filter.source, filter.destination);
    class(one) == class(other) && networks(one) == networks(other)
}

/// The name of a filter in errors.
fn title(filter: &Filter) -> String {
    let side = |word, network: Option<_>| {
        let network = network.map(IpNet::from);
        network.map_or(String::new(), |network| format!(" {word} {network}"))
    };
    let from = side("from", filter.source);
    let to = side("to", filter.destination);
    format!("the filter of packets{from}{to}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shaper::{Direction, Limit, Subnets};

    fn shaper(networks: &[&str]) -> Shaper {
        let networks: Vec<IpNet> = networks.iter().map(|text| text.parse().unwrap()).collect();
        Shaper {
            limit: Limit {
                rate: 125_000,
                burst: 10_000,
            },
            subnets: Subnets::Only(networks),
            direction: Direction::Egress,
        }
    }

    #[test]
    fn another_bucket_is_wrong() {
        let bucket = |rate| TokenBucket {
            rate,
            burst: 10_000,
            latency: 25_000,
        };
        let check = |found| check_bucket("veth0", &bucket(125_000), &bucket(found));
        check(125_000).unwrap();
        let error = check(125_001).unwrap_err();
        assert_eq!(error.code, weir_sdk::codes::NOT_AS_ATTACHED);
        let expected = "`veth0`: expected 125000 bytes per second, a burst of 10000 bytes";
        assert!(error.msg.starts_with(expected), "{error}");
    }

    #[test]
    fn a_class_differs_by_rate_and_burst() {
        let expected = shaper(&[]).classes();
        let check = |found: &[Class]| check_class("veth0", &expected[0], found, true);
        check(&expected).unwrap();
        let missing = check(&expected[1..]).unwrap_err();
        assert_eq!(missing.msg, "`veth0`: class 1:30 is missing");
        let mut other = expected;
        other[0].rate += 1;
        assert!(check(&other).is_err());
        other = expected;
        other[0].burst += 100;
        assert!(check(&other).is_err());
        check_class("veth0", &expected[0], &other, false).unwrap();
    }

    #[test]
    fn filters_are_those_and_no_others() {
        let of = |networks: &[&str]| shaper(networks).filters();
        let check = |found: &[&str]| {
            check_filters("veth0", &of(&["10.0.0.0/8", "fd00::/8"]), &of(found))
                .map_err(|error| error.msg)
        };
        assert_eq!(check(&["fd00::/8", "10.0.0.0/8"]), Ok(()));
        let missing = "`veth0`: the filter of packets to fd00::/8 is missing";
        assert_eq!(check(&["10.0.0.0/8"]), Err(missing.to_owned()));
        let unknown = "`veth0`: the filter of packets to 10.9.0.0/16 is unknown";
        let found = check(&["10.0.0.0/8", "fd00::/8", "10.9.0.0/16"]);
        assert_eq!(found, Err(unknown.to_owned()));
        let mut elsewhere = of(&["10.0.0.0/8"]);
        elsewhere[0].action = Action::Classify(0x1_0001);
        assert!(check_filters("veth0", &of(&["10.0.0.0/8"]), &elsewhere).is_err());
    }
}
