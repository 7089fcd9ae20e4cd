//! `tomoscope oximetry IMAGE… --delays-us T,… --calibration NAME -o OUT`: relaxation rates and oxygen pressures.

use std::path::PathBuf;

use serde_json::json;

use super::options::OximetryOptions;
use super::regions::Regions;
use super::sweeps::{Reconstructed, Sweeps};
use crate::cli::shared::console::out;
use crate::cli::shared::error::{CliResult, Done};
use crate::cli::shared::notices;
use crate::cli::shared::outputs::Files;
use crate::cli::shared::oxygen::{calibration, file_of_calibration};
use crate::cli::shared::printed::written;
use crate::cli::shared::progress::with_bar;
use crate::data::{Notice, Unit, Volume};
use crate::io::{check_image_unit, read_regions, rois};
use crate::measure::oximetry::{FitCounts, OxygenMaps, RateFitter, noise_of, oxygen_maps, redrawn_po2};
use crate::plan::{DeviceRecord, ImageKind, ImageRecord, Provenance, Start};
use crate::task::Task;
use crate::text::counted;

/// Fits, writes the maps and prints the figures.
pub fn run(options: &OximetryOptions) -> CliResult<Done> {
    options.talk.apply();
    let start = Start::now();
    let calibration = calibration(&options.calibration)?;
    let outputs = options.outputs(calibration.rate);
    let read = options.inputs.iter().chain(&options.rois);
    Files::new().read(read).read(&file_of_calibration(&options.calibration)).write("-o", &outputs).check()?;
    check_image_unit(&options.output, Unit::Torr, None)?;
    let fitter = RateFitter::new(calibration.rate, options.times_us(&calibration)?)?;
    fitter.check_num_images(options.inputs.len())?;
    let rois = match &options.rois {
        Some(path) => notices::printed(read_regions(path, None)?),
        None => Vec::new(),
    };
    notices::print(rois::notice(&rois).as_slice());
    let sweeps = if options.are_sweeps()? { Some(Sweeps::read(options)?) } else { None };
    let Reconstructed { images, record: algorithm, iterations } = match &sweeps {
        Some(sweeps) => with_bar("reconstructing", |task| sweeps.images(task))??,
        None => Reconstructed { images: options.images()?, ..Reconstructed::default() },
    };
    let views: Vec<&Volume> = images.iter().collect();
    let maps = with_bar("fitting", |task| oxygen_maps(&views, &fitter, &calibration, options.mask_fraction, task))??;
    if maps.noise.is_none() {
        let text = "no residuals to find the noise from: the standard deviation is not written; add an image at another time";
        notices::print(&[Notice::warning(text)]);
    }
    let mut regions = Regions::new(&maps.po2, &rois);
    if let (Some(sweeps), Some(num), Some(noise)) = (&sweeps, options.repeats, maps.noise) {
        let mut factor = None;
        for draw in 0..num {
            let one = |task: &Task| -> CliResult<Volume> {
                let images = sweeps.noise(options.seed, draw, task)?;
                // The noise of the samples is that whose images have the noise of the residuals.
                let factor = *factor.get_or_insert_with(|| noise / noise_of(&maps, &images));
                Ok(redrawn_po2(&maps, &fitter, &calibration, (&images, factor), task)?)
            };
            regions.add_draw(&with_bar(&format!("draw {} of {num}", draw + 1), one)??);
        }
    }
    let record = Provenance {
        algorithm,
        oximetry: Some(options.record(fitter.times_us(), &calibration, iterations)),
        ..record_of(options, &maps.po2, start)
    };
    write(&maps, &outputs, &record)?;
    if options.json {
        let figures = json!({ "calibration": calibration, "voxels": maps.counts, "regions": regions.to_json() });
        out!("{}", serde_json::to_string_pretty(&figures)?);
    } else {
        out!("{}", regions.table(calibration.text()).to_string().trim_end());
        print_voxels(&maps.counts);
        for (path, map) in outputs.iter().zip(maps.all()) {
            written(path, map.unit.label());
        }
    }
    if maps.counts.fitted == 0 {
        notices::print(&[Notice::warning(
            "no voxel has a rate: all values of the maps are NaN; check the times and their order",
        )]);
        return Ok(Done::Partial);
    }
    Ok(Done::Complete)
}

/// Prints the numbers of fitted and of masked voxels.
fn print_voxels(counts: &FitCounts) {
    let FitCounts { fitted, below_mask, not_finite, out_of_range, not_converged } = *counts;
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
}

/// Returns the record of a map without its making.
fn record_of(options: &OximetryOptions, map: &Volume, start: Start) -> Provenance {
    let device = DeviceRecord { name: "CPU".to_owned(), threads: rayon::current_num_threads() };
    let image = ImageRecord::new(&map.grid, map.unit);
    Provenance::new(ImageKind::Oximetry, options.data(), image, device, start.times())
}

/// Writes the maps with their records.
fn write(maps: &OxygenMaps, outputs: &[PathBuf], record: &Provenance) -> CliResult {
    for (path, map) in outputs.iter().zip(maps.all()) {
        notices::print(record.clone().of_image(map).beside([path.as_path()]).write_image(path, map)?.as_slice());
    }
    Ok(())
}
