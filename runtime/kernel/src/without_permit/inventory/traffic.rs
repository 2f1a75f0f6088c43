//! What traffic control has on the links of the calling thread's network namespace: disciplines, their
//! classes, and the filters of both.

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::TcMessage;
use weir_grant::link::Link;
use weir_grant::traffic::Handle;

use super::route::{Names, list, name, names};
use crate::error::Result;
use crate::netlink::RouteSocket;
use crate::traffic::Object;

/// Where `clsact` has its filters: `TC_H_MIN_INGRESS`, `TC_H_MIN_EGRESS`.
const CLSACT_PLACES: [u32; 2] = [0xffff_fff2, 0xffff_fff3];

/// One line for each thing.
pub(super) fn things(links: &[Link]) -> Result<Vec<String>> {
    let mut socket = RouteSocket::open()?;
    let names = names(links);
    let question = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
    let disciplines = objects(list(&mut socket, "disciplines", question)?);
    let mut classes = Vec::new();
    for index in names.keys() {
        let message = TcMessage::with_index(index.cast_signed());
        let question = RouteNetlinkMessage::GetTrafficClass(message);
        classes.extend(objects(list(&mut socket, "classes", question)?));
    }
    let mut lines = Vec::new();
    for discipline in &disciplines {
        lines.push(line(discipline, "discipline", &names));
        let parents = match discipline.kind.as_str() {
            "clsact" => CLSACT_PLACES.to_vec(),
            _ => vec![discipline.handle],
        };
        for parent in parents {
            lines.extend(filters(&mut socket, &names, discipline.link, parent)?);
        }
    }
    // A discipline without a handle may have classes all the same, which are the kernel's.
    for class in classes.iter().filter(|c| Handle(c.handle).major() != 0) {
        let handle = Handle(class.handle);
        lines.push(line(class, &format!("class {handle}"), &names));
        lines.extend(filters(&mut socket, &names, class.link, class.handle)?);
    }
    Ok(lines)
}

/// The filters of a discipline or of a class.
fn filters(socket: &mut RouteSocket, names: &Names, link: i32, parent: u32) -> Result<Vec<String>> {
    let mut message = TcMessage::with_index(link);
    message.header.parent = parent.into();
    let question = RouteNetlinkMessage::GetTrafficFilter(message);
    let found = objects(list(socket, "filters", question)?).into_iter();
    let lines = found.map(|filter| {
        let handle = filter.handle;
        let what = format!("filter {handle:x} of {}", filter.parent);
        line(&filter, &what, names)
    });
    Ok(lines.collect())
}

/// Leaves out the kernel's own disciplines, which have no handle.
fn objects(answer: Vec<RouteNetlinkMessage>) -> Vec<Object> {
    let objects = answer.into_iter().filter_map(Object::read);
    objects.filter(|object| object.handle != 0).collect()
}

/// `discipline htb on veth1`, `class 1:10 htb on veth1`.
fn line(object: &Object, what: &str, names: &Names) -> String {
    let link = u32::try_from(object.link).unwrap_or_default();
    format!("{what} {} on {}", object.kind, name(names, link))
}
