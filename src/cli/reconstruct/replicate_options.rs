//! Error bars by replicates of the measured data, as the window's *Error bars*.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::shared::options::positive;
use crate::data::{Roi, RoiSums, ValueScale};
use crate::io::before_ending;
use crate::io::formats::Format;
use crate::measure::uncertainty_of_deviation;
use crate::plan::{REPLICATE_LIMITS, ReplicateSettings};
use crate::report::{Column, Columns};
use crate::session::IterateReport;
use crate::text::counted;

/// Replicates of the measured data.
#[derive(Args, Clone, Debug, Default)]
pub struct ReplicateOptions {
    /// Number of replicates for error bars (Poisson bootstrap): the run carries them along and writes OUT_sd.
    ///
    /// Each has counts drawn as if the scan were repeated, and takes the same steps. OUT_sd is the standard deviation of each voxel;
    /// --csv has mean_sd for each ROI. A standard deviation of N replicates is known to 1/√(2(N − 1)): ± 16 % with 20. Randoms,
    /// scatter, attenuation and detection efficiencies stay fixed: their own noise is not included. svrg and bsrem: with the penalty
    /// of the run. OUT.dcm: the file is OUT_sd.nii.gz.
    #[arg(long, value_name = "N", value_parser = number, group = "use_of_rois")]
    pub bootstrap: Option<u16>,

    /// Seed of the replicates.
    #[arg(long, value_name = "S", default_value_t = 1, requires = "bootstrap")]
    pub bootstrap_seed: u64,

    /// Image and error bars as if the scan had lasted for a shorter time, s.
    ///
    /// The image has thinned counts; the background scales with the time. Values keep the scale of the whole scan. Needs the duration
    /// of the scan: that of the data, else --duration-secs.
    #[arg(long, value_name = "SECS", value_parser = positive, requires = "bootstrap", group = "use_of_duration")]
    pub as_if_secs: Option<f64>,
}

fn number(text: &str) -> Result<u16, String> {
    let [min, max] = REPLICATE_LIMITS;
    let number = text.parse().ok().filter(|num: &u16| (min..=max).contains(&usize::from(*num)));
    number.ok_or_else(|| format!("'{text}': expected a number of replicates from {min} to {max}"))
}

impl ReplicateOptions {
    /// Returns the replicates of a run; `scan_secs` = duration of the scan, if it was set.
    pub fn settings(&self, scan_secs: Option<f64>) -> Option<ReplicateSettings> {
        let Self { bootstrap, bootstrap_seed: seed, as_if_secs } = *self;
        bootstrap.map(|num| ReplicateSettings { num: num.into(), seed, as_if_secs, scan_secs })
    }

    /// Returns the file of the standard deviations of an image; `None` without replicates.
    pub fn deviation_path(&self, output: &Path) -> Option<PathBuf> {
        self.bootstrap.map(|_| of_deviation(output))
    }
}

/// Returns the file of the standard deviations of an image: OUT.ext → OUT_sd.ext. They are no PET series, and not written as one.
fn of_deviation(path: &Path) -> PathBuf {
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
        assert!(number("1").is_err() && number("20") == Ok(20) && number("5000").is_err());
    }
}
