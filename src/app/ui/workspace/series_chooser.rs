//! Chooser of a series, for a folder with several: a row for each, with a thumbnail of its middle slice.

use std::path::PathBuf;

use egui::{Align2, ColorImage, Context, Rect, Response, ScrollArea, Sense, TextureHandle, TextureOptions, Ui, WidgetInfo};
use rayon::prelude::*;

use super::state::{Request, request};
use crate::data::{FoundSeries, Modality, Unit};
use crate::io::dicom::{SeriesSlice, read_middle_slice};
use crate::task::{BackgroundTask, Task};
use crate::text::counted;
use crate::ui::widgets::elided::fitted;
use crate::ui::widgets::fields::push_if_clicked;
use crate::ui::widgets::format;
use crate::ui::widgets::modal::modal_ui;
use crate::ui::widgets::window_presets::window_presets;

/// Side of a thumbnail, pixels and points.
const SIDE: usize = 56;

/// Margin inside a row, points.
const MARGIN: f32 = 6.0;

/// Largest part of the window's height that the rows take.
const MAX_HEIGHT: f32 = 0.6;

/// Parts of the values below the bottom and above the top of a thumbnail without a usual window.
const TAILS: [f64; 2] = [0.01, 0.005];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesUse {
    Study,
    SecondImage,
}

pub struct SeriesChooser {
    pub usage: SeriesUse,
    series: Vec<FoundSeries>,
    /// Thumbnails; `None` before they are read, and of those that are not readable.
    thumbnails: Vec<Option<TextureHandle>>,
    reading: Option<BackgroundTask<Vec<Option<ColorImage>>>>,
}

impl SeriesChooser {
    /// Returns the chooser of these series, and starts reading their middle slices; calls `wake` at the end.
    pub fn start(usage: SeriesUse, series: Vec<FoundSeries>, wake: impl FnOnce() + Send + 'static) -> Self {
        let of = series.clone();
        let read = move |task: &Task| {
            let picture = |series: &FoundSeries| {
                let slice = (!task.is_stopped()).then(|| read_middle_slice(series).ok()).flatten()?;
                Some(picture(&slice, &series.modality))
            };
            of.par_iter().map(picture).collect()
        };
        let thumbnails = series.iter().map(|_| None).collect();
        Self { usage, series, thumbnails, reading: Some(BackgroundTask::start("thumbnails", wake, read)) }
    }

    /// Returns one of its files.
    pub fn file(&self, index: usize) -> Option<PathBuf> {
        self.series.get(index).map(|series| series.file.clone())
    }

    /// Takes the thumbnails that were read.
    pub fn receive(&mut self, ctx: &Context) {
        let Some(outcome) = self.reading.as_ref().and_then(BackgroundTask::poll) else { return };
        self.reading = None;
        for (thumbnail, picture) in self.thumbnails.iter_mut().zip(outcome.unwrap_or_default()) {
            *thumbnail = picture.map(|picture| ctx.load_texture("series", picture, TextureOptions::LINEAR));
        }
    }
}

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

/// Returns a square picture of a slice: CT in its first usual window, PET in inverted grey, others between quantiles.
fn picture(slice: &SeriesSlice, modality: &Modality) -> ColorImage {
    let [low, high] = match (modality, window_presets(Unit::Hounsfield).first()) {
        (Modality::Ct, Some(preset)) => preset.window,
        _ => quantiles(&slice.values),
    };
    let [columns, rows] = slice.size;
    let lengths_mm = [0, 1].map(|axis| slice.size[axis] as f64 * slice.spacing_mm[axis]);
    let scale_mm = lengths_mm[0].max(lengths_mm[1]) / SIDE as f64;
    let index = |pixel: usize, axis: usize| {
        let from_start_mm = (pixel as f64 + 0.5) * scale_mm - 0.5 * (scale_mm * SIDE as f64 - lengths_mm[axis]);
        let index = (from_start_mm / slice.spacing_mm[axis]).floor();
        (index >= 0.0 && index < slice.size[axis] as f64).then_some(index as usize)
    };
    let is_inverted = *modality == Modality::Pet;
    let grey = |pixel: usize| {
        let inside = index(pixel % SIDE, 0).zip(index(pixel / SIDE, 1)).filter(|(x, y)| *x < columns && *y < rows);
        let value = inside.and_then(|(x, y)| slice.values.get(y * columns + x)).copied().unwrap_or(low);
        let level = ((value - low) / (high - low).max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
        (255.0 * if is_inverted { 1.0 - level } else { level }) as u8
    };
    let greys: Vec<u8> = (0..SIDE * SIDE).map(grey).collect();
    ColorImage::from_gray([SIDE; 2], &greys)
}

/// Returns the values that a small part of the values is below and above.
fn quantiles(values: &[f32]) -> [f32; 2] {
    let mut sorted: Vec<f32> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f32::total_cmp);
    let [below, above] = TAILS;
    let at = |part: f64| sorted.get((part * sorted.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(0.0);
    [at(below), at(1.0 - above)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumbnail_keeps_the_sides_of_the_pixels() {
        // 8 × 4 pixels of 1 × 1 mm: bars above and below.
        let values = (0..32).map(|index| if index % 8 < 4 { 1000.0 } else { -1000.0 }).collect();
        let slice = SeriesSlice { size: [8, 4], spacing_mm: [1.0, 1.0], values };
        let picture = picture(&slice, &Modality::Ct);
        let grey = |x: usize, y: usize| picture.pixels[y * SIDE + x].r();
        assert_eq!([grey(2, 28), grey(53, 28), grey(2, 2), grey(2, 53)], [255, 0, 0, 0]);
        assert_eq!(joined(&["CT", "", "head"]), "CT · head");
        assert_eq!(quantiles(&[f32::NAN, 1.0, 2.0]), [1.0, 1.0]);
    }
}
