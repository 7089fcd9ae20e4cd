//! `tomoscope matrix --scanner NAME -o OUT.matrix`: simulates the system matrix of a ring of crystals.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::known::known_ring;
use crate::cli::shared::notices;
use crate::cli::shared::options::{TalkOptions, count, one_device, seed};
use crate::cli::shared::outputs::Files;
use crate::cli::shared::paths::file_of;
use crate::cli::shared::printed::{made_lines, text, written};
use crate::cli::shared::progress::with_bar;
use crate::data::BasisKind;
use crate::io::formats::Content;
use crate::io::saved_matrix;
use crate::plan::{DeviceChoice, DeviceResult, MatrixForecast, MatrixRecipe, SimulationBudget, forecast_matrix, make_matrix};
use crate::scanner::CrystalRing;
use crate::text::bytes;

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
    #[arg(short, long, value_name = "OUT", value_parser = file_of(Content::Matrix))]
    output: PathBuf,

    #[command(flatten)]
    talk: TalkOptions,
}

pub fn run(options: &MatrixOptions) -> CliResult {
    options.talk.apply();
    Files::new().write("-o", [&options.output]).check()?;
    let amount = options.elements.map_or(SimulationBudget::Histories(options.events), SimulationBudget::Elements);
    let recipe = MatrixRecipe::of(options.scanner, options.basis, amount, options.seed);
    let MatrixForecast { device, memory_bytes } = forecast_matrix(options.scanner, &recipe, options.device)?;
    let more = if options.elements.is_some() { "" } else { ", and 4 bytes for each element" };
    out!("needs about {} on {device}{more}", bytes(memory_bytes));
    let start = Instant::now();
    let made = with_bar("simulating", |task| make_matrix(options.scanner, &recipe, options.device, task))??;
    let (secs, DeviceResult { result: matrix, device, notices }) = (start.elapsed().as_secs_f64(), made);
    notices::print(&notices);
    saved_matrix::write_matrix(&options.output, &matrix)?;
    out!("matrix of {}", options.scanner.title);
    written(&options.output, text(&matrix));
    let num = matrix.elements.len();
    written(&saved_matrix::data_file(&options.output), format!("{num} elements, {}", bytes(4 * num as u64)));
    if let Some(made) = &matrix.made {
        made_lines(made).iter().for_each(|line| out!("{line}"));
    }
    out!("followed on {device} in {secs:.1} s");
    Ok(())
}
