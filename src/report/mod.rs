//! How results look on paper: columns of text, tables of published beside measured numbers, and line plots as SVG.
//!
//! Nothing here knows what was measured or for whom: the tables of papers, the benchmarks and the command line's lists
//! are printed with it, and so can be what the window exports.

mod columns;
mod plot;
mod tables;
mod text_table;
mod value;

pub use columns::{Column, Columns};
pub use plot::{Axes, Plot, Series};
pub use tables::Tables;
pub use text_table::TextTable;
pub use value::Value;
