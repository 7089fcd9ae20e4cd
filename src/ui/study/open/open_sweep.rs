//! The EPRI sweep that is open: the acquisition that runs reconstruct, what feeds it, and what the window shows of it.

use egui::{ColorImage, TextureHandle, TextureOptions};

use crate::data::{self, Direction, Notice, Projection, Sweep, SweepSpace};
use crate::plan::{Acquisition, SweepFiles};
use crate::recon::{FilterSettings, ProjectionFilter};
use crate::render::Palette;
use crate::session::Feed;
use crate::ui::study::filter_curve::FilterCurve;

/// Pace of a replay where the scanner's is not known, projections per second.
const USUAL_PACE: f64 = 20.0;
/// Largest sides of the picture of the projections, samples and projections.
const MAX_PICTURE: [usize; 2] = [1024, 1024];

/// The sweep that is open.
pub struct OpenSweep {
    /// The sweep as the file has it.
    whole: Acquisition,
    /// The files that it was read from; `None` for a simulation.
    pub files: Option<SweepFiles>,
    /// What runs reconstruct: the file's sweep, or what a replay has shown of it so far.
    pub acquisition: Acquisition,
    /// Where projections come from while they come.
    pub feed: Option<Feed>,
    /// Pace of a replay, projections per second.
    pub pace: f64,
    /// The phase of complex spectra that is being typed, degrees.
    pub phase_degrees: f64,
    /// The projection that is looked at; `None` = the newest.
    pub selected: Option<usize>,
    picture: Option<Picture>,
    lines: Option<(LinesOf, Lines)>,
    filter: Option<FilterCurve>,
    next_filter: Option<FilterCurve>,
}

/// All projections as a picture, one row each.
pub struct Picture {
    /// The texture: samples to the right, projections upwards.
    pub texture: TextureHandle,
    /// Projections in it.
    pub num_projections: usize,
    /// Of which acquisition: replays begin anew.
    is_whole: bool,
}

/// What lines were made of.
#[derive(Clone, PartialEq)]
struct LinesOf {
    index: usize,
    filter: FilterSettings,
    is_whole: bool,
}

/// A projection as it was measured and as it is backprojected, each as (mm, part of its largest size).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// Number of the projection, from 0.
    pub index: usize,
    /// Along which direction.
    pub direction: Direction,
    /// As it was measured.
    pub measured: Vec<[f64; 2]>,
    /// Filtered.
    pub filtered: Vec<[f64; 2]>,
    /// Why it cannot be filtered.
    pub trouble: Option<String>,
}

/// How the projections of a sweep come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// All are there.
    Over,
    /// They come at this pace, projections a second.
    Paced(f64),
    /// They come as the scanner measures them.
    Unknown,
}

impl Arrivals {
    /// Of a run that could make so many steps a second: how many it makes as they come, if that is known.
    pub fn steps_per_sec(self, at_most: Option<f64>) -> Option<f64> {
        match self {
            Arrivals::Over => at_most,
            Arrivals::Paced(pace) => Some(at_most.map_or(pace, |steps| steps.min(pace))),
            Arrivals::Unknown => None,
        }
    }
}

impl OpenSweep {
    /// A sweep that is whole, or begins to be followed.
    pub fn new(whole: Acquisition, files: Option<SweepFiles>) -> Self {
        let phase_degrees = whole.look(|sweep| sweep.facts.phase).map_or(0.0, |phase| phase.degrees);
        Self {
            acquisition: whole.clone(),
            whole,
            files,
            feed: None,
            pace: USUAL_PACE,
            phase_degrees,
            selected: None,
            picture: None,
            lines: None,
            filter: None,
            next_filter: None,
        }
    }

    /// The sweep as the file has it.
    pub fn whole(&self) -> &Acquisition {
        &self.whole
    }

    /// What it is an image of.
    pub fn space(&self) -> SweepSpace {
        self.whole().look(|sweep| sweep.space)
    }

    /// Whether it came from a file without the reference spectrum that it takes.
    pub fn lacks_reference(&self) -> bool {
        let lacks = |sweep: &Sweep| matches!(sweep.kind, data::SweepKind::ContinuousWave { reference: None, .. });
        self.files.is_some() && self.whole().look(lacks)
    }

