//! Tab of the spectra of a run: the spectrum at the crosshair with its line, and maps of the lines.

pub mod spectrum_panel;
pub mod state;
