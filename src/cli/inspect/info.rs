//! `tomoscope info FILE`: the content of a file, as text.

use std::path::{Path, PathBuf};

use clap::Args;

use super::info_image::grid_text;
use super::info_text::{Described, Lines, decimal, fact_lines};
use super::{info_image, info_json, info_list, info_segmentation};
use crate::cli::shared::console::out;
use crate::cli::shared::error::{CliError, CliResult, Failure};
use crate::cli::shared::list_options::ListArguments;
use crate::cli::shared::notices;
use crate::cli::shared::paths::check_file;
use crate::cli::shared::printed::{made_lines, shared_text, text};
use crate::data::{
    ContourThreshold, Counts, Notice, PairCounts, ResponseMatrix, Roi, RoiRole, RoiShape, Study, Sweep, SweepKind, TubeSet,
};
use crate::io::crystals::{Crystals, read_crystals};
use crate::io::foreign;
use crate::io::formats::{Access, Content, Format, endings};
use crate::io::oximetry::OximetryStudy;
use crate::io::{
    CorrectionFiles, FileKind, IoError, calibration, measurements, oximetry, provenance, read_oximetry_study, read_study,
    read_sweep, rois, saved_matrix, saved_pairs, saved_tubes, session_text,
};
use crate::plan::Provenance;
use crate::recon::field_warnings;
use crate::report::{Column, Columns};
use crate::scanner::{InPlane, ScanGeometry, Segment};
use crate::text::bytes;
use strum::IntoEnumIterator as _;

/// Columns of a fact: its name and value.
const FACT: Columns<2> = Columns([Column::words("", 23), Column::words("", 0)]);

/// Options of `tomoscope info`.
#[derive(Args)]
pub struct InfoOptions {
    /// File of any supported kind.
    ///
    /// Projection data ({read projections}), list-mode data ({read lists}), EPRI acquisition ({read acquisitions}), image
    /// ({read images}), tubes of response (.tubes), crystal-pair histogram (.pairs), system matrix (.matrix), crystals of a scanner
    /// (.crystals.toml), ROIs (.toml, .json), DICOM segmentation, session (.session) or measured values (.csv).
    file: PathBuf,

    #[command(flatten)]
    list_arguments: ListArguments,

    /// Print the figures as JSON, for scripts.
    #[arg(long)]
    json: bool,
}

