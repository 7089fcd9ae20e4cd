//! Tubes of response of the open study, and the selected one.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{Color32, ColorImage, Context, TextureHandle, TextureOptions};

use crate::data::{TubeSampling, TubeSet};
use crate::measure::full_width_at_half_maximum;
use crate::render::Palette;
use crate::report::pixels;
use crate::ui::widgets::format;

pub struct OpenTubes {
    pub file: Option<PathBuf>,
    pub set: Arc<TubeSet>,
    /// Sum of the coefficients of each tube, mm, `[radial][ring difference]`.
    sums: Vec<f64>,
    /// |tangential index| and |ring difference| of the selected tube.
    selected: [usize; 2],
    /// Index of the cut along its line.
    along: usize,
    /// Picture of all sums: distances from the axis to the right, ring differences upwards.
    pub map: Option<TextureHandle>,
    pub sections: Option<Sections>,
}

/// Pictures of the selected tube.
pub struct Sections {
    /// To the right along the line, upwards across it; summed along the axis.
    pub across: TextureHandle,
    /// To the right along the line, upwards along the axis; summed across.
    pub axial: TextureHandle,
    /// To the right across the line, upwards along the axis, at the cut.
    pub cut: TextureHandle,
}

impl OpenTubes {
    /// Returns the state of tubes from a file, if any. The tube through the middle is selected.
    pub fn new(set: Arc<TubeSet>, file: Option<PathBuf>) -> Self {
        let len = set.sampling.tube_len();
        let sums = set.coefficients.chunks_exact(len).map(|tube| tube.iter().map(|v| f64::from(*v)).sum()).collect();
        Self { file, along: set.sampling.num[0] / 2, set, sums, selected: [0, 0], map: None, sections: None }
    }

    pub fn sampling(&self) -> &TubeSampling {
        &self.set.sampling
    }

    /// Returns |tangential index| and |ring difference| of the selected tube.
    pub fn selected(&self) -> [usize; 2] {
        self.selected
    }

    pub fn select(&mut self, [radial, difference]: [usize; 2]) {
        let sampling = &self.set.sampling;
        self.selected = [radial.min(sampling.num_radial - 1), difference.min(sampling.num_ring_differences - 1)];
        self.sections = None;
    }

    /// Returns the position of the cut, mm from the middle of its line.
    pub fn along_mm(&self) -> f64 {
        self.offset_mm(0, self.along)
    }

    /// Moves the cut to the sample nearest to a position, mm from the middle of its line.
    pub fn cut_at(&mut self, along_mm: f64) {
        let sampling = &self.set.sampling;
        let last = sampling.num[0] as f64 - 1.0;
        self.along = (along_mm / sampling.spacing_mm[0] + 0.5 * last).round().clamp(0.0, last) as usize;
        self.sections = None;
    }

    /// Returns the distance of a sample from the middle one, mm.
    fn offset_mm(&self, axis: usize, sample: usize) -> f64 {
        (sample as f64 - (self.set.sampling.num[axis] / 2) as f64) * self.set.sampling.spacing_mm[axis]
    }

    /// Returns the sum of the coefficients of the selected tube, mm.
    pub fn sum_mm(&self) -> f64 {
        let [radial, difference] = self.selected;
        self.sums[radial * self.set.sampling.num_ring_differences + difference]
    }

    pub fn largest_sum_mm(&self) -> f64 {
        self.sums.iter().copied().fold(0.0, f64::max)
    }

    /// Returns the FWHM of the cut across the line and along the axis, mm, each of the sums over the other direction.
    pub fn widths_mm(&self) -> [Option<f64>; 2] {
        let TubeSampling { num: [_, num_across, num_axial], spacing_mm, .. } = self.set.sampling;
        let cut = self.cut();
        let sum = |values: &mut dyn Iterator<Item = f32>| values.map(f64::from).sum::<f64>();
        let across: Vec<f64> = (0..num_across).map(|b| sum(&mut cut[b * num_axial..][..num_axial].iter().copied())).collect();
        let axial: Vec<f64> = (0..num_axial).map(|c| sum(&mut cut.iter().copied().skip(c).step_by(num_axial))).collect();
        [full_width_at_half_maximum(&across, spacing_mm[1]), full_width_at_half_maximum(&axial, spacing_mm[2])]
    }

    /// Returns the samples of the cut, `[across][axial]`.
    fn cut(&self) -> &[f32] {
        let [radial, difference] = self.selected;
        let [_, num_across, num_axial] = self.set.sampling.num;
        let len = num_across * num_axial;
        &self.set.tube(radial, difference)[self.along * len..][..len]
    }

