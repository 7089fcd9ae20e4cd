//! Outputs of a run with replicates of the measured data.

use std::path::{Path, PathBuf};

use crate::data::{Roi, RoiSums, ValueScale};
use crate::io::before_ending;
use crate::io::formats::Format;
use crate::measure::uncertainty_of_deviation;
use crate::report::{Column, Columns};
use crate::session::IterateReport;
use crate::text::counted;

/// Returns the file of the standard deviations of an image: OUT.ext → OUT_sd.ext. They are no PET series, and not written as one.
pub(super) fn of_deviation(path: &Path) -> PathBuf {
    let beside = before_ending(path, "_sd");
    if Format::of(path).is_some_and(Format::needs_facts) { beside.with_extension("nii.gz") } else { beside }
}

/// Columns of a region: name, mean ± standard deviation.
const REGION: Columns<2> = Columns([Column::words("", 17), Column::words("", 0)]);

/// Returns lines with mean ± standard deviation of each region on the last image, and the uncertainty of the standard deviations.
pub fn region_lines(num: usize, report: &IterateReport, rois: &[Roi], scale: ValueScale) -> Vec<String> {
    let title = format!(
        "mean ± SD of {}; each SD is known to ± {:.0} %; noise of randoms and scatter estimates is not included",
        counted(num, "replicate"),
        100.0 * uncertainty_of_deviation(num)
    );
    let measured = rois.iter().zip(report.roi_sums.iter().zip(&report.roi_deviations));
    let line = |(roi, (sums, sd)): (&Roi, (&RoiSums, &Option<f64>))| {
        let [mean, sd] = [sums.sum / sums.weight, (*sd)?].map(|value| scale.value(value));
        let text = format!("{mean:.5} ± {sd:.2e} {} ({:.2} %)", scale.label(), 100.0 * sd / mean);
        Some(format!("  {}", REGION.line([roi.name.clone(), text])))
    };
    let regions: Vec<String> = measured.filter_map(line).collect();
    if regions.is_empty() { regions } else { [title].into_iter().chain(regions).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_deviations_have_their_own_name_and_never_that_of_a_pet_series() {
        let name = |path: &str| of_deviation(Path::new(path)).to_string_lossy().into_owned();
        assert_eq!(name("a/out.hv"), "a/out_sd.hv");
        assert_eq!(name("out.nii.gz"), "out_sd.nii.gz");
        assert_eq!(name("out.dcm"), "out_sd.nii.gz");
    }
}
