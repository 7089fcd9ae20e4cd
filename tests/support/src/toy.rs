//! A system that the program does not know: overlapping Gaussians seen by a list of events, with a resolution model.
//!
//! Everything here is made of the public interface, and small enough to be written out as a dense matrix.

use std::ops::Range;
use std::sync::Arc;

use tomoscope::algebra::{Backend, BackendError, Data, Host, HostArray, Image, ImageSpace};
use tomoscope::data::{Counts, Michelogram, Study, Volume};
use tomoscope::geometry::{Grid, Point};
use tomoscope::operator::{Accumulation, DataSpace, LinearOperator, OperatorError, Subset};
use tomoscope::plan::{Job, Prepared, RunSettings, StartInfo, default_settings};
use tomoscope::recon::{CountTotals, EmKernels, EmSettings, Estimate, ForwardModel, MlemOsem, PoissonTerms, Step, SubsetOrder};
use tomoscope::session::Setup;
use tomoscope::task::Task;

use super::composed::{Composed, ImageMap};

/// The grid on which images are shown.
pub fn grid() -> Grid {
    Grid::centred([12, 10, 4], [4.0, 4.0, 5.0]).unwrap()
}

/// Centres of the Gaussians, mm.
fn centres() -> Vec<Point> {
    let at = |i: usize, n: usize, step: f64| (i as f64 - (n - 1) as f64 / 2.0) * step;
    let lattice = |j: usize| [at(j % 5, 5, 9.0), at(j / 5 % 4, 4, 9.0), at(j / 20, 2, 8.0)];
    (0..40).map(lattice).collect()
}

/// Standard deviation of a Gaussian, mm: neighbours overlap.
const SIGMA_MM: f64 = 6.0;

/// An image is Σ_j x_j exp(−|r − c_j|² / 2σ²).
pub struct Gaussians {
    grid: Grid,
    centres: Vec<Point>,
}

impl Gaussians {
    pub fn new() -> Self {
        Self { grid: grid(), centres: centres() }
    }

    fn position(&self, voxel: usize) -> Point {
        let [nx, ny, _] = self.grid.size;
        self.grid.mm_from_voxel([voxel % nx, voxel / nx % ny, voxel / nx / ny].map(|index| index as f64))
    }

    /// The value of Gaussian j in a voxel.
    fn basis(&self, voxel: usize, j: usize) -> f64 {
        let (r, c) = (self.position(voxel), self.centres[j]);
        let square: f64 = (0..3).map(|a| (r[a] - c[a]).powi(2)).sum();
        (-0.5 * square / (SIGMA_MM * SIGMA_MM)).exp()
    }

    /// The voxels of coefficients.
    pub fn voxels(&self, x: &[f64]) -> Vec<f64> {
        let value = |voxel| x.iter().enumerate().map(|(j, x)| x * self.basis(voxel, j)).sum();
        (0..self.grid.num_voxels()).map(value).collect()
    }
}

impl ImageSpace<Host> for Gaussians {
    fn len(&self) -> usize {
        self.centres.len()
    }

    fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The value at the nearest voxel.
    fn coefficients(&self, volume: &Volume) -> Vec<f32> {
        let value = |centre: &Point| {
            let [x, y, z] = self.grid.voxel_from_mm(*centre).map(|at| at.round() as usize);
            volume.values[[z, y, x]]
        };
        self.centres.iter().map(value).collect()
    }

    fn evaluated_len(&self) -> Option<usize> {
        Some(self.grid.num_voxels())
    }

    fn evaluate(&self, _: &mut Host, x: &HostArray<Image>, out: &mut HostArray<Image>) -> Result<(), BackendError> {
        let x: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        out.values_mut().iter_mut().zip(self.voxels(&x)).for_each(|(out, value)| *out = value as f32);
        Ok(())
    }

    fn place(&self, voxel: usize) -> usize {
        voxel
    }

    fn write(&self, voxels: &[f32], scale: f32, volume: &mut Volume) {
        volume.as_mut_slice().iter_mut().zip(voxels).for_each(|(to, value)| *to = scale * value);
    }
}

/// Lines on which an event can lie: their number, and how much line i sees of Gaussian j.
const NUM_LINES: usize = 90;

fn seen(line: usize, j: usize) -> f64 {
    let (angle, offset) = ((line % 10) as f64 * 0.314, (line / 10) as f64 * 5.0 - 20.0);
    let [x, y, z] = centres()[j];
    let distance = x * angle.cos() + y * angle.sin() - offset;
    (-0.5 * (distance / 5.0).powi(2)).exp() * (1.0 + 0.02 * z)
}

/// Events, each the number of its line. Of n subsets each has every n-th event of the list.
#[derive(Clone)]
pub struct Events(Arc<Vec<usize>>);

impl Events {
    /// Some of each line, most of none.
    fn new() -> Self {
        let repeated = |line: usize| std::iter::repeat_n(line, (7 * line + line * line / 3) % 5);
        Self(Arc::new((0..NUM_LINES).flat_map(repeated).collect()))
    }

