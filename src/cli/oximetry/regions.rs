//! Oxygen of all fitted voxels and of regions, and their uncertainty between draws of the noise.

use serde_json::{Value, json};

use crate::data::{Notice, Roi, Volume};
use crate::measure::oximetry::{DrawnFigures, FigureDeviations, HYPOXIC_TORR, OxygenStats};
use crate::report::{ALL_FITTED, TextTable};
use crate::text::decimals;

struct Region {
    name: String,
    /// Voxels with their weights.
    voxels: Vec<(u32, f64)>,
    stats: Option<OxygenStats>,
    draws: DrawnFigures,
}

/// All fitted voxels, and regions.
pub struct Regions(Vec<Region>);

impl Regions {
    pub fn new(po2: &Volume, rois: &[Roi]) -> Self {
        let whole = (0..po2.grid.num_voxels() as u32).map(|index| (index, 1.0)).collect();
        let of_roi = |roi: &Roi| {
            let mask = roi.mask(&po2.grid);
            (roi.name.clone(), mask.voxels.iter().map(|&(index, weight)| (index, f64::from(weight))).collect())
        };
        let all = std::iter::once((ALL_FITTED.to_owned(), whole)).chain(rois.iter().map(of_roi));
        let region = |(name, voxels): (String, Vec<(u32, f64)>)| {
            let stats = stats(po2, &voxels);
            Region { name, voxels, stats, draws: DrawnFigures::default() }
        };
        Self(all.map(region).collect())
    }

    /// Returns a warning of an implausible oxygen pressure of all fitted voxels.
    pub fn doubt(&self) -> Option<Notice> {
        self.0.first()?.stats?.doubt()
    }

    /// Measures the map of a draw of the noise.
    pub fn add_draw(&mut self, po2: &Volume) {
        for region in &mut self.0 {
            region.draws.add(stats(po2, &region.voxels));
        }
    }

    /// Returns the figures as JSON; fractions, not %.
    pub fn to_json(&self) -> Value {
        let of = |region: &Region| {
            let uncertainty = region.draws.deviations().map(|FigureDeviations { num_draws, median_torr, mean_torr, hypoxic_fraction }| {
                json!({ "median_torr": median_torr, "mean_torr": mean_torr, "hypoxic_fraction": hypoxic_fraction, "draws": num_draws })
            });
            json!({ "region": region.name, "po2": region.stats, "standard_deviations": uncertainty })
        };
        self.0.iter().map(of).collect()
    }

    pub fn table(&self, title: String) -> TextTable {
        let titles = |titles: &[&str]| titles.iter().map(|title| (*title).to_owned()).collect();
        let mut remarks = vec![format!("HF10: voxels of at most {HYPOXIC_TORR} torr")];
        if self.0.iter().any(|region| region.draws != DrawnFigures::default()) {
            remarks.push("±: standard deviation between draws of the noise".to_owned());
        }
        TextTable {
            title,
            words: titles(&["region"]),
            groups: vec![
                ("pO2 (torr)".to_owned(), titles(&["median", "mean", "SD"])),
                (String::new(), titles(&["HF10 (%)", "voxels"])),
            ],
            rows: self.0.iter().map(Region::row).collect(),
            remarks,
        }
    }
}

impl Region {
    fn row(&self) -> Vec<String> {
        let Some(stats) = &self.stats else {
            return [self.name.as_str(), "–", "–", "–", "–", "0"].map(str::to_owned).to_vec();
        };
        let uncertainty = self.draws.deviations();
        let with = |value: f64, deviation: fn(FigureDeviations) -> f64, factor: f64| match uncertainty {
            Some(deviations) => format!("{} ± {:.2}", decimals(factor * value, 2), factor * deviation(deviations)),
            None => decimals(factor * value, 2),
        };
        vec![
            self.name.clone(),
            with(stats.median_torr, |deviations| deviations.median_torr, 1.0),
            with(stats.mean_torr, |deviations| deviations.mean_torr, 1.0),
            stats.sd_torr.map_or_else(|| "–".to_owned(), |sd| format!("{sd:.2}")),
            with(stats.hypoxic_fraction, |deviations| deviations.hypoxic_fraction, 100.0),
            stats.num_voxels.to_string(),
        ]
    }
}

fn stats(po2: &Volume, voxels: &[(u32, f64)]) -> Option<OxygenStats> {
    let values = po2.as_slice();
    OxygenStats::of(voxels.iter().filter_map(|&(index, weight)| Some((*values.get(index as usize)?, weight))))
}
