//! Latency from a completed EPRI projection to the image in the hands of the session's viewer: measured on a replay at a steady
//! pace, projection by projection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::unbounded;
use serde::Serialize;

use crate::coded::Problem;
use crate::data::Study;
use crate::phantom::epri::{SweepOptions, by_name, simulate};
use crate::plan::{Acquisition, DeviceChoice, Job, RunSettings, default_sweep_settings, sweep_grid};
use crate::session::{Command, EventKind, Feed, RoiSet, Session};
use crate::statistics::quantiles;
use crate::task::Task;

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub struct ArrivalBench {
    /// Voxels along each axis.
    pub size: usize,
    /// Projections per second.
    pub per_sec: f64,
    pub device: DeviceChoice,
}

/// Measurements of one image size.
#[derive(Clone, Debug, Serialize)]
pub struct ArrivalRow {
    pub device: String,
    /// Voxels along each axis.
    pub size: usize,
    /// Projections per second.
    pub per_sec: f64,
    pub num_projections: usize,
    /// Seconds from the arrival of a projection to its image at the viewer: median.
    pub median_s: f64,
    /// Half of the interquartile range.
    pub spread_s: f64,
    /// Latency that 95 of 100 projections did not exceed.
    pub p95_s: f64,
    /// Longest latency.
    pub longest_s: f64,
}

/// Measures a replay of the bottle's 208 projections.
///
/// # Errors
/// An impossible size, an unusable device, a run that fails.
pub fn bench_arrival(bench: &ArrivalBench) -> Result<ArrivalRow, Problem> {
    let fail = |error: &dyn std::fmt::Display| Problem::new("bench", error.to_string());
    let options = SweepOptions::default();
    let phantom = by_name("bottle", options.half_extent_mm()).map_err(|error| fail(&error))?;
    let sweep = simulate(&phantom, &options, &Task::new()).map_err(|error| fail(&error))?.measured;
    let grid = sweep_grid(&sweep, Some([bench.size; 3]), None)?;
    let settings = RunSettings { grid, device: bench.device, ..default_sweep_settings(&sweep)? };

    let (wake, woken) = unbounded();
    let session = Session::start(move || _ = wake.send(()));
    let acquisition = Acquisition::growing(sweep.without_projections());
    let study = Arc::new(Study::new(phantom.title, acquisition.clone()));
    let job = Job::of(&study, settings);
    session.send(Command::Start { job, rois: RoiSet::default(), paused: false });
    let mut device = String::new();
    while device.is_empty() {
        woken.recv_timeout(PATIENCE).map_err(|_| Problem::new("bench", "the run was not set up within a minute"))?;
        for event in session.events().try_iter() {
            match event.kind {
                EventKind::Started(info) => device = info.device,
                EventKind::Failed(problem) => return Err(problem),
                _ => {}
            }
        }
    }
    let (arrived, arrivals) = unbounded();
    let notify = session.on_arrival();
    let num_projections = sweep.num_complete();
    let _feed = Feed::replay(sweep.projections, bench.per_sec, acquisition, move || {
        let _ = arrived.send(Instant::now());
        notify();
    })
    .map_err(|error| fail(&error))?;
    let mut secs: Vec<f64> = Vec::with_capacity(num_projections);
    while secs.len() < num_projections {
        woken.recv_timeout(PATIENCE).map_err(|_| Problem::new("bench", "a projection was not shown within a minute"))?;
        let failed = session.events().try_iter().find_map(|event| match event.kind {
            EventKind::Failed(problem) => Some(problem),
            _ => None,
        });
        if let Some(problem) = failed {
            return Err(problem);
        }
        let Some(frame) = session.take_frame() else { continue };
        let now = Instant::now();
        while secs.len() < frame.id.subiteration
            && let Ok(arrival) = arrivals.recv_timeout(PATIENCE)
        {
            secs.push(now.saturating_duration_since(arrival).as_secs_f64());
        }
        session.return_frame(frame);
    }
    let [low_s, median_s, high_s, p95_s, longest_s] = quantiles(secs, [0.25, 0.5, 0.75, 0.95, 1.0]).unwrap_or_default();
    let spread_s = 0.5 * (high_s - low_s);
    Ok(ArrivalRow { device, size: bench.size, per_sec: bench.per_sec, num_projections, median_s, spread_s, p95_s, longest_s })
}
