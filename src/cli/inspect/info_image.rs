//! `tomoscope info` of images: the grid, the values, and the names and PET facts of a DICOM series.

use std::path::Path;

use serde_json::{Value, json};
use strum::VariantArray as _;

use super::info_json;
use super::info_text::{Described, Lines, decimal};
use crate::cli::shared::error::{CliError, CliResult, Failure};
use crate::data::{DecayReference, ImageChoice, ImageSeries, Notice, PetScan, SeriesNames, Sourced, Volume};
use crate::data::{SuvDefinition, suv_factor};
use crate::geometry::Grid;
use crate::io::{DicomProblem, read_images};

/// Describes the images of a file.
pub fn read(path: &Path) -> CliResult<Described> {
    described(path, read_images(path, ImageChoice::Number(1))?)
}

fn described(path: &Path, (series, notices): (ImageSeries, Vec<Notice>)) -> CliResult<Described> {
    let volume = &series.images.first().ok_or_else(|| no_image(path))?.volume;
    let (mut lines, mut facts) = (series_lines(&series), info_json::image(volume));
    lines.extend(image_lines(volume));
    if series.num_images > 1 {
        lines.push(("total and range", "of the first image".to_owned()));
        let first = &series.images[0];
        facts["frames"] =
            json!({"num": series.num_images, "start_secs": first.start_secs, "first_duration_secs": first.duration_secs});
    }
    if !series.names.series_uid.is_empty() {
        facts["series"] = json!({"modality": series.modality.name(), "names": series.names, "placement": series.placement});
    }
    if let Some(scan) = &series.pet {
        lines.extend(pet_lines(scan));
        facts["pet"] = pet_json(scan);
    }
    if let Some(kvp) = series.kvp {
        lines.push(("tube voltage", format!("{kvp} kV, KVP (0018,0060)")));
        facts["kvp"] = json!(kvp);
    }
    Ok((lines, facts, notices))
}

/// Describes a DICOM series, or the series of a folder.
pub fn read_dicom(path: &Path) -> CliResult<Described> {
    let series = match read_images(path, ImageChoice::Number(1)) {
        Ok(found) => return described(path, found),
        Err(error) => match error.problem() {
            Some(DicomProblem::SeveralSeries(series)) => series.clone(),
            _ => return Err(error.into()),
        },
    };
    let lines = series.iter().map(|series| ("series", format!("{}: {}", series.file.display(), series.line())));
    let facts = series.iter().map(|series| {
        let (names, file) = (&series.names, series.file.display().to_string());
        json!({"modality": series.modality.name(), "names": names, "file": file, "num_files": series.num_files})
    });
    Ok((lines.collect(), json!({"kind": "series", "series": facts.collect::<Vec<Value>>()}), Vec::new()))
}

fn no_image(path: &Path) -> CliError {
    CliError::failed(Failure::Input, format!("{} contains no image", path.display()))
}

/// Describes the names of a series and its images over time.
fn series_lines(series: &ImageSeries) -> Lines {
    let modality = if series.names.series_uid.is_empty() { "" } else { series.modality.name() };
    let mut lines = name_lines(modality, &series.names);
    if let Some(first) = series.images.first().filter(|_| series.num_images > 1) {
        let [start, end] = [first.start_secs, first.start_secs + first.duration_secs].map(decimal);
        let text = match first.duration_secs > 0.0 {
            true => format!("{}, the first from {start} to {end} s", series.num_images),
            false => format!("{}, times unknown", series.num_images),
        };
        lines.push(("images", text));
    }
    if let Some(placement) = &series.placement {
        lines.push(("axes", format!("of the image, turned by {}", placement.angle_text())));
    }
    lines
}

