//! Tables as aligned text: columns of words, then groups of columns of numbers under a common title.

use std::fmt;

use comfy_table::{CellAlignment, ColumnConstraint, Table, Width, presets};

#[derive(Default)]
pub struct TextTable {
    pub title: String,
    /// Titles of the columns of words.
    pub words: Vec<String>,
    /// Titles of the groups of numbers and of their columns.
    pub groups: Vec<(String, Vec<String>)>,
    /// Cells of each row: words, then numbers.
    pub rows: Vec<Vec<String>>,
    /// Sentences below.
    pub remarks: Vec<String>,
}

/// Returns the width of a text on a terminal, characters.
fn length(text: &str) -> usize {
    text.chars().count()
}

/// Gap between columns and between groups.
const GAP: usize = 2;
/// Characters per line of a remark.
const REMARK_WIDTH: usize = 116;

impl TextTable {
    /// Returns the lines of titles and cells, and the widths of the columns with the gap before each.
    fn lines(&self) -> (Vec<String>, Vec<usize>) {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(self.words.iter().chain(self.groups.iter().flat_map(|(_, columns)| columns)));
        table.add_rows(&self.rows);
        let mut widths: Vec<usize> =
            table.column_max_content_widths().into_iter().map(|width| GAP + usize::from(width)).collect();
        let mut first = self.words.len();
        for (title, columns) in &self.groups {
            let whole: usize = widths[first..first + columns.len()].iter().sum();
            widths[first] += (GAP + length(title)).saturating_sub(whole);
            first += columns.len();
        }
        for (index, (column, width)) in table.column_iter_mut().zip(&widths).enumerate() {
            column.set_padding((GAP as u16, 0));
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(*width as u16)));
            column.set_cell_alignment(if index < self.words.len() { CellAlignment::Left } else { CellAlignment::Right });
        }
        (table.lines().map(|line| line.trim_end().to_owned()).collect(), widths)
    }

    /// Returns the line of group titles, each at the right end of its columns.
    fn group_line(&self, widths: &[usize]) -> String {
        let (words, mut numbers) = widths.split_at(self.words.len());
        let mut line = " ".repeat(words.iter().sum());
        for (title, columns) in &self.groups {
            let (own, rest) = numbers.split_at(columns.len());
            line += &format!("{title:>width$}", width = own.iter().sum());
            numbers = rest;
        }
        line.trim_end().to_owned()
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lines, widths) = self.lines();
        writeln!(f, "{}", self.title)?;
        writeln!(f, "{}", self.group_line(&widths))?;
        let mut lines = lines.iter();
        if let Some(titles) = lines.next().filter(|titles| !titles.is_empty()) {
            writeln!(f, "{titles}")?;
        }
        writeln!(f, "{}{}", " ".repeat(GAP), "-".repeat(widths.iter().sum::<usize>() - GAP))?;
        for line in lines {
            writeln!(f, "{line}")?;
        }
        for remark in &self.remarks {
            let mut indent = GAP;
            for line in wrapped(remark) {
                writeln!(f, "{}{line}", " ".repeat(indent))?;
                indent = 2 * GAP;
            }
        }
        Ok(())
    }
}

/// Splits a sentence into lines of at most `REMARK_WIDTH` characters, except for longer words.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if length(line) + 1 + length(word) <= REMARK_WIDTH => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_wrapped_between_words() {
        let text = "four ".repeat(40);
        let lines = wrapped(&text);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| length(line) <= REMARK_WIDTH));
        assert_eq!(lines.join(" "), text.trim());
    }

    #[test]
    fn texts_are_left_and_numbers_right_aligned_under_titles() {
        let cells = |row: [&str; 4]| row.map(String::from).to_vec();
        let table = TextTable {
            title: "Table".into(),
            words: vec!["what".into()],
            groups: vec![("pairs, s".into(), vec!["paper".into(), "here".into()]), ("a long title".into(), vec![String::new()])],
            rows: vec![cells(["é", "1.5", "–", "7"]), cells(["longer", "12", "3", "8.25"])],
            remarks: vec!["a remark".into()],
        };
        let expected = [
            "Table",
            "             pairs, s  a long title",
            "  what    paper  here",
            "  ---------------------------------",
            "  é         1.5     –             7",
            "  longer     12     3          8.25",
            "  a remark",
            "",
        ];
        assert_eq!(table.to_string(), expected.join("\n"));
    }
}
