//! One full iteration with tubes of response: by device, threads and number of subsets.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::TimedIterations;
use crate::coded::Problem;
use crate::data::{Counts, Michelogram, Study, TubeSampling, TubeSet};
use crate::operator::Accumulation;
use crate::plan::{
    AlgorithmChoice, DeviceChoice, Job, Prepared, ProjectorChoice, RunInputs, RunSettings, default_settings, prepare,
};
use crate::recon::Stage;
use crate::scanner::ScanGeometry;
use crate::session::thread_pool;
use crate::task::Task;

/// Widths of the tubes across their lines, in samples. The time does not depend on them.
const WIDTH: f64 = 1.2;

#[derive(Clone, Debug)]
pub struct TubesBench {
    pub geometry: Arc<ScanGeometry>,
    pub device: DeviceChoice,
    /// Threads on the CPU; `None` = all.
    pub num_threads: Option<usize>,
    pub num_subsets: usize,
    pub accumulation: Accumulation,
    /// Iterations that are timed, after one that is not.
    pub num_iterations: usize,
}

/// Measurements of one device and number of subsets.
#[derive(Clone, Debug, Serialize)]
pub struct TubesRow {
    pub device: String,
    pub num_subsets: usize,
    pub accumulation: Accumulation,
    /// Seconds of a whole iteration: median.
    pub median_s: f64,
    /// Half of the interquartile range.
    pub spread_s: f64,
    /// Median seconds of its projections.
    pub forward_s: f64,
    /// Median seconds of its backprojections.
    pub backprojection_s: f64,
    /// Seconds to make the tables and the sensitivity images.
    pub setup_s: f64,
}

/// Measures OSEM on a scan that has one count in every bin.
///
/// # Errors
/// Unsuitable settings, a step that fails.
pub fn bench_tubes(bench: &TubesBench) -> Result<TubesRow, Problem> {
    thread_pool(bench.num_threads)?.install(|| measured(bench))
}

fn measured(bench: &TubesBench) -> Result<TubesRow, Problem> {
    let study = study(&bench.geometry)?;
    let settings = RunSettings {
        algorithm: if bench.num_subsets > 1 { AlgorithmChoice::OSEM } else { AlgorithmChoice::MLEM },
        num_subsets: bench.num_subsets,
        projector: ProjectorChoice::TUBES,
        device: bench.device,
        accumulation: Some(bench.accumulation),
        inputs: RunInputs { tubes: Some(Arc::new(tubes(&bench.geometry)?)), ..RunInputs::default() },
        ..default_settings(&study.measured)?
    };
    let task = Task::new();
    let start = Instant::now();
    let job = Job::of(&study, settings);
    let Prepared { mut algorithm, info, .. } = prepare(&job, &task)?;
    // The first iteration makes the sensitivities.
    let first = algorithm.iterate(&task)?;
    let setup_s = start.elapsed().as_secs_f64() - (first[Stage::Forward] + first[Stage::Backprojection]).as_secs_f64();
    let timed = TimedIterations::measure(algorithm.as_mut(), bench.num_iterations, &task)?;
    Ok(TubesRow {
        device: info.device,
        num_subsets: bench.num_subsets,
        accumulation: info.accumulation,
        median_s: timed.median_s,
        spread_s: timed.spread_s,
        forward_s: timed.median_of(Stage::Forward),
        backprojection_s: timed.median_of(Stage::Backprojection),
        setup_s,
    })
}

fn study(geometry: &Arc<ScanGeometry>) -> Result<Study<Counts>, Problem> {
    let ones = Michelogram::new(Arc::clone(geometry), vec![1.0; geometry.num_bins()]);
    let counts = ones.map_err(Problem::from)?;
    Ok(Study::new("one count in every bin", Counts::new(counts)))
}

/// Returns tubes with Gaussian profiles across their lines.
fn tubes(geometry: &ScanGeometry) -> Result<TubeSet, Problem> {
    let sampling = TubeSampling::of(geometry);
    let [_, num_across, num_axial] = sampling.num;
    let coefficient = |index: usize| {
        let from_middle = |index: usize, num: usize| (index % num) as f64 - (num / 2) as f64;
        let (across, axial) = (from_middle(index / num_axial, num_across), from_middle(index, num_axial));
        (-0.5 * (across * across + axial * axial) / (WIDTH * WIDTH)).exp() as f32
    };
    let num_coefficients = sampling.num_coefficients().unwrap_or_default();
    TubeSet::new(geometry.scanner.clone(), sampling, (0..num_coefficients).map(coefficient).collect()).map_err(Problem::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::find;

    #[test]
    fn an_iteration_is_timed_on_the_threads_that_were_asked_for() {
        let geometry = ScanGeometry { num_views: 2, ..find("vrpet").unwrap().geometry.clone() };
        let of = |threads: usize| {
            let (geometry, num_threads) = (Arc::new(geometry.clone()), Some(threads));
            bench_tubes(&TubesBench {
                geometry,
                device: DeviceChoice::Cpu,
                num_threads,
                num_subsets: 2,
                accumulation: Accumulation::Deterministic,
                num_iterations: 1,
            })
            .unwrap()
        };
        for (threads, words) in [(1, "1 thread"), (3, "3 threads")] {
            let row = of(threads);
            assert!(row.device.ends_with(words), "{}", row.device);
            assert!(row.forward_s > 0.0 && row.backprojection_s > 0.0 && row.median_s >= row.forward_s + row.backprojection_s);
        }
    }
}