pub fn run(options: &InfoOptions) -> CliResult {
    let path = options.file.as_path();
    let format = match Format::of_file(path) {
        // Earlier versions called the record of an image STEM.json.
        Some(format) if format.kind == FileKind::Rois && provenance::check(path).is_ok() => FileKind::Provenance.format(),
        format => format,
    };
    if !format.is_some_and(Format::is_folder) {
        check_file(path)?;
    }
    let Some(format) = format else { return Err(unknown_ending(path)) };
    let (lines, facts, notices): Described = match format.content {
        Content::Projections => {
            let Study { measured, notices, .. } = read_study(path, CorrectionFiles::default())?;
            described((measured, notices), projection_lines, info_json::projections)
        }
        Content::Image if format.is_folder() => info_image::read_dicom(path)?,
        Content::Image => info_image::read(path)?,
        Content::Sweep => {
            let mut study = read_sweep(path, None)?;
            study.notices.extend(field_warnings(&study.measured));
            (sweep_lines(&study.measured), info_json::sweep(&study), study.notices)
        }
        Content::ListMode => {
            let info = info_list::read(path, &options.list_arguments.list_options())?;
            (info.lines(), info.json(), info.notices)
        }
        Content::Tubes => described((saved_tubes::read_tubes(path)?, Vec::new()), tube_lines, info_json::tubes),
        Content::Pairs => described((saved_pairs::read_pairs(path)?, Vec::new()), pair_lines, info_json::pairs),
        Content::Matrix => described((saved_matrix::read_matrix(path)?, Vec::new()), matrix_lines, info_json::matrix),
        Content::Crystals => {
            let Crystals { detectors, .. } = read_crystals(path)?;
            (info_list::crystal_lines(&detectors), info_list::crystals_json(&detectors), Vec::new())
        }
        Content::Provenance if provenance::check(path).is_ok() => {
            let record: Provenance = serde_json::from_str(&std::fs::read_to_string(path)?).map_err(|error| {
                let text = format!("{} is not a provenance record of this version: {error}", path.display());
                CliError::failed(Failure::Input, text)
            })?;
            (record_lines(&record), serde_json::to_value(&record)?, Vec::new())
        }
        Content::Provenance => return Err(IoError::NotOurs(path.to_owned()).into()),
        Content::Segmentation => info_segmentation::read(path)?,
        Content::Calibration => {
            let factor = calibration::read_file(path)?;
            let facts = serde_json::json!({"kind": "calibration", "bq_per_ml": factor});
            (vec![("1 count/mm is", format!("{factor} Bq/mL"))], facts, Vec::new())
        }
        Content::Oximetry => {
            let OximetryStudy { title, calibration, acquisitions } = oximetry::read_file(path)?;
            let files: Vec<String> = acquisitions.iter().map(|(time, file)| format!("{time} µs: {}", file.display())).collect();
            let json = |(time_us, file): &(f64, PathBuf)| serde_json::json!({"time_us": time_us, "file": file});
            let acquisitions: Vec<serde_json::Value> = acquisitions.iter().map(json).collect();
            let facts = serde_json::json!({
                "kind": "oximetry", "title": title, "calibration": calibration, "acquisitions": acquisitions,
            });
            let lines = vec![("title", title), ("calibration", calibration.text()), ("acquisitions", files.join(", "))];
            // (The acquisitions are read, too: a missing or a strange one is an error.)
            (lines, facts, read_oximetry_study(path)?.notices)
        }
        Content::Rois => {
            let rois = rois::read_rois(path)?;
            (rois.iter().map(roi_line).collect(), info_json::rois(&rois), Vec::new())
        }
        Content::Measurements => {
            let rows = measurements::measurements(path)?.try_fold(0u64, |num, row| row.map(|_| num + 1))?;
            (vec![("rows", rows.to_string())], info_json::measurements(rows), Vec::new())
        }
        Content::Session => {
            let session: serde_json::Value = session_text::read(path)?;
            (session_lines(&session), session, Vec::new())
        }
    };
    if options.json {
        out!("{}", serde_json::to_string_pretty(&info_json::whole(path, facts, &notices))?);
        return Ok(());
    }
    out!("{}: {} ({})", path.display(), format.content.label(), format.name);
    for (name, value) in lines {
        out!("  {}", FACT.line([name.to_owned(), value]));
    }
    for notice in notices {
        out!("  {}", notices::line(&notice));
    }
    Ok(())
}

/// Describes a value that was read.
fn described<T>((value, notices): (T, Vec<Notice>), lines: fn(&T) -> Lines, json: fn(&T) -> serde_json::Value) -> Described {
    (lines(&value), json(&value), notices)
}

/// Returns the error of a file of no format.
fn unknown_ending(path: &Path) -> CliError {
    if let Some(refusal) = foreign(path) {
        return refusal.into();
    }
    let of = |content: Content| {
        let (read, write) = (endings(content, Access::Read), endings(content, Access::Write));
        format!("{} ({})", content.one(), if read.is_empty() { write } else { read })
    };
    let understood: Vec<String> = Content::iter().map(of).collect();
    let text = format!(
        "{}: unknown ending (supported: {}); for a data file with a header, name the header",
        path.display(),
        understood.join(", ")
    );
    CliError::failed(Failure::Input, text)
}

fn record_lines(record: &Provenance) -> Lines {
    let files = vec![("files", record.files.join(", ")), ("made", record.line()), ("data", record.data.title.clone())];
    files.into_iter().chain(record.settings_table()).chain([("started", record.times.started.clone())]).collect()
}

fn session_lines(session: &serde_json::Value) -> Lines {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("–").to_owned();
    let number = |name: &str| session[name].as_array().map_or(0, Vec::len).to_string();
    vec![
        ("study", text(&session["study"]["title"])),
        ("saved", text(&session["saved"])),
        ("runs", number("run")),
        ("regions", number("roi")),
    ]
}

