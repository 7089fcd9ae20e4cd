//! One reconstruction: its image, its times, and its loss by the race condition.

use std::time::{Duration, Instant};

use super::implementation::Implementation;
use super::plan::Image;
use crate::data::{Counts, Study};
use crate::plan::{AlgorithmChoice, Job, NO, Prepared, RACY_SENSITIVITY, Rays, RunSettings, Values, YES, prepare};
use crate::recon::{Stage, StepReport};
use crate::reproduce::prelude::*;

/// A measured reconstruction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Scan, and number of measured counts.
    pub scan: String,
    pub counts: f64,
    pub image: String,
    pub implementation: String,
    pub device: String,
    pub projector: String,
    /// Every `view_step`-th view was used; times are for all views.
    pub view_step: usize,
    /// Time from the data to the beginning of the first iteration.
    pub setup_s: f64,
    /// Time of the whole reconstruction.
    pub elapsed_s: f64,
    pub steps: Vec<Step>,
}

/// An iteration: times of its stages scaled to all views, s.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Step {
    pub forward_s: f64,
    pub ratio_s: f64,
    pub backprojection_s: f64,
    pub update_s: f64,
    /// Sensitivity image and measuring the race: not part of an iteration.
    pub sensitivity_s: f64,
    pub race_s: f64,
    pub race: Option<Race>,
}

/// Loss by a race condition; see [`crate::recon::RaceReport`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Race {
    pub lost: f64,
    pub lost_of_ones: f64,
    pub level: f64,
}

impl Step {
    fn new(report: &StepReport, view_step: usize) -> Self {
        let stages = &report.stages;
        let scaled = |time: Duration| time.as_secs_f64() * view_step as f64;
        Self {
            forward_s: scaled(stages[Stage::Forward]),
            ratio_s: scaled(stages[Stage::Ratio]),
            backprojection_s: scaled(stages[Stage::Backprojection]),
            update_s: stages[Stage::Update].as_secs_f64(),
            sensitivity_s: scaled(stages[Stage::Sensitivity]),
            race_s: stages[Stage::Race].as_secs_f64(),
            race: report.em.and_then(|em| em.race).map(|race| Race {
                lost: race.lost,
                lost_of_ones: race.lost_of_ones,
                level: race.level,
            }),
        }
    }

    pub fn iteration_s(&self) -> f64 {
        self.forward_s + self.ratio_s + self.backprojection_s + self.update_s
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub num_steps: usize,
    /// Uses every `view_step`-th view in each step.
    pub view_step: usize,
}

/// Returns the settings of a run: MLEM with one ray per LOR, as in the paper; or steps of its first subset.
fn run_settings(image: &Image, implementation: &Implementation, extent: Extent) -> Result<RunSettings, ReproduceError> {
    let algorithm = if extent.view_step > 1 { AlgorithmChoice::OSEM } else { AlgorithmChoice::MLEM };
    Ok(RunSettings {
        num_iterations: extent.num_steps,
        num_subsets: extent.view_step,
        fov_radius_mm: image.fov_radius_mm(),
        rays: Rays::Fixed { tangential: 1, axial: 1 },
        projector: implementation.projector,
        device: implementation.device,
        accumulation: Some(implementation.accumulation),
        parameters: Values::default().with_choice(&RACY_SENSITIVITY, if implementation.racy_sensitivity { YES } else { NO }),
        num_threads: implementation.num_threads,
        ..RunSettings::new(algorithm, image.grid()?)
    })
}

/// Reconstructs; `None` if the projector lacks this accumulation on this device.
pub fn reconstruct(
    scan: &str,
    study: &Arc<Study<Counts>>,
    image: &Image,
    implementation: &Implementation,
    extent: Extent,
) -> Result<Option<(Run, Volume)>, ReproduceError> {
    let begin = Instant::now();
    let settings = run_settings(image, implementation, extent)?;
    on_threads(implementation.num_threads, || {
        let task = Task::new();
        let job = Job::of(study, settings);
        let Prepared { mut algorithm, info, .. } = prepare(&job, &task)?;
        if !algorithm.accumulations().contains(&implementation.accumulation) {
            return Ok(None);
        }
        let setup_s = begin.elapsed().as_secs_f64();
        let mut steps = Vec::with_capacity(extent.num_steps);
        for _ in 0..extent.num_steps {
            steps.push(Step::new(&algorithm.step(&task)?, extent.view_step));
        }
        let mut volume = Volume::filled(job.grid().clone(), 0.0);
        algorithm.volume_into(&mut volume)?;
        let run = Run {
            scan: scan.into(),
            counts: study.measured.prompts.total(),
            image: image.name.into(),
            implementation: implementation.title(),
            device: info.device,
            projector: info.projector,
            view_step: extent.view_step,
            setup_s,
            elapsed_s: begin.elapsed().as_secs_f64(),
            steps,
        };
        Ok(Some((run, volume)))
    })
}
