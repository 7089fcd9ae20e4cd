//! `tomoscope oximetry IMAGE… --delays-us T,… --calibration NAME -o OUT`: relaxation rates and oxygen pressures.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::shared::console::out;
use super::shared::error::{CliError, CliResult, Done};
use super::shared::notices;
use super::shared::options::{TalkOptions, not_negative, number};
use super::shared::outputs::{Files, check_same_grid};
use super::shared::oxygen::{calibration, file_of_calibration};
use super::shared::paths::{before_ending, file_of};
use super::shared::printed::written;
use super::shared::progress::with_bar;
use crate::data::{Notice, Origin, OxygenCalibration, RelaxationRate, Roi, Unit, Volume};
use crate::io::formats::Content;
use crate::io::{check_image_unit, read_regions, read_volume, rois};
use crate::measure::oximetry::{FitCounts, HYPOXIC_TORR, OxygenMaps, OxygenStats, RateFitter, oxygen_maps};
use crate::plan::{DataRecord, DeviceRecord, ImageKind, ImageRecord, OximetryRecord, Provenance, Start};
use crate::report::TextTable;
use crate::text::counted;

/// Options of `tomoscope oximetry`.
#[derive(Args, Clone, Debug)]
pub struct OximetryOptions {
    /// Images on one grid, one for each delay or echo time, in their order ({read images}).
    #[arg(required = true)]
    images: Vec<PathBuf>,

    /// Delays after the inversion or saturation, µs: at least 3, for R1.
    #[arg(long, value_name = "T,T,...", value_delimiter = ',', value_parser = not_negative)]
    #[arg(required_unless_present = "echo_times_us", conflicts_with = "echo_times_us")]
    delays_us: Vec<f64>,

    /// Echo times, µs: at least 2, for R2.
    #[arg(long, value_name = "T,T,...", value_delimiter = ',', value_parser = not_negative)]
    echo_times_us: Vec<f64>,

    /// Calibration of the oxygen pressure: ox071-pbs, ox071-dmem, ox071-vitrogel (R1), eprit-llw (R2) or a file (.toml).
    #[arg(long, value_name = "NAME|FILE")]
    calibration: String,

    /// Limit of the mask, as a fraction of the largest value of the image at the longest delay or the shortest echo time.
    #[arg(long, value_name = "FRACTION", default_value_t = 0.15, value_parser = fraction)]
    mask_fraction: f64,

    /// Also measure regions of interest (.toml, .json).
    #[arg(long, value_name = "FILE")]
    rois: Option<PathBuf>,

    /// Maps to write ({write images}, without .dcm): OUT_r1 or OUT_r2, OUT_pO2 and OUT_pO2_sd.
    #[arg(short, long, value_name = "OUT", value_parser = file_of(Content::Image))]
    output: PathBuf,

    /// Print the figures as JSON, for scripts.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    talk: TalkOptions,
}

fn fraction(text: &str) -> Result<f64, String> {
    number(text, |part| (0.0..1.0).contains(part), "expected a fraction from 0 to below 1")
}

/// Fits, writes the maps and prints the figures.
pub fn run(options: &OximetryOptions) -> CliResult<Done> {
    options.talk.apply();
    let start = Start::now();
    let calibration = calibration(&options.calibration)?;
    let outputs = options.outputs(calibration.rate);
    let read = options.images.iter().chain(&options.rois);
    Files::new().read(read).read(&file_of_calibration(&options.calibration)).write("-o", &outputs).check()?;
    check_image_unit(&options.output, Unit::Torr, None)?;
    let fitter = RateFitter::new(calibration.rate, options.times_us(&calibration)?)?;
    fitter.check_num_images(options.images.len())?;
    let images = options.read()?;
    let regions = match &options.rois {
        Some(path) => notices::printed(read_regions(path, None)?),
        None => Vec::new(),
    };
    notices::print(rois::notice(&regions).as_slice());
    let views: Vec<&Volume> = images.iter().collect();
    let maps = with_bar("fitting", |task| oxygen_maps(&views, &fitter, &calibration, options.mask_fraction, task))??;
    if maps.po2_sd.is_none() {
        let text = "as many images as parameters: without a further one the standard deviation is unknown, and is not written";
        notices::print(&[Notice::warning(text)]);
    }
    let record = options.record(fitter.times_us(), &calibration);
    let device = DeviceRecord { name: "CPU".to_owned(), threads: rayon::current_num_threads() };
    let of_maps = [Some(&maps.rate), Some(&maps.po2), maps.po2_sd.as_ref()];
    for (path, map) in outputs.iter().zip(of_maps).filter_map(|(path, map)| Some((path, map?))) {
        let (data, image) = (options.data(), ImageRecord::new(&map.grid, map.unit));
        let provenance = Provenance::new(ImageKind::Oximetry, data, image, device.clone(), start.times());
        let provenance = Provenance { oximetry: Some(record.clone()), ..provenance }.of_image(map).beside([path.as_path()]);
        notices::print(provenance.write_image(path, map)?.as_slice());
    }
    let stats = stats(&maps.po2, &regions);
    if options.json {
        let of = |(name, stats): &(&str, Option<OxygenStats>)| json!({ "region": name, "po2": stats });
        let regions: Vec<_> = stats.iter().map(of).collect();
        let figures = json!({ "calibration": calibration, "voxels": maps.counts, "regions": regions });
        out!("{}", serde_json::to_string_pretty(&figures)?);
    } else {
        print(&calibration, &maps, &stats, &outputs);
    }
    Ok(Done::Complete)
}