    fn of(&self, subset: Subset) -> impl ExactSizeIterator<Item = usize> + '_ {
        subset.views(self.0.len()).map(|event| self.0[event])
    }
}

impl DataSpace for Events {
    fn max_subsets(&self) -> usize {
        self.0.len()
    }

    fn len(&self, subset: Subset) -> usize {
        self.of(subset).len()
    }

    fn arranged(&self, values: &Arc<Vec<f32>>, num_subsets: usize) -> Arc<Vec<f32>> {
        let events = Subset::all(num_subsets).flat_map(|subset| subset.views(self.0.len()));
        Arc::new(events.map(|event| values[event]).collect())
    }

    fn in_order(&self, values: Vec<f32>) -> Vec<f32> {
        values
    }

    fn pieces(&self, subset: Subset) -> Vec<(usize, Range<usize>)> {
        let first: usize = Subset::all(subset.count).take(subset.index).map(|before| self.len(before)).sum();
        vec![(0, first..first + self.len(subset))]
    }
}

/// What each event sees.
struct Lines(Events);

impl LinearOperator<Host> for Lines {
    fn apply(
        &self,
        _: &mut Host,
        subset: Subset,
        x: &HostArray<Image>,
        out: &mut HostArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        task.check()?;
        for (out, line) in out.values_mut().iter_mut().zip(self.0.of(subset)) {
            *out = x.iter().enumerate().map(|(j, &x)| seen(line, j) * f64::from(x)).sum::<f64>() as f32;
        }
        Ok(())
    }

    fn adjoint(
        &self,
        _: &mut Host,
        subset: Subset,
        q: &HostArray<Data>,
        _: Accumulation,
        out: &mut HostArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        task.check()?;
        for (j, out) in out.values_mut().iter_mut().enumerate() {
            *out = self.0.of(subset).zip(q.iter()).map(|(line, &q)| seen(line, j) * f64::from(q)).sum::<f64>() as f32;
        }
        Ok(())
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        &[Accumulation::Deterministic]
    }

    fn scratch_bytes(&self, _: Subset, _: Accumulation) -> u64 {
        0
    }
}

/// A resolution model: some of each coefficient is seen in the next one.
struct Blur;

/// G_jk.
fn blurred(j: usize, k: usize) -> f64 {
    match (j, k) {
        _ if j == k => 0.7,
        _ if j == k + 1 => 0.2,
        _ if j + 1 == k => 0.1,
        _ => 0.0,
    }
}

fn times(matrix: impl Fn(usize, usize) -> f64, x: &[f32], out: &mut [f32]) {
    for (j, out) in out.iter_mut().enumerate() {
        *out = x.iter().enumerate().map(|(k, &x)| matrix(j, k) * f64::from(x)).sum::<f64>() as f32;
    }
}

impl ImageMap<Host> for Blur {
    fn len(&self) -> usize {
        centres().len()
    }

    fn apply(&self, _: &mut Host, x: &HostArray<Image>, out: &mut HostArray<Image>, _: &Task) -> Result<(), OperatorError> {
        times(blurred, x, out.values_mut());
        Ok(())
    }

    fn adjoint(&self, _: &mut Host, x: &HostArray<Image>, out: &mut HostArray<Image>, _: &Task) -> Result<(), OperatorError> {
        times(|j, k| blurred(k, j), x, out.values_mut());
        Ok(())
    }

    fn scratch_bytes(&self) -> u64 {
        0
    }
}

/// Events under this system. What could have been measured is every line, not only those of the events.
struct EventModel {
    operator: Composed<Host, Lines, Blur>,
    events: Events,
    ones: HostArray<Data>,
    num_subsets: usize,
}

impl EventModel {
    fn new(num_subsets: usize) -> Self {
        let events = Events::new();
        let ones = vec![1.0; events.0.len()].into();
        Self { operator: Composed::new(Lines(events.clone()), Blur), events, ones, num_subsets }
    }

    fn subset(&self, index: usize) -> Subset {
        Subset { index, count: self.num_subsets }
    }
}

impl ForwardModel<Host> for EventModel {
    fn num_subsets(&self) -> usize {
        self.num_subsets
    }

    fn data_len(&self, subset: usize) -> usize {
        self.events.len(self.subset(subset))
    }

    fn project(
        &mut self,
        step: &mut Step<'_, Host>,
        x: &HostArray<Image>,
        out: &mut HostArray<Data>,
    ) -> Result<(), OperatorError> {
        self.operator.apply(step.backend, self.subset(step.subset), x, out, step.task)
    }

    fn forward(
        &mut self,
        step: &mut Step<'_, Host>,
        x: &HostArray<Image>,
        out: &mut HostArray<Data>,
    ) -> Result<(), OperatorError> {
        self.project(step, x, out)
    }

    fn poisson_ratio(
        &mut self,
        step: &mut Step<'_, Host>,
        estimate: &mut HostArray<Data>,
    ) -> Result<PoissonTerms, OperatorError> {
        Ok(step.backend.poisson_ratio(&self.ones, 0..self.data_len(step.subset), estimate, 0)?)
    }

