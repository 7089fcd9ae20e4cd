//! The noise of a finished run of pulse oximetry drawn again, on a thread: standard deviations of the figures of its regions.

use std::sync::Arc;
use std::thread::Builder;

use crossbeam_channel::{Receiver, Sender, unbounded};
use rayon::ThreadPool;

use super::super::outgoing::EventSender;
use super::super::{Event, EventKind, RunId};
use super::whole;
use crate::data::{Notice, OxygenSeries, RoiMask, Volume};
use crate::measure::oximetry::{DrawnFigures, FigureDeviations, OxygenMaps, OxygenStats, RateFitter};
use crate::plan::{Job, NUM_OXYGEN_DRAWS, OxygenDrawError, OxygenDraws, PulseAcquisitions};
use crate::task::Task;

/// Seed of the draws: that of `tomoscope oximetry`.
const SEED: u64 = 1;

/// Standard deviations between the draws so far.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct OxygenRedraw {
    /// Number of complete draws.
    pub num_draws: usize,
    /// Number of all draws.
    pub num_total: usize,
    /// Number of the edit of the ROIs.
    pub branch: u64,
    /// Those of all voxels with a rate; `None` before the second draw.
    pub all: Option<FigureDeviations>,
    /// Those of each ROI.
    pub regions: Vec<Option<FigureDeviations>>,
}

/// Regions with the number of their edit.
type Regions = (u64, Vec<RoiMask>);

/// Data of a finished run.
pub(in crate::session) struct Redraw {
    pub run: RunId,
    pub job: Job,
    pub images: Vec<Arc<Volume>>,
    pub maps: OxygenMaps,
    pub pool: Arc<ThreadPool>,
}

/// Thread that draws. Dropping it stops the draws.
pub(in crate::session) struct Redrawer {
    task: Task,
    regions: Sender<Regions>,
}

impl Redrawer {
    /// Starts the thread, which sends its results through `events`; `None` of a reconstruction that is not linear, whose draws take as long
    /// as as many runs, and if the system refuses the thread.
    pub fn start(redraw: Redraw, regions: Regions, events: EventSender) -> Option<Self> {
        let (task, (sender, edits)) = (Task::new(), unbounded());
        let series = redraw.job.data().oximetry()?.clone();
        let settings = vec![(*redraw.job.settings).clone(); series.sweeps.len()];
        let acquisitions = PulseAcquisitions { sweeps: series.sweeps.clone(), settings };
        if !acquisitions.is_linear() {
            return None;
        }
        let own = task.clone();
        let work = move || {
            let run = redraw.run;
            let failed = redraw.draw((&series, &acquisitions), regions, &edits, &events, &own).err();
            if let Some(error) = failed.filter(|_| !own.is_stopped()) {
                let text = format!("the noise was not drawn again: {error}");
                events.send(Event { run, kind: EventKind::Notice(Notice::warning(text)) });
            }
        };
        Builder::new().name("redraw".into()).spawn(work).ok()?;
        Some(Self { task, regions: sender })
    }

    /// Measures other regions, in the draws so far and those to come.
    pub fn set_regions(&self, regions: Regions) {
        // The thread has ended after a failure only.
        let _ = self.regions.send(regions);
    }
}

impl Drop for Redrawer {
    fn drop(&mut self) {
        self.task.stop();
    }
}

impl Redraw {
    /// Draws and reports, then measures other regions until there is no sender of them.
    fn draw(
        &self,
        (series, acquisitions): (&OxygenSeries, &PulseAcquisitions),
        mut regions: Regions,
        edits: &Receiver<Regions>,
        events: &EventSender,
        task: &Task,
    ) -> Result<(), OxygenDrawError> {
        let OxygenSeries { times_us, calibration, .. } = series;
        let fitter = RateFitter::new(calibration.rate, times_us)?;
        let images: Vec<&Volume> = self.images.iter().map(|image| &**image).collect();
        let draws = OxygenDraws::new(acquisitions, &images, &self.maps, (&fitter, calibration), SEED)?;
        let Some(mut draws) = draws else { return Ok(()) };
        let mut drawn = Vec::with_capacity(NUM_OXYGEN_DRAWS);
        self.report(&drawn, &regions, events);
        for draw in 0..NUM_OXYGEN_DRAWS {
            drawn.push(self.pool.install(|| draws.po2(draw, task))?);
            regions = edits.try_iter().last().unwrap_or(regions);
            self.report(&drawn, &regions, events);
        }
        while let Ok(edited) = edits.recv() {
            // Edits of a dragged region arrive faster than they can be measured: only the last of a series counts.
            regions = edits.try_iter().last().unwrap_or(edited);
            self.report(&drawn, &regions, events);
        }
        Ok(())
    }

    fn report(&self, drawn: &[Volume], (branch, masks): &Regions, events: &EventSender) {
        let of = |voxels: &[(u32, f32)]| {
            let mut figures = DrawnFigures::default();
            for po2 in drawn {
                let values = po2.as_slice();
                let value = |&(index, weight): &(u32, f32)| Some((*values.get(index as usize)?, f64::from(weight)));
                figures.add(OxygenStats::of(voxels.iter().filter_map(value)));
            }
            figures.deviations()
        };
        let update = OxygenRedraw {
            num_draws: drawn.len(),
            num_total: NUM_OXYGEN_DRAWS,
            branch: *branch,
            all: of(&whole(&self.maps.po2.grid)),
            regions: masks.iter().map(|mask| of(&mask.voxels)).collect(),
        };
        events.send(Event { run: self.run, kind: EventKind::OxygenRedraw(Box::new(update)) });
    }
}
