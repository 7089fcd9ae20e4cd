//! Chooser of a series, for a folder with several: a row for each, with a thumbnail of its middle slice.

use std::path::PathBuf;

use egui::{ColorImage, Context, TextureHandle, TextureOptions};
use rayon::prelude::*;

use crate::data::{FoundSeries, Modality, Unit};
use crate::io::dicom::{SeriesSlice, read_middle_slice};
use crate::task::{BackgroundTask, Task};
use crate::ui::widgets::window_presets::window_presets;

/// Side of a thumbnail, pixels and points.
pub const SIDE: usize = 56;

/// Parts of the values below the bottom and above the top of a thumbnail without a usual window.
const TAILS: [f64; 2] = [0.01, 0.005];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesUse {
    Study,
    SecondImage,
}

pub struct SeriesChooser {
    pub usage: SeriesUse,
    pub series: Vec<FoundSeries>,
    /// Thumbnails; `None` before they are read, and of those that are not readable.
    pub thumbnails: Vec<Option<TextureHandle>>,
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
        assert_eq!(quantiles(&[f32::NAN, 1.0, 2.0]), [1.0, 1.0]);
    }
}
