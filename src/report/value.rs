//! Number of a table in a paper, as published and as measured here.

use serde::Serialize;

use super::text_table::TextTable;

/// Cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Value {
    /// Table of the paper, such as `2`.
    pub table: &'static str,
    /// Scan, for tables of several scans.
    pub scan: &'static str,
    /// Row: method or device.
    pub row: String,
    /// Method or device of the paper.
    pub paper_row: String,
    /// Column: measured quantity.
    pub column: String,
    /// Unit of both numbers; `%` and `x` for percentages and ratios.
    pub unit: &'static str,
    /// Published value.
    pub paper: Option<f64>,
    /// Value measured here.
    pub here: Option<f64>,
    /// Half of the interquartile range of the value measured here.
    pub spread: Option<f64>,
    /// Mark of a remark on the value measured here.
    pub mark: &'static str,
    /// Mark of a remark on the published value.
    pub paper_mark: &'static str,
    /// Decimals; `None`: by the size of the number.
    #[serde(skip)]
    pub digits: Option<usize>,
}

impl Value {
    /// Returns a cell without numbers.
    pub fn new(table: &'static str, row: impl Into<String>, column: impl Into<String>, unit: &'static str) -> Self {
        Self { table, row: row.into(), column: column.into(), unit, ..Self::default() }
    }

    pub fn here(self, here: impl Into<Option<f64>>) -> Self {
        Self { here: here.into(), ..self }
    }

    pub fn paper(self, paper: impl Into<Option<f64>>) -> Self {
        Self { paper: paper.into(), ..self }
    }

    pub fn digits(self, digits: usize) -> Self {
        Self { digits: Some(digits), ..self }
    }

    /// Returns a copy for another column.
    pub fn column(&self, column: impl Into<String>, unit: &'static str) -> Self {
        Self { column: column.into(), unit, ..self.clone() }
    }

    /// Formats a number: three digits; one decimal for percentages and ratios.
    fn number(&self, value: f64) -> String {
        let digits = match (self.digits, self.unit) {
            (Some(digits), _) => digits,
            (_, "%" | "x") => 1,
            _ if value == 0.0 || !value.is_finite() => 0,
            _ => (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize,
        };
        let text = format!("{value:.digits$}");
        // Rounding leaves a sign on zero.
        let is_zero = text.chars().all(|c| "-0.".contains(c));
        if is_zero { text.replace('-', "") } else { text }
    }

    fn cell(&self, value: Option<f64>, mark: &str) -> String {
        value.map_or_else(|| "–".into(), |value| self.number(value) + mark)
    }

    fn is_at(&self, row: &Row, column: &Column) -> bool {
        (&self.row, &self.paper_row) == (&row.0, &row.1) && (&self.column, self.unit) == (&column.0, column.1)
    }
}

/// Names of a row, here and in the paper.
type Row = (String, String);
/// Name and unit of a column.
type Column = (String, &'static str);

/// Returns the distinct items in the order of their first occurrence.
pub fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// Returns values as a table: for each column the published number and the one measured here; a single number if no cell has
/// both.
pub(super) fn text_table(title: String, values: &[&Value], remarks: Vec<String>) -> TextTable {
    let rows = distinct(values.iter().map(|value| (value.row.clone(), value.paper_row.clone())));
    let columns = distinct(values.iter().map(|value| (value.column.clone(), value.unit)));
    let names_paper = rows.iter().any(|(_, paper_row)| !paper_row.is_empty());
    let any =
        |column: &Column, has: fn(&Value) -> bool| values.iter().any(|v| (&v.column, v.unit) == (&column.0, column.1) && has(v));
    let both = |column: &Column| any(column, |v| v.paper.is_some() && v.here.is_some());
    let has_here = |column: &Column| any(column, |v| v.here.is_some());
    let group = |column: &Column| {
        let title = if column.1.is_empty() { column.0.clone() } else { format!("{}, {}", column.0, column.1) };
        let titles: &[&str] = match (both(column), has_here(column)) {
            (true, _) => &["paper", "here"],
            (false, true) => &[""],
            (false, false) => &["paper"],
        };
        (title, titles.iter().map(|&title| title.to_owned()).collect())
    };
    let line = |row: &Row| {
        let mut line = vec![row.0.clone()];
        line.extend(names_paper.then(|| row.1.clone()));
        for column in &columns {
            let found = values.iter().find(|value| value.is_at(row, column));
            let paper = found.map_or_else(|| "–".into(), |v| v.cell(v.paper, v.paper_mark));
            let here = found.map_or_else(|| "–".into(), |v| v.cell(v.here, v.mark));
            match both(column) {
                true => line.extend([paper, here]),
                false => line.push(if found.is_some_and(|v| v.paper.is_some()) { paper } else { here }),
            }
        }
        line
    };
    let words = if names_paper { vec!["here".into(), "in the paper".into()] } else { vec![String::new()] };
    TextTable { title, words, groups: columns.iter().map(group).collect(), rows: rows.iter().map(line).collect(), remarks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let cases =
            [(395.5, "s", "396"), (16.7, "s", "16.7"), (0.00612, "s", "0.00612"), (85.14, "x", "85.1"), (-0.01, "%", "0.0")];
        for (value, unit, expected) in cases {
            assert_eq!(Value { unit, ..Value::default() }.number(value), expected);
        }
        assert_eq!(Value { digits: Some(3), unit: "%", ..Value::default() }.number(-0.01), "-0.010");
    }

    #[test]
    fn a_column_with_both_numbers_is_split() {
        let value = |row: &str, column: &str, paper, here| Value {
            row: row.into(),
            column: column.into(),
            paper,
            here,
            unit: "%",
            ..Value::default()
        };
        let values = [
            value("a", "x", Some(1.0), Some(2.0)),
            value("a", "y", None, Some(3.0)),
            value("b", "x", Some(4.0), None),
            value("b", "y", Some(5.0), None),
            value("b", "z", Some(6.0), None),
        ];
        let table = text_table(String::new(), &values.iter().collect::<Vec<_>>(), Vec::new());
        assert_eq!(table.rows, [["a", "1.0", "2.0", "3.0", "–"], ["b", "4.0", "–", "5.0", "6.0"]]);
        let titles: Vec<Vec<String>> = table.groups.into_iter().map(|(_, titles)| titles).collect();
        assert_eq!(titles, [vec!["paper", "here"], vec![""], vec!["paper"]]);
        assert_eq!(table.words.len(), 1);
    }
}
