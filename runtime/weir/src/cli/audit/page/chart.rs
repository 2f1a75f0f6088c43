//! The timeline. Denials have a separate lane, so that allowed operations cannot hide them.

use maud::{Markup, html};

use crate::cli::audit::tally::Tally;
use crate::cli::audit::time;
use crate::cli::audit::timeline::{Columns, Counts};
use crate::cli::number::{counted, number};

const MOST_COLUMNS: usize = 90;
const MOST_TICKS: usize = 7;

// Sizes in the picture's own units.
const WIDTH: f64 = 1000.0;
const LEFT: f64 = 12.0;
const RIGHT: f64 = 12.0;
const WIDEST_COLUMN: f64 = 40.0;
/// The lane of denials: its floor, and its highest bar.
const DENIED_FLOOR: f64 = 84.0;
const DENIED_HEIGHT: f64 = 40.0;
/// The other lane.
const DONE_TITLE: f64 = 112.0;
const DONE_FLOOR: f64 = 232.0;
const DONE_HEIGHT: f64 = 104.0;
const AXIS: f64 = 256.0;
const HEIGHT: f64 = 268.0;
/// The lowest visible bar, and the lowest with room for a cross.
const LOWEST: f64 = 2.0;
const LOWEST_DENIED: f64 = 14.0;

pub fn section(tally: &Tally) -> Markup {
    html! {
        @if let Some(columns) = tally.timeline.columns(MOST_COLUMNS) {
            section {
                h2 { "Over time" }
                div.scroll { (picture(&columns, tally)) }
                p.caption {
                    "One column is " (time::duration(columns.step as u64))
                    ". The two lanes have different scales; times are UTC."
                }
            }
        }
    }
}

fn picture(columns: &Columns, tally: &Tally) -> Markup {
    let layout = Layout::of(columns);
    let count = &tally.count;
    let label = format!(
        "Records over time: {} allowed, {} denied, {} undone",
        count.allowed, count.denied, count.undone
    );
    let box_ = format!("0 0 {WIDTH} {HEIGHT}");
    html! {
        svg.timeline viewBox=(box_) role="img" aria-label=(label) {
            defs {
                pattern #hatch width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    rect.ground width="5" height="5" {}
                    line x1="0" y1="0" x2="0" y2="5" {}
                }
            }
            text.lane.denied x=(LEFT) y="16" { "✕ denied: " (number(count.denied)) }
            text.lane x=(LEFT) y=(DONE_TITLE) {
                "● allowed: " (number(count.allowed))
                @if count.undone > 0 { "   ↶ undone (hatched): " (number(count.undone)) }
            }
            line.floor x1=(LEFT) x2=(WIDTH - RIGHT) y1=(DENIED_FLOOR) y2=(DENIED_FLOOR) {}
            line.floor x1=(LEFT) x2=(WIDTH - RIGHT) y1=(DONE_FLOOR) y2=(DONE_FLOOR) {}
            @for tick in columns.ticks(MOST_TICKS) { (layout.tick(columns, tick)) }
            @for (at, counts) in columns.counts.iter().enumerate() { (layout.column(at, counts)) }
            (layout.numbers(columns))
        }
    }
}

struct Layout {
    column: f64,
    most_denied: f64,
    most_done: f64,
    /// Whether bars have room for a cross.
    crosses: bool,
}

impl Layout {
    fn of(columns: &Columns) -> Self {
        let most = |of: fn(&Counts) -> u64| columns.counts.iter().map(of).max().unwrap_or(0);
        let column = ((WIDTH - LEFT - RIGHT) / columns.counts.len() as f64).min(WIDEST_COLUMN);
        Self {
            column,
            most_denied: most(|c| c.denied).max(1) as f64,
            most_done: most(|c| c.allowed + c.undone).max(1) as f64,
            crosses: column >= 9.0,
        }
    }

    fn x(&self, column: usize) -> f64 {
        LEFT + self.column * column as f64
    }

    fn column(&self, at: usize, counts: &Counts) -> Markup {
        let done = |n: u64| height(n, self.most_done, DONE_HEIGHT, LOWEST);
        let (allowed, undone) = (done(counts.allowed), done(counts.undone));
        html! {
            @if *counts != Counts::default() {
                g {
                    title { (tip(counts)) }
                    (self.bar("allowed", at, DONE_FLOOR - allowed, allowed))
                    (self.bar("undone", at, DONE_FLOOR - allowed - undone, undone))
                    (self.denied(at, counts.denied))
                }
            }
        }
    }

    fn denied(&self, at: usize, denied: u64) -> Markup {
        let height = self.denied_height(denied);
        let middle = self.x(at) + self.column / 2.0;
        let (left, right) = (middle - 3.0, middle + 3.0);
        let (top, low) = (DENIED_FLOOR - 10.0, DENIED_FLOOR - 4.0);
        let cross = format!("M{left:.1} {top}L{right:.1} {low}M{left:.1} {low}L{right:.1} {top}");
        html! {
            (self.bar("denied", at, DENIED_FLOOR - height, height))
            @if denied > 0 && self.crosses { path.cross d=(cross) {} }
        }
    }

    fn denied_height(&self, denied: u64) -> f64 {
        height(denied, self.most_denied, DENIED_HEIGHT, LOWEST_DENIED)
    }

    fn bar(&self, class: &str, at: usize, y: f64, height: f64) -> Markup {
        let gap = if self.column > 5.0 { 1.5 } else { 0.0 };
        html! {
            @if height > 0.0 {
                rect class=(class) x=(format!("{:.1}", self.x(at) + gap / 2.0)) y=(format!("{y:.1}"))
                    width=(format!("{:.1}", self.column - gap)) height=(format!("{height:.1}")) {}
            }
        }
    }

    /// The numbers of denials, above the bars with room for them.
    fn numbers(&self, columns: &Columns) -> Markup {
        let mut free = 0.0;
        let mut shown = Vec::new();
        for (at, counts) in columns.counts.iter().enumerate() {
            let text = number(counts.denied);
            let (middle, half) = (self.x(at) + self.column / 2.0, 4.2 * text.len() as f64);
            if counts.denied > 0 && middle - half >= free {
                free = middle + half + 3.0;
                let top = self.denied_height(counts.denied);
                shown.push((middle, DENIED_FLOOR - top - 5.0, text));
            }
        }
        html! {
            @for (x, y, text) in shown {
                text.number x=(format!("{x:.1}")) y=(format!("{y:.1}")) text-anchor="middle" { (text) }
            }
        }
    }

    fn tick(&self, columns: &Columns, tick: usize) -> Markup {
        let x = self.x(tick);
        let anchor = match x {
            x if x < LEFT + 60.0 => "start",
            x if x > WIDTH - 80.0 => "end",
            _ => "middle",
        };
        let x = format!("{x:.1}");
        html! {
            line.tick x1=(x) x2=(x) y1="26" y2=(DONE_FLOOR + 6.0) {}
            text.time x=(x) y=(AXIS) text-anchor=(anchor) { (columns.label(tick)) }
        }
    }
}

/// A bar's height, at least `lowest` unless it is empty.
fn height(count: u64, most: f64, full: f64, lowest: f64) -> f64 {
    match count {
        0 => 0.0,
        n => (n as f64 / most * full).max(lowest),
    }
}

fn tip(counts: &Counts) -> String {
    let allowed = counted(counts.allowed, "operation");
    let (denied, undone) = (number(counts.denied), number(counts.undone));
    format!("{allowed} allowed, {denied} denied, {undone} undone")
}
