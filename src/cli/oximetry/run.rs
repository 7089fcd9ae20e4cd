//! `tomoscope oximetry STUDY -o OUT`, or `IMAGE… --delays-us T,… --calibration NAME -o OUT`: relaxation rates and oxygen pressures.

use std::path::PathBuf;

use serde_json::json;

use super::checks::{Checks, print_misfit, print_negative};
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
use crate::plan::{
    DeviceRecord, ExplainedRecord, ImageKind, ImageRecord, OximetryRecord, OxygenDraws, Provenance, Start, choose_device,
};

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
    let acquisitions = if options.are_sweeps()? { Some(sweeps::read(options, &fitter)?) } else { None };
    let reconstructed = match &acquisitions {
        Some(acquisitions) => with_bar("reconstructing", |task| sweeps::images(acquisitions, calibration.rate, task))??,
        None => Reconstructed { images: options.images(&fitter)?, ..Reconstructed::default() },
    };
    let is_far = reconstructed.print_doubts(options, fitter.times_us());
    let Reconstructed { images, record: algorithm, iterations, explained, .. } = reconstructed;
    let views: Vec<&Volume> = images.iter().collect();
    let (mut platform, of_device) = choose_device(options.device)?;
    notices::print(&of_device);
    let mut device = platform.voxel_fits()?;
    let fraction = options.mask_fraction;
    let mut maps = with_bar("fitting", |task| oxygen_maps(device.as_mut(), &views, &fitter, calibration, fraction, task))??;
    print_negative(&images, &fitter);
    let of_magnitudes = (options.magnitude, fraction);
    print_misfit(&maps, (acquisitions.as_ref(), &images), (&fitter, calibration), of_magnitudes)?;
    let checks = Checks::of(acquisitions.as_ref(), (&options.inputs, &views), &maps, &fitter);
    checks.print_doubts();
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
    if fitter.degrees_of_freedom() == 0 {
        let num = fitter.times_us().len();
        notices::print(&[Notice::warning(format!(
            "{num} times for {num} unknowns: every image is fitted exactly, and nothing checks the model, the order of the times, the signs and the \
             gains; add an image at another time"
        ))]);
    }
    let record = Provenance {
        algorithm,
        oximetry: Some(OximetryRecord {
            iterations,
            explained: explained.iter().map(|part| part.map(ExplainedRecord::from).unwrap_or_default()).collect(),
            draws,
            chi_square: checks.chi_square,
            noise_trend: checks.noise_trend,
            ..options.record(fitter.times_us(), calibration)
        }),
        ..record_of(options, &maps.po2, device.device(), start)
    };
    write(&maps, &outputs, &record)?;
    if options.json {
        let explained: Vec<ExplainedRecord> = explained.iter().flatten().map(|part| ExplainedRecord::from(*part)).collect();
        let figures = json!({
            "calibration": calibration,
            "voxels": maps.counts,
            "misfits": maps.misfits,
            "chi_square": checks.chi_square,
            "noise_trend": checks.noise_trend,
            "explained": explained,
            "regions": regions.to_json(),
        });
        out!("{}", serde_json::to_string_pretty(&figures)?);
    } else {
        out!("{}", regions.table(calibration.text()).to_string().trim_end());
        print_fits(&maps.counts, NO_RATE);
        checks.lines().iter().for_each(|line| out!("{line}"));
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
    Ok(if is_far { Done::Partial } else { Done::Complete })
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
