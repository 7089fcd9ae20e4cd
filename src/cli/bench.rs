//! `tomoscope bench`: how fast the program is, measured by itself.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::{CliResult, options};
use crate::bench::{BenchReport, ProjectorBench, ProjectorRow, bench_projector};
use crate::geometry::Grid;
use crate::operator::{Accumulation, Simd};
use crate::scanner;
use crate::session::{DeviceChoice, ProjectorChoice};

/// Options of `tomoscope bench`.
#[derive(Args)]
pub struct BenchOptions {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Forward projection and backprojection: every projector and accumulation, one thread and all.
    Projector(ProjectorOptions),
}

#[derive(Args)]
struct ProjectorOptions {
    /// Scanner of the catalogue.
    #[arg(long, default_value = "discovery-ste")]
    scanner: String,

    /// Image size in voxels; the image spans the scanner's field of view.
    #[arg(long, default_value = "256,256,47", value_name = "NX,NY,NZ", value_parser = options::triple::<usize, 3>)]
    image: [usize; 3],

    /// Where to measure: auto or cpu.
    #[arg(long, default_value = "auto", value_parser = options::device)]
    device: DeviceChoice,

    /// Numbers of threads, separated by commas; by default one and all.
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,

    /// Projector to measure: auto (both, for the ratio), per-lor or axial-runs.
    #[arg(long, default_value = "auto", value_parser = options::projector)]
    projector: ProjectorChoice,

    /// Ways to add, separated by commas; by default all.
    #[arg(long, value_delimiter = ',', default_value = "deterministic,atomic,non-atomic")]
    accumulation: Vec<Accumulation>,

    /// Also measure the fast projector with the other vector instructions of this processor.
    #[arg(long)]
    all_simd: bool,

    /// About how long to measure, seconds.
    #[arg(long, default_value_t = 120.0)]
    budget_secs: f64,

    /// Write the rows here as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs `tomoscope bench`.
pub fn run(options: BenchOptions) -> CliResult {
    match options.what {
        What::Projector(options) => run_projector(options),
    }
}

fn run_projector(options: ProjectorOptions) -> CliResult {
    if let DeviceChoice::Cuda(_) = options.device {
        return Err("there are no CUDA projectors to measure yet; use --device cpu".into());
    }
    let scanner = scanner::find(&options.scanner).ok_or_else(|| {
        let names: Vec<&str> = scanner::catalogue().iter().map(|s| s.name.as_str()).collect();
        format!("there is no scanner '{}'; known are {}", options.scanner, names.join(", "))
    })?;
    let geometry = Arc::new(scanner.geometry.clone());
    let [nx, ny, nz] = options.image;
    let fov_radius_mm = geometry.fov_radius_mm;
    // 2·rings − 1 planes fill the axial field of view between the outer rings' middles.
    let dz = 0.5 * geometry.ring_spacing_mm * (2 * geometry.num_rings - 1) as f64 / nz.max(1) as f64;
    let grid = Grid::centred(options.image, [2.0 * fov_radius_mm / nx as f64, 2.0 * fov_radius_mm / ny as f64, dz])?;
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = match options.threads {
        given if !given.is_empty() => given,
        _ if all > 1 => vec![1, all],
        _ => vec![1],
    };
    let simd = match options.projector {
        ProjectorChoice::PerLor => Vec::new(),
        _ if options.all_simd => Simd::available(),
        _ => vec![Simd::fastest()],
    };
    println!(
        "{}: {} LORs, image {nx} × {ny} × {nz}, one line per bin, field of view {fov_radius_mm} mm",
        scanner.title,
        geometry.num_bins()
    );
    print_header();
    let bench = ProjectorBench {
        geometry,
        grid,
        fov_radius_mm,
        threads,
        per_lor: options.projector != ProjectorChoice::AxialRuns,
        accumulations: options.accumulation,
        simd,
        budget_secs: options.budget_secs,
    };
    let rows = bench_projector(&bench, print_row)?;
    if let Some(path) = options.json {
        let report = BenchReport { device: format!("CPU, {all} threads, {}", Simd::detect().name()), rows };
        std::fs::write(&path, serde_json::to_vec_pretty(&report)?)
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    }
    Ok(())
}

fn print_header() {
    println!(
        "{:<24}{:<16}{:<15}{:>8}{:>12}{:>11}{:>10}{:>9}  views",
        "projector", "direction", "accumulation", "threads", "median s", "spread s", "MLOR/s", "ratio"
    );
}

fn print_row(row: &ProjectorRow) {
    println!(
        "{:<24}{:<16}{:<15}{:>8}{:>12.4}{:>11.4}{:>10.3}{:>9}  {}",
        row.projector,
        row.direction,
        row.accumulation.map_or("", |a| a.name()),
        row.threads,
        row.median_s,
        row.spread_s,
        row.lors_per_s * 1e-6,
        row.ratio_to_per_lor.map_or(String::from("–"), |ratio| format!("{ratio:.1}")),
        row.measured_views
    );
}
