//! Files of the recovery: bands of a standard, and the reports of NEMA.

use crate::ui::widgets::file_task::ToolFile;

/// Key of the pane.
pub const KEY: &str = "recovery";

/// Bands of a standard.
pub static STANDARD: ToolFile = ToolFile {
    tool: KEY,
    title: "Bands of recovery coefficients",
    formats: "limits for the NEMA spheres (.toml)",
    filter: ("Standard", &["toml"]),
    new_file: None,
};

/// Reports on the body phantom and the small-animal phantom.
pub static BODY_REPORT: ToolFile = report_file("Report of NEMA NU 2 image quality");
pub static SMALL_ANIMAL_REPORT: ToolFile = report_file("Report of NEMA NU 4 image quality");

const fn report_file(title: &'static str) -> ToolFile {
    ToolFile { tool: KEY, title, formats: ".pdf", filter: ("PDF", &["pdf"]), new_file: Some("nema.pdf") }
}
