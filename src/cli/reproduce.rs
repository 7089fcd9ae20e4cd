//! `tomoscope reproduce PAPER`: a paper's tables, measured again.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use strum::VariantArray as _;

use crate::cli::shared::console::remark;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::options::TalkOptions;
use crate::cli::shared::{console, options};
use crate::plan::DeviceChoice;
use crate::reproduce::belzunce_2012::{NsrReading, Readings};
use crate::reproduce::herraiz::{self, Paper as HerraizPaper};
use crate::reproduce::{belzunce_2012, cabello_2012, qiao_2015};

/// Options of `tomoscope reproduce`.
#[derive(Args)]
pub struct ReproduceOptions {
    #[command(subcommand)]
    paper: Paper,

    #[command(flatten)]
    talk: TalkOptions,
}

#[derive(Subcommand)]
enum Paper {
    /// Belzunce et al. 2012, Open Med Imaging J 6:108: MLEM on GPUs with and without atomic additions.
    #[command(name = "belzunce-2012")]
    Belzunce2012(BelzunceOptions),

    /// Qiao et al. 2015, J X-Ray Sci Technol 23(4): filtered backprojection for EPR imaging on a GPU.
    #[command(name = "qiao-2015")]
    Qiao2015(QiaoOptions),

    /// Cabello et al. 2012, Int J Biomed Imaging 452910: blobs and a stored Monte-Carlo matrix on a GPU (MADPET-II).
    #[command(name = "cabello-2012")]
    Cabello2012(CabelloOptions),

    /// Herraiz et al. 2011, Nucl Instrum Meth A: OSEM with Monte-Carlo tubes of response on GPUs (VrPET).
    #[command(name = "herraiz-2011")]
    Herraiz2011(HerraizOptions),

    /// Herraiz et al. 2010, its predecessor (one pair of parallel heads; settings of its times unknown).
    #[command(name = "herraiz-2010")]
    Herraiz2010(HerraizOptions),
}

/// Options for every paper.
#[derive(Args)]
struct CommonOptions {
    /// Device of the GPU columns: auto, cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto", value_parser = options::one_device)]
    device: DeviceChoice,

    /// Use small images and a small scanner; takes less than a minute.
    #[arg(long)]
    quick: bool,

    /// Time limit, seconds; a second call with the same options continues.
    #[arg(long, value_name = "S")]
    budget_secs: Option<f64>,

    /// Folder for measurements, tables and figures; existing measurements are not repeated.
    ///
    /// Default: the name of the paper, with -quick for --quick.
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

impl CommonOptions {
    fn folder(&self, paper: &str) -> PathBuf {
        let default = || format!("{paper}{}", if self.quick { "-quick" } else { "" }).into();
        self.output.clone().unwrap_or_else(default)
    }
}

#[derive(Args)]
struct BelzunceOptions {
    #[command(flatten)]
    common: CommonOptions,

    /// Stages to run, separated by commas: limits, times, iq, iq-noisy, cylinder, sizes, voxels, brain; by default all.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    stage: Vec<belzunce_2012::Item>,

    /// ROI diameter relative to the sphere diameter: 0.4 ("80 % of the sphere radius"), 0.8 or 1.
    #[arg(long, default_value_t = Readings::default().roi_fraction, value_name = "F", value_parser = fraction)]
    roi_fraction: f64,

    /// Background noise of the eight circles: pooled over all voxels, or averaged.
    #[arg(long, default_value_t = Readings::default().nsr)]
    nsr: NsrReading,

    /// Distance of the background's circles from the slice of the spheres, mm.
    #[arg(long, default_value_t = Readings::default().nsr_slice_mm, value_name = "Z", allow_negative_numbers = true)]
    nsr_slice_mm: f64,
}

#[derive(Args)]
struct QiaoOptions {
    #[command(flatten)]
    common: CommonOptions,

    /// Stages to run, separated by commas: limits, times, images; by default all.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    stage: Vec<qiao_2015::Item>,
}

#[derive(Args)]
struct CabelloOptions {
    #[command(flatten)]
    common: CommonOptions,

    /// Stages to run, separated by commas: matrix, times, rods, ellipsoid, mouse, cubic; by default all.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    stage: Vec<cabello_2012::Item>,

    /// Number of matrix elements to simulate for the blobs, instead of 704 million as in the paper.
    #[arg(long, value_name = "N", value_parser = options::count::<u64>)]
    elements: Option<u64>,
}

#[derive(Args)]
struct HerraizOptions {
    #[command(flatten)]
    common: CommonOptions,

    /// Stages to run, separated by commas: times, difference, rods, scanner, edge-rings; by default all.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    stage: Vec<herraiz::Item>,
}

fn fraction(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|part: &f64| *part > 0.0 && *part <= 1.0)
        .ok_or_else(|| format!("'{text}' is not a fraction above 0 and up to 1"))
}

/// Those that were asked for, or all.
fn or_all<S: Clone>(stages: Vec<S>, all: &[S]) -> Vec<S> {
    if stages.is_empty() { all.to_vec() } else { stages }
}

/// Runs `tomoscope reproduce`.
pub fn run(options: ReproduceOptions) -> CliResult {
    options.talk.apply();
    let say = &mut |line: &str| remark!("{line}");
    let text = match options.paper {
        Paper::Belzunce2012(options) => belzunce_2012::reproduce(&belzunce(options), say)?,
        Paper::Qiao2015(options) => qiao_2015::reproduce(&qiao(options), say)?,
        Paper::Cabello2012(options) => cabello_2012::reproduce(&cabello(options), say)?,
        Paper::Herraiz2011(options) => herraiz::reproduce(&herraiz(HerraizPaper::Nima2011, options), say)?,
        Paper::Herraiz2010(options) => herraiz::reproduce(&herraiz(HerraizPaper::Report2010, options), say)?,
    };
    console::print(format_args!("{text}"));
    Ok(())
}

fn belzunce(options: BelzunceOptions) -> belzunce_2012::Settings {
    let folder = options.common.folder("belzunce-2012");
    let CommonOptions { device, quick, budget_secs, .. } = options.common;
    let readings = Readings { roi_fraction: options.roi_fraction, nsr: options.nsr, nsr_slice_mm: options.nsr_slice_mm };
    let stages = or_all(options.stage, belzunce_2012::Item::VARIANTS);
    belzunce_2012::Settings { device, quick, stages, readings, budget_secs, folder }
}

fn qiao(options: QiaoOptions) -> qiao_2015::Settings {
    let folder = options.common.folder("qiao-2015");
    let CommonOptions { device, quick, budget_secs, .. } = options.common;
    let stages = or_all(options.stage, qiao_2015::Item::VARIANTS);
    qiao_2015::Settings { device, quick, stages, budget_secs, folder }
}

fn cabello(options: CabelloOptions) -> cabello_2012::Settings {
    let folder = options.common.folder("cabello-2012");
    let CommonOptions { device, quick, budget_secs, .. } = options.common;
    let stages = or_all(options.stage, cabello_2012::Item::VARIANTS);
    cabello_2012::Settings { device, quick, num_elements: options.elements, stages, budget_secs, folder }
}

fn herraiz(paper: HerraizPaper, options: HerraizOptions) -> herraiz::Settings {
    let folder = options.common.folder(paper.name());
    let CommonOptions { device, quick, budget_secs, .. } = options.common;
    let stages = or_all(options.stage, herraiz::Item::VARIANTS);
    herraiz::Settings { paper, device, quick, stages, budget_secs, folder }
}
