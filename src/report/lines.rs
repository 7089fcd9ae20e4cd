//! Lines of all voxels of an image and of its regions, as a table and as rows of measured numbers.

use super::image_page::measurement;
use super::text_table::TextTable;
use crate::io::measurements::Measurement;
use crate::measure::FitCounts;
use crate::measure::spectrum::LineFigures;

/// Name of the row of all voxels.
pub const ALL_FITTED: &str = "all fitted voxels";

/// Lines of an image.
pub struct LinesShown<'a> {
    /// Those of all voxels.
    pub all: &'a LineFigures,
    pub regions: Vec<(&'a str, &'a LineFigures)>,
    /// Largest gradient of the projections, mT/mm, where it is known.
    pub gradient_mt_per_mm: Option<f64>,
}

impl<'a> LinesShown<'a> {
    /// Returns name and figures of each row: all voxels, then the regions.
    pub fn rows(&self) -> impl Iterator<Item = (&'a str, &'a LineFigures)> {
        std::iter::once((ALL_FITTED, self.all)).chain(self.regions.iter().copied())
    }

    /// Returns the resolution in space of a row, mm: the mean width of its lines over the largest gradient.
    pub fn resolution_mm(&self, figures: &LineFigures) -> Option<f64> {
        Some(figures.fitted.as_ref()?.width_mt.mean / self.gradient_mt_per_mm?)
    }

    /// Returns the numbers as rows of an image of an iteration; those of all voxels have no region.
    pub fn measurements(&self, iteration: usize) -> Vec<Measurement> {
        let mut rows = Vec::new();
        for (name, figures) in std::iter::once(("", self.all)).chain(self.regions.iter().copied()) {
            let mut add = |quantity: &str, value, unit| rows.push(measurement(iteration, name, quantity, value, unit));
            for (quantity, unit, stats) in figures.fitted.iter().flat_map(|fitted| fitted.quantities()) {
                add(&format!("{quantity}_mean"), stats.mean, unit.label());
                add(&format!("{quantity}_median"), stats.median, unit.label());
                stats.sd.into_iter().for_each(|sd| add(&format!("{quantity}_sd"), sd, unit.label()));
            }
            self.resolution_mm(figures).into_iter().for_each(|mm| add("resolution", mm, "mm"));
            let FitCounts { fitted, below_mask, not_finite, out_of_range, not_converged, unresolved } = figures.counts;
            for (quantity, num) in [
                ("num_fitted", fitted),
                ("num_below_mask", below_mask),
                ("num_not_finite", not_finite),
                ("num_out_of_range", out_of_range),
                ("num_unresolved", unresolved),
                ("num_not_converged", not_converged),
            ] {
                add(quantity, num as f64, "");
            }
        }
        rows
    }

    pub fn text(&self, title: &str) -> TextTable {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let quantities: Vec<(&str, &str)> =
            self.all.fitted.iter().flat_map(|fitted| fitted.quantities()).map(|(name, unit, _)| (name, unit.label())).collect();
        let groups = quantities.iter().map(|(name, unit)| (format!("{name} ({unit})"), texts(&["mean", "median", "SD"])));
        let resolution = self.gradient_mt_per_mm.map(|_| ("resolution".to_owned(), texts(&["Γ/g (mm)"])));
        let row = |(name, figures): (&str, &LineFigures)| {
            let of =
                |wanted: &str| figures.fitted.as_ref().and_then(|fitted| fitted.quantities().find(|(name, ..)| *name == wanted));
            let stats = quantities.iter().flat_map(|(wanted, _)| {
                let stats = of(wanted).map(|(.., stats)| stats);
                [stats.map(|stats| stats.mean), stats.map(|stats| stats.median), stats.and_then(|stats| stats.sd)]
            });
            let cells = stats.map(|value| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.4}")));
            let resolution = self
                .gradient_mt_per_mm
                .map(|_| self.resolution_mm(figures).map_or_else(|| "–".to_owned(), |mm| format!("{mm:.2}")));
            let numbers = [figures.counts.fitted, figures.num_masked()].map(|num| num.to_string());
            std::iter::once(name.to_owned()).chain(cells).chain(resolution).chain(numbers).collect()
        };
        TextTable {
            title: title.to_owned(),
            words: texts(&["region"]),
            groups: groups.chain(resolution).chain([("voxels".to_owned(), texts(&["fitted", "masked"]))]).collect(),
            rows: self.rows().map(row).collect(),
            remarks: vec![
                "mean: of widths and positions weighted by 1/σ² of the fits; SD: standard deviation between the fitted voxels"
                    .to_owned(),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::MapStats;
    use crate::measure::spectrum::FittedLines;

    #[test]
    fn rows_have_the_quantities_that_are_known() {
        let stats = |mean: f64, sd: Option<f64>| MapStats { num_voxels: 2, mean, median: mean + 1.0, sd };
        let fitted = FittedLines {
            amplitude: stats(1.0, Some(0.5)),
            width_mt: stats(2.0, None),
            gaussian_mt: None,
            position_mt: stats(3.0, None),
            po2_torr: Some(stats(4.0, None)),
        };
        let all = LineFigures { counts: FitCounts { fitted: 2, below_mask: 7, ..FitCounts::default() }, fitted: Some(fitted) };
        let none = LineFigures { counts: FitCounts { out_of_range: 3, ..FitCounts::default() }, fitted: None };
        let shown = LinesShown { all: &all, regions: vec![("vial", &none)], gradient_mt_per_mm: Some(0.5) };
        let rows = shown.measurements(5);
        let of = |roi: &str, quantity: &str| {
            let found = rows.iter().find(|row| row.roi == roi && row.quantity == quantity && row.iteration == 5);
            found.map(|row| (row.value, row.unit.as_str()))
        };
        assert_eq!([of("", "amplitude_mean"), of("", "amplitude_sd")], [Some((1.0, "a.u.")), Some((0.5, "a.u."))]);
        assert_eq!([of("", "linewidth_median"), of("", "linewidth_sd")], [Some((3.0, "mT")), None]);
        assert_eq!([of("", "pO2_mean"), of("", "gaussian_mean")], [Some((4.0, "torr")), None]);
        assert_eq!([of("", "num_below_mask"), of("vial", "num_out_of_range")], [Some((7.0, "")), Some((3.0, ""))]);
        assert_eq!((of("vial", "linewidth_mean"), of("vial", "num_fitted")), (None, Some((0.0, ""))));
        // 2 mT under 0.5 mT/mm.
        assert_eq!([of("", "resolution"), of("vial", "resolution")], [Some((4.0, "mm")), None]);
        let table = shown.text("lines").to_string();
        assert!(
            table.contains("Γ/g (mm)")
                && table.contains("all fitted voxels")
                && table.contains("vial")
                && table.contains("pO2 (torr)"),
            "{table}"
        );
    }
}
