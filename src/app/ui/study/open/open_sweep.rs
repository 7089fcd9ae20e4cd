//! Open EPRI acquisition: its projections, their source, and their display.

use std::path::PathBuf;

use egui::{ColorImage, TextureHandle, TextureOptions};

use crate::data::{self, Direction, Notice, Projection, Sweep, SweepSpace};
use crate::io::radical_spectra;
use crate::plan::{Acquisition, SweepFiles};
use crate::recon::{FilterSettings, ProjectionFilter};
use crate::render::Palette;
use crate::report::pixels;
use crate::session::Feed;
use crate::ui::study::open::filter_curve::FilterCurve;

/// Default pace of a replay, projections per second.
const DEFAULT_PACE: f64 = 20.0;
/// Maximum size of the picture: samples, projections.
const MAX_PICTURE: [usize; 2] = [1024, 1024];

pub struct OpenSweep {
    /// Acquisition of the file.
    whole: Acquisition,
    /// Its files; `None` for a simulation.
    pub files: Option<SweepFiles>,
    /// Names and files of the spectra of radicals in its folder, in place of a missing reference spectrum.
    pub radicals: Vec<(String, PathBuf)>,
    /// Acquisition for runs: that of the file, or the part that a replay has shown so far.
    pub acquisition: Acquisition,
    /// Source of further projections.
    pub feed: Option<Feed>,
    /// Pace of a replay, projections per second.
    pub pace: f64,
    /// Typed phase of complex spectra, degrees.
    pub phase_degrees: f64,
    /// Selected projection; `None`: the newest.
    pub selected: Option<usize>,
    pub picture: Option<Picture>,
    lines: Option<(LinesOf, Lines)>,
    /// Filter of the image; before the first run, of the next run.
    pub filter: Option<FilterCurve>,
    /// Different filter of the next run.
    pub next_filter: Option<FilterCurve>,
}

/// Picture of all projections, one row each.
pub struct Picture {
    /// Texture: samples to the right, projections upwards.
    pub texture: TextureHandle,
    pub num_projections: usize,
    /// True for the acquisition of the file, false for a replay.
    is_whole: bool,
}

/// Input of the lines.
#[derive(Clone, PartialEq)]
struct LinesOf {
    index: usize,
    filter: FilterSettings,
    is_whole: bool,
}

/// Measured and filtered projection, each as (mm, value relative to the largest magnitude).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    pub index: usize,
    pub direction: Direction,
    pub measured: Vec<[f64; 2]>,
    pub filtered: Vec<[f64; 2]>,
    /// Reason of a failed filter.
    pub failure: Option<String>,
}

/// Arrival of the projections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// All have arrived.
    Over,
    /// At a known pace, projections per second.
    Paced(f64),
    /// At the pace of the scanner.
    Unknown,
}

impl Arrivals {
    /// Returns the steps per second of a run with a given maximum, if they are known.
    pub fn steps_per_sec(self, max: Option<f64>) -> Option<f64> {
        match self {
            Arrivals::Over => max,
            Arrivals::Paced(pace) => Some(max.map_or(pace, |steps| steps.min(pace))),
            Arrivals::Unknown => None,
        }
    }
}

impl OpenSweep {
    /// Returns the state of an acquisition that is complete or followed.
    pub fn new(whole: Acquisition, files: Option<SweepFiles>) -> Self {
        let phase_degrees = whole.look(|sweep| sweep.facts.phase).map_or(0.0, |phase| phase.degrees);
        Self {
            acquisition: whole.clone(),
            whole,
            files,
            radicals: Vec::new(),
            feed: None,
            pace: DEFAULT_PACE,
            phase_degrees,
            selected: None,
            picture: None,
            lines: None,
            filter: None,
            next_filter: None,
        }
    }

    /// Returns the acquisition of the file.
    pub fn whole(&self) -> &Acquisition {
        &self.whole
    }

    pub fn space(&self) -> SweepSpace {
        self.whole().look(|sweep| sweep.space)
    }

    /// Looks for spectra of radicals in the folder of its files, where it lacks a reference spectrum.
    pub fn find_radicals(&mut self) {
        if let Some(files) = self.files.as_ref().filter(|_| self.lacks_reference()) {
            self.radicals = radical_spectra(&files.projections);
        }
    }

