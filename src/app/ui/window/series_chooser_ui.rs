//! Chooser of a series: a row for each, with a thumbnail of its middle slice.

use egui::{Align2, Context, Rect, Response, ScrollArea, Sense, TextureHandle, Ui, WidgetInfo};

use crate::data::FoundSeries;
use crate::text::counted;
use crate::ui::widgets::elided::fitted;
use crate::ui::widgets::fields::push_if_clicked;
use crate::ui::widgets::format;
use crate::ui::widgets::modal::modal_ui;
use crate::ui::workspace::files::series_chooser::{SIDE, SeriesChooser, SeriesUse};
use crate::ui::workspace::state::{Request, request};

/// Margin inside a row, points.
const MARGIN: f32 = 6.0;

/// Largest part of the window's height that the rows take.
const MAX_HEIGHT: f32 = 0.6;

pub fn series_chooser_ui(chooser: &SeriesChooser, ctx: &Context, requests: &mut Vec<Request>) {
    let title = match chooser.usage {
        SeriesUse::Study => "Choose a series",
        SeriesUse::SecondImage => "Choose a series for the second image",
    };
    let max_height = MAX_HEIGHT * ctx.content_rect().height();
    let is_escaped = modal_ui(ctx, "series chooser", title, |ui| {
        ui.label(format!("{} series in this folder", chooser.series.len()));
        let rows = ScrollArea::vertical().max_height(max_height).show(ui, |ui| {
            let mut first = None;
            for (index, (series, thumbnail)) in chooser.series.iter().zip(&chooser.thumbnails).enumerate() {
                let row = row_ui(series, thumbnail.as_ref(), ui);
                let row = push_if_clicked(row, requests, request(move |work| work.open_series(index)));
                first.get_or_insert(row);
            }
            first
        });
        ui.add_space(4.0);
        let cancel = push_if_clicked(ui.button("Cancel"), requests, request(|work| work.files.series = None));
        rows.inner.unwrap_or(cancel)
    });
    if is_escaped {
        requests.push(request(|work| work.files.series = None));
    }
}

fn row_ui(series: &FoundSeries, thumbnail: Option<&TextureHandle>, ui: &mut Ui) -> Response {
    let names = &series.names;
    let number = if names.number.is_empty() { String::new() } else { format!("series {}", names.number) };
    let patient = [names.patient_name.replace('^', " "), names.patient_id.clone()];
    let lines = [
        joined(&[series.modality.name(), &number, &names.description]),
        joined(&[patient[0].trim(), &patient[1]]),
        joined(&[&format::date(&names.study_date), &names.study, &counted(series.num_files, "file")]),
    ];
    let side = SIDE as f32;
    let size = egui::vec2(ui.available_width(), side + 2.0 * MARGIN);
    let (rect, row) = ui.allocate_exact_size(size, Sense::click());
    row.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, joined(&[&lines[0], &lines[1], &lines[2]])));
    if row.gained_focus() {
        row.scroll_to_me(None);
    }
    let visuals = ui.style().interact(&row);
    ui.painter().rect(rect, visuals.corner_radius, visuals.bg_fill, visuals.bg_stroke, egui::StrokeKind::Inside);
    let picture = Rect::from_min_size(rect.min + egui::vec2(MARGIN, MARGIN), egui::vec2(side, side));
    match thumbnail {
        Some(texture) => {
            let whole = Rect::from_min_max(egui::pos2(0.0, 0.0), egui::pos2(1.0, 1.0));
            ui.painter().image(texture.id(), picture, whole, egui::Color32::WHITE);
        }
        None => _ = ui.painter().rect_filled(picture, 0.0, ui.visuals().extreme_bg_color),
    }
    let colours = [visuals.text_color(), visuals.text_color(), ui.visuals().weak_text_color()];
    let font = egui::TextStyle::Body.resolve(ui.style());
    let left = picture.max.x + 2.0 * MARGIN;
    for (index, (line, colour)) in lines.iter().zip(colours).enumerate() {
        let at = egui::pos2(left, rect.min.y + MARGIN + (index as f32 + 0.5) * side / 3.0);
        let text = fitted(ui, line, &font, rect.max.x - MARGIN - left);
        ui.painter().text(at, Align2::LEFT_CENTER, text, font.clone(), colour);
    }
    row
}

/// Joins the parts that are not empty.
fn joined(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_parts_are_left_out() {
        assert_eq!(joined(&["CT", "", "head"]), "CT · head");
    }
}
