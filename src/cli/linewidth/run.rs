//! `tomoscope linewidth SPECTRA -o OUT`: maps of amplitude, width and position of the lines.

use serde_json::json;

use super::options::LinewidthOptions;
use super::regions::Regions;
use crate::cli::shared::console::out;
use crate::cli::shared::error::{CliError, CliResult, Done};
use crate::cli::shared::notices;
use crate::cli::shared::outputs::Files;
use crate::cli::shared::oxygen::{calibration, file_of_calibration};
use crate::cli::shared::printed::{print_fits, written};
use crate::cli::shared::progress::with_bar;
use crate::data::{Notice, OxygenCalibration, RelaxationRate, Unit, Volume};
use crate::io::measurements::MeasurementWriter;
use crate::io::nifti::{self, Spectra};
use crate::io::{check_image_unit, read_regions, rois};
use crate::measure::oximetry::OxygenStats;
use crate::measure::spectrum::{Line, LineFit, LineFitter, LineMaps, LineResiduals, NO_LINE, line_maps};
use crate::plan::{DeviceRecord, ImageKind, ImageRecord, Provenance, Start};
use crate::statistics::median;

/// Fits, writes the maps and prints the figures.
pub fn run(options: &LinewidthOptions) -> CliResult<Done> {
    options.talk.apply();
    let start = Start::now();
    let calibration = options.calibration.as_deref().map(of_linewidth).transpose()?;
    let outputs = options.outputs();
    let file = options.calibration.as_deref().and_then(file_of_calibration);
    let read = [&options.input].into_iter().chain(&options.rois);
    Files::new().read(read).read(&file).write("-o", &outputs).write_lines("--csv", &options.csv).check()?;
    check_image_unit(&options.output, Unit::Millitesla, None)?;
    let rois = match &options.rois {
        Some(path) => notices::printed(read_regions(path, None)?),
        None => Vec::new(),
    };
    notices::print(rois::notice(&rois).as_slice());
    let Spectra { samples, axis } = notices::printed(nifti::read_spectra(&options.input)?);
    let fitter = LineFitter::new(options.line, axis);
    let maps = with_bar("fitting", |task| line_maps(&samples, axis, &fitter, options.mask_fraction, task))??;
    let images = images(options, &maps, calibration.as_ref());
    let residuals = LineResiduals::of(&samples, axis, &maps);
    if options.line == Line::Lorentzian {
        notices::print(residuals.and_then(|residuals| residuals.doubt()).map(Notice::warning).as_slice());
    }
    let device = DeviceRecord { name: "CPU".to_owned(), threads: rayon::current_num_threads() };
    let record = |map: &Volume| Provenance {
        linewidth: Some(options.record(calibration.as_ref())),
        ..Provenance::new(
            ImageKind::Linewidth,
            options.data(),
            ImageRecord::new(&map.grid, map.unit),
            device.clone(),
            start.times(),
        )
    };
    for (path, map) in outputs.iter().zip(&images) {
        notices::print(record(map).of_image(map).beside([path.as_path()]).write_image(path, map)?.as_slice());
    }
    let gradient = samples.first().and_then(|sample| Provenance::of_file(&options.input, sample).0.gradient_mt_per_mm);
    let regions = Regions::new(&maps, &rois, calibration.as_ref(), gradient);
    let lines = regions.lines();
    if let Some(path) = &options.csv {
        MeasurementWriter::create(path)?.write(&lines.measurements(0))?;
        let record = images.first().map(&record).and_then(|record| record.beside([path.as_path()]).write_beside(path));
        notices::print(record.as_slice());
    }
    if calibration.is_some()
        && let Some(po2) = images.last()
    {
        let stats = OxygenStats::of(po2.as_slice().iter().map(|&value| (value, 1.0)));
        notices::print(stats.and_then(|stats| stats.doubt()).as_slice());
    }
    let medians: Vec<Option<f64>> = images.iter().map(median_of).collect();
    if options.json {
        let of_map = |(name, median): (&str, &Option<f64>)| (name.to_owned(), json!(median));
        let medians: serde_json::Map<String, serde_json::Value> = options.names().into_iter().zip(&medians).map(of_map).collect();
        let figures = json!({
            "line": options.line,
            "voxels": maps.counts,
            "medians": medians,
            "residuals": residuals,
            "gradient_mt_per_mm": gradient,
            "regions": regions.to_json(),
        });
        out!("{}", serde_json::to_string_pretty(&figures)?);
    } else {
        if !rois.is_empty() {
            out!("{}", lines.text("lines").to_string().trim_end());
        }
        print_fits(&maps.counts, NO_LINE);
        if let Some(LineResiduals { lorentzian, voigt }) = residuals {
            let [lorentzian, voigt] = [lorentzian, voigt].map(|part| 100.0 * part);
            out!("mean residual {lorentzian:.2} % of the peak-to-peak amplitude (Lorentzian lines), {voigt:.2} % (Voigt lines)");
        }
        for ((path, map), median) in outputs.iter().zip(&images).zip(medians) {
            let median = median.map_or_else(String::new, |median| format!(", median {median:.4}"));
            written(path, format!("{}{median}", map.unit.label()));
        }
        options.csv.iter().for_each(|path| written(path, "table of the lines"));
    }
    if maps.counts.are_mostly_missing() {
        notices::print(&[Notice::warning(
            "most voxels above the mask have no line: check the shape (--line), λ and the number of iterations",
        )]);
    }
    if maps.counts.fitted == 0 {
        notices::print(&[Notice::warning("no voxel has a line: all values of the maps are NaN")]);
        return Ok(Done::Partial);
    }
    Ok(Done::Complete)
}

/// Returns a calibration of R2, which a line width gives.
fn of_linewidth(word: &str) -> CliResult<OxygenCalibration> {
    let found = calibration(word)?;
    match found.rate {
        RelaxationRate::R2 => Ok(found),
        RelaxationRate::R1 => {
            Err(CliError::arguments(format!("--calibration: {} is of R1; a line width gives R2, use eprit-llw", found.name)))
        }
    }
}

/// Returns the maps in the order of their files.
fn images(options: &LinewidthOptions, maps: &LineMaps, calibration: Option<&OxygenCalibration>) -> Vec<Volume> {
    let map = |name: &str| match name {
        "amplitude" => maps.map(Unit::Arbitrary, |fit| fit.amplitude),
        "linewidth" => maps.map(Unit::Millitesla, |fit| fit.width_mt),
        "linewidth_sd" => maps.map(Unit::Millitesla, |fit| fit.width_sd_mt),
        "position" => maps.map(Unit::Millitesla, |fit| fit.position_mt),
        "gaussian" => maps.map(Unit::Millitesla, |fit| fit.gaussian_mt.unwrap_or(f64::NAN)),
        _ => maps.map(Unit::Torr, |fit: &LineFit| calibration.map_or(f64::NAN, |calibration| fit.po2_torr(calibration))),
    };
    options.names().into_iter().map(map).collect()
}

/// Returns the median of the fitted voxels.
fn median_of(map: &Volume) -> Option<f64> {
    let values: Vec<f64> = map.as_slice().iter().filter(|value| value.is_finite()).map(|value| f64::from(*value)).collect();
    median(values)
}
