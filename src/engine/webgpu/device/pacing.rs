//! Cuts a projection into submissions of some milliseconds, so that a display on the same GPU, its driver's watchdog and the stop
//! flag live.

use std::time::Instant;

use crate::operator::OperatorError;
use crate::task::Task;
use crate::webgpu::commands::Commands;
use crate::webgpu::error::WebGpuError;

/// Part of the intended duration below which a submission does not measure the speed of the GPU.
const TELLING_PART: f64 = 1.0 / 8.0;
/// The first submission is this part of the work.
const FIRST_PART: usize = 256;

/// Speed of a kernel, once it is known: the shortest measured time of a unit of work.
#[derive(Debug, Default)]
pub(in crate::webgpu) struct Pace {
    secs_per_unit: Option<f64>,
}

impl Pace {
    /// Calls `record(commands, first, count)` for all of `total` units, and submits the pieces. While nothing is known of the speed
    /// it waits for each; afterwards two at most are under way. The last one is only recorded when this returns.
    pub fn run(
        &mut self,
        commands: &mut Commands,
        total: usize,
        task: &Task,
        mut record: impl FnMut(&mut Commands, usize, usize) -> Result<(), WebGpuError>,
    ) -> Result<(), OperatorError> {
        const DOING: &str = "compute";
        task.check()?;
        let aim_secs = commands.gpu().aim_secs;
        let mut done = 0;
        if self.secs_per_unit.is_none() && total > 0 {
            let mut piece = total.div_ceil(FIRST_PART).max(1);
            let mut secs = 0.0;
            // A driver may compile a kernel when it comes to it: the first piece measures that.
            record(commands, 0, piece)?;
            commands.finish(DOING)?;
            done = piece;
            while secs < TELLING_PART * aim_secs && done < total {
                task.check()?;
                let count = piece.min(total - done);
                let start = Instant::now();
                record(commands, done, count)?;
                commands.finish(DOING)?;
                secs = start.elapsed().as_secs_f64();
                let per_unit = secs / count as f64;
                self.secs_per_unit = Some(self.secs_per_unit.map_or(per_unit, |before| before.min(per_unit)));
                done += count;
                piece *= 2;
            }
        }
        let (mut under_way, begin, first) = (None, Instant::now(), done);
        while done < total {
            task.check()?;
            let Some(secs_per_unit) = self.secs_per_unit else { break };
            let piece = (aim_secs / secs_per_unit.max(f64::MIN_POSITIVE)).clamp(1.0, total as f64) as usize;
            let count = piece.min(total - done);
            record(commands, done, count)?;
            done += count;
            if done == total {
                // The last piece goes with the commands that follow.
                break;
            }
            if let Some((before, behind)) = under_way.replace((commands.submit(), done)) {
                commands.gpu().wait(before, DOING)?;
                // Short pieces make the GPU look slower than it is: their start counts too.
                let per_unit = begin.elapsed().as_secs_f64() / (behind - first) as f64;
                self.secs_per_unit = Some(secs_per_unit.min(per_unit));
            }
        }
        Ok(commands.gpu().check(DOING)?)
    }
}
