//! A simulated scan of a phantom.

use std::sync::Arc;

use rayon::prelude::*;

use super::background::Background;
use super::object::{LineIntegrals, Part, Phantom};
use super::poisson::poisson;
use super::tof::{self, TofScan};
use super::trace::{Scratch, Tracer};
use crate::coded::coded;
use crate::data::{Counts, CountsError, Michelogram, MichelogramError, Study, TofBins};
use crate::geometry::{Grid, GridError};
use crate::named::named;
use crate::random;
use crate::scanner::{DetectorsError, ScanGeometry, ScanGeometryError};
use crate::task::{Stopped, Task};

named! {
    "a kind of noise";
    /// Noise of each bin.
    #[derive(Default)]
    pub enum Noise {
        /// The expected counts themselves.
        None,
        /// A Poisson-distributed number of that mean.
        #[default]
        Poisson,
    }
}

/// Settings of the scan of a phantom.
///
/// ```
/// use std::sync::Arc;
/// use tomoscope_engine::phantom::{self, Noise, SimulationOptions};
/// use tomoscope_engine::scanner;
/// use tomoscope_engine::task::Task;
///
/// let geometry = Arc::new(scanner::find("small").unwrap().geometry.clone());
/// let cylinder = phantom::by_name("cylinder", &geometry)?;
/// let options = SimulationOptions { counts: 1e5, noise: Noise::None, ..SimulationOptions::default() };
/// let study = phantom::simulate(&cylinder, geometry, &options, &Task::new())?;
/// assert!((study.measured.prompts.total() / 1e5 - 1.0).abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SimulationOptions {
    /// Expected true counts over all bins (after attenuation, without background).
    pub counts: f64,
    /// Noise of the measured counts.
    pub noise: Noise,
    /// Seed of the noise; the same seed gives the same counts, however many threads there are.
    pub seed: u64,
    /// True if the phantom attenuates; its factors then become the study's multiplicative sinogram.
    pub attenuation: bool,
    /// Share of the smooth background (scatter and randoms) in all expected counts, 0 … 1 (1 excluded); above 0 it
    /// becomes the study's additive sinogram.
    pub background_fraction: f64,
    /// Grid of the true image; `None` = the scanner's default grid.
    pub truth_grid: Option<Grid>,
    /// Bins of the time of flight; `None` = counts of whole lines.
    pub tof: Option<TofBins>,
}

impl Default for SimulationOptions {
    fn default() -> Self {
        Self {
            counts: 1e8,
            noise: Noise::Poisson,
            seed: 1,
            attenuation: false,
            background_fraction: 0.0,
            truth_grid: None,
            tof: None,
        }
    }
}

