//! `tomoscope bench iteration`.

use std::sync::Arc;

use clap::Args;

use super::common::{nema_study, scan};
use crate::bench::{IterationRow, bench_iteration};
use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::options;
use crate::cli::shared::options::count;
use crate::data::{Psf, TofBins, tof_mm};
use crate::operator::Accumulation;
use crate::plan::{AlgorithmChoice, DeviceChoice, ProjectorChoice, Rays, RunSettings, default_settings};
use crate::report::{Column, Columns};
use crate::text::{bytes, counted};

/// Columns of a time of an iteration in milliseconds, with its explanation.
const ITERATION: Columns<3> = Columns([Column::words("", 16), Column::numbers("", 11), Column::words("", 0)]);

const MEMORY: Columns<2> = Columns([Column::words("", 20), Column::words("", 0)]);

#[derive(Args)]
pub struct IterationOptions {
    /// Scanner of the catalogue.
    #[arg(long, default_value = "discovery-ste")]
    pub scanner: String,

    /// Image size in voxels; the image spans the scanner's field of view.
    #[arg(long, default_value = "256,256,47", value_name = "NX,NY,NZ", value_parser = options::triple::<usize, 3>)]
    pub image: [usize; 3],

    /// Where to reconstruct: auto, cpu, cuda, cuda:N, gpu, gpu:N, or several GPUs together: cuda:N,M or cuda:all. Given more
    /// than once, one after the other; times are compared with the first.
    #[arg(long, default_value = "auto", value_parser = options::device)]
    pub device: Vec<DeviceChoice>,

    /// Projectors, separated by commas: axial-runs, per-lor.
    #[arg(long, value_delimiter = ',', default_value = "per-lor,axial-runs")]
    pub projector: Vec<ProjectorChoice>,

    /// Accumulation modes, separated by commas (default: all).
    #[arg(long, value_delimiter = ',', default_value = "atomic,deterministic,non-atomic")]
    pub accumulation: Vec<Accumulation>,

    /// Also measure with a resolution model: FWHM, mm, in one number or along x, y and z.
    #[arg(long, value_name = "FWHM")]
    pub psf_fwhm_mm: Option<Psf>,

    /// Also measure with time-of-flight bins that cover the image, a little narrower than this resolution (FWHM), ps.
    #[arg(long, value_name = "PS", value_parser = options::positive)]
    pub tof_ps: Option<f64>,

    /// Subsets; 1 is MLEM.
    #[arg(long, default_value_t = 1, value_parser = count::<usize>)]
    pub subsets: usize,

    /// Iterations of a run.
    #[arg(long, default_value_t = 40, value_parser = count::<usize>)]
    pub iterations: usize,
}

pub fn run(options: IterationOptions) -> CliResult<(String, Vec<IterationRow>)> {
    let (scanner, grid, fov_radius_mm) = scan(&options.scanner, options.image)?;
    let geometry = &scanner.geometry;
    let covering = |ps| TofBins::covering(TofBins::suitable_width_mm(tof_mm(ps)), tof_mm(ps), geometry);
    let bins = options.tof_ps.map(covering).transpose()?;
    let mut rows: Vec<IterationRow> = Vec::new();
    let ways: Vec<(ProjectorChoice, Accumulation)> =
        options.projector.iter().flat_map(|&projector| options.accumulation.iter().map(move |&way| (projector, way))).collect();
    let psfs: Vec<Option<Psf>> = std::iter::once(None).chain(options.psf_fwhm_mm.map(Some)).collect();
    for tof in std::iter::once(None).chain(bins.map(Some)) {
        let study = Arc::new(nema_study(geometry, tof)?);
        for (&(projector, accumulation), &device) in ways.iter().flat_map(|way| options.device.iter().map(move |d| (way, d))) {
            for psf in &psfs {
                let settings = RunSettings {
                    algorithm: if options.subsets > 1 { AlgorithmChoice::OSEM } else { AlgorithmChoice::MLEM },
                    num_iterations: options.iterations,
                    num_subsets: options.subsets,
                    grid: grid.clone(),
                    fov_radius_mm,
                    rays: Rays::Fixed { tangential: 1, axial: 1 },
                    psf: psf.clone(),
                    projector,
                    device,
                    accumulation: Some(accumulation),
                    ..default_settings(&study.measured)?
                };
                let row = bench_iteration(&study, &settings)?;
                print_row(&row, rows.first());
                rows.push(row);
            }
        }
    }
    Ok((rows.first().map(|row| row.device.clone()).unwrap_or_default(), rows))
}

fn print_row(row: &IterationRow, first: Option<&IterationRow>) {
    let psf = row.psf.as_ref().map_or(String::new(), |psf| format!(", resolution model {psf}"));
    let tof = row.tof.as_ref().map_or(String::new(), |bins| format!(", time of flight in {}", bins.text()));
    out!("{}, {}, {}{psf}{tof}", row.device, row.projector, row.accumulation);
    let fact = |name: &str, secs: f64, digits: usize, what: String| {
        out!("  {}", ITERATION.line([name.to_owned(), format!("{:.digits$}", 1e3 * secs), what]));
    };
    let ratio = first.map_or(String::new(), |first| format!(", {:.2} × the first", first.median_s / row.median_s));
    fact("iteration", row.median_s, 3, format!("± {:.3} ms{ratio}", 1e3 * row.spread_s));
    for (name, secs) in row.stages_s.iter().filter(|(_, secs)| *secs > 0.0) {
        fact(&format!("  {name}"), *secs, 3, format!("ms {:>5.1} %", 100.0 * secs / row.median_s));
    }
    let added = 100.0 * (row.viewed_median_s / row.median_s - 1.0);
    fact("viewed", row.viewed_median_s, 3, format!("± {:.3} ms, {added:+.1} %", 1e3 * row.viewed_spread_s));
    fact("cold start", row.cold_start_s, 1, "ms".to_owned());
    let iterations = counted(row.num_iterations, "iteration");
    fact(&iterations, row.run_s, 1, "ms from data to volume in host memory".to_owned());
    let used = row.used_bytes.map_or(String::new(), |used| format!(", {} taken on the device", bytes(used)));
    out!("  {}", MEMORY.line(["memory".to_owned(), format!("{} estimated{used}", bytes(row.estimated_bytes))]));
}
