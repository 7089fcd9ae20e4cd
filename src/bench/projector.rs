//! Forward projection and backprojection, every projector and accumulation, on the same data in one run.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::median_and_spread;
use crate::data::Volume;
use crate::geometry::Grid;
use crate::operator::{Accumulation, AxialRuns, Backend, Host, LinearOperator, OperatorError, Siddon, Simd, Subset};
use crate::scanner::ScanGeometry;
use crate::task::Task;

/// The slow projector does one view in this many; its times are scaled to all and marked.
const PER_LOR_VIEW_STEP: usize = 28;

/// What to measure.
#[derive(Clone, Debug)]
pub struct ProjectorBench {
    /// The scan.
    pub geometry: Arc<ScanGeometry>,
    /// The image.
    pub grid: Grid,
    /// Radius of the field of view, mm.
    pub fov_radius_mm: f64,
    /// Numbers of threads to try.
    pub threads: Vec<usize>,
    /// Whether to measure the per-LOR projector, the baseline of the ratios.
    pub per_lor: bool,
    /// Ways to add in the backprojection.
    pub accumulations: Vec<Accumulation>,
    /// Instruction levels of the fast projector to try.
    pub simd: Vec<Simd>,
    /// Measure for about this long in all, seconds.
    pub budget_secs: f64,
}

/// One measured thing.
#[derive(Clone, Debug, Serialize)]
pub struct ProjectorRow {
    /// `per-lor` or `axial-runs`, with its instructions.
    pub projector: String,
    /// `forward` or `backprojection`.
    pub direction: &'static str,
    /// Accumulation, for the backprojection.
    pub accumulation: Option<Accumulation>,
    /// Threads.
    pub threads: usize,
    /// Seconds for the whole scan: median.
    pub median_s: f64,
    /// Half of the interquartile range.
    pub spread_s: f64,
    /// Lines of response per second.
    pub lors_per_s: f64,
    /// Number of measurements after a first one that does not count.
    pub num_runs: usize,
    /// Part of the views that was measured; times are scaled to all.
    pub measured_views: String,
    /// How many times faster than the per-LOR projector (its deterministic backprojection) with the same threads.
    pub ratio_to_per_lor: Option<f64>,
}

/// Measures all rows; `report` is called with each as it is done.
///
/// # Errors
/// The fast projector does not suit the geometry; a projector fails.
pub fn bench_projector(
    bench: &ProjectorBench,
    mut report: impl FnMut(&ProjectorRow) + Send,
) -> Result<Vec<ProjectorRow>, OperatorError> {
    let mut rows: Vec<ProjectorRow> = Vec::new();
    let part = Subset { index: 0, count: PER_LOR_VIEW_STEP.min(bench.geometry.num_views) };
    for &threads in &bench.threads {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|error| OperatorError::Unsuitable(format!("{threads} threads could not be started: {error}")))?;
        pool.install(|| -> Result<(), OperatorError> {
            let mut row = |row: ProjectorRow| {
                let baseline = rows.iter().find(|base| base.is_baseline_of(&row));
                let ratio_to_per_lor = baseline.map(|base| base.median_s / row.median_s);
                let row = ProjectorRow { ratio_to_per_lor, ..row };
                report(&row);
                rows.push(row);
            };
            let geometry = || Arc::clone(&bench.geometry);
            if bench.per_lor {
                let siddon = Siddon::new(geometry(), bench.grid.clone(), bench.fov_radius_mm, [1, 1]);
                measure(bench, &siddon, "per-lor", part, threads, &mut row)?;
            }
            for &simd in &bench.simd {
                let fast = AxialRuns::new(geometry(), bench.grid.clone(), bench.fov_radius_mm, [1, 1])?.with_simd(simd);
                let name = format!("axial-runs ({})", fast.simd().name());
                measure(bench, &fast, &name, Subset::ALL, threads, &mut row)?;
            }
            Ok(())
        })?;
    }
    Ok(rows)
}

impl ProjectorRow {
    fn is_baseline_of(&self, other: &ProjectorRow) -> bool {
        let deterministic = self.accumulation.is_none_or(|a| a == Accumulation::Deterministic);
        self.projector == "per-lor" && self.direction == other.direction && self.threads == other.threads && deterministic
    }
}

/// Measures one projector in both directions.
fn measure(
    bench: &ProjectorBench,
    operator: &impl LinearOperator<Host>,
    name: &str,
    subset: Subset,
    threads: usize,
    row: &mut impl FnMut(ProjectorRow),
) -> Result<(), OperatorError> {
    let num_projectors = bench.simd.len() + usize::from(bench.per_lor);
    let num_rows = bench.threads.len() * num_projectors * (1 + bench.accumulations.len());
    let budget_secs = bench.budget_secs / num_rows as f64;
    let mut host = Host;
    let task = Task::new();
    let num_views = bench.geometry.num_views;
    let views = subset.views(num_views).len();
    let scale = num_views as f64 / views as f64;
    let x = Arc::new(operator.image_from_volume(&Volume::filled(bench.grid.clone(), 1.0)));
    let mut data = host.zeros(operator.data_len(subset))?;
    let mut image = host.zeros(operator.image_len())?;
    for accumulation in std::iter::once(None).chain(bench.accumulations.iter().copied().map(Some)) {
        let mut secs = Vec::new();
        let begin = Instant::now();
        while secs.len() < 3 || begin.elapsed().as_secs_f64() < budget_secs {
            let start = Instant::now();
            match accumulation {
                None => operator.apply(&mut host, subset, &x, &mut data, &task)?,
                Some(accumulation) => operator.adjoint(&mut host, subset, &data, accumulation, &mut image, &task)?,
            }
            secs.push(start.elapsed().as_secs_f64() * scale);
        }
        // The first run touches its memory for the first time.
        secs.remove(0);
        let num_runs = secs.len();
        let (median_s, spread_s) = median_and_spread(secs);
        row(ProjectorRow {
            projector: name.into(),
            direction: if accumulation.is_none() { "forward" } else { "backprojection" },
            accumulation,
            threads,
            median_s,
            spread_s,
            lors_per_s: bench.geometry.num_bins() as f64 / median_s,
            num_runs,
            measured_views: format!("{views} of {num_views}"),
            ratio_to_per_lor: None,
        });
    }
    Ok(())
}
