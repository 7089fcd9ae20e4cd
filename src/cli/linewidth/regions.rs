//! Lines of all fitted voxels and of regions.

use serde_json::{Map, Value, json};

use crate::data::{OxygenCalibration, Roi};
use crate::measure::spectrum::{LineFigures, LineMaps};
use crate::report::LinesShown;

/// Figures of all voxels, and of regions by their names.
pub struct Regions {
    all: LineFigures,
    regions: Vec<(String, LineFigures)>,
}

impl Regions {
    /// Measures the lines of an image.
    pub fn new(maps: &LineMaps, rois: &[Roi], calibration: Option<&OxygenCalibration>) -> Self {
        let of_roi = |roi: &Roi| (roi.name.clone(), LineFigures::of_region(maps, calibration, &roi.mask(maps.grid())));
        Self { all: LineFigures::of_all(maps, calibration), regions: rois.iter().map(of_roi).collect() }
    }

    /// Returns the figures for tables.
    pub fn lines(&self) -> LinesShown<'_> {
        LinesShown { all: &self.all, regions: self.regions.iter().map(|(name, figures)| (name.as_str(), figures)).collect() }
    }

    pub fn to_json(&self) -> Value {
        let of = |(name, figures): (&str, &LineFigures)| {
            let quantities = figures.fitted.iter().flat_map(|fitted| fitted.quantities());
            let stats: Map<String, Value> = quantities.map(|(name, _, stats)| (name.to_owned(), json!(stats))).collect();
            json!({ "region": name, "voxels": figures.counts, "lines": stats })
        };
        self.lines().rows().map(of).collect()
    }
}