fn projection_lines(counts: &Counts) -> Lines {
    let (data, g) = (&counts.prompts, counts.geometry().as_ref());
    let mut lines = vec![
        ("scanner", g.scanner.clone()),
        ("rings", format!("{} × {} mm = {:.2} mm axially", g.num_rings, g.ring_spacing_mm, g.axial_length_mm())),
        ("detectors per ring", g.num_detectors_per_ring.to_string()),
        (
            "radius R",
            format!(
                "{:.2} mm = {} mm to the crystals + {} mm depth",
                g.radius_mm(),
                g.inner_radius_mm,
                g.depth_of_interaction_mm
            ),
        ),
        ("segments", segments(g)),
        ("planes", g.num_planes().to_string()),
        ("views", format!("{} over 180°, the first at {:.3}°", g.num_views, g.phi_rad(0).to_degrees())),
        ("tangential positions", tangential(g)),
        ("bins", g.num_bins().to_string()),
        ("field of view", format!("radius {:.1} mm", g.fov_radius_mm)),
        ("total", decimal(data.total())),
    ];
    lines.extend(counts.tof_bins().map(|bins| ("time of flight", bins.text())));
    lines.push(("smallest, largest", range_text(data.counts.iter())));
    if let Ok(grid) = g.default_grid() {
        lines.push(("default image", grid_text(&grid)));
    }
    lines.extend(fact_lines(&counts.facts));
    lines
}

fn segments(g: &ScanGeometry) -> String {
    let ring_differences = |s: &Segment| match (s.min_ring_difference, s.max_ring_difference) {
        (min, max) if min == max => min.to_string(),
        (min, max) => format!("{min}…{max}"),
    };
    let ends = [g.segments.first(), g.segments.last()].map(|s| s.map_or(String::new(), ring_differences));
    let spanned = g.segments.iter().filter(|s| s.is_spanned()).count();
    let spans = match spanned {
        0 => "of one ring difference each".to_owned(),
        n => format!("{n} of them of several ring differences"),
    };
    format!("{}, ring differences {} to {}, {spans}", g.segments.len(), ends[0], ends[1])
}

fn tangential(g: &ScanGeometry) -> String {
    match g.in_plane {
        InPlane::ArcCorrected { bin_mm } => format!("{} of {bin_mm:.5} mm (arc-corrected)", g.num_tangential),
        InPlane::Heads { bin_mm } => format!("{} of {bin_mm:.5} mm (arc-corrected, rotating heads)", g.num_tangential),
        InPlane::Detectors | InPlane::DetectorPairs => {
            format!("{} at the detectors, {:.5} mm apart in the middle (not arc-corrected)", g.num_tangential, g.central_bin_mm())
        }
    }
}

fn tube_lines(tubes: &TubeSet) -> Lines {
    let sampling = &tubes.sampling;
    let times = |values: &[String]| values.join(" × ");
    let mut lines = vec![
        ("scanner", tubes.scanner.clone()),
        (
            "tubes",
            format!("{} distances from the axis × {} ring differences", sampling.num_radial, sampling.num_ring_differences),
        ),
        ("samples of each", format!("{} along, across and along the axis", times(&sampling.num.map(|n| n.to_string())))),
        ("samples' distance", format!("{} mm", times(&sampling.spacing_mm.map(|mm| format!("{mm:.3}"))))),
    ];
    if let Some(made) = &tubes.made {
        let isotope = made.isotope.as_deref().unwrap_or("none: positrons do not travel");
        let angle = if made.is_collinear { "exactly opposite photons" } else { "photons not exactly opposite" };
        lines.push(("simulated", format!("{} annihilations, seed {}", made.num_histories, made.seed)));
        lines.push(("physics", format!("isotope {isotope}; {angle}")));
        let (median, worst) = (made.median_error_percent, made.worst_tenth_error_percent);
        lines.push((
            "standard error",
            format!("{median:.1} % on a single tube's axis (median), a tenth of the tubes above {worst:.1} %"),
        ));
        lines.push(("outside", format!("{:.1} % of the coincidences have their decay outside their tube", made.outside_percent)));
        if let Some(shared) = &made.super_lors {
            lines.push(("shared", shared_text(shared)));
        }
    }
    lines
}

fn pair_lines(pairs: &PairCounts) -> Lines {
    let ring = &pairs.ring;
    vec![
        ("scanner", ring.title.clone()),
        ("crystals", format!("{} in {} modules and {} layers", ring.num_crystals(), ring.num_modules, ring.num_layers())),
        ("pairs", ring.num_lors().to_string()),
        ("total", decimal(pairs.total())),
        ("smallest, largest", range_text(pairs.counts.iter())),
    ]
}