    /// Returns true for continuous-wave data of a file without the reference spectrum that they need: a spectrum in each voxel needs none.
    pub fn lacks_reference(&self) -> bool {
        let lacks = |sweep: &Sweep| matches!(sweep.kind, data::SweepKind::ContinuousWave { reference: None, .. });
        self.files.is_some() && self.whole().look(|sweep| lacks(sweep) && !sweep.separates_spectra())
    }

    /// Returns true if runs reconstruct a replay.
    pub fn is_replay(&self) -> bool {
        !self.acquisition.is_same(self.whole())
    }

    pub fn arrivals(&self) -> Arrivals {
        match (self.is_live(), self.is_replay()) {
            (false, _) => Arrivals::Over,
            (true, true) => Arrivals::Paced(self.pace),
            (true, false) => Arrivals::Unknown,
        }
    }

    /// Returns true while projections arrive.
    pub fn is_live(&self) -> bool {
        !self.acquisition.is_over()
    }

    /// Sets the pace of a replay, projections per second.
    pub fn set_pace(&mut self, per_sec: f64) {
        self.pace = per_sec;
        if let Some(feed) = &self.feed {
            feed.set_pace(per_sec);
        }
    }

    /// Stops a replay or the following of a file; returns the remaining notices. Runs then reconstruct the acquisition of the file.
    pub fn stop_feed(&mut self) -> Vec<Notice> {
        self.acquisition = self.whole().clone();
        self.feed.take().map(Feed::stop).unwrap_or_default()
    }

    /// Returns the index of the displayed projection, if any.
    pub fn shown(&self) -> Option<usize> {
        let last = self.acquisition.num_complete().checked_sub(1)?;
        Some(self.selected.unwrap_or(last).min(last))
    }

    /// Returns the lines of the displayed projection.
    pub fn lines(&self) -> Option<&Lines> {
        self.lines.as_ref().map(|(_, lines)| lines)
    }

    /// Updates picture, lines and filter curves for the filter of the image; `next`: the filter of the next run.
    pub fn update(&mut self, ctx: &egui::Context, filter: &FilterSettings, next: &FilterSettings) {
        let next = Some(next).filter(|next| *next != filter);
        if self.next_filter.as_ref().map(|curve| &curve.settings) != next {
            self.next_filter = next.map(|next| FilterCurve::new(self.space(), next));
        }
        if self.filter.as_ref().is_none_or(|curve| curve.settings != *filter) {
            self.filter = Some(FilterCurve::new(self.space(), filter));
        }
        let (is_whole, num_projections) = (!self.is_replay(), self.acquisition.num_complete());
        let is_new = |picture: &Picture| picture.num_projections != num_projections || picture.is_whole != is_whole;
        if self.picture.as_ref().is_none_or(is_new) {
            // The acquisition is locked only while the projections of the picture are copied.
            let (projections, num_points) = self.acquisition.look(|sweep| (thinned(&sweep.projections), sweep.num_points));
            let image = picture_of(&projections, num_points);
            self.picture = image.map(|image| {
                let texture = ctx.load_texture("projections", image, TextureOptions::NEAREST);
                Picture { texture, num_projections, is_whole }
            });
        }
        let Some(index) = self.shown() else {
            self.lines = None;
            return;
        };
        let of = LinesOf { index, filter: *filter, is_whole };
        if self.lines.as_ref().is_none_or(|(before, _)| *before != of) {
            let lines = lines_of(&self.acquisition, index, filter);
            self.lines = lines.map(|lines| (of, lines));
        }
    }
}

/// Returns all projections, or every n-th of very many.
fn thinned(projections: &[Projection]) -> Vec<Projection> {
    projections.iter().step_by(projections.len().div_ceil(MAX_PICTURE[1]).max(1)).cloned().collect()
}

