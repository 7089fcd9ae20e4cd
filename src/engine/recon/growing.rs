//! MLEM or OSEM of list-mode data that are still being written.
//!
//! A step reconstructs all events that have arrived, from the beginning: its image is that of these events alone, as smooth as
//! any of as many events. (To continue from the image before would be quicker, and add up iterations until all is noise.)

use std::time::{Duration, Instant};

use super::{Algorithm, EmReport, ReconError, SettingsProblem, Stage, StageTimes, StepReport};
use crate::data::{RoiMask, RoiSums, Volume};
use crate::operator::Accumulation;
use crate::task::Task;

/// An image of fewer events shows nothing.
pub const MIN_EVENTS: usize = 1000;
/// Events are worth another image when they are more by this part, or when the last one is so old.
const WORTH_AN_IMAGE: usize = 16;
const OLD: Duration = Duration::from_secs(1);

/// Events that arrive, and what reconstructs them.
pub trait ArrivingEvents: Send {
    /// Returns the number of events that have arrived.
    fn num_arrived(&self) -> usize;

    /// MLEM or OSEM of all that have arrived, at its start image, and how many these are.
    ///
    /// # Errors
    /// Stopped, too little memory, device failure.
    fn algorithm(&mut self, task: &Task) -> Result<(Box<dyn Algorithm>, usize), ReconError>;
}

/// MLEM or OSEM of events that arrive.
pub struct GrowingEm<E> {
    events: E,
    /// Iterations of each image.
    num_iterations: usize,
    /// The newest image, and of how many events it is.
    image: Volume,
    num_events: usize,
    made: Instant,
    num_steps: usize,
    masks: Vec<RoiMask>,
    accumulation: Accumulation,
    accumulations: &'static [Accumulation],
}

impl<E: ArrivingEvents> GrowingEm<E> {
    /// `dark` = an image of zeros on the grid of the images.
    pub fn new(
        events: E,
        num_iterations: usize,
        dark: Volume,
        accumulation: Accumulation,
        accumulations: &'static [Accumulation],
    ) -> Self {
        let (image, num_events, made) = (dark, 0, Instant::now());
        Self { events, num_iterations, image, num_events, made, num_steps: 0, masks: Vec::new(), accumulation, accumulations }
    }
}

impl<E: ArrivingEvents> Algorithm for GrowingEm<E> {
    fn step(&mut self, task: &Task) -> Result<StepReport, ReconError> {
        let begin = Instant::now();
        let (mut algorithm, num_events) = self.events.algorithm(task)?;
        algorithm.set_accumulation(self.accumulation);
        let mut stages = StageTimes::default();
        stages[Stage::Sensitivity] = begin.elapsed();
        let mut last = None;
        while last.is_none_or(|report: StepReport| report.iteration < self.num_iterations) {
            let report = algorithm.step(task)?;
            stages += report.stages;
            last = Some(report);
        }
        let Some(last) = last else { return Err(SettingsProblem::NoIterations.into()) };
        algorithm.volume_into(&mut self.image)?;
        (self.num_events, self.made) = (num_events, Instant::now());
        self.num_steps += 1;
        // Likelihoods of different events do not compare.
        Ok(StepReport {
            iteration: 0,
            subiteration: self.num_steps,
            completes_iteration: false,
            num_events: Some(num_events),
            stages,
            em: last.em.map(|em| EmReport { log_likelihood: None, residual: None, ..em }),
            ascent: None,
            ..last
        })
    }

    fn num_subsets(&self) -> usize {
        1
    }

    fn is_waiting(&self) -> bool {
        let num_arrived = self.events.num_arrived();
        let is_more = num_arrived > self.num_events + self.num_events / WORTH_AN_IMAGE;
        let is_due = is_more || (num_arrived > self.num_events && self.made.elapsed() > OLD);
        num_arrived < MIN_EVENTS || !is_due
    }

    fn volume_into(&mut self, volume: &mut Volume) -> Result<(), ReconError> {
        volume.as_mut_slice().copy_from_slice(self.image.as_slice());
        Ok(())
    }