    /// Describes the origin of the tubes.
    pub fn text(&self) -> String {
        let Some(made) = &self.set.made else { return "from a file without its simulation settings".into() };
        let isotope = made.isotope.as_deref().unwrap_or("no positron range");
        let shared = made.super_lors.map_or_else(String::new, |shared| format!(", super-LORs of {}", shared.sizes));
        format!("{} annihilations, {isotope}{shared}", format::count(made.num_histories as f64))
    }

    /// Makes missing pictures.
    pub fn update(&mut self, ctx: &Context) {
        let TubeSampling { num: [num_along, num_across, num_axial], num_radial, num_ring_differences, .. } = self.set.sampling;
        if self.map.is_none() {
            let sum = |radial: usize, difference: usize| self.sums[radial * num_ring_differences + difference];
            self.map = Some(picture(ctx, "tubes", [num_radial, num_ring_differences], sum));
        }
        if self.sections.is_none() {
            let [radial, difference] = self.selected;
            let tube = self.set.tube(radial, difference);
            let at = |a: usize, b: usize, c: usize| f64::from(tube[(a * num_across + b) * num_axial + c]);
            let cut = self.cut();
            self.sections = Some(Sections {
                across: picture(ctx, "tube across", [num_along, num_across], |a, b| (0..num_axial).map(|c| at(a, b, c)).sum()),
                axial: picture(ctx, "tube axial", [num_along, num_axial], |a, c| (0..num_across).map(|b| at(a, b, c)).sum()),
                cut: picture(ctx, "tube cut", [num_across, num_axial], |b, c| f64::from(cut[b * num_axial + c])),
            });
        }
    }
}

/// Returns a picture of values from 0 (white) to the largest (black), the first row at the bottom.
fn picture(ctx: &Context, name: &str, size: [usize; 2], value: impl Fn(usize, usize) -> f64) -> TextureHandle {
    let values: Vec<f64> = (0..size[1]).rev().flat_map(|y| (0..size[0]).map(move |x| (x, y))).map(|(x, y)| value(x, y)).collect();
    let largest = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let colours = pixels(values.iter().copied(), [0.0, largest], |part| {
        let [red, green, blue] = Palette::InvertedGrey.colour(part);
        Color32::from_rgb(red, green, blue)
    });
    ctx.load_texture(name, ColorImage::new(size, colours), TextureOptions::NEAREST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 × 2 tubes of 3 × 5 × 5 samples, a triangle across and a spike along the axis, the last tube twice as strong.
    fn tubes() -> OpenTubes {
        let sampling = TubeSampling { num: [3, 5, 5], spacing_mm: [2.0, 1.0, 0.5], num_radial: 2, num_ring_differences: 2 };
        let value = |index: usize| {
            let (tube, b, c) = (index / 75, index / 5 % 5, index % 5);
            let strength = if tube == 3 { 2.0 } else { 1.0 };
            if c == 2 { strength * [0.0, 1.0, 2.0, 1.0, 0.0][b] } else { 0.0 }
        };
        OpenTubes::new(Arc::new(TubeSet::new("toy", sampling, (0..300).map(value).collect()).unwrap()), None)
    }

    #[test]
    fn the_widths_of_a_tube_are_those_of_its_cut() {
        let mut tubes = tubes();
        assert_eq!((tubes.selected(), tubes.along_mm(), tubes.sum_mm()), ([0, 0], 0.0, 12.0));
        assert_eq!(tubes.widths_mm(), [Some(2.0), Some(0.5)]);
        tubes.select([7, 7]);
        assert_eq!((tubes.selected(), tubes.sum_mm()), ([1, 1], 24.0));
        tubes.cut_at(1.2);
        assert_eq!(tubes.along_mm(), 2.0);
        tubes.cut_at(-99.0);
        assert_eq!(tubes.along_mm(), -2.0);
    }

    #[test]
    fn pictures_are_made_once_and_anew_for_another_tube() {
        let (ctx, mut tubes) = (Context::default(), tubes());
        tubes.update(&ctx);
        assert_eq!(tubes.map.as_ref().unwrap().size(), [2, 2]);
        let sections =
            |tubes: &OpenTubes| tubes.sections.as_ref().map(|s| [s.across.size(), s.axial.size(), s.cut.size()]).unwrap();
        assert_eq!(sections(&tubes), [[3, 5], [3, 5], [5, 5]]);
        tubes.select([1, 0]);
        assert!(tubes.sections.is_none() && tubes.map.is_some());
    }
}
