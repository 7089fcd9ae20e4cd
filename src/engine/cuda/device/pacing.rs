//! Cuts a projection into launches that last some ten milliseconds on the device in use, so that a display on the same
//! device, its driver's watchdog and the stop flag live.

use std::time::Instant;

use super::driver::guarded;
use crate::cuda::backend::CudaBackend;
use crate::cuda::error::CudaError;
use crate::operator::OperatorError;
use crate::task::Task;

/// Default duration of a launch.
const AIM_SECS: f64 = 0.012;
/// Part of the intended duration below which a launch does not measure the speed of the device.
const TELLING_PART: f64 = 1.0 / 12.0;
/// The first launch on a device is this part of the work.
const FIRST_PART: usize = 256;

/// Speed of a kernel on the device in use, once it is known: the shortest measured time of a unit of work. The start of a launch
/// counts too, so that a short one makes the device look slower than it is, never faster.
#[derive(Debug)]
pub(in crate::cuda) struct Pace {
    aim_secs: f64,
    secs_per_unit: Option<f64>,
}

impl Default for Pace {
    fn default() -> Self {
        Self::aiming_at(AIM_SECS)
    }
}

impl Pace {
    /// Launches that last about so long.
    pub fn aiming_at(aim_secs: f64) -> Self {
        Self { aim_secs, secs_per_unit: None }
    }

    /// Calls `launch(first, count)` for all of `total` units, in pieces. While nothing is known of the speed it waits for
    /// each piece; afterwards two pieces at most are under way. The last ones may still be when this returns.
    pub fn run(
        &mut self,
        backend: &CudaBackend,
        total: usize,
        task: &Task,
        launch: impl FnMut(usize, usize) -> Result<(), CudaError>,
    ) -> Result<(), OperatorError> {
        match &backend.timer {
            Some(timer) => timer.measure(&backend.stream, || self.run_pieces(backend, total, task, launch)),
            None => self.run_pieces(backend, total, task, launch),
        }
    }

    /// The same, without marks for the clock of the device.
    fn run_pieces(
        &mut self,
        backend: &CudaBackend,
        total: usize,
        task: &Task,
        mut launch: impl FnMut(usize, usize) -> Result<(), CudaError>,
    ) -> Result<(), OperatorError> {
        task.check()?;
        let mut done = 0;
        if self.secs_per_unit.is_none() {
            let mut piece = total.div_ceil(FIRST_PART).max(1);
            let mut secs = 0.0;
            while secs < TELLING_PART * self.aim_secs && done < total {
                task.check()?;
                let count = piece.min(total - done);
                guarded("wait for the device", || backend.stream.synchronize())?;
                let start = Instant::now();
                launch(done, count)?;
                guarded("compute", || backend.stream.synchronize())?;
                secs = start.elapsed().as_secs_f64();
                let per_unit = secs / count as f64;
                self.secs_per_unit = Some(self.secs_per_unit.map_or(per_unit, |before| before.min(per_unit)));
                done += count;
                piece *= 2;
            }
        }
        let Some(secs_per_unit) = self.secs_per_unit else { return Ok(()) };
        let piece = (self.aim_secs / secs_per_unit.max(f64::MIN_POSITIVE)).clamp(1.0, total.max(1) as f64) as usize;
        let mut under_way = None;
        while done < total {
            task.check()?;
            let count = piece.min(total - done);
            launch(done, count)?;
            done += count;
            if done == total {
                break;
            }
            let event = guarded("mark a launch", || backend.stream.record_event(None))?;
            if let Some(before) = under_way.replace(event) {
                guarded("compute", || before.synchronize())?;
            }
        }
        Ok(())
    }
}
