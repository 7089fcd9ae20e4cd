//! `tomoscope bench penalty`.

use std::sync::Arc;

use clap::Args;

use super::common::{device_names, nema_study, scan};
use crate::algebra::Simd;
use crate::bench::{BenchGpu, PenaltyBench, PenaltyRow, bench_penalty};
use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::known::gpus_to_measure;
use crate::cli::shared::options;
use crate::cli::shared::options::{count, one_device, positive};
use crate::plan::{AlgorithmChoice, DeviceChoice, Rays, RunSettings, default_settings};
use crate::report::{Column, Columns};

const PENALTY: Columns<6> = Columns([
    Column::words("device", 8),
    Column::words("work", 16),
    Column::numbers("subsets", 8),
    Column::numbers("median ms", 12),
    Column::numbers("spread ms", 11),
    Column::numbers("ratio", 8),
]);

#[derive(Args)]
pub struct PenaltyOptions {
    /// Scanner of the catalogue.
    #[arg(long, default_value = "discovery-ste")]
    pub scanner: String,

    /// Image size in voxels; the image spans the scanner's field of view.
    #[arg(long, default_value = "256,256,47", value_name = "NX,NY,NZ", value_parser = options::triple::<usize, 3>)]
    pub image: [usize; 3],

    /// Device: auto (the CPU and the first CUDA device), cpu, cuda, cuda:N, gpu or gpu:N. Given more than once, one after the
    /// other.
    #[arg(long, default_value = "auto", value_parser = one_device)]
    pub device: Vec<DeviceChoice>,

    /// Subsets of OSEM and SVRG (default: those of SVRG for the scanner).
    #[arg(long, value_parser = count::<usize>)]
    pub subsets: Option<usize>,

    /// Timed iterations of MLEM and OSEM, and timed pairs of epochs of SVRG.
    #[arg(long, default_value_t = 5, value_parser = count::<usize>)]
    pub iterations: usize,

    /// Approximate measuring time of the gradient, seconds.
    #[arg(long, default_value_t = 5.0, value_parser = positive)]
    pub budget_secs: f64,
}

pub fn run(options: PenaltyOptions) -> CliResult<(String, Vec<PenaltyRow>)> {
    let (scanner, grid, fov_radius_mm) = scan(&options.scanner, options.image)?;
    let study = Arc::new(nema_study(&scanner.geometry, None)?);
    let rays = Rays::Fixed { tangential: 1, axial: 1 };
    let settings = RunSettings { grid, fov_radius_mm, rays, ..default_settings(&study.measured)? };
    let of_svrg = settings.subset_rule.map(|rule| rule.num_subsets_of(AlgorithmChoice::SVRG));
    let num_subsets = options.subsets.or(of_svrg).unwrap_or(1);
    let has_cpu = options.device.iter().any(|choice| matches!(choice, DeviceChoice::Auto | DeviceChoice::Cpu));
    let gpus = gpus_to_measure(&options.device);
    let devices: Vec<Option<BenchGpu>> = has_cpu.then_some(None).into_iter().chain(gpus.iter().copied().map(Some)).collect();
    let [nx, ny, nz] = options.image;
    out!("{}: {} LORs, image {nx} × {ny} × {nz}", scanner.title, scanner.geometry.num_bins());
    out!(
        "ratio: gradient / iteration of MLEM, epoch of SVRG / epoch of OSEM. An epoch of SVRG is the mean of two: one has the full gradient."
    );
    out!("{}", PENALTY.titles());
    let mut rows = Vec::new();
    for gpu in devices {
        let (num_iterations, budget_secs) = (options.iterations, options.budget_secs);
        let bench = PenaltyBench { settings: settings.clone(), gpu, num_subsets, num_iterations, budget_secs };
        rows.extend(bench_penalty(&study, &bench, print_row)?);
    }
    Ok((device_names(Simd::fastest(), &gpus), rows))
}

fn print_row(row: &PenaltyRow) {
    let PenaltyRow { device, work, num_subsets, median_s, spread_s, ratio } = row;
    let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.4}"));
    let [median, spread] = [median_s, spread_s].map(|secs| format!("{:.3}", 1e3 * secs));
    out!("{}", PENALTY.line([device.to_string(), (*work).to_owned(), num_subsets.to_string(), median, spread, ratio]));
}
