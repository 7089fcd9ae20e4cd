//! `tomoscope bench projector`.

use std::sync::Arc;

use clap::Args;

use super::common::{DeviceOptions, device_names, scan};
use crate::algebra::Simd;
use crate::bench::{ProjectorBench, ProjectorRow, bench_projector};
use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::options;
use crate::cli::shared::options::positive;
use crate::operator::Accumulation;
use crate::plan::ProjectorChoice;
use crate::report::{Column, Columns};

const PROJECTOR: Columns<11> = Columns([
    Column::words("device", 8),
    Column::words("projector", 26),
    Column::words("direction", 16),
    Column::words("accumulation", 15),
    Column::numbers("threads", 8),
    Column::numbers("median s", 12),
    Column::numbers("spread s", 11),
    Column::numbers("MLOR/s", 10),
    Column::numbers("Gvisits/s", 11),
    Column::numbers("ratio", 8),
    Column::words("views", 0),
]);

#[derive(Args)]
pub struct ProjectorOptions {
    /// Scanner of the catalogue.
    #[arg(long, default_value = "discovery-ste")]
    pub scanner: String,

    /// Image size in voxels; the image spans the scanner's field of view.
    #[arg(long, default_value = "256,256,47", value_name = "NX,NY,NZ", value_parser = options::triple::<usize, 3>)]
    pub image: [usize; 3],

    #[command(flatten)]
    devices: DeviceOptions,

    /// Projector to measure: auto (both, for the ratio), per-lor or axial-runs.
    #[arg(long, default_value = "auto")]
    pub projector: ProjectorChoice,

    /// Accumulation modes, separated by commas (default: all).
    #[arg(long, value_delimiter = ',', default_value = "deterministic,atomic,non-atomic")]
    pub accumulation: Vec<Accumulation>,

    /// Also measure the fast projector with the other vector instructions of this processor.
    #[arg(long)]
    pub all_simd: bool,

    /// Approximate measuring time, seconds.
    #[arg(long, default_value_t = 120.0, value_parser = positive)]
    pub budget_secs: f64,
}

pub fn run(options: ProjectorOptions) -> CliResult<(String, Vec<ProjectorRow>)> {
    let (scanner, grid, fov_radius_mm) = scan(&options.scanner, options.image)?;
    let [nx, ny, nz] = options.image;
    let gpus = options.devices.gpus();
    out!(
        "{}: {} LORs, image {nx} × {ny} × {nz}, one line per bin, field of view {fov_radius_mm} mm",
        scanner.title,
        scanner.geometry.num_bins()
    );
    out!("{}", PROJECTOR.titles());
    let bench = ProjectorBench {
        geometry: Arc::new(scanner.geometry.clone()),
        grid,
        fov_radius_mm,
        threads: options.devices.threads(),
        gpus: gpus.clone(),
        per_lor: options.projector != ProjectorChoice::AXIAL_RUNS,
        axial_runs: options.projector != ProjectorChoice::PER_LOR,
        accumulations: options.accumulation,
        simd: if options.all_simd { Simd::available() } else { vec![Simd::fastest()] },
        budget_secs: options.budget_secs,
    };
    let rows = bench_projector(&bench, print_row)?;
    Ok((device_names(Simd::detect(), &gpus), rows))
}

fn print_row(row: &ProjectorRow) {
    let cells = [
        row.device.to_string(),
        row.projector.clone(),
        row.direction.to_string(),
        row.accumulation.map_or(String::new(), |a| a.to_string()),
        row.threads.to_string(),
        format!("{:.5}", row.median_s),
        format!("{:.5}", row.spread_s),
        format!("{:.3}", row.lors_per_s * 1e-6),
        format!("{:.3}", row.voxel_visits_per_s * 1e-9),
        row.ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}")),
        row.measured_views.clone(),
    ];
    out!("{}", PROJECTOR.line(cells));
}
