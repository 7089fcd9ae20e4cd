//! Fields of forms with the names that screen readers and tests know them by.

use egui::Ui;

/// A menu, whose name for screen readers and tests is "label: current", as the end of a row.
pub fn menu(ui: &mut Ui, label: &str, current: &str, contents: impl FnOnce(&mut Ui)) {
    let shown = egui::ComboBox::from_id_salt(label).selected_text(current).show_ui(ui, contents);
    let text = format!("{label}: {current}");
    shown.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, &text));
    ui.end_row();
}

/// Names a number field for screen readers and tests.
pub fn name(response: &egui::Response, label: &str) {
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::SpinButton, response.enabled(), label));
}

/// A number as a field would take it: within the bounds, and the lower one where it is none.
pub fn held_within(value: f64, low: f64, high: f64) -> f64 {
    if value.is_finite() { value.clamp(low, high) } else { low }
}
