//! Lines of the regions in the newest fits, and the mean spectrum of the selected region. They are updated only after a change.

use std::sync::Arc;

use super::voxel_spectra::Spectra;
use crate::data::{FieldAxis, MaskedRois, OxygenCalibration, Roi};
use crate::measure::Outcome;
use crate::measure::spectrum::{LineFigures, LineFit, LineFitter, LineMaps, mean_spectrum};
use crate::report::LinesShown;
use crate::ui::layer::line_map::LineSettings;

#[derive(Default)]
pub struct RegionLines {
    /// Fits and calibration.
    of: Option<(Arc<LineMaps>, Option<&'static OxygenCalibration>)>,
    all: Option<LineFigures>,
    regions: Vec<(Roi, LineFigures)>,
    selected: Option<RegionSpectrum>,
}

/// Mean spectrum of a region, and its line.
pub struct RegionSpectrum {
    /// Spectra, shape of the line and region.
    of: (Arc<Spectra>, LineSettings, Roi),
    /// Mean over the voxels of the region.
    pub values: Vec<f64>,
    /// Fitted line, or the reason why there is none.
    pub fit: Outcome<LineFit>,
}

impl RegionSpectrum {
    pub fn name(&self) -> &str {
        &self.of.2.name
    }

    /// Returns the total number of steps of the iterate.
    pub fn steps(&self) -> usize {
        self.of.0.steps
    }

    /// Returns the fields of the samples.
    pub fn axis(&self) -> FieldAxis {
        self.of.0.axis
    }

    /// Returns field (mT) and value of each sample.
    pub fn points(&self) -> Vec<[f64; 2]> {
        self.values.iter().enumerate().map(|(sample, value)| [self.of.0.axis.field_mt(sample), *value]).collect()
    }
}

impl RegionLines {
    /// Updates the lines of all voxels and of the regions in these fits. Without fits there are none.
    pub fn update(&mut self, fits: Option<(&Arc<LineMaps>, Option<&'static OxygenCalibration>)>, rois: &MaskedRois) {
        let Some((maps, calibration)) = fits else {
            (self.of, self.all, self.regions) = (None, None, Vec::new());
            return;
        };
        let is_known = self.of.as_ref().is_some_and(|(of, by)| Arc::ptr_eq(of, maps) && *by == calibration);
        if is_known && self.regions.iter().map(|(roi, _)| roi).eq(rois.iter()) {
            return;
        }
        let before = std::mem::take(&mut self.regions);
        let known = |roi: &Roi| before.iter().find(|(of, _)| is_known && of.covers_same(roi)).map(|(_, figures)| figures.clone());
        for (roi, mask) in rois.iter().zip(rois.masks(maps.grid())) {
            let figures = known(roi).unwrap_or_else(|| LineFigures::of_region(maps, calibration, &mask));
            self.regions.push((roi.clone(), figures));
        }
        if !is_known {
            self.all = Some(LineFigures::of_all(maps, calibration));
            self.of = Some((Arc::clone(maps), calibration));
        }
    }

    /// Updates the mean spectrum of the selected region and its line. Without spectra, or outside of the image, there is none.
    pub fn select(&mut self, spectra: Option<&Arc<Spectra>>, settings: LineSettings, rois: &MaskedRois, selected: Option<usize>) {
        let wanted = selected.and_then(|index| Some((spectra?, rois.get(index)?, index)));
        let Some((spectra, roi, index)) = wanted else {
            self.selected = None;
            return;
        };
        let is_known = |RegionSpectrum { of: (of, by, region), .. }: &RegionSpectrum| {
            Arc::ptr_eq(of, spectra) && by.line == settings.line && region == roi
        };
        if self.selected.as_ref().is_some_and(is_known) {
            return;
        }
        let mask = spectra.samples.first().and_then(|sample| rois.masks(&sample.grid).into_iter().nth(index));
        let mean = mask.and_then(|mask| mean_spectrum(&spectra.samples, &mask));
        self.selected = mean.map(|values| {
            let fit = LineFitter::new(settings.line, spectra.axis).fit(&values).map_err(Some);
            RegionSpectrum { of: (Arc::clone(spectra), settings, roi.clone()), values, fit }
        });
    }

    /// Returns the lines; `None` before the first fits.
    pub fn lines(&self) -> Option<LinesShown<'_>> {
        let regions = self.regions.iter().map(|(roi, figures)| (roi.name.as_str(), figures));
        Some(LinesShown { all: self.all.as_ref()?, regions: regions.collect(), gradient_mt_per_mm: None })
    }