/// Returns the figures of all fitted voxels and of each region.
fn stats<'a>(po2: &Volume, regions: &'a [Roi]) -> Vec<(&'a str, Option<OxygenStats>)> {
    let values = po2.as_slice();
    let of_region = |roi: &'a Roi| {
        let mask = roi.mask(&po2.grid);
        let voxels = mask.voxels.iter().filter_map(|&(index, weight)| Some((*values.get(index as usize)?, f64::from(weight))));
        (roi.name.as_str(), OxygenStats::of(voxels))
    };
    let all = ("all fitted voxels", OxygenStats::of(values.iter().map(|value| (*value, 1.0))));
    std::iter::once(all).chain(regions.iter().map(of_region)).collect()
}

/// Prints the figures and the files.
fn print(calibration: &OxygenCalibration, maps: &OxygenMaps, stats: &[(&str, Option<OxygenStats>)], outputs: &[PathBuf]) {
    let torr = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
    let row = |(name, stats): &(&str, Option<OxygenStats>)| {
        let of = |value: fn(&OxygenStats) -> f64| stats.as_ref().map(value);
        let figures = [of(|s| s.median_torr), of(|s| s.mean_torr), stats.as_ref().and_then(|s| s.sd_torr)].map(torr);
        let hypoxic = torr(of(|s| 100.0 * s.hypoxic_fraction));
        let num_voxels = stats.as_ref().map_or(0, |stats| stats.num_voxels).to_string();
        [(*name).to_owned()].into_iter().chain(figures).chain([hypoxic, num_voxels]).collect()
    };
    let titles = |titles: &[&str]| titles.iter().map(|title| (*title).to_owned()).collect();
    let table = TextTable {
        title: calibration.text(),
        words: titles(&["region"]),
        groups: vec![
            ("pO2 (torr)".to_owned(), titles(&["median", "mean", "SD"])),
            (String::new(), titles(&["HF10 (%)", "voxels"])),
        ],
        rows: stats.iter().map(row).collect(),
        remarks: vec![format!("HF10: voxels of at most {HYPOXIC_TORR} torr")],
    };
    out!("{}", table.to_string().trim_end());
    let FitCounts { fitted, below_mask, not_finite, out_of_range, not_converged } = maps.counts;
    out!("{} fitted", counted(fitted, "voxel"));
    for (num, cause) in [
        (below_mask, "below the mask"),
        (not_finite, "with a value that is not finite"),
        (out_of_range, "without a recovery or decay that the times can measure"),
        (not_converged, "with a fit that did not converge"),
    ] {
        if num > 0 {
            out!("{} masked: {cause}", counted(num, "voxel"));
        }
    }
    for (path, content) in outputs
        .iter()
        .zip([calibration.rate.label(), "pO2", "standard deviation of pO2"])
        .take(2 + usize::from(maps.po2_sd.is_some()))
    {
        let unit = if content == calibration.rate.label() { Unit::PerMicrosecond } else { Unit::Torr };
        written(path, format!("{content}, {}", unit.label()));
    }
}

impl OximetryOptions {
    /// Returns the files of rate, pressure and standard deviation.
    fn outputs(&self, rate: RelaxationRate) -> Vec<PathBuf> {
        ["_".to_owned() + rate.name(), "_pO2".into(), "_pO2_sd".into()]
            .iter()
            .map(|what| before_ending(&self.output, what))
            .collect()
    }

    /// Returns the times of the calibration's rate.
    ///
    /// # Errors
    /// Times of the other rate.
    fn times_us(&self, calibration: &OxygenCalibration) -> CliResult<&[f64]> {
        let (times, option, other) = match calibration.rate {
            RelaxationRate::R1 => (&self.delays_us, "--delays-us", "--echo-times-us"),
            RelaxationRate::R2 => (&self.echo_times_us, "--echo-times-us", "--delays-us"),
        };
        if times.is_empty() {
            let (name, rate) = (&calibration.name, calibration.rate.label());
            return Err(CliError::arguments(format!("{other}: the calibration {name} is of {rate}; use {option}")));
        }
        Ok(times)
    }

    /// Reads the images.
    ///
    /// # Errors
    /// An unreadable image, images on different grids.
    fn read(&self) -> CliResult<Vec<Volume>> {
        let mut images: Vec<Volume> = Vec::new();
        for path in &self.images {
            let image = notices::printed(read_volume(path)?);
            if let Some(first) = images.first() {
                let names = [&self.images[0], path].map(|path| path.display().to_string());
                check_same_grid([(&names[0], &first.grid), (&names[1], &image.grid)], "")?;
            }
            images.push(image);
        }
        Ok(images)
    }

    fn data(&self) -> DataRecord {
        let title = self.output.file_stem().unwrap_or_default().to_string_lossy();
        DataRecord::new(&title, &Origin::default())
    }

    fn record(&self, times_us: &[f64], calibration: &OxygenCalibration) -> OximetryRecord {
        let name = |path: &PathBuf| Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        OximetryRecord {
            images: self.images.iter().map(name).collect(),
            times_us: times_us.to_vec(),
            calibration: calibration.clone(),
            mask_fraction: self.mask_fraction,
        }
    }
}
