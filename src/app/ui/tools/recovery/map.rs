//! Map of iterations and post-filters: a cell for each measured setting.

use std::collections::BTreeMap;

use egui::{Rect, RichText, ScrollArea, Sense, Stroke, StrokeKind, Ui, Vec2, vec2};

use super::state::FILTERS_MM;
use crate::measure::nema::{Deviation, RecoveryPoint, Verdict};
use crate::report::RecoverySearch;
use crate::ui::widgets::theme;
use crate::ui::workspace::state::{Request, request};

/// Width of a cell, range of its height, and gap between cells, points.
const CELL: f32 = 17.0;
const HEIGHTS: [f32; 2] = [9.0, 17.0];
const GAP: f32 = 2.0;
/// Height of the numbers of the iterations, points.
const NUMBER_HEIGHT: f32 = 12.0;
/// Width of the names of the filters, and size of their text, points.
const NAME_WIDTH: f32 = 40.0;
const NAME_TEXT: f32 = 12.0;

/// Setting of a cell: its number in the search, and its iteration and filter.
type Setting = (usize, f64);

/// Draws the map; a click shows the setting. `shown` is the displayed one.
pub fn map_ui(search: &RecoverySearch, shown: Option<Setting>, ui: &mut Ui, requests: &mut Vec<Request>) {
    let mut columns: BTreeMap<usize, Vec<(&RecoveryPoint, Option<&Verdict>)>> = BTreeMap::new();
    for (point, verdict) in search.settings() {
        columns.entry(point.iteration).or_default().push((point, verdict));
    }
    let recommended = search.recommended().map(|point| (point.iteration, point.filter_mm));
    // A low panel has low cells.
    let pitch = (ui.available_height() - NUMBER_HEIGHT) / FILTERS_MM.len() as f32;
    let height = (pitch - GAP).clamp(HEIGHTS[0], HEIGHTS[1]);
    let size = vec2(CELL, height);
    ui.spacing_mut().item_spacing = vec2(GAP, if pitch < HEIGHTS[0] + GAP { 1.0 } else { GAP });
    ui.horizontal_top(|ui| {
        ui.vertical(|ui| {
            for filter_mm in FILTERS_MM {
                let name = if filter_mm == 0.0 { "none".to_owned() } else { format!("{filter_mm} mm") };
                let text = RichText::new(name).size(NAME_TEXT.min(height + 1.0)).line_height(Some(height));
                ui.add_sized(vec2(NAME_WIDTH, height), egui::Label::new(text.weak()));
            }
            ui.label(RichText::new("iteration").small().weak());
        });
        ScrollArea::horizontal().id_salt("recovery map").stick_to_right(true).show(ui, |ui| {
            ui.horizontal_top(|ui| {
                for (iteration, settings) in &columns {
                    ui.vertical(|ui| {
                        for filter_mm in FILTERS_MM {
                            let found = settings.iter().find(|(point, _)| point.filter_mm == filter_mm);
                            let here = Some((*iteration, filter_mm));
                            cell_ui(found.copied(), size, [here == recommended, here == shown], ui, requests);
                        }
                        ui.add_sized(
                            vec2(CELL, NUMBER_HEIGHT),
                            egui::Label::new(RichText::new(iteration.to_string()).small().weak()),
                        );
                    });
                }
            });
        });
    });
}

/// Draws a cell: filled with a tick where the setting complies; empty before it is measured.
fn cell_ui(
    found: Option<(&RecoveryPoint, Option<&Verdict>)>,
    size: Vec2,
    [is_recommended, is_shown]: [bool; 2],
    ui: &mut Ui,
    requests: &mut Vec<Request>,
) {
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let Some((point, verdict)) = found else { return };
    let colours = theme::colours(ui.visuals());
    let weak = ui.visuals().weak_text_color();
    let complies = verdict.is_some_and(Verdict::complies);
    match verdict {
        Some(_) if complies => {
            ui.painter().rect_filled(rect, 2.0, colours.accent);
            tick(ui, rect, colours.on_accent);
        }
        // The nearer, the stronger.
        Some(verdict) => {
            let strength = (1.0 / verdict.largest()).clamp(0.1, 1.0) as f32;
            ui.painter().rect_filled(rect, 2.0, weak.gamma_multiply(0.45 * strength));
        }
        None => _ = ui.painter().line_segment([rect.left_bottom(), rect.right_top()], Stroke::new(1.0, weak)),
    }
    if is_recommended {
        ui.painter().rect_stroke(rect, 2.0, Stroke::new(2.0, ui.visuals().strong_text_color()), StrokeKind::Inside);
    }
    if is_shown {
        ui.painter().rect_stroke(
            rect.shrink(3f32.min(0.2 * size.y)),
            1.0,
            Stroke::new(1.5, colours.shown_mark),
            StrokeKind::Inside,
        );
    }
    let text = text(point, verdict, is_recommended);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &text));
    if response.clicked() {
        let (iteration, filter_mm) = (point.iteration, point.filter_mm);
        requests.push(request(move |work| {
            work.run_mut().post_filter_mm = filter_mm;
            work.show_iterate(Some(iteration));
        }));
    }
    response.on_hover_text(text);
}

/// Draws a tick: colour alone is not enough.
fn tick(ui: &Ui, rect: Rect, colour: egui::Color32) {
    let at = |x: f32, y: f32| rect.lerp_inside(vec2(x, y));
    let stroke = Stroke::new(1.6, colour);
    ui.painter().line_segment([at(0.25, 0.55), at(0.43, 0.73)], stroke);
    ui.painter().line_segment([at(0.43, 0.73), at(0.76, 0.3)], stroke);
}

pub fn text(point: &RecoveryPoint, verdict: Option<&Verdict>, is_recommended: bool) -> String {
    let filter = if point.filter_mm == 0.0 { "no post-filter".to_owned() } else { format!("post-filter {} mm", point.filter_mm) };
    let setting = format!("Iteration {}, {filter}", point.iteration);
    match (verdict, &point.outcome) {
        (Some(verdict), _) if verdict.complies() => {
            let recommended = if is_recommended { ", recommended" } else { "" };
            format!("{setting}: complies{recommended} ({:.2} half widths from the middles)", verdict.rms())
        }
        (Some(verdict), _) => {
            let worst = verdict.worst().map_or_else(String::new, Deviation::text);
            let others = match verdict.num_outside() {
                0 | 1 => String::new(),
                num => format!("; {} more outside", num - 1),
            };
            format!("{setting}: does not comply ({worst}{others})")
        }
        (None, Err(problem)) => format!("{setting}: {}", problem.text),
        (None, Ok(_)) => setting,
    }
}
