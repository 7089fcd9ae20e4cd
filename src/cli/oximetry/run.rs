//! `tomoscope oximetry STUDY -o OUT`, or `IMAGE… --delays-us T,… --calibration NAME -o OUT`: relaxation rates and oxygen pressures.

use std::path::PathBuf;

use serde_json::json;

use super::options::OximetryOptions;
use super::regions::Regions;
use super::sweeps::{self, Reconstructed};
use crate::cli::shared::console::out;
use crate::cli::shared::error::{CliResult, Done};
use crate::cli::shared::notices;
use crate::cli::shared::outputs::Files;
use crate::cli::shared::oxygen::file_of_calibration;
use crate::cli::shared::printed::{print_fits, written};
use crate::cli::shared::progress::with_bar;
use crate::data::{Notice, Unit, Volume};
use crate::io::{check_image_unit, read_regions, rois};
use crate::measure::DeviationImage;
use crate::measure::oximetry::{NO_RATE, OxygenMaps, RateFitter, oxygen_maps};
use crate::plan::{DeviceRecord, ImageKind, ImageRecord, OximetryRecord, OxygenDraws, Provenance, Start, choose_device};

/// Warning of maps by total variation without redrawn noise.
const RESIDUALS_OF_VARIATION: &str =
    "the residuals of the fits overestimate the noise of total variation: add --repeats 20 for its standard deviation";

/// Fits, writes the maps and prints the figures.
pub fn run(given: &OximetryOptions) -> CliResult<Done> {
    given.talk.apply();
    let start = Start::now();
    let (options, calibration) = &given.resolved()?;
    let outputs = options.outputs(calibration.rate);
    let read = given.inputs.iter().chain(&options.inputs).chain(&options.rois);
    let of_calibration = options.calibration.as_deref().and_then(file_of_calibration);
    Files::new().read(read).read(&of_calibration).write("-o", &outputs).check()?;
    check_image_unit(&options.output, Unit::Torr, None)?;
    let fitter = RateFitter::new(calibration.rate, options.times_us(calibration)?)?;
    fitter.check_num_images(options.inputs.len())?;
    let rois = match &options.rois {
        Some(path) => notices::printed(read_regions(path, None)?),
        None => Vec::new(),
    };
    notices::print(rois::notice(&rois).as_slice());
    let acquisitions = if options.are_sweeps()? { Some(sweeps::read(options)?) } else { None };
    let Reconstructed { images, record: algorithm, iterations } = match &acquisitions {
        Some(acquisitions) => with_bar("reconstructing", |task| sweeps::images(acquisitions, task))??,
        None => Reconstructed { images: options.images()?, ..Reconstructed::default() },
    };
    let views: Vec<&Volume> = images.iter().collect();
    let (mut platform, of_device) = choose_device(options.device)?;
    notices::print(&of_device);
    let mut device = platform.voxel_fits()?;
    let fraction = options.mask_fraction;
    let mut maps = with_bar("fitting", |task| oxygen_maps(device.as_mut(), &views, &fitter, calibration, fraction, task))??;
    notices::print(maps.doubt().map(Notice::warning).as_slice());
    notices::print(rois::partly_outside(&rois, &maps.po2.grid).as_slice());
    let mut regions = Regions::new(&maps.po2, &rois);
    notices::print(regions.doubt().as_slice());
    let mut po2_sd = None;
    if let (Some(acquisitions), Some(num)) = (&acquisitions, options.repeats) {
        if let Some(mut draws) = OxygenDraws::new(acquisitions, &views, &maps, (&fitter, calibration), options.seed)? {
            let mut deviation = DeviationImage::new(maps.po2.grid.num_voxels());
            for draw in 0..num {
                let po2 = with_bar(&format!("draw {} of {num}", draw + 1), |task| draws.po2(draw, task))??;
                regions.add_draw(&po2);
                deviation.add(&po2);
            }
            if !acquisitions.is_linear() {
                let mut image = maps.po2.clone();
                deviation.write(&mut image);
                po2_sd = Some(image);
            }
        }
    } else if acquisitions.as_ref().is_some_and(|acquisitions| !acquisitions.is_linear()) {
        notices::print(&[Notice::warning(RESIDUALS_OF_VARIATION)]);
    }
    let draws = options.repeats.filter(|_| po2_sd.is_some());
    maps.po2_sd = po2_sd.or(maps.po2_sd);
    if maps.po2_sd.is_none() {
        let text = "no residuals to find the noise from: the standard deviation is not written; add an image at another time";
        notices::print(&[Notice::warning(text)]);
    }
    let record = Provenance {
        algorithm,
        oximetry: Some(OximetryRecord { iterations, draws, ..options.record(fitter.times_us(), calibration) }),
        ..record_of(options, &maps.po2, device.device(), start)
    };
    write(&maps, &outputs, &record)?;
    if options.json {
        let figures =
            json!({ "calibration": calibration, "voxels": maps.counts, "misfits": maps.misfits, "regions": regions.to_json() });
        out!("{}", serde_json::to_string_pretty(&figures)?);
    } else {
        out!("{}", regions.table(calibration.text()).to_string().trim_end());
        print_fits(&maps.counts, NO_RATE);
        for (path, map) in outputs.iter().zip(maps.all()) {
            written(path, map.unit.label());
        }
    }
    if maps.counts.are_mostly_missing() {
        notices::print(&[Notice::warning(
            "most voxels above the mask have no rate: check the times, their order and the calibration",
        )]);
    }
    if maps.counts.fitted == 0 {
        notices::print(&[Notice::warning(
            "no voxel has a rate: all values of the maps are NaN; check the times and their order",
        )]);
        return Ok(Done::Partial);
    }
    Ok(Done::Complete)
}

/// Returns the record of a map without its making.
fn record_of(options: &OximetryOptions, map: &Volume, device: String, start: Start) -> Provenance {
    let device = DeviceRecord { name: device, threads: rayon::current_num_threads() };
    let image = ImageRecord::new(&map.grid, map.unit);
    Provenance::new(ImageKind::Oximetry, options.data(), image, device, start.times())
}

fn write(maps: &OxygenMaps, outputs: &[PathBuf], record: &Provenance) -> CliResult {
    for (path, map) in outputs.iter().zip(maps.all()) {
        notices::print(record.clone().of_image(map).beside([path.as_path()]).write_image(path, map)?.as_slice());
    }
    Ok(())
}
