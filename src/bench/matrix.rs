//! Projection and backprojection with a stored matrix: the plain product, the fast one, and on a GPU the paper's layout.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::{BenchError, on_threads};
use crate::algebra::{Backend, Host};
#[cfg(feature = "cuda")]
use crate::cuda;
use crate::data::ResponseMatrix;
use crate::measure::median_and_spread;
use crate::operator::{Accumulation, CrystalPairs, DataSpace, LinearOperator, StoredMatrix, Subset};
use crate::plan::{Chosen, DeviceChoice, check_basis, choose_device};
use crate::scanner::CrystalRing;
use crate::task::Task;

/// What to measure.
#[derive(Clone, Debug)]
pub struct MatrixBench<'a> {
    /// The ring.
    pub ring: &'a CrystalRing,
    /// Its matrix.
    pub matrix: Arc<ResponseMatrix>,
    /// Where.
    pub device: DeviceChoice,
    /// `None` = all; of the processor.
    pub num_threads: Option<usize>,
    /// Times that are measured, after one that is not.
    pub num_times: usize,
}

/// What was measured of one way.
#[derive(Clone, Debug, Serialize)]
pub struct MatrixRow {
    /// Device in words.
    pub device: String,
    /// `plain`, `fast`, or `paper`: a thread a line, which loops over elements and symmetries.
    pub layout: &'static str,
    /// How the backprojection adds.
    pub accumulation: Accumulation,
    /// Seconds of a projection: median, and half of the interquartile range.
    pub forward_s: [f64; 2],
    /// Seconds of a backprojection, likewise.
    pub backprojection_s: [f64; 2],
}

impl MatrixRow {
    /// Seconds of both.
    pub fn both_s(&self) -> f64 {
        self.forward_s[0] + self.backprojection_s[0]
    }
}

/// Measures every way of a device.
///
/// # Errors
/// A device that cannot be used, a step fails.
pub fn bench_matrix(bench: &MatrixBench) -> Result<Vec<MatrixRow>, BenchError> {
    check_basis(bench.ring, &bench.matrix)?;
    let pairs = CrystalPairs::new(bench.ring);
    let num_places = pairs.len(Subset::ALL);
    let (chosen, _) = choose_device(bench.device)?;
    match chosen {
        Chosen::Cpu => on_threads(bench.num_threads, || {
            let new = || StoredMatrix::new((*bench.matrix).clone(), pairs.clone());
            let way = [Accumulation::Deterministic];
            let plain = measured(&mut Host, &new()?.plain(), bench, "plain", num_places, &way)?;
            Ok([plain, measured(&mut Host, &new()?, bench, "fast", num_places, &way)?].concat())
        }),
        #[cfg(feature = "cuda")]
        Chosen::Cuda(mut backend) => {
            let new = |backend: &cuda::CudaBackend| {
                let basis = crate::plan::polar_basis(bench.ring, &bench.matrix.basis, None)?;
                Ok::<_, BenchError>(cuda::StoredMatrix::new(backend, &bench.matrix, pairs.clone(), basis.num_central())?)
            };
            let fast = new(&backend)?;
            let rows = measured(&mut *backend, &fast, bench, "fast", num_places, &[Accumulation::Deterministic])?;
            let ways: Vec<Accumulation> =
                fast.accumulations().iter().copied().filter(|way| *way != Accumulation::Deterministic).collect();
            Ok([rows, measured(&mut *backend, &fast.by_lor(), bench, "paper", num_places, &ways)?].concat())
        }
    }
}

fn measured<B: Backend>(
    backend: &mut B,
    operator: &impl LinearOperator<B>,
    bench: &MatrixBench,
    layout: &'static str,
    num_places: usize,
    ways: &[Accumulation],
) -> Result<Vec<MatrixRow>, BenchError> {
    let task = Task::new();
    let num_coefficients = bench.matrix.num_basic * bench.ring.num_symmetries();
    let x = backend.upload(Arc::new(vec![1.0; num_coefficients]))?;
    let mut y = backend.zeros(num_places)?;
    let mut back = backend.zeros(num_coefficients)?;
    let mut timed = |accumulation: Option<Accumulation>| -> Result<[f64; 2], BenchError> {
        let mut secs = Vec::new();
        for _ in 0..=bench.num_times {
            backend.finish()?;
            let start = Instant::now();
            match accumulation {
                None => operator.apply(backend, Subset::ALL, &x, &mut y, &task)?,
                Some(way) => operator.adjoint(backend, Subset::ALL, &y, way, &mut back, &task)?,
            }
            backend.finish()?;
            secs.push(start.elapsed().as_secs_f64());
        }
        // The first touches its memory for the first time.
        secs.remove(0);
        let (median, spread) = median_and_spread(secs).unwrap_or_default();
        Ok([median, spread])
    };
    let forward_s = timed(None)?;
    let mut rows = Vec::new();
    for &accumulation in ways {
        rows.push((accumulation, timed(Some(accumulation))?));
    }
    let device = backend.name();
    let row = |(accumulation, backprojection_s)| MatrixRow {
        device: device.clone(),
        layout,
        accumulation,
        forward_s,
        backprojection_s,
    };
    Ok(rows.into_iter().map(row).collect())
}