fn matrix_lines(matrix: &ResponseMatrix) -> Lines {
    let mut lines = vec![
        ("scanner", matrix.scanner.clone()),
        ("image", text(matrix)),
        ("pairs of crystals", (matrix.first.len() - 1).to_string()),
        ("elements", format!("{}, {}", matrix.elements.len(), bytes(4 * matrix.elements.len() as u64))),
    ];
    if let Some(made) = &matrix.made {
        lines.push(("seed", made.seed.to_string()));
        lines.extend(made_lines(made).map(|line| ("simulated", line)));
    }
    lines
}

fn sweep_lines(sweep: &Sweep) -> Lines {
    let expected = match sweep.num_expected {
        Some(expected) if expected != sweep.num_complete() => format!(" of {expected}"),
        _ => String::new(),
    };
    let whole = if sweep.space.is_slice() { "π" } else { "2π" };
    let mut lines = vec![
        ("image", sweep.space.to_string()),
        ("projections", format!("{}{expected}", sweep.num_complete())),
        ("samples", format!("{} of {:.5} mm, t = 0 at {}", sweep.num_points, sweep.step_mm, sweep.centre)),
        ("sampled on both sides", format!("{:.2} mm", sweep.half_extent_mm())),
        ("samples span", format!("{:.2} mm, which the image spans unless asked otherwise", sweep.extent_mm())),
        ("weights", format!("{:.5} × {whole}", sweep.cover())),
    ];
    match &sweep.kind {
        SweepKind::Pulse => lines.push(("acquisition", "pulse (plane integrals)".to_owned())),
        SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm, reference } => {
            lines.push(("acquisition", "continuous wave (first-derivative spectra)".to_owned()));
            lines.push(("field", format!("{:.4} mT wide, {step_mt:.5} mT a sample", step_mt * (sweep.num_points - 1) as f64)));
            lines.push((
                "gradient",
                format!("{} mT/mm ({} G/cm)", decimal(*gradient_mt_per_mm), decimal(100.0 * gradient_mt_per_mm)),
            ));
            lines.push((
                "reference spectrum",
                reference.as_ref().map_or("none".to_owned(), |r| format!("{} samples of {:.5} mT", r.values.len(), r.step_mt)),
            ));
        }
    }
    if let Some(mm) = sweep.facts.field_of_view_mm {
        lines.push(("field of view", format!("{} mm, as the acquisition was planned", decimal(mm))));
    }
    if let Some(secs) = sweep.secs_per_projection {
        lines.push(("time for a projection", format!("{} s", decimal(secs))));
    }
    lines.push(("smallest, largest", range_text(sweep.projections.iter().flat_map(|projection| projection.values.iter()))));
    lines
}

fn roi_line(roi: &Roi) -> (&'static str, String) {
    let mut size = match &roi.shape {
        RoiShape::Circle { radius_mm, .. } | RoiShape::Sphere { radius_mm } => format!("radius {radius_mm} mm"),
        RoiShape::Rectangle { size_mm: [width, height], .. } | RoiShape::Ellipse { size_mm: [width, height], .. } => {
            format!("{width} × {height} mm")
        }
        RoiShape::Ellipsoid { size_mm: [x, y, z], .. } | RoiShape::Box { size_mm: [x, y, z], .. } => {
            format!("{x} × {y} × {z} mm")
        }
        RoiShape::Polygon { points_mm, .. } => format!("{} corners", points_mm.len()),
        RoiShape::Isocontour(contour) => match contour.recipe.threshold {
            ContourThreshold::OfMaximum { percent, .. } => format!("{percent} % of the maximum"),
            ContourThreshold::Value(value) => format!("at least {value}"),
        },
        RoiShape::Voxels(voxels) => {
            let ml = voxels.num_inside() as f64 * voxels.grid().voxel_ml();
            format!("{} voxels, {} mL", voxels.num_inside(), decimal(ml))
        }
    };
    if roi.angle_deg != 0.0 {
        size += &format!(", turned by {}°", roi.angle_deg);
    }
    if let Some(thickness) = roi.thickness_mm {
        size += &format!(", {thickness} mm thick");
    }
    let role = match roi.role {
        RoiRole::None => "",
        RoiRole::Background => ", background",
        RoiRole::Hot => ", hot",
        RoiRole::Cold => ", cold",
    };
    let [x, y, z] = roi.centre_mm;
    (roi.shape.name(), format!("'{}', {size} about ({x}, {y}, {z}) mm{role}", roi.name))
}

fn range_text<'a>(values: impl Iterator<Item = &'a f32>) -> String {
    let [low, high] = info_json::range(values).unwrap_or_default();
    format!("{low}, {high}")
}