    fn dot(&mut self, step: &mut Step<'_, Host>, p: &HostArray<Data>, q: &HostArray<Data>) -> Result<f64, OperatorError> {
        Ok(step.backend.dot(p, 0, q, 0..self.data_len(step.subset))?)
    }

    fn totals(&mut self) -> Result<CountTotals, OperatorError> {
        Ok(CountTotals { measured: self.ones.len() as f64, additive: Some(0.0) })
    }

    fn share(&mut self, _: usize) -> Result<f64, OperatorError> {
        Ok(1.0 / self.num_subsets as f64)
    }

    fn additive_counts(&mut self, _: &mut Step<'_, Host>, _: &HostArray<Data>) -> Result<f64, OperatorError> {
        Ok(0.0)
    }

    fn adjoint(
        &mut self,
        step: &mut Step<'_, Host>,
        q: &mut HostArray<Data>,
        out: &mut HostArray<Image>,
    ) -> Result<(), OperatorError> {
        self.operator.adjoint(step.backend, self.subset(step.subset), q, step.accumulation, out, step.task)
    }

    fn sensitivity(
        &mut self,
        step: &mut Step<'_, Host>,
        _: &mut HostArray<Data>,
        out: &mut HostArray<Image>,
    ) -> Result<(), OperatorError> {
        step.backend.fill(out, 0.0)?;
        let part = sensitivity().into_iter().map(|s| (s / self.num_subsets as f64) as f32);
        out.values_mut().iter_mut().zip(part).for_each(|(out, s)| *out = s);
        Ok(())
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.operator.accumulations()
    }
}

/// (A G)_ij of a line.
fn system(line: usize, j: usize) -> f64 {
    (0..centres().len()).map(|k| seen(line, k) * blurred(k, j)).sum()
}

/// Over all lines.
fn sensitivity() -> Vec<f64> {
    (0..centres().len()).map(|j| (0..NUM_LINES).map(|line| system(line, j)).sum()).collect()
}

/// The voxels after so many iterations, by the matrix written out.
pub fn reference(num_subsets: usize, num_iterations: usize) -> Vec<f64> {
    let (events, sensitivity) = (Events::new(), sensitivity());
    let matrix: Vec<Vec<f64>> = (0..NUM_LINES).map(|line| (0..sensitivity.len()).map(|j| system(line, j)).collect()).collect();
    let mut x = vec![1.0; sensitivity.len()];
    for step in 0..num_subsets * num_iterations {
        let subset = Subset { index: step % num_subsets, count: num_subsets };
        let mut correction = vec![0.0; x.len()];
        for line in events.of(subset) {
            let row = &matrix[line];
            let estimate: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
            correction.iter_mut().zip(row).for_each(|(sum, a)| *sum += a / estimate);
        }
        for (x, (c, s)) in x.iter_mut().zip(correction.iter().zip(&sensitivity)) {
            *x *= c * num_subsets as f64 / s;
        }
    }
    Gaussians::new().voxels(&x)
}

/// A job whose data nobody looks at, on the grid of the Gaussians.
pub fn job(num_subsets: usize, num_iterations: usize) -> Job {
    let study = study();
    let settings = RunSettings { grid: grid(), num_subsets, num_iterations, ..default_settings(&study.measured).unwrap() };
    Job::of(&study, settings)
}

/// A study to go with it.
pub fn study() -> Arc<Study<Counts>> {
    let geometry = Arc::new(tomoscope::scanner::find("small").unwrap().geometry.clone());
    let counts = vec![1.0; geometry.num_bins()];
    Arc::new(Study::new("Events", Counts::new(Michelogram::new(geometry, counts).unwrap())))
}

/// Makes MLEM or OSEM over the events, whatever the job's data are.
pub fn setup() -> Setup {
    Box::new(|job, _| {
        let settings = RunSettings { grid: grid(), ..(*job.settings).clone() };
        let num_subsets = settings.num_subsets;
        let em = EmSettings {
            subset_order: SubsetOrder::Sequential,
            accumulation: Accumulation::Deterministic,
            sensitivity_accumulation: Accumulation::Deterministic,
            racy_sensitivity: false,
        };
        let algorithm = MlemOsem::new(Host, Gaussians::new(), EventModel::new(num_subsets), em, None)?;
        let info = StartInfo {
            device: Host.name(),
            projector: "events".into(),
            num_subsets,
            accumulation: em.accumulation,
            accumulations: &[Accumulation::Deterministic],
            estimate: Estimate::default(),
            memory: Vec::new(),
            job: Job::new(Arc::clone(&job.study), settings),
        };
        Ok(Prepared { algorithm: Box::new(algorithm), info, notices: Vec::new(), num_taken: 0 })
    })
}

/// The events' operator with the resolution model, and how many events and Gaussians there are.
pub fn composed() -> (impl LinearOperator<Host>, [usize; 2]) {
    let events = Events::new();
    let sizes = [events.0.len(), centres().len()];
    (Composed::new(Lines(events), Blur), sizes)
}
