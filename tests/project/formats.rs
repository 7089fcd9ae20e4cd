//! The documentation lists the formats that the program has.

use std::fs;

use tomoscope::io::formats::{Access, FORMATS};

use super::in_repository;

#[test]
fn the_page_on_formats_has_a_row_for_each() {
    let page = fs::read_to_string(in_repository("docs/formats.md")).unwrap();
    let table = page.lines().skip_while(|line| !line.starts_with("| data |")).skip(2).take_while(|line| line.starts_with('|'));
    let rows: Vec<Vec<&str>> = table.map(|line| line.split('|').map(str::trim).collect()).collect();
    let words = |can: bool| if can { "yes" } else { "no" };
    let missing: Vec<String> = FORMATS
        .iter()
        .map(|format| {
            let ending = format.shown[0].trim_start_matches("-proj").trim_start_matches('.');
            (format.name, ending, words(format.allows(Access::Read)), words(format.allows(Access::Write)))
        })
        .filter(|(name, ending, reads, writes)| {
            let is_row = |row: &&Vec<&str>| {
                let named = row[2].trim_start_matches('[').starts_with(name) && row[3].contains(&format!(".{ending}"));
                named && row[4..6] == [*reads, *writes]
            };
            !rows.iter().any(|row| is_row(&row))
        })
        .map(|row| format!("{row:?}"))
        .collect();
    assert!(missing.is_empty(), "docs/formats.md lacks {}", missing.join(", "));
}
