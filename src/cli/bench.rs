//! `tomoscope bench`: how fast the program is, measured by itself.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::{CliResult, options};
use crate::bench::{BenchReport, ProjectorBench, bench_projector};
use crate::geometry::Grid;
use crate::operator::Simd;
use crate::scanner;

/// Options of `tomoscope bench`.
#[derive(Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Forward projection and backprojection: every projector and accumulation, one thread and all.
    Projector(ProjectorArgs),
}

#[derive(Args)]
struct ProjectorArgs {
    /// Scanner of the catalogue.
    #[arg(long, default_value = "discovery-ste")]
    scanner: String,

    /// Image size in voxels.
    #[arg(long, default_value = "256,256,47", value_name = "NX,NY,NZ", value_parser = options::triple::<usize, 3>)]
    image: [usize; 3],

    /// Numbers of threads; by default one and all.
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,

    /// Also measure the fast projector with lesser vector instructions.
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
pub fn run(args: BenchArgs) -> CliResult {
    match args.what {
        What::Projector(args) => run_projector(args),
    }
}

fn run_projector(args: ProjectorArgs) -> CliResult {
    let scanner = scanner::find(&args.scanner).ok_or_else(|| {
        let names: Vec<&str> = scanner::catalogue().iter().map(|s| s.name.as_str()).collect();
        format!("there is no scanner '{}'; known are {}", args.scanner, names.join(", "))
    })?;
    let geometry = Arc::new(scanner.geometry.clone());
    let [nx, ny, nz] = args.image;
    let radius = geometry.fov_radius_mm;
    let planes = 2 * geometry.num_rings - 1;
    let dz = 0.5 * geometry.ring_spacing_mm * planes as f64 / nz as f64;
    let grid = Grid::centred(args.image, [2.0 * radius / nx as f64, 2.0 * radius / ny as f64, dz])?;
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let mut threads = args.threads;
    if threads.is_empty() {
        threads = if all > 1 { vec![1, all] } else { vec![1] };
    }
    let simd = if args.all_simd { Simd::available() } else { vec![Simd::detect()] };
    println!("{}: {} LORs, image {nx} × {ny} × {nz}, one line per bin, field of view {radius} mm", scanner.title, geometry.num_bins());
    println!(
        "{:<24}{:<16}{:<15}{:>8}{:>12}{:>11}{:>10}{:>9}  views",
        "projector", "direction", "accumulation", "threads", "median s", "spread s", "MLOR/s", "ratio"
    );
    let bench = ProjectorBench { geometry, grid, fov_radius_mm: radius, threads, simd, budget_secs: args.budget_secs };
    let rows = bench_projector(&bench, |row| {
        println!(
            "{:<24}{:<16}{:<15}{:>8}{:>12.4}{:>11.4}{:>10.3}{:>9}  {}",
            row.projector,
            row.direction,
            row.accumulation.map_or("", |a| a.name()),
            row.threads,
            row.median_s,
            row.spread_s,
            row.lors_per_s * 1e-6,
            row.ratio_to_per_lor.map_or(String::from("1"), |ratio| format!("{ratio:.1}")),
            row.measured_views
        );
    })?;
    if let Some(path) = args.json {
        let report = BenchReport { device: format!("CPU, {all} threads, {}", Simd::detect().name()), rows };
        std::fs::write(&path, serde_json::to_vec_pretty(&report)?).map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    }
    Ok(())
}