/// Returns a picture with a row of colours for each projection, the first one at the bottom. It has every n-th of very many
/// samples.
fn picture_of(projections: &[Projection], num_points: usize) -> Option<ColorImage> {
    let across = num_points.div_ceil(MAX_PICTURE[0]).max(1);
    let rows: Vec<&[f32]> = projections.iter().map(|projection| &*projection.values).collect();
    let (low, high) = rows
        .iter()
        .flat_map(|row| row.iter())
        .filter(|value| value.is_finite())
        .fold((0.0f32, 0.0f32), |(low, high), &value| (low.min(value), high.max(value)));
    let (palette, low, high) =
        if low < 0.0 { (Palette::Signed, -high.max(-low), high.max(-low)) } else { (Palette::Grey, 0.0, high) };
    let size = [num_points.div_ceil(across), rows.len()];
    if size.contains(&0) {
        return None;
    }
    let table = palette.table();
    let value = |row: &[f32], x: usize| row.get(x * across).map_or(0.0, |value| f64::from(*value));
    let values = rows.iter().rev().flat_map(|row| (0..size[0]).map(move |x| value(row, x)));
    let colours = pixels(values, [low, high].map(f64::from), |part| {
        let [r, g, b, _] = table[(part * (table.len() - 1) as f64) as usize];
        egui::Color32::from_rgb(r, g, b)
    });
    Some(ColorImage::new(size, colours))
}

fn lines_of(acquisition: &Acquisition, index: usize, filter: &FilterSettings) -> Option<Lines> {
    let (projection, head) = acquisition.look(|sweep| {
        let projection = sweep.projections.get(index)?.clone();
        Some((projection, sweep.without_projections()))
    })?;
    let at = |i: usize| (i as f64 - head.centre) * head.step_mm;
    let scaled = |values: &[f64]| {
        let largest = values.iter().fold(f64::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
        values.iter().enumerate().map(|(i, value)| [at(i), value / largest]).collect()
    };
    let measured = scaled(&projection.values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>());
    // A spline has coefficients in place of samples; the samples are displayed.
    let filter = FilterSettings { interpolation: Default::default(), ..*filter };
    let filtered = ProjectionFilter::new(&head, &filter)
        .and_then(|filter| Ok(filter.apply(std::slice::from_ref(&projection))?))
        .map_err(|error| error.to_string());
    let (filtered, failure) = match filtered {
        Ok(filtered) => (scaled(&filtered.values), None),
        Err(text) => (Vec::new(), Some(text)),
    };
    Some(Lines { index, direction: projection.direction, measured, filtered, failure })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projections_that_come_slowly_bound_the_pace_of_a_run() {
        // A replay at 20 a second, of which a run could make 54.
        assert_eq!(Arrivals::Paced(20.0).steps_per_sec(Some(54.0)), Some(20.0));
        assert_eq!(Arrivals::Paced(100.0).steps_per_sec(Some(54.0)), Some(54.0));
        assert_eq!(Arrivals::Over.steps_per_sec(Some(54.0)), Some(54.0));
        assert_eq!(Arrivals::Unknown.steps_per_sec(Some(54.0)), None);
    }

    #[test]
    fn the_picture_has_a_row_for_each_projection_and_signed_colours_where_they_are_needed() {
        let projection = |values: Vec<f32>| Projection { direction: [0.0, 0.0, 1.0], weight: 1.0, values: values.into() };
        let projections = [projection(vec![0.0, 1.0, 2.0]), projection(vec![2.0, 0.0, 0.0])];
        let image = picture_of(&projections, 3).unwrap();
        assert_eq!(image.size, [3, 2]);
        let grey = |level| egui::Color32::from_gray(level);
        assert_eq!(image.pixels, [255, 0, 0, 0, 127, 255].map(grey), "the first projection is lowest");
        let signed = picture_of(&[projection(vec![-2.0, 0.0, 1.0])], 3).unwrap();
        let [r, g, b] = Palette::Signed.colour(0.0);
        assert_eq!(signed.pixels[0], egui::Color32::from_rgb(r, g, b));
        assert!(picture_of(&[], 3).is_none());
        let many: Vec<_> = (0..3000).map(|_| projection(vec![1.0; 5000])).collect();
        let size = picture_of(&thinned(&many), 5000).unwrap().size;
        assert!(size[0] <= MAX_PICTURE[0] && size[1] <= MAX_PICTURE[1] && size[0] > 512, "{size:?}");
    }
}
