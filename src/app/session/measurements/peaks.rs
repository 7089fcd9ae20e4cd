//! Widths of the peaks along a line through the stored iterates.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::measurement::Measurement;
use super::thinning::limit;
use crate::data::RunId;
use crate::geometry::{LENGTHS_MM, Point};
use crate::measure::{NoPeakWidth, PeakWidth, widths_along};
use crate::session::history::{History, StoredIterate};

/// Maximum side of the averaging square around a line, mm.
const MAX_WIDTH_MM: f64 = 1000.0;

/// Line through images along which peaks are measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeakLine {
    /// Start and end, mm.
    pub ends_mm: [Point; 2],
    /// Side of the averaging square around the line, mm; 0 = the line alone.
    pub width_mm: f64,
}

/// Peaks of an image along a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeaksPoint {
    /// Number of completed full iterations.
    pub iteration: usize,
    /// Total number of steps; for a sweep number of projections in the image.
    pub subiteration: usize,
    /// Width of each peak, the highest first, or the reason why it has none ([`crate::measure::widths_along`]).
    pub widths: Vec<Result<PeakWidth, NoPeakWidth>>,
}

/// Peaks along one line.
#[derive(Clone, Debug, Default)]
pub struct PeaksFound {
    line: Option<PeakLine>,
    /// Width of each peak, or the reason that it has none, by number of complete steps.
    pub widths: BTreeMap<usize, Vec<Result<PeakWidth, NoPeakWidth>>>,
}

/// Line, and the iterates of a run that were measured along it.
pub struct Along {
    line: PeakLine,
    /// Steps done of the measured iterates.
    measured: HashSet<usize>,
}

impl Measurement for Along {
    /// `None` ends the measurement.
    type Query = Option<PeakLine>;
    type Answer = (PeakLine, PeaksPoint);
    type Found = PeaksFound;

    fn begin(line: Option<PeakLine>, _before: Option<Self>) -> Option<Self> {
        Some(Self { line: line?, measured: HashSet::new() })
    }

    fn measure(&mut self, run: RunId, history: &History) -> Option<(PeakLine, PeaksPoint)> {
        let Self { line, measured } = self;
        let StoredIterate { id, volume, .. } = history.next(run, |id| measured.insert(id.subiteration))?;
        let widths = widths_along(&volume, line.ends_mm, line.width_mm);
        Some((*line, PeaksPoint { iteration: id.iteration, subiteration: id.subiteration, widths }))
    }

    /// Adds measured peaks. Those along another line are discarded.
    fn add((line, point): &Self::Answer, found: &mut PeaksFound) {
        if found.line != Some(*line) {
            *found = PeaksFound { line: Some(*line), ..PeaksFound::default() };
        }
        found.widths.insert(point.subiteration, point.widths.clone());
        limit(&mut found.widths, |_| false);
    }

    fn is_valid(line: &Option<PeakLine>) -> bool {
        let is_valid = |PeakLine { ends_mm, width_mm }: &PeakLine| {
            ends_mm.as_flattened().iter().all(|mm| mm.abs() <= *LENGTHS_MM.end()) && (0.0..=MAX_WIDTH_MM).contains(width_mm)
        };
        line.as_ref().is_none_or(is_valid)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{IterateId, Volume};
    use crate::geometry::Grid;

    #[test]
    fn peaks_are_measured_once_on_each_image() {
        let grid = Grid::centred([41, 1, 1], [1.0; 3]).unwrap();
        let blob = |iteration: usize, sigma: f64| {
            let mut volume = Volume::filled(grid.clone(), 0.0);
            let value = |x: f64| 1.0 + 9.0 * (-0.5 * (x / sigma).powi(2)).exp();
            (-20..).zip(volume.as_mut_slice()).for_each(|(x, v)| *v = value(f64::from(x)) as f32);
            let id = IterateId { run: 1, iteration, subiteration: iteration };
            StoredIterate { id, extremes: volume.extremes(), volume: Arc::new(volume) }
        };
        let history = History::new(1 << 20);
        history.begin(1);
        [blob(1, 4.0), blob(2, 3.0)].into_iter().for_each(|image| _ = history.push(image));
        let line = PeakLine { ends_mm: [[-20.0, 0.0, 0.0], [20.0, 0.0, 0.0]], width_mm: 0.0 };
        let mut along = Along::begin(Some(line), None).unwrap();
        let found: Vec<PeaksPoint> = std::iter::from_fn(|| along.measure(1, &history)).map(|(_, point)| point).collect();
        assert_eq!(found.iter().map(|point| point.iteration).collect::<Vec<_>>(), [1, 2]);
        for (point, sigma) in found.iter().zip([4.0, 3.0]) {
            let [Ok(width)] = point.widths[..] else { panic!("{:?}", point.widths) };
            assert!((width.fwhm_mm - 2.0 * (2.0 * 2f64.ln()).sqrt() * sigma).abs() < 1e-3, "{width:?}");
        }
    }
}
