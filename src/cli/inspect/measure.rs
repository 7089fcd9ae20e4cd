//! `tomoscope measure IMAGE --rois FILE`: the numbers of regions on any image, in the form of a run's table.

use std::path::PathBuf;

use clap::Args;

use crate::cli::shared::console::{out, print_result};
use crate::cli::shared::error::{CliResult, Done};
use crate::cli::shared::image_input::ImageInput;
use crate::cli::shared::notices;
use crate::cli::shared::options::TalkOptions;
use crate::cli::shared::outputs::Files;
use crate::data::{Notice, Roi, RoiMask, RoiSums, Volume};
use crate::geometry::Grid;
use crate::io::measurements::{Measurement, MeasurementWriter};
use crate::io::{read_regions, rois};
use crate::measure;
use crate::plan::{Progress, Provenance};
use crate::report::TextTable;
use crate::session::{RoiNumbers, RunTable, roi_numbers};
use crate::text::counted;

/// Options of `tomoscope measure`.
#[derive(Args, Clone, Debug)]
pub struct MeasureOptions {
    /// Image to measure ({read images}).
    image: PathBuf,

    /// Regions of interest (.toml, .json), or a DICOM segmentation.
    #[arg(long, value_name = "FILE")]
    rois: PathBuf,

    /// Table to write, one row per value; without it the table is printed.
    ///
    /// The rows are those of a reconstruction, with the median of each ROI.
    #[arg(long, value_name = "OUT")]
    csv: Option<PathBuf>,

    #[command(flatten)]
    input: ImageInput,

    /// Write no names of files and no dates into the table's provenance record.
    #[arg(long)]
    anonymise: bool,

    #[command(flatten)]
    talk: TalkOptions,
}

pub fn run(options: &MeasureOptions) -> CliResult<Done> {
    options.talk.apply();
    Files::new().read([&options.image, &options.rois]).write_lines("--csv", &options.csv).check()?;
    let image = options.input.read(&options.image)?;
    let volume = &image.volume;
    let rois = notices::printed(read_regions(&options.rois, Some(&image.space()))?);
    notices::print(rois::notice(&rois).as_slice());
    let masks: Vec<RoiMask> = rois.iter().map(|roi| roi.mask(&volume.grid)).collect();
    let sums: Vec<Option<RoiSums>> = masks.iter().map(|mask| Some(mask.sums(volume.as_slice()))).collect();
    let medians: Vec<Option<f64>> = masks.iter().map(|mask| measure::median(mask, volume.as_slice())).collect();
    notices::print(&without_voxels(&rois, &sums, &volume.grid));
    notices::print(rois::partly_outside(&rois, &volume.grid).as_slice());
    let not_finite = rois.iter().zip(&sums).filter(|(_, sums)| sums.is_some_and(|sums| !sums.sum.is_finite()));
    let done = notices::done_of_numbers(not_finite.map(|(roi, _)| roi.name.as_str()));
    let Some(path) = &options.csv else {
        let table = table(options, volume, &rois, (&sums, &medians)).to_string();
        print_result(format_args!("{}\n", table.trim_end()));
        return Ok(done);
    };
    let record = image.record(&options.image);
    let record = if options.anonymise { record.anonymised() } else { record };
    MeasurementWriter::create(path)?.write(&rows(volume, &record, &rois, (&sums, &medians)))?;
    notices::print(record.beside([path.as_path()]).write_beside(path).as_slice());
    out!("{}: {} on {}", path.display(), counted(rois.len(), "region of interest"), options.image.display());
    Ok(done)
}

/// Sums and median of each region.
type Measured<'a> = (&'a [Option<RoiSums>], &'a [Option<f64>]);

