//! Tab of the spectra of a run: a spectrum with its line, lines of the regions, and maps of the lines.

pub mod action;
mod line_table;
pub mod regions;
mod spectra;
pub mod spectrum_panel;
pub mod state;
