//! Sequences of operations by chance.

use super::*;

const HANDLES: [Handle; 3] = [FIRST, SECOND, Handle(0x3_0000)];
const CLASSES: [Handle; 4] = [CLASS_30, CLASS_31, Handle(0x2_0030), Handle(0x2_0031)];
const SOURCES: [Option<&str>; 3] = [None, Some("10.0.0.0/8"), Some("fd00::/8")];

fn step(on: &mut On<'_>, random: &mut Random) {
    let class_handle = random.of(&CLASSES);
    match random.below(10) {
        0 => on.add(at_root(HTB)),
        1 => {
            let discipline = if random.below(3) == 0 { TBF } else { HTB };
            on.add(at(class_handle, random.of(&HANDLES), discipline));
        }
        2 => {
            let parents = [Handle::ROOT, class_handle, class_handle, class_handle];
            let parent = random.of(&parents);
            on.remove(parent);
        }
        3..=5 => {
            let discipline = class_handle.discipline();
            let any = random.of(&CLASSES);
            let parents = [discipline, discipline, any];
            let parent = random.of(&parents);
            on.add_class(class(class_handle, parent));
        }
        6 => on.delete_class(class_handle),
        7 => on.delete_filter(&filter(class_handle, 5, random), None),
        _ => {
            let priority = random.of(&[0, 5, 6]);
            on.add_filter(filter(class_handle, priority, random));
        }
    }
    on.show();
}

fn filter(class: Handle, priority: u16, random: &mut Random) -> Filter {
    let any = random.of(&CLASSES);
    let parent = random.of(&[class.discipline(), class, any]);
    Filter {
        priority,
        source: random.of(&SOURCES).and_then(network),
        ..into(class, parent)
    }
}

#[test]
fn any_sequence_of_operations_on_disciplines() {
    for seed in 1..=8_u64 {
        on_host(|on| {
            let mut random = Random::new(seed);
            on.add(at_root(HTB));
            for _ in 0..30 {
                step(on, &mut random);
            }
        });
    }
}
