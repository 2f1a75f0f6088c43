//! A table for people: columns as wide as their longest text.

use weir_grant::text::printable;

use super::output::{print_line, say};

/// Prints a table. The last column is not padded.
pub fn print_table<const COLUMNS: usize>(titles: [&str; COLUMNS], rows: &[[String; COLUMNS]]) {
    let rows = rows.iter().map(|row| (row.clone(), None));
    print_table_with_notes(titles, rows.collect());
}

/// Prints a table of which some rows have a note below them.
pub fn print_table_with_notes<const COLUMNS: usize>(
    titles: [&str; COLUMNS],
    rows: Vec<([String; COLUMNS], Option<String>)>,
) {
    let rows: Vec<_> = rows
        .into_iter()
        .map(|(row, note)| (row.map(|text| printable(&text)), note))
        .collect();
    let mut widths = titles.map(|title| title.chars().count());
    for (row, _) in &rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = text.chars().count().max(*width);
        }
    }
    print_row(&titles.map(str::to_owned), &widths);
    for (row, note) in &rows {
        print_row(row, &widths);
        if let Some(note) = note {
            say!("    {note}");
        }
    }
}

fn print_row(row: &[String], widths: &[usize]) {
    let padded = row.iter().zip(widths);
    let padded: Vec<String> = padded
        .map(|(text, width)| format!("{text:<width$}"))
        .collect();
    print_line!("{}", padded.join("  ").trim_end());
}

/// Returns the text, or what stands for none in a table.
pub fn or_dash(text: impl Into<String>) -> String {
    let text = text.into();
    if text.is_empty() {
        "-".to_owned()
    } else {
        text
    }
}
