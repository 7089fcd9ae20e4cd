//! What several benchmarks need.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use crate::algebra::Simd;
use crate::bench::BenchReport;
use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::known::known_scanner;
use crate::cli::shared::progress::with_bar;
use crate::data::{Counts, Study};
use crate::geometry::Grid;
use crate::io::IoError;
use crate::phantom;
use crate::phantom::{Noise, SimulationOptions};
use crate::plan::{DeviceChoice, available_devices};
use crate::scanner::{ScanGeometry, Scanner};
use crate::text::counted;

/// A scanner of the catalogue.
pub fn scanner_of(name: &str) -> CliResult<&'static Scanner> {
    known_scanner(name).map_err(CliError::arguments)
}

/// A scanner's geometry and an image that spans its field of view: its grid and the radius.
pub fn scan(name: &str, size: [usize; 3]) -> CliResult<(&'static Scanner, Grid, f64)> {
    let scanner = scanner_of(name)?;
    let (geometry, [nx, ny, nz]) = (&scanner.geometry, size);
    let fov_radius_mm = geometry.fov_radius_mm;
    // 2·rings − 1 planes fill the axial field of view between the outer rings' middles.
    let dz = 0.5 * geometry.ring_spacing_mm * (2 * geometry.num_rings - 1) as f64 / nz.max(1) as f64;
    let grid = Grid::centred(size, [2.0 * fov_radius_mm / nx as f64, 2.0 * fov_radius_mm / ny as f64, dz])?;
    Ok((scanner, grid, fov_radius_mm))
}

/// The image-quality phantom, without noise.
pub fn nema_study(geometry: &ScanGeometry) -> CliResult<Study<Counts>> {
    let phantom = phantom::by_name("nema-iq-2001", geometry)?;
    let options = SimulationOptions { noise: Noise::None, ..SimulationOptions::default() };
    Ok(with_bar("simulating", |task| phantom::simulate(&phantom, Arc::new(geometry.clone()), &options, task))??)
}

/// The processor with these instructions, and a CUDA device, as the rows of a benchmark name them.
pub fn device_names(simd: Simd, cuda: Option<usize>) -> String {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = format!("CPU, {}, {}", counted(all, "thread"), simd.name());
    let of_number = |number| available_devices().into_iter().find(|device| device.choice == DeviceChoice::Cuda(number));
    match cuda.and_then(of_number) {
        Some(device) => format!("{cpu}; {}", device.name),
        None => cpu,
    }
}

/// Writes the rows of a benchmark.
pub fn write_json<R: Serialize>(path: Option<&Path>, device: String, rows: Vec<R>) -> CliResult {
    let Some(path) = path else { return Ok(()) };
    std::fs::write(path, serde_json::to_vec_pretty(&BenchReport { device, rows })?).map_err(IoError::write(path))?;
    Ok(())
}