/// Reason why a scan could not be simulated.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum SimulationError {
    /// The counts are not a positive number.
    #[error("invalid number of counts {0}; expected a positive number")]
    Counts(f64),
    /// The background's share is impossible.
    #[error("invalid background fraction {0}; expected 0 to less than 1")]
    Background(f64),
    /// No line of response crosses activity.
    #[error("no line of response of {scanner} crosses any activity of the phantom '{phantom}'; choose a larger phantom")]
    NothingInView {
        /// The phantom.
        phantom: String,
        /// The scanner.
        scanner: String,
    },
    /// Invalid grid of the true image.
    #[error("true image: {0}")]
    Grid(#[from] GridError),
    /// The pairs of detectors have no bins.
    #[error(transparent)]
    Geometry(#[from] ScanGeometryError),
    /// Invalid detectors.
    #[error(transparent)]
    Detectors(#[from] DetectorsError),
    /// The parts do not fit together.
    #[error(transparent)]
    Data(#[from] MichelogramError),
    /// The parts do not fit together.
    #[error(transparent)]
    Corrections(#[from] CountsError),
    /// Stopped by the user.
    #[error("the simulation was {0}")]
    Stopped(#[from] Stopped),
}

coded!(SimulationError = "simulation"; Grid, Geometry, Detectors, Data, Corrections, Stopped);

/// Simulates a scan: exact line integrals of every bin, scaled to the counts asked for, with noise. The study carries
/// the truth, the phantom's ROIs and the corrections that it needs. `task` counts transaxial LORs, each of them twice.
///
/// # Errors
/// Options out of range, a phantom outside the field of view, stopped.
pub fn simulate(
    phantom: &Phantom,
    geometry: Arc<ScanGeometry>,
    options: &SimulationOptions,
    task: &Task,
) -> Result<Study<Counts>, SimulationError> {
    if !(options.counts.is_finite() && options.counts > 0.0) {
        return Err(SimulationError::Counts(options.counts));
    }
    if !(0.0..1.0).contains(&options.background_fraction) {
        return Err(SimulationError::Background(options.background_fraction));
    }
    let grid = options.truth_grid.clone().map_or_else(|| geometry.default_grid(), Ok)?;
    task.begin(2 * geometry.num_transaxial() as u64);
    let mut expected = expected(phantom, &geometry, options.attenuation, task)?;
    let total: f64 = expected.per_transaxial.iter().sum();
    if total <= 0.0 {
        return Err(SimulationError::NothingInView { phantom: phantom.title.clone(), scanner: geometry.scanner.clone() });
    }
    let scale = options.counts / total;
    let background = (options.background_fraction > 0.0).then(|| {
        let counts = options.counts * options.background_fraction / (1.0 - options.background_fraction);
        Background::new(&geometry, &expected.per_transaxial, counts)
    });
    let michelogram = |values: Vec<f32>| Michelogram::new(geometry.clone(), values);
    let (prompts, additive) = match &options.tof {
        None => {
            let additive = measure(&mut expected, &geometry, scale, background.as_ref(), options, task)?;
            (michelogram(expected.bins)?, additive.map(michelogram).transpose()?)
        }
        Some(bins) => {
            let seed = (options.noise == Noise::Poisson).then_some(options.seed);
            let scan = TofScan { phantom, geometry: &geometry, bins, scale, background: background.as_ref(), seed };
            let (values, additive) = tof::measured(&scan, &expected.bins, task)?;
            let by_tof = |values| Michelogram::with_tof(geometry.clone(), *bins, values);
            (by_tof(values)?, additive.map(by_tof).transpose()?)
        }
    };
    let truth = phantom.truth(&grid, scale, task)?;
    let counts = Counts::new(prompts).with_corrections(expected.factors.map(michelogram).transpose()?, additive)?;
    Ok(Study {
        truth: Some(Arc::new(truth)),
        rois: phantom.rois.clone(),
        notices: phantom.notices.clone(),
        ..Study::new(phantom.title.clone(), counts)
    })
}

/// Expected values at scale 1.
struct Expected {
    /// Trues of each bin.
    bins: Vec<f32>,
    /// Attenuation factor of each bin.
    factors: Option<Vec<f32>>,
    /// Trues of each transaxial LOR.
    per_transaxial: Vec<f64>,
}

/// Returns the expected trues and attenuation factors of every bin. The bins of LORs that miss the phantom are never touched.
fn expected(phantom: &Phantom, geometry: &ScanGeometry, attenuation: bool, task: &Task) -> Result<Expected, Stopped> {
    // Lowest parts without activity only attenuate.
    let idle = |part: &&Part| !attenuation && part.material.activity == 0.0;
    let num_idle = phantom.parts.iter().take_while(idle).count();
    let tracer = Tracer::new(&phantom.parts[num_idle..], geometry);
    let (num_planes, num_tangential) = (geometry.num_planes(), geometry.num_tangential);
    let mut bins = vec![0.0f32; geometry.num_bins()];
    let mut factors = attenuation.then(|| vec![0.0f32; geometry.num_bins()]);
    let one = |scratch: &mut Scratch, transaxial: usize, row: &mut [f32], factors: &mut [f32]| {
        task.check()?;
        let lor = geometry.transaxial_lor(transaxial / num_tangential, transaxial % num_tangential, 0, 1);
        let sum =
            if attenuation { attenuated_row(&tracer, lor, scratch, row, factors) } else { plain_row(&tracer, lor, scratch, row) };
        task.advance(1);
        Ok(sum)
    };
    let rows = bins.par_chunks_mut(num_planes).enumerate();
    let per_transaxial: Result<Vec<f64>, Stopped> = match &mut factors {
        Some(factors) => rows
            .zip(factors.par_chunks_mut(num_planes))
            .map_init(Scratch::default, |scratch, ((transaxial, row), factors)| one(scratch, transaxial, row, factors))
            .collect(),
        None => rows.map_init(Scratch::default, |scratch, (transaxial, row)| one(scratch, transaxial, row, &mut [])).collect(),
    };
    Ok(Expected { bins, factors, per_transaxial: per_transaxial? })
}

/// Writes the expected trues of one transaxial LOR and gives their sum.
fn plain_row(tracer: &Tracer, lor: crate::scanner::TransaxialLor, scratch: &mut Scratch, row: &mut [f32]) -> f64 {
    let mut values = row.iter_mut();
    let mut sum = 0.0;
    tracer.trace(lor, scratch, |LineIntegrals { activity_mm, .. }| {
        sum += activity_mm;
        if let Some(value) = values.next() {
            *value = activity_mm as f32;
        }
    });
    sum
}

/// Returns the same with attenuation, whose factors it writes as well.
fn attenuated_row(
    tracer: &Tracer,
    lor: crate::scanner::TransaxialLor,
    scratch: &mut Scratch,
    row: &mut [f32],
    factors: &mut [f32],
) -> f64 {
    let mut values = row.iter_mut().zip(factors.iter_mut());
    let mut sum = 0.0;
    // Planes of a segment mostly share their attenuation: no need to compute the same exponential again.
    let mut last = (0.0, 1.0);
    let hit = tracer.trace(lor, scratch, |LineIntegrals { activity_mm, attenuation }| {
        if attenuation != last.0 {
            last = (attenuation, (-attenuation).exp());
        }
        let trues = last.1 * activity_mm;
        sum += trues;
        if let Some((value, factor)) = values.next() {
            *value = trues as f32;
            *factor = last.1 as f32;
        }
    });
    if !hit {
        factors.fill(1.0);
    }
    sum
}

/// Turns expected trues at scale 1 into measured counts, and gives the expected background of each bin.
fn measure(
    expected: &mut Expected,
    geometry: &ScanGeometry,
    scale: f64,
    background: Option<&Background>,
    options: &SimulationOptions,
    task: &Task,
) -> Result<Option<Vec<f32>>, Stopped> {
    let num_planes = geometry.num_planes();
    let draw = |transaxial: usize, row: &mut [f32]| {
        if options.noise == Noise::Poisson {
            let mut random = random::stream(options.seed, transaxial as u64);
            row.iter_mut().filter(|value| **value > 0.0).for_each(|value| *value = poisson(f64::from(*value), &mut random));
        }
        task.advance(1);
    };
    let rows = expected.bins.par_chunks_mut(num_planes).enumerate();
    let Some(background) = background else {
        rows.zip(&expected.per_transaxial).try_for_each(|((transaxial, row), &trues)| {
            task.check()?;
            if trues > 0.0 {
                row.iter_mut().for_each(|value| *value = (scale * f64::from(*value)) as f32);
            }
            draw(transaxial, if trues > 0.0 { row } else { &mut [] });
            Ok(())
        })?;
        return Ok(None);
    };
    let mut additive = vec![0.0f32; geometry.num_bins()];
    rows.zip(additive.par_chunks_mut(num_planes)).try_for_each(|((transaxial, row), additive)| {
        task.check()?;
        for (plane, (value, additive)) in row.iter_mut().zip(additive).enumerate() {
            *additive = background.expected(transaxial, plane) as f32;
            *value = (scale * f64::from(*value) + f64::from(*additive)) as f32;
        }
        draw(transaxial, row);
        Ok(())
    })?;
    Ok(Some(additive))
}