    /// Whether what runs reconstruct is a replay.
    pub fn is_replay(&self) -> bool {
        !self.acquisition.is_same(self.whole())
    }

    /// How many projections come a second while they come, as far as that is known.
    pub fn arrivals(&self) -> Arrivals {
        match (self.is_live(), self.is_replay()) {
            (false, _) => Arrivals::Over,
            (true, true) => Arrivals::Paced(self.pace),
            (true, false) => Arrivals::Unknown,
        }
    }

    /// Whether projections are still coming.
    pub fn is_live(&self) -> bool {
        !self.acquisition.is_over()
    }

    /// Plays at this pace, projections per second.
    pub fn set_pace(&mut self, per_sec: f64) {
        self.pace = per_sec;
        if let Some(feed) = &self.feed {
            feed.set_pace(per_sec);
        }
    }

    /// Ends what feeds it, so that a replay's projections and the sweep's are the same again; gives what is still to be told.
    pub fn stop_feed(&mut self) -> Vec<Notice> {
        self.acquisition = self.whole().clone();
        self.feed.take().map(Feed::stop).unwrap_or_default()
    }

    /// The projection that is looked at; `None` while there is none.
    pub fn looked_at(&self) -> Option<usize> {
        let last = self.acquisition.num_complete().checked_sub(1)?;
        Some(self.selected.unwrap_or(last).min(last))
    }

    /// The picture of the projections, if there is one.
    pub fn picture(&self) -> Option<&Picture> {
        self.picture.as_ref()
    }

    /// The lines of the projection that is looked at.
    pub fn lines(&self) -> Option<&Lines> {
        self.lines.as_ref().map(|(_, lines)| lines)
    }

    /// The filter of the image; before there is a run, of the next one.
    pub fn filter(&self) -> Option<&FilterCurve> {
        self.filter.as_ref()
    }

    /// The filter of the next run, where it is another one.
    pub fn next_filter(&self) -> Option<&FilterCurve> {
        self.next_filter.as_ref()
    }

    /// Brings picture, lines and the filter's curve up to date, by the filter of the image; `next` = the filter of the next run.
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
            let image = self.acquisition.look(|sweep| picture_of(&sweep.projections, sweep.num_points));
            self.picture = image.map(|image| {
                let texture = ctx.load_texture("projections", image, TextureOptions::NEAREST);
                Picture { texture, num_projections, is_whole }
            });
        }
        let Some(index) = self.looked_at() else {
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

/// Every projection, or every n-th where there are very many, as a row of colours; the first one lowest.
fn picture_of(projections: &[Projection], num_points: usize) -> Option<ColorImage> {
    let [across, up] =
        [(num_points, MAX_PICTURE[0]), (projections.len(), MAX_PICTURE[1])].map(|(n, most)| n.div_ceil(most).max(1));
    let rows: Vec<&[f32]> = projections.iter().step_by(up).map(|projection| &*projection.values).collect();
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
    let scale = (table.len() - 1) as f32 / (high - low).max(f32::MIN_POSITIVE);
    let colour = |value: f32| {
        let [r, g, b, _] = table[(((value - low) * scale).max(0.0) as usize).min(table.len() - 1)];
        egui::Color32::from_rgb(r, g, b)
    };
    let pixels = rows.iter().rev().flat_map(|row| (0..size[0]).map(|x| colour(row.get(x * across).copied().unwrap_or(0.0))));
    Some(ColorImage::new(size, pixels.collect()))
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
    // Between the samples of a spline there are coefficients; the samples themselves are looked at.
    let filter = FilterSettings { interpolation: Default::default(), ..*filter };
    let filtered = ProjectionFilter::new(&head, &filter)
        .and_then(|filter| Ok(filter.apply(std::slice::from_ref(&projection))?))
        .map_err(|error| error.to_string());
    let (filtered, trouble) = match filtered {
        Ok(filtered) => (scaled(&filtered.values), None),
        Err(text) => (Vec::new(), Some(text)),
    };
    Some(Lines { index, direction: projection.direction, measured, filtered, trouble })
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
        let size = picture_of(&many, 5000).unwrap().size;
        assert!(size[0] <= MAX_PICTURE[0] && size[1] <= MAX_PICTURE[1] && size[0] > 512, "{size:?}");
    }
}
