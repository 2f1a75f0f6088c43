//! The figures as a person reads them: ratios first, then milliseconds, then the rest.

use crate::contender::Contender;
use crate::crowd;
use crate::figures::{Figure, Figures, Unit, Verdict};
use crate::plan::Measured;
use crate::pods::{MULTUS_ADD, MULTUS_DEL};
use crate::samples::{Quantity, Samples};
use crate::surroundings::Surroundings;

const TIMES: [(&str, Quantity); 22] = [
    ("ADD", Quantity::Add),
    ("  that makes the bridge", Quantity::AddFirst),
    ("CHECK", Quantity::Check),
    ("DEL", Quantity::Del),
    ("VERSION", Quantity::Version),
    ("ADD, empty node", Quantity::AddEmpty),
    ("ADD, crowded node", Quantity::AddCrowded),
    ("  after another's change", Quantity::AddAfterOther),
    ("ADD of the list", Quantity::ListAdd),
    ("  portmap's part", Quantity::PortmapAdd),
    ("  among mappings", Quantity::ListAddMapped),
    ("  portmap's part of that", Quantity::PortmapAddMapped),
    ("DEL of the list", Quantity::ListDel),
    ("  portmap's part", Quantity::PortmapDel),
    ("  among mappings", Quantity::ListDelMapped),
    ("  portmap's part of that", Quantity::PortmapDelMapped),
    ("ADD of macvlan", Quantity::MacvlanAdd),
    ("ADD of macvlan, sbr, tuning", Quantity::RoutedAdd),
    ("ADD of vlan, in the VM", Quantity::VlanAdd),
    ("  with pages of 4 KiB", Quantity::VlanAddSmallPages),
    ("ADD of ipvlan, in the VM", Quantity::IpvlanAdd),
    ("ADD of dummy, in the VM", Quantity::DummyAdd),
];

/// Everything, ready to print.
pub fn render(surroundings: &Surroundings, measured: &Measured, figures: &Figures) -> String {
    let samples = &measured.samples;
    [
        heading(surroundings, measured),
        headlines(&figures.headlines),
        times(samples),
        rest(samples, figures),
    ]
    .join("\n")
}

fn heading(surroundings: &Surroundings, measured: &Measured) -> String {
    let runs = |quantity| measured.samples.time(quantity, Contender::Weir).len();
    format!(
        "\nbridge with host-local, {} runs of each in turn, medians\n\
         {}\n\
         crowded node: {} addresses taken, {} links on the host\n\
         share: what weir takes over the floor, of what the reference takes over it\n\
         the list: bridge with ipMasq and host-local, then portmap with two mappings, {} runs;\n\
         among {} mappings of others; the reference's with {}\n\
         macvlan, alone and before sbr and tuning: with static, over a veth, {} runs\n\
         {}\n\
         a pod: bridge as the default network and one NetworkAttachmentDefinition, API server over TLS beside it;\n\
         Multus 4.2.4 took {:.0} and {:.0} ms for the same on such a machine, thin and thick alike\n\
         throughput: TCP's payload, which is 4.4 % less than the frames that the limit counts\n",
        runs(Quantity::Add),
        machine(surroundings),
        grouped(crowd::LEASES),
        grouped(crowd::LINKS),
        runs(Quantity::ListAdd),
        grouped(crowd::MAPPINGS),
        measured.backend,
        runs(Quantity::MacvlanAdd),
        in_machine(surroundings, measured),
        MULTUS_ADD,
        MULTUS_DEL,
    )
}

/// The line about the virtual machine.
fn in_machine(surroundings: &Surroundings, measured: &Measured) -> String {
    let Some(why) = &measured.machine_failed else {
        let samples = &measured.samples;
        let runs = samples.time(Quantity::VlanAdd, Contender::Weir).len();
        let missing = if samples.has(Quantity::DummyAdd, Contender::Reference) {
            ""
        } else {
            ";\nWEIR_REFERENCE=DIR names a directory with the reference's dummy, which Debian lacks"
        };
        return format!(
            "vlan, ipvlan and dummy: with host-local, in a virtual machine of {}, whose clock counts instructions,\n\
             programs in pages of 2 MiB, {runs} runs{missing}",
            surroundings.emulator
        );
    };
    let why = why.lines().next().unwrap_or_default();
    format!("vlan, ipvlan and dummy: not measured: {why}")
}

fn machine(surroundings: &Surroundings) -> String {
    format!(
        "Linux {}, {} × {}, leases on {}, load {:.2}{}",
        surroundings.kernel,
        surroundings.processors,
        surroundings.processor,
        surroundings.file_system,
        surroundings.load,
        if surroundings.is_busy() {
            ": BUSY, measure again on a quiet machine"
        } else {
            ""
        },
    )
}

