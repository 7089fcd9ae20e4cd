//! MLEM or OSEM of a list of events that is still being written.
//!
//! It goes on in rounds, each of all events that have arrived when it begins. A round starts from the image of the one before, to which
//! the events that are new are added evenly, x ← x + n_new / Σ_j s_j: so as many events are expected as there are, and no voxel stays zero
//! because none of the first events had a line through it. What comes of it is a preview: when the list is whole it is reconstructed
//! from the beginning, as any other.

use std::time::{Duration, Instant};

use super::{Algorithm, ReconError, Stage, StepReport};
use crate::data::{RoiMask, RoiSums, Volume};
use crate::operator::Accumulation;
use crate::task::Task;

/// An image of fewer events shows nothing.
pub const LEAST_EVENTS: usize = 1000;
/// A round ends after its iteration when the events are more by this part, for it takes time to begin another.
const WORTH_A_ROUND: usize = 16;

/// Events that arrive, and what reconstructs them.
pub trait ArrivingEvents: Send {
    /// How many have arrived.
    fn num_arrived(&self) -> usize;

    /// MLEM or OSEM of all that have arrived, and how many these are. `before` = an image, and of how many of them it is.
    ///
    /// # Errors
    /// Stopped, too little memory, device failure.
    fn algorithm(&mut self, before: (&Volume, usize), task: &Task) -> Result<(Box<dyn Algorithm>, usize), ReconError>;
}

/// An algorithm of all events that had arrived when it was made.
struct Round {
    algorithm: Box<dyn Algorithm>,
    num_events: usize,
    /// Full iterations complete.
    iteration: usize,
    is_between_iterations: bool,
}

/// MLEM or OSEM of events that arrive.
pub struct GrowingEm<E> {
    events: E,
    /// Iterations of a round at most: then it waits for others.
    num_iterations: usize,
    round: Option<Round>,
    /// The image of the rounds before, and of how many events it is.
    before: (Volume, usize),
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
        let (before, masks) = ((dark, 0), Vec::new());
        Self { events, num_iterations, round: None, before, num_steps: 0, masks, accumulation, accumulations }
    }

    /// Whether a round of the events that have arrived is due.
    fn is_due(&self) -> bool {
        let num_arrived = self.events.num_arrived();
        let Some(round) = &self.round else { return num_arrived >= LEAST_EVENTS };
        let is_worth_it = num_arrived - round.num_events.min(num_arrived) > round.num_events / WORTH_A_ROUND;
        round.is_between_iterations && num_arrived > round.num_events && (is_worth_it || round.iteration >= self.num_iterations)
    }

    fn begin_round(&mut self, task: &Task) -> Result<(), ReconError> {
        if let Some(round) = &mut self.round {
            round.algorithm.volume_into(&mut self.before.0)?;
            self.before.1 = round.num_events;
        }
        // Its memory is given back before the next one's need is looked at.
        self.round = None;
        let (mut algorithm, num_events) = self.events.algorithm((&self.before.0, self.before.1), task)?;
        algorithm.set_rois(&self.masks)?;
        algorithm.set_accumulation(self.accumulation);
        self.round = Some(Round { algorithm, num_events, iteration: 0, is_between_iterations: true });
        Ok(())
    }
}

impl<E: ArrivingEvents> Algorithm for GrowingEm<E> {
    fn step(&mut self, task: &Task) -> Result<StepReport, ReconError> {
        let begin = Instant::now();
        let is_due = self.is_due();
        if is_due {
            self.begin_round(task)?;
        }
        let set_up = if is_due { begin.elapsed() } else { Duration::ZERO };
        let Some(round) = &mut self.round else {
            return Err(ReconError::UnsuitableData(format!("fewer than {LEAST_EVENTS} events have arrived")));
        };
        let report = round.algorithm.step(task)?;
        (round.iteration, round.is_between_iterations) = (report.iteration, report.completes_iteration);
        self.num_steps += 1;
        let mut stages = report.stages;
        stages[Stage::Sensitivity] += set_up;
        // Each step stands for itself: the likelihoods of different events have nothing to do with each other.
        Ok(StepReport {
            iteration: 0,
            subiteration: self.num_steps,
            completes_iteration: false,
            log_likelihood: None,
            residual: None,
            num_events: Some(round.num_events),
            stages,
            ..report
        })
    }

    fn num_subsets(&self) -> usize {
        1
    }

    fn is_waiting(&self) -> bool {
        let has_done = |round: &Round| round.is_between_iterations && round.iteration >= self.num_iterations;
        !self.is_due() && self.round.as_ref().is_none_or(has_done)
    }

