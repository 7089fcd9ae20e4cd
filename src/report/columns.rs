//! Columns with given widths, for lines that are printed one by one. [`TextTable`](super::TextTable) finds the widths from all
//! of its rows.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, Table, Width};

pub struct Column {
    title: &'static str,
    width: u16,
    alignment: CellAlignment,
}

impl Column {
    /// Returns a left-aligned column of at least `width` characters, including a space after them.
    pub const fn words(title: &'static str, width: u16) -> Self {
        Self { title, width, alignment: CellAlignment::Left }
    }

    /// Returns a right-aligned column of at least `width` characters, including two spaces after them.
    pub const fn numbers(title: &'static str, width: u16) -> Self {
        Self { title, width, alignment: CellAlignment::Right }
    }

    /// Returns the spaces before and after its cells.
    fn padding(&self) -> (u16, u16) {
        if self.alignment == CellAlignment::Right { (0, 2) } else { (0, 1) }
    }
}

/// Columns from left to right. A cell that is longer than its column moves the following ones.
pub struct Columns<const N: usize>(pub [Column; N]);

impl<const N: usize> Columns<N> {
    pub fn titles(&self) -> String {
        self.line(self.0.each_ref().map(|column| column.title.to_owned()))
    }

    pub fn line(&self, cells: [String; N]) -> String {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        let aligned = cells.into_iter().zip(&self.0).map(|(cell, column)| Cell::new(cell).set_alignment(column.alignment));
        table.add_row(aligned.collect::<Vec<_>>());
        for (column, format) in self.0.iter().zip(table.column_iter_mut()) {
            format.set_padding(column.padding());
            if column.width > 0 {
                format.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(column.width)));
            }
        }
        table.trim_fmt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_left_and_numbers_right_aligned_in_their_widths() {
        let columns =
            Columns([Column::words("what", 8), Column::numbers("s", 7), Column::numbers("ms", 0), Column::words("views", 0)]);
        let line = |cells: [&str; 4]| columns.line(cells.map(String::from));
        assert_eq!(columns.titles(), "what        s  ms  views");
        assert_eq!(line(["é×", "1.5", "120", "all views"]), "é×        1.5  120  all views");
        assert_eq!(line(["too long for it", "1.5", "", ""]), "too long for it   1.5");
    }
}
