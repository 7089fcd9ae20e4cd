//! One number of a table, as published and as measured here; papers' tables are made of these.

use serde::Serialize;

use super::text_table::TextTable;

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Value {
    /// The paper's table, such as `2`.
    pub table: &'static str,
    /// What was scanned, where a table is made for several.
    pub scan: &'static str,
    /// What was used: the row.
    pub row: String,
    /// What the paper used in its place.
    pub paper_row: String,
    /// What was measured: the column.
    pub column: String,
    /// Unit of both numbers; `%` and `x` for percentages and ratios.
    pub unit: &'static str,
    /// As published.
    pub paper: Option<f64>,
    /// As measured here.
    pub here: Option<f64>,
    /// Half of the interquartile range of what was measured here.
    pub spread: Option<f64>,
    /// Refers from our number to a remark below the table.
    pub mark: &'static str,
    /// Refers from the published one.
    pub paper_mark: &'static str,
    /// Digits after the point, where they are not to follow from the number.
    #[serde(skip)]
    pub digits: Option<usize>,
}

impl Value {
    /// A cell without numbers.
    pub fn new(table: &'static str, row: impl Into<String>, column: impl Into<String>, unit: &'static str) -> Self {
        Self { table, row: row.into(), column: column.into(), unit, ..Self::default() }
    }

    /// With the number that was measured here.
    pub fn here(self, here: impl Into<Option<f64>>) -> Self {
        Self { here: here.into(), ..self }
    }

    /// With the number that was published.
    pub fn paper(self, paper: impl Into<Option<f64>>) -> Self {
        Self { paper: paper.into(), ..self }
    }

    /// With so many digits after the point.
    pub fn digits(self, digits: usize) -> Self {
        Self { digits: Some(digits), ..self }
    }

    /// With another column.
    pub fn column(&self, column: impl Into<String>, unit: &'static str) -> Self {
        Self { column: column.into(), unit, ..self.clone() }
    }

    /// A number in a table: three digits; one after the point for percentages and ratios.
    fn number(&self, value: f64) -> String {
        let digits = match (self.digits, self.unit) {
            (Some(digits), _) => digits,
            (_, "%" | "x") => 1,
            _ if value == 0.0 || !value.is_finite() => 0,
            _ => (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize,
        };
        let text = format!("{value:.digits$}");
        // Rounding leaves a sign on what is zero.
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

/// Our name of a row and the paper's.
type Row = (String, String);
/// Name and unit of a column.
type Column = (String, &'static str);

/// The items that differ, in the order in which they come first.
fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// Values as a table: a line for each row, and for each column the published number and ours; one number where no cell
/// has both.
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
    fn a_column_is_split_where_both_numbers_are_there() {
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
