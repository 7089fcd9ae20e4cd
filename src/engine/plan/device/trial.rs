//! Forecast of the time of an iteration, from a trial of a few views.

use std::sync::Arc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use crossbeam_channel::bounded;

use crate::algebra::{Backend, ImageSpace};
use crate::operator::{Accumulation, DataSpace, LinearOperator, OperatorError, Subset};
use crate::task::{Stopped, Task};

/// The trial ends here even when it has learned nothing.
const TRIAL_LIMIT: Duration = Duration::from_millis(250);
/// Target duration of the trial, s.
const TRIAL_AIM_SECS: f64 = 0.1;
/// The trial's most views, for each thread.
const TRIAL_VIEWS_PER_THREAD: usize = 5;

/// Returns the seconds for a forward projection and a backprojection of all views, from a few of them; `None` when even one view
/// takes longer than the trial may.
///
/// # Errors
/// The operator failed.
pub(in crate::plan) fn trial_secs<B: Backend>(
    backend: &mut B,
    operator: &impl LinearOperator<B>,
    image: &impl ImageSpace<B>,
    data: &impl DataSpace,
    num_subsets: usize,
    accumulation: Accumulation,
) -> Result<Option<f64>, OperatorError> {
    let trial = |task: &Task| -> Result<f64, OperatorError> {
        let most_subsets = data.max_subsets();
        let x = backend.upload(Arc::new(vec![1.0; image.len()]))?;
        let mut correction = backend.zeros(image.len())?;
        let mut both_ways = |subset: Subset| -> Result<f64, OperatorError> {
            let mut estimate = backend.zeros(data.len(subset))?;
            let start = Instant::now();
            operator.apply(backend, subset, &x, &mut estimate, task)?;
            operator.adjoint(backend, subset, &estimate, accumulation, &mut correction, task)?;
            backend.finish()?;
            Ok(start.elapsed().as_secs_f64())
        };
        let part = |subset: Subset| data.len(subset) as f64 / data.len(Subset::ALL).max(1) as f64;
        // A device makes kernels, tables and working memory at its first projections, once in a run: they are not part of an iteration.
        let one = Subset { index: 0, count: most_subsets };
        let first = both_ways(one)?;
        if first >= TRIAL_AIM_SECS {
            return Ok(first / part(one));
        }
        let again = both_ways(one)?;
        let affordable = ((TRIAL_AIM_SECS - first) / again.max(1e-6)) as usize;
        let max = (TRIAL_VIEWS_PER_THREAD * rayon::current_num_threads()).min(most_subsets.div_ceil(num_subsets)).max(1);
        let few = Subset { index: 0, count: most_subsets.div_ceil(affordable.clamp(1, max)) };
        let secs = if few == one { again } else { both_ways(few)? };
        Ok(secs / part(few))
    };
    match within(TRIAL_LIMIT, trial) {
        Ok(secs) => Ok(Some(secs)),
        Err(OperatorError::Stopped(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Does a piece of work that is stopped when its time is over.
fn within<T>(limit: Duration, work: impl FnOnce(&Task) -> Result<T, OperatorError>) -> Result<T, OperatorError> {
    let task = Task::new();
    std::thread::scope(|scope| {
        let (done, waiting) = bounded::<()>(0);
        let clock = task.clone();
        let watch = Builder::new().spawn_scoped(scope, move || {
            // The sender is dropped when the work is done; until then the limit runs.
            if waiting.recv_timeout(limit) == Err(crossbeam_channel::RecvTimeoutError::Timeout) {
                clock.stop();
            }
        });
        if watch.is_err() {
            // No work without its limit.
            return Err(Stopped.into());
        }
        let result = work(&task);
        drop(done);
        result
    })
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::sleep;

    use super::*;
    use crate::algebra::{Data, Host, HostArray, Image, Voxels};
    use crate::geometry::Grid;

    const NUM_VIEWS: usize = 64;

    /// Views of one datum. The first call each way takes long.
    #[derive(Default)]
    struct Slow {
        num_forward: AtomicUsize,
        num_back: AtomicUsize,
        of_view: Duration,
    }

    const OF_FIRST: Duration = Duration::from_millis(30);

    impl Slow {
        fn work(&self, calls: &AtomicUsize, subset: Subset) -> Result<(), OperatorError> {
            let first = if calls.fetch_add(1, Ordering::Relaxed) == 0 { OF_FIRST } else { Duration::ZERO };
            sleep(first + self.of_view * self.len(subset) as u32);
            Ok(())
        }
    }

    impl DataSpace for Slow {
        fn max_subsets(&self) -> usize {
            NUM_VIEWS
        }

        fn len(&self, subset: Subset) -> usize {
            (subset.index..NUM_VIEWS).step_by(subset.count).count()
        }

        fn arranged(&self, values: &Arc<Vec<f32>>, _: usize) -> Arc<Vec<f32>> {
            Arc::clone(values)
        }

        fn in_order(&self, values: Vec<f32>) -> Vec<f32> {
            values
        }

        fn pieces(&self, subset: Subset) -> Vec<(usize, Range<usize>)> {
            crate::operator::one_after_the_other(self, subset)
        }
    }

    impl LinearOperator<Host> for Slow {
        fn apply(
            &self,
            _: &mut Host,
            subset: Subset,
            _: &HostArray<Image>,
            _: &mut HostArray<Data>,
            task: &Task,
        ) -> Result<(), OperatorError> {
            task.check()?;
            self.work(&self.num_forward, subset)
        }

        fn adjoint(
            &self,
            _: &mut Host,
            subset: Subset,
            _: &HostArray<Data>,
            _: Accumulation,
            _: &mut HostArray<Image>,
            task: &Task,
        ) -> Result<(), OperatorError> {
            task.check()?;
            self.work(&self.num_back, subset)
        }

        fn accumulations(&self) -> &'static [Accumulation] {
            Accumulation::OF_LINES
        }

        fn scratch_bytes(&self, _: Subset, _: Accumulation) -> u64 {
            0
        }
    }

    fn secs(of_view: Duration, num_subsets: usize) -> Option<f64> {
        let slow = Slow { of_view, ..Slow::default() };
        let image = Voxels::whole(Grid::centred([2, 2, 2], [1.0; 3]).unwrap());
        trial_secs(&mut Host, &slow, &image, &slow, num_subsets, Accumulation::Atomic).unwrap()
    }

    #[test]
    fn what_a_device_makes_once_is_not_part_of_an_iteration() {
        // 64 views of twice 1 ms. With the first calls in the trial it would be 2 s and more.
        for num_subsets in [1, 16] {
            let found = secs(Duration::from_millis(1), num_subsets).unwrap();
            assert!((0.128..1.5).contains(&found), "{num_subsets} subsets: {found} s");
        }
    }

    #[test]
    fn a_view_that_takes_long_is_tried_once_or_not_at_all() {
        let found = secs(Duration::from_millis(60), 1).unwrap();
        assert!(found >= 64.0 * 0.12, "{found} s");
        assert_eq!(secs(Duration::from_millis(300), 1), None);
    }
}
