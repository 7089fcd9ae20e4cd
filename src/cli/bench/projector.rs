//! `tomoscope bench projector`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::common::{device_names, scan, write_json};
use crate::algebra::Simd;
use crate::bench::{ProjectorBench, ProjectorRow, bench_projector};
use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::known::cuda_device;
use crate::cli::shared::options;
use crate::cli::shared::options::{count, positive};
use crate::operator::Accumulation;
use crate::plan::{DeviceChoice, ProjectorChoice};
use crate::report::{Column, Columns};

/// Columns of the projectors' times.
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

    /// Device: auto (the CPU and the first CUDA device), cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto", value_parser = options::one_device)]
    pub device: DeviceChoice,

    /// Numbers of threads, separated by commas (default: one and all).
    #[arg(long, value_delimiter = ',', value_parser = count::<usize>)]
    pub threads: Vec<usize>,

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

    /// Write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

pub fn run(options: ProjectorOptions) -> CliResult {
    let (scanner, grid, fov_radius_mm) = scan(&options.scanner, options.image)?;
    let [nx, ny, nz] = options.image;
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = match options.threads {
        _ if matches!(options.device, DeviceChoice::Cuda(_)) => Vec::new(),
        given if !given.is_empty() => given,
        _ if all > 1 => vec![1, all],
        _ => vec![1],
    };
    let cuda = cuda_device(options.device);
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
        threads,
        cuda,
        per_lor: options.projector != ProjectorChoice::AXIAL_RUNS,
        axial_runs: options.projector != ProjectorChoice::PER_LOR,
        accumulations: options.accumulation,
        simd: if options.all_simd { Simd::available() } else { vec![Simd::fastest()] },
        budget_secs: options.budget_secs,
    };
    let rows = bench_projector(&bench, print_row)?;
    write_json(options.json.as_deref(), device_names(Simd::detect(), cuda), rows)
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
