//! `tomoscope reproduce PAPER`: a paper's tables, measured again.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{CliResult, options};
use crate::reproduce::belzunce_2012::{self, NsrReading, Readings, Settings, Stage};
use crate::session::DeviceChoice;

/// Options of `tomoscope reproduce`.
#[derive(Args)]
pub struct ReproduceOptions {
    #[command(subcommand)]
    paper: Paper,
}

#[derive(Subcommand)]
enum Paper {
    /// Belzunce et al. 2012, Open Med Imaging J 6:108: MLEM on GPUs with and without atomic additions.
    #[command(name = "belzunce-2012")]
    Belzunce2012(BelzunceOptions),
}

#[derive(Args)]
struct BelzunceOptions {
    /// Where the GPU's columns are measured: auto, cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto", value_parser = options::device)]
    device: DeviceChoice,

    /// A small scanner and small images: less than a minute, for a look at the tables.
    #[arg(long)]
    quick: bool,

    /// Stages to run, separated by commas: limits, times, iq, iq-noisy, cylinder, sizes, voxels, brain; by default all.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    stage: Vec<Stage>,

    /// Diameter of a sphere's region relative to the sphere's: 0.4 ("80 % of the sphere radius"), 0.8 or 1.
    #[arg(long, default_value_t = Readings::default().roi_fraction, value_name = "F", value_parser = fraction)]
    roi_fraction: f64,

    /// Noise of the background's eight circles: pooled (of all voxels together) or averaged.
    #[arg(long, default_value_t = Readings::default().nsr)]
    nsr: NsrReading,

    /// Distance of the background's circles from the slice of the spheres, mm.
    #[arg(long, default_value_t = Readings::default().nsr_slice_mm, value_name = "Z", allow_negative_numbers = true)]
    nsr_slice_mm: f64,

    /// Begin nothing that would probably end later than this; the same command goes on from there. Seconds.
    #[arg(long, value_name = "S")]
    budget_secs: Option<f64>,

    /// Folder for measurements, tables and figures; what it already holds is not measured again. Default: the paper's
    /// name, with -quick for --quick.
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

fn fraction(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|part: &f64| *part > 0.0 && *part <= 1.0)
        .ok_or_else(|| format!("'{text}' is not a fraction above 0 and up to 1"))
}

/// Runs `tomoscope reproduce`.
pub fn run(options: ReproduceOptions) -> CliResult {
    let Paper::Belzunce2012(options) = options.paper;
    let readings = Readings { roi_fraction: options.roi_fraction, nsr: options.nsr, nsr_slice_mm: options.nsr_slice_mm };
    let folder = options.output.unwrap_or_else(|| format!("belzunce-2012{}", if options.quick { "-quick" } else { "" }).into());
    let stages = if options.stage.is_empty() { Stage::ALL.to_vec() } else { options.stage };
    let settings =
        Settings { device: options.device, quick: options.quick, stages, readings, budget_secs: options.budget_secs, folder };
    let text = belzunce_2012::reproduce(&settings, &mut |line| eprintln!("{line}"))?;
    print!("{text}");
    Ok(())
}