    fn volume_into(&mut self, volume: &mut Volume) -> Result<(), ReconError> {
        match &mut self.round {
            Some(round) => round.algorithm.volume_into(volume),
            None => {
                volume.as_mut_slice().copy_from_slice(self.before.0.as_slice());
                Ok(())
            }
        }
    }

    fn set_rois(&mut self, masks: &[RoiMask]) -> Result<(), ReconError> {
        self.masks = masks.to_vec();
        self.round.as_mut().map_or(Ok(()), |round| round.algorithm.set_rois(masks))
    }

    fn roi_sums(&mut self) -> Result<Vec<RoiSums>, ReconError> {
        match &mut self.round {
            Some(round) => round.algorithm.roi_sums(),
            None => Ok(self.masks.iter().map(|mask| mask.sums(self.before.0.as_slice())).collect()),
        }
    }

    fn set_accumulation(&mut self, accumulation: Accumulation) {
        if self.accumulations.contains(&accumulation) {
            self.accumulation = accumulation;
            if let Some(round) = &mut self.round {
                round.algorithm.set_accumulation(accumulation);
            }
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
    use crate::recon::StageTimes;

    /// Two subsets; each adds 1 to all voxels.
    struct Adding {
        value: f32,
        num_steps: usize,
    }

    impl Algorithm for Adding {
        fn step(&mut self, _: &Task) -> Result<StepReport, ReconError> {
            self.value += 1.0;
            self.num_steps += 1;
            Ok(StepReport {
                iteration: self.num_steps / 2,
                subiteration: self.num_steps,
                subset: self.num_steps % 2,
                completes_iteration: self.num_steps.is_multiple_of(2),
                log_likelihood: Some(1.0),
                residual: None,
                num_events: None,
                num_impossible_bins: 0,
                accumulation: Accumulation::Atomic,
                race: None,
                stages: StageTimes::default(),
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

    /// Tells how many there are, and with what rounds began: value and events of the image before, all events.
    #[derive(Clone, Default)]
    struct Counted {
        num: Arc<AtomicUsize>,
        begun: Arc<std::sync::Mutex<Vec<(f32, usize, usize)>>>,
    }

    impl ArrivingEvents for Counted {
        fn num_arrived(&self) -> usize {
            self.num.load(Ordering::Relaxed)
        }

        fn algorithm(&mut self, (image, known): (&Volume, usize), _: &Task) -> Result<(Box<dyn Algorithm>, usize), ReconError> {
            let (value, num) = (image.as_slice()[0], self.num_arrived());
            self.begun.lock().unwrap().push((value, known, num));
            Ok((Box::new(Adding { value, num_steps: 0 }), num))
        }
    }

    #[test]
    fn a_round_is_of_all_that_arrived_and_begins_with_the_image_before() {
        let grid = Grid::centred([2, 2, 2], [1.0; 3]).unwrap();
        let (events, task) = (Counted::default(), Task::new());
        let mut growing = GrowingEm::new(events.clone(), 2, Volume::filled(grid.clone(), 0.0), Accumulation::Atomic, &[]);
        let begun = || events.begun.lock().unwrap().clone();
        let mut volume = Volume::filled(grid, 7.0);
        growing.volume_into(&mut volume).unwrap();
        assert!(growing.is_waiting() && volume.sum() == 0.0, "nothing has arrived");
        events.num.store(LEAST_EVENTS - 1, Ordering::Relaxed);
        assert!(growing.is_waiting());
        events.num.store(1600, Ordering::Relaxed);
        assert!(!growing.is_waiting());
        growing.step(&task).unwrap();
        // Many arrive in the middle of an iteration, which is completed first.
        events.num.store(3200, Ordering::Relaxed);
        growing.step(&task).unwrap();
        assert_eq!(begun(), [(0.0, 0, 1600)]);
        growing.step(&task).unwrap();
        assert_eq!(begun()[1..], [(2.0, 1600, 3200)]);
        // A few more have to wait until the round is over, and are then its successor's.
        events.num.store(3300, Ordering::Relaxed);
        let reports: Vec<StepReport> = (0..3).map(|_| growing.step(&task).unwrap()).collect();
        assert!(reports.iter().all(|report| report.iteration == 0 && report.log_likelihood.is_none()));
        assert_eq!(begun().len(), 2);
        let report = growing.step(&task).unwrap();
        assert_eq!((begun()[2..].to_vec(), report.subiteration), (vec![(6.0, 3200, 3300)], 7));
        (0..3).for_each(|_| _ = growing.step(&task).unwrap());
        assert!(growing.is_waiting(), "all iterations of a round are done, and nothing is new");
        growing.volume_into(&mut volume).unwrap();
        assert_eq!(volume.as_slice()[0], 10.0);
    }
}
