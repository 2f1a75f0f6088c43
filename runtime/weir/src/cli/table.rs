//! A table for people: columns as wide as their longest text.

use weir_host::printable;

use super::output::print_line;

/// Prints a table. The last column is not padded.
pub fn print_table<const COLUMNS: usize>(titles: [&str; COLUMNS], rows: &[[String; COLUMNS]]) {
    let rows: Vec<[String; COLUMNS]> = rows
        .iter()
        .map(|row| row.each_ref().map(|text| printable(text)))
        .collect();
    let mut widths = titles.map(|title| title.chars().count());
    for row in &rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = text.chars().count().max(*width);
        }
    }
    print_row(&titles.map(str::to_owned), &widths);
    for row in &rows {
        print_row(row, &widths);
    }
}

fn print_row(row: &[String], widths: &[usize]) {
    let padded = row.iter().zip(widths);
    let padded: Vec<String> = padded
        .map(|(text, width)| format!("{text:<width$}"))
        .collect();
    print_line!("{}", padded.join("  ").trim_end());
}

/// The text, or what stands for none in a table.
pub fn or_dash(text: impl Into<String>) -> String {
    let text = text.into();
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}
