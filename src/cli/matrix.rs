//! `tomoscope matrix --scanner NAME -o OUT.matrix`: simulates the stored matrix of a ring of crystals.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use super::console::out;
use super::options::{TalkOptions, count, one_device, seed};
use super::outputs::Files;
use super::paths::matrix_file;
use super::progress::with_bar;
use super::simulate::WRITTEN;
use super::{CliResult, notices};
use crate::data::{BasisKind, MatrixMade, ResponseMatrix};
use crate::io::saved_matrix;
use crate::plan::{DeviceChoice, Followed, MatrixAmount, MatrixForecast, MatrixRecipe, forecast_matrix, make_matrix};
use crate::scanner::{CrystalRing, find_ring, rings};
use crate::words::bytes;

/// Options of `tomoscope matrix`.
#[derive(Args, Clone, Debug)]
pub struct MatrixOptions {
    /// Ring of crystals (madpet2, madpet2-reduced).
    #[arg(long, value_name = "NAME", value_parser = known_ring)]
    scanner: &'static CrystalRing,

    /// Basis functions of the image: blobs, polar (voxels) or cubic (voxels).
    #[arg(long, value_name = "NAME", default_value = "blobs")]
    basis: BasisKind,

    /// Number of decays to simulate, in detectable directions.
    #[arg(long, value_name = "N", default_value = "8e6", value_parser = count::<u64>, conflicts_with = "elements")]
    events: u64,

    /// Simulate until the matrix has about this number of non-zero elements.
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    elements: Option<u64>,

    /// Seed of the simulation.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    seed: u64,

    /// Device: auto, cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto", value_parser = one_device)]
    device: DeviceChoice,

    /// Header of the system matrix to write (.matrix); the elements are written as OUT.matrix.u32.
    #[arg(short, long, value_name = "OUT", value_parser = matrix_file)]
    output: PathBuf,

    #[command(flatten)]
    talk: TalkOptions,
}

/// A ring by its name.
pub fn known_ring(name: &str) -> Result<&'static CrystalRing, String> {
    find_ring(name).ok_or_else(|| {
        let names: Vec<&str> = rings().iter().map(|ring| ring.name.as_str()).collect();
        format!("there is no ring of crystals '{name}'; known are {}", names.join(", "))
    })
}

/// Simulates and writes.
pub fn run(options: &MatrixOptions) -> CliResult {
    options.talk.apply();
    Files::new().write("-o", [&options.output]).check()?;
    let amount = options.elements.map_or(MatrixAmount::Histories(options.events), MatrixAmount::Elements);
    let recipe = MatrixRecipe::of(options.scanner, options.basis, amount, options.seed);
    let MatrixForecast { device, memory_bytes } = forecast_matrix(options.scanner, &recipe, options.device)?;
    let more = if options.elements.is_some() { "" } else { ", and 4 bytes for each element" };
    out!("needs about {} on {device}{more}", bytes(memory_bytes));
    let start = Instant::now();
    let made = with_bar("simulating", |task| make_matrix(options.scanner, &recipe, options.device, task))??;
    let (secs, Followed { result: matrix, device, notices }) = (start.elapsed().as_secs_f64(), made);
    notices::print(&notices);
    saved_matrix::write_matrix(&options.output, &matrix)?;
    out!("matrix of {}", options.scanner.title);
    let report = |path: &Path, what: &str| out!("  {}", WRITTEN.line([path.display().to_string(), what.to_owned()]));
    report(&options.output, &words(&matrix));
    let num = matrix.elements.len();
    report(&saved_matrix::data_file(&options.output), &format!("{num} elements, {}", bytes(4 * num as u64)));
    if let Some(made) = &matrix.made {
        made_lines(made).iter().for_each(|line| out!("{line}"));
    }
    out!("followed on {device} in {secs:.1} s");
    Ok(())
}

/// A matrix in a line.
pub fn words(matrix: &ResponseMatrix) -> String {
    let ResponseMatrix { num_basic, basis, .. } = matrix;
    format!("{num_basic} basic {}, {} mm apart", basis.kind.words(), basis.spacing_mm)
}

/// How a matrix was simulated.
pub fn made_lines(made: &MatrixMade) -> [String; 3] {
    let MatrixMade { num_histories, num_counted, num_decays, counted_percent, multiple_percent, effective_counts, .. } = made;
    [
        format!(
            "{num_histories} decays were followed, {num_counted} of them counted: as many as of {num_decays:.3e} in all of the object"
        ),
        format!(
            "counted: {counted_percent:.2} % of the decays in the object; rejected, as more than two crystals report: {multiple_percent:.2} %"
        ),
        format!("counts behind an element: {effective_counts:.1} (mean)"),
    ]
}
