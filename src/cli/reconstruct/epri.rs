//! `tomoscope reconstruct SWEEP -o OUT`: what is asked of an EPRI sweep.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::options::{Algorithm, ReconstructOptions};
use crate::cli::shared::error::CliResult;
use crate::cli::shared::notices;
use crate::cli::shared::options::voxels;
use crate::data::Sweep;
use crate::geometry::Grid;
use crate::io::{SweepFollower, read_sweep_at_phase, read_volume};
use crate::operator::Interpolation;
use crate::plan::{Acquisition, Job, PlaneKernel, Stages, SweepSettings, default_sweep_settings, sweep_grid};
use crate::recon::{Baseline, Filter, FilterSettings};
use crate::scanner::epri::Order;

/// Options that only EPRI sweeps have.
#[derive(Args, Clone, Debug)]
pub struct EpriOptions {
    /// Filter: second-difference, three-point, five-point, rectangular, sinc, hamming or two-ramp.
    ///
    /// Default: three-point; continuous-wave data: rectangular.
    #[arg(long)]
    filter: Option<Filter>,

    /// Cut-off as a fraction of the Nyquist frequency, 0 to 1.
    ///
    /// sinc and hamming end at the cut-off; the others are truncated. Default: 1; continuous-wave data: 0.1.
    #[arg(long, value_name = "F", value_parser = cutoff)]
    cutoff: Option<f64>,

    /// Order of the polynomial baseline of continuous-wave projections: 0, 1, 2, 3 or none.
    ///
    /// It is fitted to the outer 5 % at each end and subtracted before the deconvolution. Default: 1; pulse data: none.
    #[arg(long, value_name = "ORDER")]
    baseline: Option<Baseline>,

    /// Interpolation between the samples of a filtered projection: nearest, linear or cubic.
    ///
    /// Default: linear.
    #[arg(long)]
    interpolation: Option<Interpolation>,

    /// Reference spectrum of continuous-wave data.
    ///
    /// Default: NAME-h in the folder of NAME-proj.
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,

    /// Phase correction of complex projections in degrees, or auto.
    ///
    /// auto: the phase with the minimum imaginary part and a positive absorption (default). A complex reference spectrum has
    /// its own phase.
    #[arg(long, value_name = "DEG", value_parser = phase)]
    phase: Option<PhaseChoice>,

    /// Implementation of single-stage backprojection: fast, or paper (double precision, in the order of Qiao et al. 2015).
    ///
    /// Default: fast.
    #[arg(long)]
    kernel: Option<PlaneKernel>,

    /// Order of the projections: as-acquired, or spaced (maximum angle to the previous ones).
    ///
    /// Default: as-acquired.
    #[arg(long)]
    order: Option<Order>,
}

/// A phase that was asked for, degrees; `None` = the data's own.
#[derive(Clone, Copy, Debug)]
struct PhaseChoice(Option<f64>);

fn phase(text: &str) -> Result<PhaseChoice, String> {
    if text == "auto" {
        return Ok(PhaseChoice(None));
    }
    let degrees = text.parse().ok().filter(|degrees: &f64| degrees.is_finite());
    degrees.map(|degrees| PhaseChoice(Some(degrees))).ok_or_else(|| format!("'{text}' is not a phase; use auto or degrees"))
}

fn cutoff(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part: &f64| *part > 0.0 && *part <= 1.0);
    part.ok_or_else(|| "expected a fraction above 0 and at most 1".to_owned())
}

impl EpriOptions {
    /// The file of the reference spectrum, where it is named.
    pub fn reference(&self) -> Option<&PathBuf> {
        self.reference.as_ref()
    }

    /// The name of the first of them that is given.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--filter", self.filter.is_some()),
            ("--cutoff", self.cutoff.is_some()),
            ("--baseline", self.baseline.is_some()),
            ("--interpolation", self.interpolation.is_some()),
            ("--reference", self.reference.is_some()),
            ("--phase", self.phase.is_some()),
            ("--kernel", self.kernel.is_some()),
            ("--order", self.order.is_some()),
        ];
        given.iter().find(|(_, is_given)| *is_given).map(|(name, _)| *name)
    }
}

/// The job that the options describe, the file to follow, and how many projections there should be, as far as it is known.
///
/// # Errors
/// A file that cannot be read, options that an EPRI sweep does not have.
pub fn job(options: &ReconstructOptions) -> CliResult<(Job, Option<SweepFollower>, Option<usize>)> {
    let reference = options.epri.reference.as_deref();
    let phase = options.epri.phase.and_then(|PhaseChoice(degrees)| degrees);
    let (study, follower) = if options.follow {
        let (study, mut follower) = SweepFollower::open(&options.input, reference)?;
        phase.map_or(Ok(()), |degrees| follower.set_phase(degrees))?;
        (study.map(Acquisition::growing), Some(follower))
    } else {
        (read_sweep_at_phase(&options.input, reference, phase)?.map(Acquisition::complete), None)
    };
    notices::print(&study.notices);
    let (settings, num_expected) =
        study.measured.look(|sweep| Ok::<_, crate::cli::CliError>((settings(options, sweep)?, sweep.num_expected)))?;
    Ok((Job::Sweep { study: Arc::new(study), settings: Box::new(settings) }, follower, num_expected))
}

/// What was asked for, and what suits the data.
fn settings(options: &ReconstructOptions, sweep: &Sweep) -> CliResult<SweepSettings> {
    let stages = match options.algorithm {
        Some(Algorithm::Fbp(stages)) => stages,
        _ => Stages::Single,
    };
    let (epri, base) = (&options.epri, default_sweep_settings(sweep)?);
    Ok(SweepSettings {
        stages,
        kernel: epri.kernel.unwrap_or(base.kernel),
        filter: FilterSettings {
            filter: epri.filter.unwrap_or(base.filter.filter),
            cutoff: epri.cutoff.or(base.filter.cutoff),
            baseline: epri.baseline.unwrap_or(base.filter.baseline),
            interpolation: epri.interpolation.unwrap_or(base.filter.interpolation),
        },
        order: epri.order.unwrap_or(base.order),
        block: base.block,
        grid: grid(options, sweep)?,
        device: options.projector.device,
        num_threads: options.projector.threads.map(usize::from),
    })
}

fn grid(options: &ReconstructOptions, sweep: &Sweep) -> CliResult<Grid> {
    match &options.image.like {
        Some(path) => {
            let (volume, found) = read_volume(path)?;
            notices::print(&found);
            Ok(volume.grid)
        }
        None => {
            let (size, voxel_mm) = voxels(options.image.image, options.image.voxel_mm, sweep.space.is_slice())?;
            Ok(sweep_grid(sweep, size, voxel_mm)?)
        }
    }
}
