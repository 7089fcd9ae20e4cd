//! Tables as aligned text: columns of words, then groups of columns of numbers under a common title.

use std::fmt;

/// A table.
pub(super) struct TextTable {
    pub title: String,
    /// Titles of the columns of words.
    pub words: Vec<String>,
    /// Titles of groups of numbers, and of the columns of each.
    pub groups: Vec<(String, Vec<String>)>,
    /// Cells of each row: words, then numbers.
    pub rows: Vec<Vec<String>>,
    /// Sentences below.
    pub remarks: Vec<String>,
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Between columns, and between groups of them.
const GAP: usize = 2;
/// Characters of a line of a remark.
const REMARK_WIDTH: usize = 116;

impl TextTable {
    fn widths(&self) -> Vec<usize> {
        let titles = self.words.iter().chain(self.groups.iter().flat_map(|(_, columns)| columns));
        let mut widths: Vec<usize> = titles.map(|title| length(title)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(length(cell));
            }
        }
        let mut first = self.words.len();
        for (title, columns) in &self.groups {
            let whole = widths[first..first + columns.len()].iter().sum::<usize>() + GAP * columns.len().saturating_sub(1);
            widths[first] += length(title).saturating_sub(whole);
            first += columns.len();
        }
        widths
    }

    /// Cells as a line.
    fn line<'a>(&self, cells: impl Iterator<Item = &'a String>, widths: &[usize]) -> String {
        let gap = " ".repeat(GAP);
        let mut line = String::new();
        for (column, (cell, &width)) in cells.zip(widths).enumerate() {
            let words = column < self.words.len();
            line += &if words { format!("{gap}{cell:<width$}") } else { format!("{gap}{cell:>width$}") };
        }
        line.trim_end().to_owned()
    }

    /// The titles of the groups, each at the right end of its columns.
    fn group_line(&self, widths: &[usize]) -> String {
        let all = |columns: &[usize]| columns.iter().map(|width| width + GAP).sum::<usize>();
        let mut line = " ".repeat(all(&widths[..self.words.len()]));
        let mut first = self.words.len();
        for (title, columns) in &self.groups {
            let width = all(&widths[first..first + columns.len()]);
            line += &format!("{title:>width$}");
            first += columns.len();
        }
        line.trim_end().to_owned()
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        writeln!(f, "{}", self.title)?;
        writeln!(f, "{}", self.group_line(&widths))?;
        let titles = self.words.iter().chain(self.groups.iter().flat_map(|(_, columns)| columns));
        let titles = self.line(titles, &widths);
        if !titles.is_empty() {
            writeln!(f, "{titles}")?;
        }
        let rule = widths.iter().map(|width| width + GAP).sum::<usize>() - GAP;
        writeln!(f, "{}{}", " ".repeat(GAP), "-".repeat(rule))?;
        for row in &self.rows {
            writeln!(f, "{}", self.line(row.iter(), &widths))?;
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

/// A sentence in lines of at most `REMARK_WIDTH` characters, but for longer words.
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
    fn words_stand_left_and_numbers_right_under_their_titles() {
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
