//! Fields and buttons with the names that screen readers and tests use.

use std::ops::RangeInclusive;

use egui::{Button, DragValue, Id, Response, Role, Ui, Widget, WidgetInfo};

/// Draws a button. A click pushes the action.
pub fn button<A>(ui: &mut Ui, title: &str, help: &str, actions: &mut Vec<A>, action: A) -> Response {
    push_if_clicked(ui.button(title).on_hover_text(help), actions, action)
}

/// Draws a button that may be disabled, with the same help then. A click pushes the action.
pub fn button_if<A>(ui: &mut Ui, enabled: bool, button: impl Widget, help: &str, actions: &mut Vec<A>, action: A) -> Response {
    let response = ui.add_enabled(enabled, button).on_hover_text(help).on_disabled_hover_text(help);
    push_if_clicked(response, actions, action)
}

/// Draws the item of a menu. A click pushes the action and closes the menu.
pub fn item<A>(ui: &mut Ui, title: &str, actions: &mut Vec<A>, action: A) -> Response {
    let response = push_if_clicked(ui.button(title), actions, action);
    if response.clicked() {
        ui.close();
    }
    response
}

/// Draws the button "without", which removes a file of the study; its accessible name contains the purpose of the file.
pub fn remove_button<A>(ui: &mut Ui, enabled: bool, purpose: &str, actions: &mut Vec<A>, action: A) {
    let response = push_if_clicked(ui.add_enabled(enabled, Button::new("without")), actions, action);
    let label = format!("without {purpose}");
    response.widget_info(|| WidgetInfo::labeled(Role::Button, enabled, &label));
}

pub fn push_if_clicked<A>(response: Response, actions: &mut Vec<A>, action: A) -> Response {
    if response.clicked() {
        actions.push(action);
    }
    response
}

/// Draws a menu with the accessible name "label: current" at the end of a row.
pub fn menu(ui: &mut Ui, label: &str, current: &str, contents: impl FnOnce(&mut Ui)) {
    let shown = egui::ComboBox::from_id_salt(label).selected_text(current).show_ui(ui, contents);
    name_menu(&shown.response, &format!("{label}: {current}"));
    ui.end_row();
}

/// Returns a field of a number of any order of magnitude: a drag changes it in proportion to its size, at 0 to a usual one.
pub fn any_size(number: &mut f64, range: RangeInclusive<f64>, usual: f64) -> DragValue<'_> {
    let speed = 0.01 * number.abs().max(0.1 * usual);
    DragValue::new(number).range(range).speed(speed).custom_formatter(|value, _| match value.abs() {
        size if size == 0.0 || (1e-4..1e7).contains(&size) => value.to_string(),
        _ => format!("{value:e}"),
    })
}

/// Draws a menu of values.
pub fn choice<T: Copy + PartialEq>(
    ui: &mut Ui,
    id: &str,
    width: f32,
    value: &mut T,
    values: &[T],
    text: impl Fn(T) -> String,
) -> Response {
    let menu = egui::ComboBox::from_id_salt(id).width(width).selected_text(text(*value));
    menu.show_ui(ui, |ui| values.iter().for_each(|&each| _ = ui.selectable_value(value, each, text(each)))).response
}

/// Draws widgets side by side in a wrapped row, which breaks before them and not between them.
pub fn together<R>(ui: &mut Ui, id: &str, contents: impl FnOnce(&mut Ui) -> R) -> R {
    // A width is known from the last frame on.
    let id = ui.scope_id().with(id);
    let known: Option<f32> = ui.data(|data| data.get_temp(id));
    let is_at_begin = ui.cursor().left() <= ui.max_rect().left() + 1.0;
    if !is_at_begin && known.is_some_and(|width| width > ui.available_size_before_wrap().x) {
        ui.end_row();
    }
    let drawn = ui.horizontal(contents);
    let width = drawn.response.rect.width();
    if known != Some(width) {
        ui.data_mut(|data| data.insert_temp(id, width));
        ui.ctx().request_repaint();
    }
    drawn.inner
}

/// Draws a text field. Typed text takes effect when the field loses the focus: the new text is then returned. `field`: the
/// widget with its label, its width in points, and the hint of an empty field.
pub fn typed_ui(ui: &mut Ui, id: Id, known: &str, field: (Id, f32, &str)) -> (Response, Option<String>) {
    let (label, width, hint) = field;
    let typed: Option<String> = ui.data(|data| data.get_temp(id));
    let mut text = typed.unwrap_or_else(|| known.to_owned());
    let edit = egui::TextEdit::singleline(&mut text).id(id.with("field")).desired_width(width).hint_text(hint);
    let response = ui.add(edit).labelled_by(label);
    if response.has_focus() {
        ui.data_mut(|data| data.insert_temp(id, text));
        return (response, None);
    }
    ui.data_mut(|data| data.remove_temp::<String>(id));
    let is_new = response.lost_focus() && text != known;
    (response, is_new.then_some(text))
}

/// Sets the accessible name of a menu.
pub fn name_menu(response: &Response, label: &str) {
    response.widget_info(|| WidgetInfo::labeled(Role::ComboBox, true, label));
}

/// Sets the accessible name of a number field.
pub fn name(response: &Response, label: &str) {
    response.widget_info(|| WidgetInfo::labeled(Role::SpinButton, response.enabled(), label));
}

/// Draws the setting of anonymous files, which all panels share; returns its new state after a click.
pub fn anonymise_ui(is_anonymous: bool, ui: &mut Ui) -> Option<bool> {
    let mut edited = is_anonymous;
    let help =
        "Images, tables, reports and sent series without the patient's identity; their scan begins on 2000-01-01. Off by default";
    ui.checkbox(&mut edited, "Anonymise").on_hover_text(help).changed().then_some(edited)
}

/// Returns a number within the bounds of a field; the lower bound for NaN and infinite values.
pub fn held_within(value: f64, low: f64, high: f64) -> f64 {
    if value.is_finite() { value.clamp(low, high) } else { low }
}
