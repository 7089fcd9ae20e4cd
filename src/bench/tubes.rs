//! One full iteration with tubes of response: by device, threads and number of subsets.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::on_threads;
use crate::coded::Problem;
use crate::data::{Counts, Michelogram, Study, TubeSampling, TubeSet};
use crate::operator::Accumulation;
use crate::plan::{AlgorithmChoice, DeviceChoice, Job, Prepared, ProjectorChoice, RunSettings, default_settings, prepare};
use crate::recon::{Stage, StageTimes};
use crate::scanner::ScanGeometry;
use crate::statistics::median_and_spread;
use crate::task::Task;

/// Widths of the tubes across their lines, in samples: how wide they are does not change the time.
const WIDTH: f64 = 1.2;

/// What to measure.
#[derive(Clone, Debug)]
pub struct TubesBench {
    /// The scan.
    pub geometry: Arc<ScanGeometry>,
    /// Where, with how many threads on the CPU.
    pub device: DeviceChoice,
    /// `None` = all.
    pub num_threads: Option<usize>,
    /// Subsets of an iteration.
    pub num_subsets: usize,
    /// How the backprojection adds.
    pub accumulation: Accumulation,
    /// Iterations that are timed, after one that is not.
    pub num_iterations: usize,
}

/// What was measured of one device and number of subsets.
#[derive(Clone, Debug, Serialize)]
pub struct TubesRow {
    /// Device in words.
    pub device: String,
    /// Subsets of an iteration.
    pub num_subsets: usize,
    /// How the backprojection adds.
    pub accumulation: Accumulation,
    /// Seconds of a full iteration, everything that it does included: median.
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
/// The settings do not suit, or a step fails.
pub fn bench_tubes(bench: &TubesBench) -> Result<TubesRow, Problem> {
    on_threads(bench.num_threads, || measured(bench))
}

fn measured(bench: &TubesBench) -> Result<TubesRow, Problem> {
    let study = study(&bench.geometry)?;
    let settings = RunSettings {
        algorithm: if bench.num_subsets > 1 { AlgorithmChoice::OSEM } else { AlgorithmChoice::MLEM },
        num_subsets: bench.num_subsets,
        projector: ProjectorChoice::TUBES,
        device: bench.device,
        accumulation: Some(bench.accumulation),
        tubes: Some(Arc::new(tubes(&bench.geometry)?)),
        ..default_settings(&study.measured)?
    };
    let task = Task::new();
    let start = Instant::now();
    let job = Job::of(&study, settings);
    let Prepared { mut algorithm, info, .. } = prepare(&job, &task)?;
    // The first iteration makes the sensitivities.
    let first = algorithm.iterate(&task)?;
    let setup_s = start.elapsed().as_secs_f64() - (first[Stage::Forward] + first[Stage::Backprojection]).as_secs_f64();
    let (mut secs, mut stages) = (Vec::new(), Vec::new());
    for _ in 0..bench.num_iterations {
        let start = Instant::now();
        stages.push(algorithm.iterate(&task)?);
        secs.push(start.elapsed().as_secs_f64());
    }
    let (median_s, spread_s) = median_and_spread(secs).unwrap_or_default();
    let of = |stage: Stage| {
        let secs = stages.iter().map(|times: &StageTimes| times[stage].as_secs_f64()).collect();
        median_and_spread(secs).unwrap_or_default().0
    };
    Ok(TubesRow {
        device: info.device,
        num_subsets: bench.num_subsets,
        accumulation: info.accumulation,
        median_s,
        spread_s,
        forward_s: of(Stage::Forward),
        backprojection_s: of(Stage::Backprojection),
        setup_s,
    })
}

fn study(geometry: &Arc<ScanGeometry>) -> Result<Study<Counts>, Problem> {
    let ones = Michelogram::new(Arc::clone(geometry), vec![1.0; geometry.num_bins()]);
    let counts = ones.map_err(Problem::from)?;
    Ok(Study::new("one count in every bin", Counts::new(counts)))
}

/// Tubes that fall off like Gaussians across their lines.
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
