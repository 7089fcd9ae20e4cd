//! Results as documents: columns of text, tables of published and measured numbers, line plots as SVG, and reports as PDF.
//!
//! Columns, tables, plots and pixels are independent of their content: papers, benchmarks, the command line and the window use them. A
//! report ([`nema_pdf`], [`lesion_pdf`]) has plain data as input.

use tomoscope_base::{coded, data, text};
#[cfg(test)]
use tomoscope_base::{geometry, task};
use tomoscope_engine::{measure, plan};
use tomoscope_formats::io;

mod columns;
mod drawing;
mod image_page;
mod lesions;
mod lines;
mod nema;
mod nema_nu4;
mod page;
#[cfg(feature = "pdf")]
mod pdf;
#[cfg(not(feature = "pdf"))]
mod pdf {
    use super::page::{Page, PdfError};

    /// Refuses to write pages as PDF.
    pub fn pdf(_: &str, _: &[Page]) -> Result<Vec<u8>, PdfError> {
        Err(PdfError::NotBuilt)
    }
}
mod pixels;
mod plot;
mod recovery;
mod tables;
mod text_table;
mod value;

pub use columns::{Column, Columns};
pub use image_page::ImageReport;
pub use lesions::{LesionsShown, lesion_pdf};
pub use lines::{ALL_FITTED, LinesShown};
pub use nema::{nema_contrasts, nema_measurements, nema_pdf, nema_table};
pub use nema_nu4::{nema_nu4_measurements, nema_nu4_pdf, nema_nu4_table};
pub use page::PdfError;
pub use pixels::pixels;
pub use plot::{Axes, Plot, Series};
pub use recovery::{RecoveryRun, RecoverySearch, recovery_table, verdict_text};
pub use tables::Tables;
pub use text_table::TextTable;
pub use value::{Value, distinct};