pub fn name_lines(modality: &str, names: &SeriesNames) -> Lines {
    let patient = [&names.patient_name, &names.patient_id].into_iter().filter(|text| !text.is_empty());
    let number = if names.number.is_empty() { String::new() } else { format!("{}: ", names.number) };
    let mut lines = vec![
        ("modality", modality.to_owned()),
        ("patient", patient.cloned().collect::<Vec<_>>().join(", ")),
        ("study", [&*names.study_date, &names.study].join(" ").trim().to_owned()),
        ("series", if names.series_uid.is_empty() { String::new() } else { format!("{number}{}", names.description) }),
        ("scanner", names.scanner.clone()),
    ];
    lines.retain(|(_, text)| !text.is_empty());
    lines
}

/// Describes grid and values.
fn image_lines(volume: &Volume) -> Lines {
    let grid = &volume.grid;
    let extent: Vec<String> =
        (0..3).map(|axis| format!("{:.2}…{:.2}", grid.extent_mm(axis)[0], grid.extent_mm(axis)[1])).collect();
    let (low, high) = volume.range();
    let size_mm = |axis: usize| grid.size[axis] as f64 * grid.voxel_mm[axis];
    vec![
        ("voxels", grid_text(grid)),
        ("size", format!("{:.2} × {:.2} × {:.2} mm", size_mm(0), size_mm(1), size_mm(2))),
        ("faces x, y, z", format!("{} mm", extent.join(", "))),
        ("values in", volume.unit.label().to_owned()),
        ("total", decimal(volume.sum())),
        ("smallest, largest", format!("{low}, {high}")),
    ]
}

pub fn grid_text(grid: &Grid) -> String {
    let ([nx, ny, nz], [dx, dy, dz]) = (grid.size, grid.voxel_mm);
    format!("{nx} × {ny} × {nz} of {dx:.4} × {dy:.4} × {dz:.4} mm")
}

/// Describes the facts of a PET scan, each with its source, and its uptake values.
fn pet_lines(scan: &PetScan) -> Lines {
    let fact =
        |fact: Option<(String, &String)>| fact.map_or_else(|| "missing".to_owned(), |(text, source)| format!("{text}, {source}"));
    let number = |value: &Option<Sourced<f64>>, factor: f64, unit: &str| {
        fact(value.as_ref().map(|value| (format!("{} {unit}", decimal(factor * value.value)), &value.source)))
    };
    let moment = |value: &Option<Sourced<jiff::civil::DateTime>>| {
        fact(value.as_ref().map(|value| (value.value.to_string(), &value.source)))
    };
    let decay = match scan.decay_reference {
        DecayReference::Start => "to the start of the scan",
        DecayReference::Administration => "to the injection",
        DecayReference::None => "none",
    };
    let mut lines = vec![
        ("tracer", scan.tracer.clone().unwrap_or_else(|| "missing".to_owned())),
        ("corrections", scan.corrections.join(", ")),
        ("decay correction", decay.to_owned()),
        ("scan start", moment(&scan.scan_start)),
        ("injection", moment(&scan.injection)),
        ("injected activity", number(&scan.dose_bq, 1e-6, "MBq")),
        ("half-life", number(&scan.half_life_secs, 1.0, "s")),
        ("weight", number(&scan.weight_kg, 1.0, "kg")),
        ("height", number(&scan.height_m, 1.0, "m")),
        ("sex", fact(scan.sex.as_ref().map(|sex| (format!("{:?}", sex.value).to_lowercase(), &sex.source)))),
    ];
    lines.push(match suv_factor(scan, SuvDefinition::BodyWeight) {
        Ok(factor) => ("SUVbw of 1", format!("{factor:e}")),
        Err(problem) => ("no SUV", problem.to_string()),
    });
    lines
}

/// Returns the facts of a PET scan, with the uptake values of 1 by definition; `null` where one has none.
fn pet_json(scan: &PetScan) -> Value {
    let factors =
        SuvDefinition::VARIANTS.iter().map(|&definition| (definition.to_string(), json!(suv_factor(scan, definition).ok())));
    json!({"scan": scan, "suv_of_1": factors.collect::<serde_json::Map<_, _>>()})
}
