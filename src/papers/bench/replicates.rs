//! Cost of replicates of list-mode data with time of flight: an iteration without, with each projected on its own, and with several
//! projected at once.

use std::sync::Arc;

use serde::Serialize;

use super::list_mode::{ListModeBench, drawn};
use super::{BenchDevice, BenchGpu, TimedIterations};
use crate::coded::Problem;
use crate::data::{CountRates, EventList, ListMetadata, ScanTime, Study};
use crate::operator::Accumulation;
use crate::plan::{AlgorithmChoice, Decisions, DeviceChoice, Job, Rays, ReplicateSettings, RunSettings, prepare};
use crate::task::Task;

#[derive(Clone, Debug)]
pub struct ReplicatesBench {
    /// Scanner, image and events.
    pub list: ListModeBench,
    /// The GPU; `None` = the CPU.
    pub gpu: Option<BenchGpu>,
    pub num_replicates: usize,
    pub num_subsets: Vec<usize>,
    /// Timed iterations.
    pub num_iterations: usize,
}

/// Measurements of one way to carry replicates.
#[derive(Clone, Debug, Serialize)]
pub struct ReplicatesRow {
    pub device: BenchDevice,
    /// `none`, `each-on-its-own` or `at-once`.
    pub replicates: &'static str,
    pub num_replicates: usize,
    pub num_subsets: usize,
    pub accumulation: Accumulation,
    /// Seconds of an iteration: median.
    pub median_s: f64,
    /// Half of the interquartile range.
    pub spread_s: f64,
    /// Time relative to that without replicates.
    pub ratio: Option<f64>,
}

/// Measures all rows; `report` is called with each as it is done.
///
/// # Errors
/// Unsuitable settings, a missing device, a step that fails.
pub fn bench_replicates(bench: &ReplicatesBench, mut report: impl FnMut(&ReplicatesRow)) -> Result<Vec<ReplicatesRow>, Problem> {
    let (device, choice) = match bench.gpu {
        Some(gpu @ BenchGpu::Cuda(_)) => (BenchDevice::Cuda, gpu.into()),
        Some(gpu @ BenchGpu::WebGpu(_)) => (BenchDevice::Gpu, gpu.into()),
        None => (BenchDevice::Cpu, DeviceChoice::Cpu),
    };
    let ReplicatesBench { list: ListModeBench { detectors, grid, fov_radius_mm, .. }, num_replicates, .. } = bench;
    let facts = ListMetadata { tof: Some(bench.list.tof()), ..ListMetadata::new("drawn events", Arc::clone(detectors)) };
    let list = EventList {
        facts: Arc::new(facts),
        prompts: Arc::new(drawn(&bench.list)),
        delayeds: Arc::default(),
        total_additive: 0.0,
        time: ScanTime::default(),
        rates: CountRates::default(),
        frame_ms: None,
        elsewhere: None,
    };
    let study = Study::new("drawn events", list);
    let mut rows: Vec<ReplicatesRow> = Vec::new();
    for &num_subsets in &bench.num_subsets {
        let mut without = None;
        for (replicates, num) in [("none", 0), ("each-on-its-own", *num_replicates), ("at-once", *num_replicates)] {
            let settings = RunSettings {
                fov_radius_mm: *fov_radius_mm,
                num_subsets,
                rays: Rays::Fixed { tangential: 1, axial: 1 },
                device: choice,
                decisions: Decisions { projects_replicates_singly: replicates != "at-once", ..Decisions::default() },
                ..RunSettings::new(AlgorithmChoice::OSEM, grid.clone())
                    .with_replicates((num > 0).then(|| ReplicateSettings::new(num)))
            };
            let task = Task::new();
            let prepared = prepare(&Job::of(&study, settings), &task)?;
            let (mut algorithm, accumulation) = (prepared.algorithm, prepared.info.accumulation);
            // The first one makes the sensitivity, too.
            algorithm.iterate(&task)?;
            let TimedIterations { median_s, spread_s, .. } =
                TimedIterations::measure(algorithm.as_mut(), bench.num_iterations, &task)?;
            let ratio = without.map(|without: f64| median_s / without);
            without = without.or(Some(median_s));
            let row =
                ReplicatesRow { device, replicates, num_replicates: num, num_subsets, accumulation, median_s, spread_s, ratio };
            report(&row);
            rows.push(row);
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::{Detectors, find};

    #[test]
    fn every_way_is_measured() {
        let geometry = &find("small").unwrap().geometry;
        let list = ListModeBench {
            detectors: Arc::new(Detectors::of_cylinder(geometry).unwrap()),
            grid: geometry.default_grid().unwrap(),
            fov_radius_mm: geometry.fov_radius_mm,
            num_events: 5000,
            tof_ps: 200.0,
            threads: Vec::new(),
            gpus: Vec::new(),
            accumulations: Vec::new(),
            budget_secs: 0.0,
        };
        let bench = ReplicatesBench { list, gpu: None, num_replicates: 3, num_subsets: vec![2], num_iterations: 2 };
        let mut num_reported = 0;
        let rows = bench_replicates(&bench, |_| num_reported += 1).unwrap();
        assert_eq!((rows.len(), num_reported), (3, 3));
        assert!(rows.iter().all(|row| row.median_s > 0.0) && rows[0].ratio.is_none() && rows[2].ratio.is_some());
    }
}
