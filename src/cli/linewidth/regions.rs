//! Lines of all fitted voxels and of regions.

use serde_json::{Map, Value, json};

use crate::data::{OxygenCalibration, Roi};
use crate::measure::spectrum::{LineFigures, LineMaps};
use crate::report::LinesShown;

/// Figures of all voxels, and of regions by their names.
pub struct Regions {
    all: LineFigures,
    regions: Vec<(String, LineFigures)>,
    gradient_mt_per_mm: Option<f64>,
}

impl Regions {
    /// Measures the lines of an image, whose largest gradient is that of its record.
    pub fn new(maps: &LineMaps, rois: &[Roi], calibration: Option<&OxygenCalibration>, gradient_mt_per_mm: Option<f64>) -> Self {
        let of_roi = |roi: &Roi| (roi.name.clone(), LineFigures::of_region(maps, calibration, &roi.mask(maps.grid())));
        let (all, regions) = (LineFigures::of_all(maps, calibration), rois.iter().map(of_roi).collect());
        Self { all, regions, gradient_mt_per_mm }
    }

    /// Returns the figures for tables.
    pub fn lines(&self) -> LinesShown<'_> {
        let regions = self.regions.iter().map(|(name, figures)| (name.as_str(), figures)).collect();
        LinesShown { all: &self.all, regions, gradient_mt_per_mm: self.gradient_mt_per_mm }
    }

    pub fn to_json(&self) -> Value {
        let lines = self.lines();
        let of = |(name, figures): (&str, &LineFigures)| {
            let quantities = figures.fitted.iter().flat_map(|fitted| fitted.quantities());
            let stats: Map<String, Value> = quantities.map(|(name, _, stats)| (name.to_owned(), json!(stats))).collect();
            json!({ "region": name, "voxels": figures.counts, "lines": stats, "resolution_mm": lines.resolution_mm(figures) })
        };
        lines.rows().map(of).collect()
    }
}
