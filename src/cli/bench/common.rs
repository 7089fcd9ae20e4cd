//! Options and data that several benchmarks share.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use crate::algebra::Simd;
use crate::bench::{BenchGpu, BenchReport};
use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::known::{gpus_to_measure, known_scanner};
use crate::cli::shared::options::{count, one_device};
use crate::cli::shared::outputs::Files;
use crate::cli::shared::progress::with_bar;
use crate::data::TofBins;
use crate::data::{Counts, Study};
use crate::geometry::Grid;
use crate::io::IoError;
use crate::phantom;
use crate::phantom::{Noise, SimulationOptions};
use crate::plan::{DeviceChoice, available_devices};
use crate::scanner::{ScanGeometry, Scanner};
use crate::session::num_cores;
use crate::text::counted;

/// Returns a scanner of the catalogue.
pub fn scanner_of(name: &str) -> CliResult<&'static Scanner> {
    known_scanner(name).map_err(CliError::arguments)
}

/// Returns a scanner, the grid of an image that spans its field of view, and the radius.
pub fn scan(name: &str, size: [usize; 3]) -> CliResult<(&'static Scanner, Grid, f64)> {
    let scanner = scanner_of(name)?;
    let (geometry, [nx, ny, nz]) = (&scanner.geometry, size);
    let fov_radius_mm = geometry.fov_radius_mm;
    // 2·rings − 1 planes fill the axial field of view between the outer rings' middles.
    let dz = 0.5 * geometry.ring_spacing_mm * (2 * geometry.num_rings - 1) as f64 / nz.max(1) as f64;
    let grid = Grid::centred(size, [2.0 * fov_radius_mm / nx as f64, 2.0 * fov_radius_mm / ny as f64, dz])?;
    Ok((scanner, grid, fov_radius_mm))
}

/// Simulates the image-quality phantom, without noise.
pub fn nema_study(geometry: &ScanGeometry, tof: Option<TofBins>) -> CliResult<Study<Counts>> {
    let phantom = phantom::by_name("nema-iq-2001", geometry)?;
    let options = SimulationOptions { noise: Noise::None, tof, ..SimulationOptions::default() };
    Ok(with_bar("simulating", |task| phantom::simulate(&phantom, Arc::new(geometry.clone()), &options, task))??)
}

/// Returns the names of the CPU with these instructions and of the GPUs, as in the rows of a benchmark.
pub fn device_names(simd: Simd, gpus: &[BenchGpu]) -> String {
    let cpu = format!("CPU, {}, {}", counted(num_cores(), "thread"), simd.name());
    let choices = gpus.iter().map(|gpu| DeviceChoice::from(*gpu));
    let devices = if gpus.is_empty() { Vec::new() } else { available_devices() };
    let names = choices.filter_map(|choice| devices.iter().find(|device| device.choice == choice));
    names.fold(cpu, |names, device| format!("{names}; {}", device.name))
}

/// Returns the requested numbers of threads; by default one and all.
pub fn thread_counts(requested: &[u16]) -> Vec<usize> {
    match requested {
        [] if num_cores() > 1 => vec![1, num_cores()],
        [] => vec![1],
        requested => requested.iter().copied().map(usize::from).collect(),
    }
}

/// Options of benchmarks that compare the CPU with GPUs.
#[derive(Args)]
pub struct DeviceOptions {
    /// Device: auto (the CPU and the first CUDA device), cpu, cuda, cuda:N, gpu or gpu:N. Given more than once, one after the
    /// other.
    #[arg(long, default_value = "auto", value_parser = one_device)]
    device: Vec<DeviceChoice>,

    /// Numbers of threads, separated by commas (default: one and all).
    #[arg(long, value_delimiter = ',', value_parser = count::<u16>)]
    threads: Vec<u16>,
}

impl DeviceOptions {
    /// Returns the numbers of threads to measure on the CPU; none if only GPUs are requested.
    pub fn threads(&self) -> Vec<usize> {
        let has_cpu = self.device.iter().any(|choice| matches!(choice, DeviceChoice::Auto | DeviceChoice::Cpu));
        if has_cpu { thread_counts(&self.threads) } else { Vec::new() }
    }

    pub fn gpus(&self) -> Vec<BenchGpu> {
        gpus_to_measure(&self.device)
    }
}

/// Options of a benchmark, with the file of its rows.
#[derive(Args)]
pub struct WithRows<O: Args> {
    #[command(flatten)]
    options: O,

    /// Write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl<O: Args> WithRows<O> {
    /// Runs a benchmark, which returns the device and its rows.
    pub fn run<R: Serialize>(self, bench: fn(O) -> CliResult<(String, Vec<R>)>) -> CliResult {
        Files::new().write_lines("--json", &self.json).check()?;
        let (device, rows) = bench(self.options)?;
        let Some(path) = &self.json else { return Ok(()) };
        Ok(std::fs::write(path, serde_json::to_vec_pretty(&BenchReport { device, rows })?).map_err(IoError::write(path))?)
    }
}