/// Returns notices of the regions that contain no voxel centre: those outside the image, and those between the centres.
fn without_voxels(rois: &[Roi], sums: &[Option<RoiSums>], grid: &Grid) -> Vec<Notice> {
    let is_empty = |sums: &Option<RoiSums>| sums.is_some_and(|sums| sums.num_voxels == 0);
    let empty = rois.iter().zip(sums).filter(|(_, sums)| is_empty(sums)).map(|(roi, _)| roi);
    let is_inside = |axis: usize, mm: f64| matches!(grid.extent_mm(axis), [low, high] if (low..=high).contains(&mm));
    let has_centre_inside = |roi: &&Roi| roi.centre_mm.iter().enumerate().all(|(axis, mm)| is_inside(axis, *mm));
    let (between, outside): (Vec<&Roi>, Vec<&Roi>) = empty.partition(has_centre_inside);
    let notice = |(reason, rois): (&str, Vec<&Roi>)| {
        let names: Vec<String> = rois.iter().map(|roi| format!("'{}'", roi.name)).collect();
        (!names.is_empty()).then(|| Notice::warning(format!("{reason}: {}", names.join(", "))))
    };
    let outside = ("outside the image, so that there is nothing to measure", outside);
    let between = ("between the voxel centres, so that there is nothing to measure (a larger region, or a finer image)", between);
    [outside, between].into_iter().filter_map(notice).collect()
}

/// Returns the rows of the image, with its number among the images of its run if the record contains it.
fn rows(volume: &Volume, record: &Provenance, rois: &[Roi], (sums, medians): Measured) -> Vec<Measurement> {
    let (iteration, steps, num_subsets) = match record.progress {
        Some(Progress::Iterations { iteration, subiteration, .. }) => (iteration, subiteration, Some(record.num_subsets())),
        Some(Progress::Projections { complete: Some(true), .. }) => (1, 0, None),
        Some(Progress::Projections { projections, .. }) => (0, projections, None),
        Some(Progress::Arrived { updates, .. }) => (0, updates, None),
        None => (0, 0, None),
    };
    let table = RunTable::of_image(volume, num_subsets);
    let mut rows = vec![table.filter_row(record.post_filter_fwhm_mm.unwrap_or(0.0))];
    rows.extend(table.roi_rows(iteration, steps, rois, sums));
    rows.extend(table.median_rows(iteration, steps, rois, medians));
    rows
}

/// Returns the numbers as a table for people.
fn table(options: &MeasureOptions, volume: &Volume, rois: &[Roi], (sums, medians): Measured) -> TextTable {
    let titles = |titles: &[&str]| titles.iter().map(|title| (*title).to_owned()).collect();
    let row = |((roi, numbers), median): ((&Roi, Option<RoiNumbers>), &Option<f64>)| {
        let n = numbers?;
        let extreme = |value: f32| n.mean.map(|_| f64::from(value));
        let before = [n.mean, n.sd, *median, extreme(n.min), extreme(n.max), n.nsr].map(cell);
        let after = [Some(n.volume_ml), n.recovery, n.contrast_to_noise].map(cell);
        let words = [roi.name.clone(), roi.role.name().to_owned()];
        Some(words.into_iter().chain(before).chain([n.num_voxels.to_string()]).chain(after).collect())
    };
    TextTable {
        title: options.image.display().to_string(),
        words: titles(&["region", "role"]),
        groups: vec![
            (volume.unit.label().to_owned(), titles(&["mean", "SD", "median", "min", "max"])),
            (String::new(), titles(&["SD / mean", "voxels", "mL", "recovery", "CNR"])),
        ],
        rows: rois.iter().zip(roi_numbers(rois, sums, volume.grid.voxel_ml())).zip(medians).filter_map(row).collect(),
        remarks: Vec::new(),
    }
}

/// Returns a number with five digits.
fn cell(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(value) if !(1e-3..1e6).contains(&value.abs()) => format!("{value:.4e}"),
        Some(value) => format!("{value:.digits$}", digits = (4 - value.abs().log10().floor() as i32).clamp(0, 7) as usize),
    }
}