    fn set_rois(&mut self, masks: &[RoiMask]) -> Result<(), ReconError> {
        self.masks = masks.to_vec();
        Ok(())
    }

    fn roi_sums(&mut self) -> Result<Vec<RoiSums>, ReconError> {
        Ok(self.masks.iter().map(|mask| mask.sums(self.image.as_slice())).collect())
    }

    fn set_accumulation(&mut self, accumulation: Accumulation) {
        if self.accumulations.contains(&accumulation) {
            self.accumulation = accumulation;
        }
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.accumulations
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::geometry::Grid;

    /// Two subsets; each adds as much to all voxels as there are events.
    struct Adding {
        value: f32,
        num_events: usize,
        num_steps: usize,
    }

    impl Algorithm for Adding {
        fn step(&mut self, task: &Task) -> Result<StepReport, ReconError> {
            task.check().map_err(crate::operator::OperatorError::from)?;
            self.value += self.num_events as f32;
            self.num_steps += 1;
            Ok(StepReport {
                iteration: self.num_steps / 2,
                subiteration: self.num_steps,
                subset: self.num_steps % 2,
                completes_iteration: self.num_steps.is_multiple_of(2),
                num_events: None,
                stages: StageTimes::default(),
                ascent: None,
                em: Some(EmReport {
                    log_likelihood: Some(1.0),
                    residual: None,
                    num_unexplained_bins: 0,
                    num_limited_bins: 0,
                    explained: None,
                    accumulation: Accumulation::Atomic,
                    race: None,
                }),
            })
        }

        fn num_subsets(&self) -> usize {
            2
        }

        fn volume_into(&mut self, volume: &mut Volume) -> Result<(), ReconError> {
            volume.as_mut_slice().fill(self.value);
            Ok(())
        }

        fn set_rois(&mut self, _: &[RoiMask]) -> Result<(), ReconError> {
            Ok(())
        }

        fn roi_sums(&mut self) -> Result<Vec<RoiSums>, ReconError> {
            Ok(Vec::new())
        }

        fn set_accumulation(&mut self, _: Accumulation) {}

        fn accumulations(&self) -> &'static [Accumulation] {
            &[]
        }
    }

    #[derive(Clone, Default)]
    struct Counted(Arc<AtomicUsize>);

    impl ArrivingEvents for Counted {
        fn num_arrived(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }

        fn algorithm(&mut self, _: &Task) -> Result<(Box<dyn Algorithm>, usize), ReconError> {
            let num_events = self.num_arrived();
            Ok((Box::new(Adding { value: 0.0, num_events, num_steps: 0 }), num_events))
        }
    }

    #[test]
    fn each_image_is_of_all_that_arrived_from_the_beginning() {
        let grid = Grid::centred([2, 2, 2], [1.0; 3]).unwrap();
        let (events, task) = (Counted::default(), Task::new());
        let mut growing = GrowingEm::new(events.clone(), 3, Volume::filled(grid.clone(), 0.0), Accumulation::Atomic, &[]);
        let mut volume = Volume::filled(grid, 7.0);
        growing.volume_into(&mut volume).unwrap();
        assert!(growing.is_waiting() && volume.sum() == 0.0, "nothing has arrived");
        events.0.store(MIN_EVENTS - 1, Ordering::Relaxed);
        assert!(growing.is_waiting());
        for (step, num) in (1..).zip([1600, 3200, 3400]) {
            events.0.store(num, Ordering::Relaxed);
            assert!(!growing.is_waiting() || num == 3400, "it is not worth another image at once");
            let report = growing.step(&task).unwrap();
            assert_eq!((report.iteration, report.subiteration, report.num_events), (0, step, Some(num)));
            assert!(report.em.unwrap().log_likelihood.is_none() && growing.is_waiting());
            growing.volume_into(&mut volume).unwrap();
            assert_eq!(volume.as_slice()[0], 6.0 * num as f32);
        }
        // What is stopped leaves the image before.
        events.0.store(10_000, Ordering::Relaxed);
        task.stop();
        assert!(growing.step(&task).is_err());
        growing.volume_into(&mut volume).unwrap();
        assert_eq!(volume.as_slice()[0], 6.0 * 3400.0);
    }
}
