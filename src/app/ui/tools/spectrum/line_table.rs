//! Table of the lines of all fitted voxels and of the regions.

use egui::{RichText, Role, Ui, WidgetInfo};

use crate::data::Unit;
use crate::measure::MapStats;
use crate::measure::spectrum::{LineFigures, NO_LINE};
use crate::report::LinesShown;
use crate::ui::rois::action::RoiEdit;
use crate::ui::widgets::fields::button;
use crate::ui::widgets::file_task::{FileTask, ToolFile};
use crate::ui::widgets::format;
use crate::ui::widgets::plot;
use crate::ui::workspace::state::{Request, request};

/// Table of the lines of the regions.
pub(super) static LINES: ToolFile = ToolFile {
    tool: "spectrum",
    title: "Export the lines of the regions",
    formats: ".csv",
    filter: ("CSV", &["csv"]),
    new_file: Some("lines.csv"),
};

/// Head and tooltip of a quantity.
fn head(quantity: &str) -> (&str, &'static str) {
    match quantity {
        "amplitude" => ("Amplitude", "Double integral of the line"),
        "linewidth" => ("Width", "Full width at half maximum of the Lorentzian"),
        "gaussian" => ("Gaussian", "Full width at half maximum of the Gaussian"),
        "position" => ("Position", "Distance from the middle of the field sweep"),
        other => (other, "Oxygen pressure by the width; 1 torr = 1 mmHg"),
    }
}

/// Draws the table, and the button that exports it. A click on a name selects the region.
pub(super) fn line_table_ui(lines: &LinesShown, selected: Option<usize>, ui: &mut Ui, requests: &mut Vec<Request>) {
    let quantities: Vec<(&str, Unit)> =
        lines.all.fitted.iter().flat_map(|fitted| fitted.quantities()).map(|(name, unit, _)| (name, unit)).collect();
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new("Lines of the regions").strong());
        let task = request(|work| _ = work.ask(FileTask::OfTool(&LINES)));
        button(ui, "Export lines…", "Writes the table as CSV, with its provenance record", requests, task);
    });
    egui::Grid::new("lines of regions")
        .num_columns(3 + 2 * quantities.len())
        .striped(true)
        .min_col_width(0.0)
        .min_row_height(0.0)
        .spacing([7.0, 3.0])
        .show(ui, |ui| {
            heads_ui(&quantities, ui);
            for (row, (name, figures)) in lines.rows().enumerate() {
                let index = row.checked_sub(1);
                name_ui(name, index, index.is_some() && index == selected, ui, requests);
                numbers_ui(name, figures, &quantities, ui);
                ui.end_row();
            }
        });
    if lines.regions.is_empty() {
        ui.label(RichText::new("Each region has a row here, once it is drawn.").small().weak());
    }
}

fn heads_ui(quantities: &[(&str, Unit)], ui: &mut Ui) {
    let title = |ui: &mut Ui, text: &str, help: &str| _ = ui.label(RichText::new(text).small().strong()).on_hover_text(help);
    ui.label("");
    for (quantity, unit) in quantities {
        let (text, help) = head(quantity);
        let unit = if *unit == Unit::Arbitrary { String::new() } else { format!(", {}", unit.label()) };
        title(ui, &format!("{text}{unit}"), &format!("{help}: mean ± standard deviation between the voxels"));
        title(ui, "median", &format!("{help}: median of the voxels"));
    }
    title(ui, "fitted", "Voxels with a line");
    title(ui, "masked", "Voxels without a line");
    ui.end_row();
}

fn name_ui(text: &str, index: Option<usize>, is_selected: bool, ui: &mut Ui, requests: &mut Vec<Request>) {
    let Some(index) = index else {
        ui.label(text);
        return;
    };
    let response = ui.add(egui::Button::selectable(is_selected, text).small());
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_selected, format!("Select {text}")));
    if response.on_hover_text("Selects the region").clicked() {
        requests.push(request(move |work| work.edit_rois(RoiEdit::Select(Some(index)))));
    }
}

fn numbers_ui(name: &str, figures: &LineFigures, quantities: &[(&str, Unit)], ui: &mut Ui) {
    for (quantity, unit) in quantities {
        let stats = figures.fitted.as_ref().and_then(|fitted| fitted.quantities().find(|(of, ..)| of == quantity));
        let Some((.., MapStats { mean, median, sd, .. })) = stats else {
            ["–"; 2].into_iter().for_each(|text| _ = ui.label(text));
            continue;
        };
        let text = with_sd(mean, sd.unwrap_or(f64::NAN));
        let unit = if *unit == Unit::Arbitrary { String::new() } else { format!(" {}", unit.label()) };
        let response = ui.label(&text);
        plot::name(&response, &format!("{} of {name}: {text}{unit}", head(quantity).0));
        ui.label(rounded(median, sd.unwrap_or(f64::NAN)));
    }
    ui.label(format::count(figures.counts.fitted as f64));
    let causes: Vec<String> =
        figures.counts.masked(NO_LINE).map(|(num, cause)| format!("{} {cause}", format::count(num as f64))).collect();
    let masked = ui.label(format::count(figures.num_masked() as f64));
    if !causes.is_empty() {
        masked.on_hover_text(causes.join(", "));
    }
}

/// Returns a value with its standard deviation, to the digits of the latter.
pub(super) fn with_sd(value: f64, sd: f64) -> String {
    match decimals(sd) {
        Some(decimals) => format!("{} ± {sd:.decimals$}", rounded(value, sd)),
        None => format::value(value),
    }
}

/// Returns a value to the digits of its standard deviation.
fn rounded(value: f64, sd: f64) -> String {
    let Some(decimals) = decimals(sd) else { return format::value(value) };
    let text = format!("{value:.decimals$}");
    // 0 has no sign.
    if text.parse() == Ok(0.0) { text.trim_start_matches('-').to_owned() } else { text }
}

/// Returns the decimals of a standard deviation; `None` where it is unknown.
fn decimals(sd: f64) -> Option<usize> {
    (sd.is_finite() && sd > 0.0).then(|| (1 - sd.log10().floor() as i32).clamp(0, 6) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_digits_of_their_deviation() {
        assert_eq!(with_sd(0.123456, 0.00346), "0.1235 ± 0.0035");
        assert_eq!(with_sd(1234.6, 67.0), "1235 ± 67");
        assert_eq!(with_sd(0.25, f64::NAN), "0.2500");
        assert_eq!([with_sd(-2e-6, 0.14), rounded(-0.2, 0.14)], ["0.00 ± 0.14", "-0.20"]);
    }
}