fn headlines(figures: &[Figure]) -> String {
    let mut lines = vec![["figure", "value", "must", "aim", "verdict"].map(str::to_owned)];
    lines.extend(figures.iter().map(headline));
    align(
        &lines,
        &[
            Side::Left,
            Side::Right,
            Side::Right,
            Side::Right,
            Side::Left,
        ],
    )
}

fn headline(figure: &Figure) -> [String; 5] {
    let limit = |limit: Option<f64>| {
        limit
            .map(|limit| format!("≤ {}", value(figure.unit, limit)))
            .unwrap_or_default()
    };
    [
        figure.name.to_owned(),
        value(figure.unit, figure.value),
        limit(figure.must),
        limit(figure.aim),
        verdict(figure.verdict).to_owned(),
    ]
}

fn value(unit: Unit, value: f64) -> String {
    if value.is_nan() {
        return String::new();
    }
    match unit {
        Unit::Ratio => format!("{value:.2}"),
        Unit::MoreMilliseconds => format!("{value:+.1} ms"),
        Unit::Milliseconds => format!("{value:.1} ms"),
        Unit::Count => format!("{value:.0}"),
        Unit::Mebibytes => format!("{value:.1} MiB"),
        Unit::Percent => format!("{value:.1} %"),
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Missed => "MISSED",
        Verdict::Must => "must reached",
        Verdict::Aim => "aim reached",
        Verdict::NotAsked => "",
        Verdict::NoReference => "no reference plugin",
        Verdict::NotMeasured => "not measured",
    }
}

fn times(samples: &Samples) -> String {
    let mut lines = vec![vec!["milliseconds".to_owned()]];
    for contender in Contender::ALL {
        lines[0].extend([contender.name().to_owned(), "p99".to_owned()]);
    }
    lines[0].push("runs".to_owned());
    lines.extend(
        TIMES
            .iter()
            .map(|(name, quantity)| time(name, *quantity, samples)),
    );
    let mut sides = [Side::Right; 8];
    sides[0] = Side::Left;
    sides[7] = Side::Left;
    align(&lines, &sides)
}

fn time(name: &str, quantity: Quantity, samples: &Samples) -> Vec<String> {
    let number = |value: f64| {
        if value.is_nan() {
            String::new()
        } else {
            format!("{value:.2}")
        }
    };
    let mut line = vec![name.to_owned()];
    let mut runs = Vec::new();
    for contender in Contender::ALL {
        let series = samples.time(quantity, contender);
        line.extend([number(series.median()), number(series.percentile(99.0))]);
        if series.len() > 0 {
            runs.push(series.len().to_string());
        }
    }
    runs.dedup();
    line.push(runs.join(" / "));
    line
}

fn rest(samples: &Samples, figures: &Figures) -> String {
    let mut lines = vec![vec![String::new()]];
    lines[0].extend(Contender::ALL.map(|contender| contender.name().to_owned()));
    let mut memory = vec!["peak memory of one ADD, MiB".to_owned()];
    let mut crowded = vec!["  on the crowded node".to_owned()];
    let mut size = vec!["size of its programs, MiB".to_owned()];
    for contender in Contender::ALL {
        memory.push(mebibytes(samples.memory(Quantity::Add, contender).median()));
        crowded.push(mebibytes(
            samples.memory(Quantity::AddCrowded, contender).median(),
        ));
        size.push(mebibytes(figures.sizes[&contender] as f64));
    }
    lines.extend([memory, crowded, size]);
    align(&lines, &[Side::Left, Side::Right, Side::Right, Side::Right])
}

fn mebibytes(bytes: f64) -> String {
    format!("{:.1}", bytes / f64::from(1 << 20))
}

/// `60000` as `60,000`.
pub fn grouped(number: u32) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
    }
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// Lines of cells under each other, with two spaces between the columns.
fn align(lines: &[impl AsRef<[String]>], sides: &[Side]) -> String {
    let width = |column: usize| {
        let cells = lines
            .iter()
            .map(|line| line.as_ref()[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..sides.len()).map(width).collect();
    let mut table = String::new();
    for line in lines {
        let cells = line.as_ref().iter().zip(&widths).zip(sides);
        let cells: Vec<_> = cells
            .map(|((cell, width), side)| match side {
                Side::Left => format!("{cell:<width$}"),
                Side::Right => format!("{cell:>width$}"),
            })
            .collect();
        table.push_str(cells.join("  ").trim_end());
        table.push('\n');
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{Side, align, grouped};

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let lines = [
            ["≤ 1".to_owned(), "b".to_owned()],
            ["a".to_owned(), "12".to_owned()],
        ];
        assert_eq!(
            align(&lines, &[Side::Left, Side::Right]),
            "≤ 1   b\na    12\n"
        );
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(60_000), "60,000");
    }
}