    /// Returns the spectrum of the selected region.
    pub fn selected(&self) -> Option<&RegionSpectrum> {
        self.selected.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{RoiShape, Unit, Volume, lorentzian_derivative};
    use crate::geometry::Grid;
    use crate::measure::spectrum::{Line, line_maps};
    use crate::task::Task;

    fn axis() -> FieldAxis {
        FieldAxis { first_mt: -1.6, step_mt: 0.05, num_samples: 64 }
    }

    /// Voxels with lines of these widths, 1 mm apart along x.
    fn spectra(widths_mt: [f64; 3]) -> Arc<Spectra> {
        let grid = Grid::centred([3, 1, 1], [1.0; 3]).unwrap();
        let sample = |index: usize| {
            let values = widths_mt.map(|width| lorentzian_derivative(axis().field_mt(index), width) as f32).to_vec();
            Arc::new(Volume::from_vec(grid.clone(), values, Unit::Arbitrary).unwrap())
        };
        Arc::new(Spectra { axis: axis(), samples: (0..64).map(sample).collect(), steps: 9 })
    }

    fn fits(spectra: &Spectra) -> Arc<LineMaps> {
        let fitter = LineFitter::new(Line::Lorentzian, axis());
        Arc::new(line_maps(&spectra.samples, axis(), &fitter, 0.01, &Task::new()).unwrap())
    }

    fn roi(name: &str, x_mm: f64) -> Roi {
        Roi::new(name, RoiShape::Sphere { radius_mm: 0.4 }, [x_mm, 0.0, 0.0])
    }

    fn widths(lines: &RegionLines) -> Vec<f64> {
        let shown = lines.lines().unwrap();
        shown.rows().map(|(_, figures)| figures.fitted.as_ref().map_or(f64::NAN, |fitted| fitted.width_mt.median)).collect()
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-3 || a.is_nan() && b.is_nan();
        assert!(found.len() == expected.len() && found.iter().zip(expected).all(near), "{found:?} {expected:?}");
    }

    #[test]
    fn lines_follow_fits_regions_and_calibration() {
        let first = fits(&spectra([0.3, 0.4, 0.5]));
        let mut lines = RegionLines::default();
        let mut rois: MaskedRois = vec![roi("a", -1.0), roi("outside", 9.0)].into();
        lines.update(Some((&first, None)), &rois);
        assert_near(&widths(&lines), &[0.4, 0.3, f64::NAN]);
        // Moved, and with another name.
        rois = rois.edited(&[roi("b", 1.0), roi("outside", 9.0)]);
        lines.update(Some((&first, None)), &rois);
        assert_near(&widths(&lines), &[0.4, 0.5, f64::NAN]);
        assert_eq!(lines.lines().unwrap().rows().map(|(name, _)| name).collect::<Vec<_>>()[1..], ["b", "outside"]);
        let calibration = crate::io::oxygen::find("eprit-llw");
        lines.update(Some((&first, calibration)), &rois);
        let shown = lines.lines().unwrap();
        let pressure = shown.rows().nth(1).unwrap().1.fitted.as_ref().unwrap().po2_torr.unwrap();
        // LLW of half the width, mG: 1 mT = 10 000 mG.
        assert!((pressure.mean / (1.84 * (0.25e4 - 10.2)) - 1.0).abs() < 1e-2, "{pressure:?}");
        let second = fits(&spectra([0.2, 0.2, 0.6]));
        lines.update(Some((&second, calibration)), &rois);
        assert_near(&widths(&lines), &[0.2, 0.6, f64::NAN]);
        lines.update(None, &rois);
        assert!(lines.lines().is_none());
    }

    #[test]
    fn the_selected_region_has_a_mean_spectrum_with_its_line() {
        let spectra = spectra([0.3, 0.4, 0.5]);
        let rois: MaskedRois = vec![roi("a", -1.0), roi("outside", 9.0)].into();
        let mut lines = RegionLines::default();
        let mut select = |settings, index| {
            lines.select(Some(&spectra), settings, &rois, index);
            lines.selected().map(|of| (of.name().to_owned(), of.steps(), of.fit.unwrap(), of.points()))
        };
        let (name, steps, fit, points) = select(LineSettings::default(), Some(0)).unwrap();
        assert_eq!((name.as_str(), steps, points.len()), ("a", 9, 64));
        assert!((fit.width_mt - 0.3).abs() < 1e-4 && (points[10][1] - fit.value(points[10][0])).abs() < 1e-3, "{fit:?}");
        let voigt = select(LineSettings { line: Line::Voigt, ..LineSettings::default() }, Some(0)).unwrap();
        assert!(voigt.2.gaussian_mt.is_some());
        assert!(select(LineSettings::default(), Some(1)).is_none(), "it lies outside of the image");
        assert!(select(LineSettings::default(), None).is_none());
    }
}
