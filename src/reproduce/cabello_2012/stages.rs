//! The measurements, in stages that can be run one by one. Each is kept as soon as it is made, and what is kept is not measured again;
//! the matrix and the scans are kept too.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::Settings;
use super::implementation::{Implementation, device_key, device_title};
use super::measure::{Data, Reconstruction, Run, reconstruct};
use super::mouse;
use super::plan::{Plan, Scan};
use crate::data::{BasisKind, MatrixMade, PairCounts, ResponseMatrix, Study, Volume};
use crate::io::saved_matrix::{read_matrix, write_matrix};
use crate::plan::{DeviceChoice, MatrixTimes, MatrixTiming, crystal_pairs, make_matrix, matrix_times, scan_pairs};
use crate::reproduce::ReproduceError;
use crate::reproduce::folder::Folder;
use crate::reproduce::schedule::{Measurement, measure_missing, not_a_stage};
use crate::task::Task;
use crate::words::counted;

/// The file of a matrix in the folder. One that lies there already is used.
fn matrix_file(kind: BasisKind) -> String {
    format!("{}.matrix", Work::Matrix(kind).key())
}

/// A part of the measurements, in the order in which they are made; the command line has these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = not_a_stage::<Item>)]
pub enum Item {
    /// The stored matrix (section 2).
    Matrix,
    /// Table 1.
    Times,
    /// Figures 3 to 6.
    Rods,
    /// Table 2 and figures 7 to 9.
    Ellipsoid,
    /// Figure 10.
    Mouse,
    /// Figure 10 with cubes.
    Cubic,
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Matrix(BasisKind),
    /// On a GPU, or on so many threads of the processor.
    Times(DeviceChoice, Option<usize>),
    Image(BasisKind, Scan, Implementation),
    /// The beds as one image.
    Mouse(BasisKind),
}

/// The name of what is made with some functions; blobs go without saying.
fn with_kind(kind: BasisKind, name: String) -> String {
    if kind == BasisKind::Blobs { name } else { format!("{name}-{kind}") }
}

/// How large the matrix is, and how it was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MatrixFigures {
    pub num_lors: usize,
    pub num_basic: usize,
    pub num_symmetries: usize,
    pub num_elements: usize,
    /// Of the elements and of where those of each line begin.
    pub num_bytes: u64,
    pub made: Option<MatrixMade>,
    /// Where and how long it was simulated, if it was not there already.
    pub device: Option<String>,
    pub secs: Option<f64>,
}

impl MatrixFigures {
    fn new(num_symmetries: usize, matrix: &ResponseMatrix, simulated: Option<(String, f64)>) -> Self {
        let (device, secs) = simulated.unzip();
        Self {
            num_lors: matrix.first.len() - 1,
            num_basic: matrix.num_basic,
            num_symmetries,
            num_elements: matrix.elements.len(),
            num_bytes: 4 * (matrix.elements.len() + matrix.first.len() - 1) as u64,
            made: matrix.made,
            device,
            secs,
        }
    }
}

impl Measurement for Work {
    fn key(&self) -> String {
        match self {
            Work::Matrix(kind) => with_kind(*kind, "matrix".into()),
            Work::Times(device, None) => format!("times.{}", device_key(*device)),
            Work::Times(device, Some(threads)) => format!("times.{}-{threads}", device_key(*device)),
            Work::Image(kind, scan, implementation) => format!("{}.{}", with_kind(*kind, scan.name()), implementation.key()),
            Work::Mouse(kind) => with_kind(*kind, "mouse".into()),
        }
    }

    fn title(&self) -> String {
        match self {
            Work::Matrix(kind) => format!("system matrix of {}", kind.words()),
            Work::Times(device, None) => format!("times: {}", device_title(*device)),
            Work::Times(device, Some(threads)) => format!("times: {}, {}", device_title(*device), counted(*threads, "thread")),
            Work::Image(kind, scan, implementation) => {
                format!("{}, with {}: {}", scan.name(), kind.words(), implementation.title())
            }
            Work::Mouse(kind) => format!("mouse, with {}: beds as one image", kind.words()),
        }
    }
}

/// Numbers of threads of the processor that are timed.
pub(super) fn threads_of_times() -> impl Iterator<Item = usize> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    [1, 2, 4, 8].into_iter().filter(move |threads| *threads <= all)
}

/// The measurements of a stage, in order.
pub(super) fn work(stage: Item, device: DeviceChoice) -> Vec<Work> {
    let of_kind = |kind: BasisKind, scan: Scan| {
        Implementation::of_images(scan, device).into_iter().map(move |one| Work::Image(kind, scan, one))
    };
    let images = |scan: Scan| of_kind(BasisKind::Blobs, scan);
    let mouse =
        |kind: BasisKind| (0..mouse::NUM_BEDS).flat_map(move |bed| of_kind(kind, Scan::Bed(bed))).chain([Work::Mouse(kind)]);
    match stage {
        Item::Matrix => vec![Work::Matrix(BasisKind::Blobs)],
        Item::Times => {
            let of_gpu = (device != DeviceChoice::Cpu).then_some(Work::Times(device, None));
            of_gpu.into_iter().chain(threads_of_times().map(|threads| Work::Times(DeviceChoice::Cpu, Some(threads)))).collect()
        }
        Item::Rods => images(Scan::Rods).collect(),
        Item::Ellipsoid => images(Scan::Ellipsoid).collect(),
        Item::Mouse => mouse(BasisKind::Blobs).collect(),
        Item::Cubic => [Work::Matrix(BasisKind::Cubic)].into_iter().chain(mouse(BasisKind::Cubic)).collect(),
    }
}

/// Does the measurements that the folder does not hold; `false` if the time did not suffice for all.
pub(super) fn run(
    plan: &Plan,
    device: DeviceChoice,
    settings: &Settings,
    folder: &Folder,
    say: &mut dyn FnMut(&str),
) -> Result<bool, ReproduceError> {
    let stages = settings.stages.iter().map(|&stage| (stage, work(stage, device)));
    let mut runner = Runner { plan, device, folder, matrix: None, study: None, reference: None };
    measure_missing(stages, folder, settings.budget_secs, say, |work| runner.measure(work))
}

/// Does measurements; keeps what several of them need.
struct Runner<'a> {
    plan: &'a Plan,
    device: DeviceChoice,
    folder: &'a Folder,
    matrix: Option<(BasisKind, Arc<ResponseMatrix>)>,
    study: Option<(Scan, Arc<Study<PairCounts>>)>,
    /// The images of the last scan that others are compared with.
    reference: Option<(Scan, Vec<Volume>)>,
}

impl Runner<'_> {
    /// Does one measurement; what to say about it.
    fn measure(&mut self, work: &Work) -> Result<&'static str, ReproduceError> {
        let key = work.key();
        match *work {
            Work::Matrix(kind) => drop(self.matrix(kind)?),
            Work::Times(device, threads) => self.folder.store(&key, &self.times(device, threads)?)?,
            Work::Image(kind, scan, implementation) => {
                let found = self.image(kind, scan, implementation)?;
                if let Some(found) = &found {
                    self.folder.store_image(&key, &found.image)?;
                }
                let run: Option<&Run> = found.as_ref().map(|found| &found.run);
                self.folder.store(&key, &run)?;
                let is_there = run.is_some();
                if let Some(Reconstruction { measured, .. }) = found.filter(|_| self.is_reference(implementation)) {
                    self.reference = Some((scan, measured));
                }
                return Ok(if is_there { "" } else { "not offered on this device, " });
            }
            Work::Mouse(kind) => {
                let beds =
                    (0..mouse::NUM_BEDS).map(|bed| Work::Image(kind, Scan::Bed(bed), Implementation::reference(self.device)));
                let images: Vec<Option<Volume>> = beds.map(|bed| self.folder.load_image(&bed.key())).collect::<Result<_, _>>()?;
                let images: Vec<Volume> = images.into_iter().flatten().collect();
                let whole = mouse::whole(self.plan, &images)?;
                self.folder.store_image(&key, &whole)?;
                self.folder.store(&key, &whole.grid.size)?;
            }
        }
        Ok("")
    }

    fn is_reference(&self, implementation: Implementation) -> bool {
        implementation == Implementation::reference(self.device)
    }

    /// The matrix of some functions: the one of the folder, else it is made and kept there.
    fn matrix(&mut self, kind: BasisKind) -> Result<Arc<ResponseMatrix>, ReproduceError> {
        if let Some((_, matrix)) = self.matrix.as_ref().filter(|(kept, _)| *kept == kind) {
            return Ok(Arc::clone(matrix));
        }
        self.matrix = None;
        let (ring, recipe) = (self.plan.ring()?, self.plan.recipe(kind)?);
        let (path, key) = (self.folder.path(&matrix_file(kind)), Work::Matrix(kind).key());
        let (matrix, simulated) = if path.is_file() {
            let matrix = read_matrix(&path)?;
            if (&matrix.scanner, matrix.basis) != (&ring.name, recipe.basis) {
                return Err(ReproduceError::OtherMatrix(path));
            }
            (matrix, None)
        } else {
            let begin = Instant::now();
            let made = make_matrix(ring, &recipe, self.device, &Task::new())?;
            let secs = begin.elapsed().as_secs_f64();
            write_matrix(&path, &made.result)?;
            (made.result, Some((made.device, secs)))
        };
        if simulated.is_some() || !self.folder.has(&key) {
            let num_symmetries = crystal_pairs(ring, kind)?.num_symmetries();
            self.folder.store(&key, &MatrixFigures::new(num_symmetries, &matrix, simulated))?;
        }
        let (_, matrix) = self.matrix.insert((kind, Arc::new(matrix)));
        Ok(Arc::clone(matrix))
    }

    /// How long a projection and a backprojection take.
    fn times(&mut self, device: DeviceChoice, threads: Option<usize>) -> Result<Vec<MatrixTimes>, ReproduceError> {
        let (plan, matrix, count) = (self.plan, self.matrix(BasisKind::Blobs)?, threads.unwrap_or(0));
        let ring = plan.ring()?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
        let pool = pool.map_err(|error| ReproduceError::Threads { count, reason: error.to_string() })?;
        let timing = MatrixTiming { ring, matrix, device, num_times: plan.num_times, plain_step: plan.plain_step };
        Ok(pool.install(|| matrix_times(&timing))?)
    }

    fn image(
        &mut self,
        kind: BasisKind,
        scan: Scan,
        implementation: Implementation,
    ) -> Result<Option<Reconstruction>, ReproduceError> {
        let is_reference = self.is_reference(implementation);
        let has_reference = self.reference.as_ref().is_some_and(|(of, _)| *of == scan);
        if !is_reference && !has_reference {
            // It was measured earlier, but its images were not kept.
            let found = self.image(kind, scan, Implementation::reference(self.device))?;
            self.reference = found.map(|found| (scan, found.measured));
        }
        let data = Data { plan: self.plan, scan, study: self.study(scan)?, matrix: self.matrix(kind)? };
        let num_iterations = self.plan.num_iterations_of(scan, implementation, self.device);
        let reference = self.reference.as_ref().filter(|_| !is_reference).map(|(_, images)| &images[..]);
        reconstruct(&data, implementation, num_iterations, reference)
    }

    /// A scan: the one of the folder, else it is simulated and kept there.
    fn study(&mut self, scan: Scan) -> Result<Arc<Study<PairCounts>>, ReproduceError> {
        if let Some((_, study)) = self.study.as_ref().filter(|(kept, _)| *kept == scan) {
            return Ok(Arc::clone(study));
        }
        let study = match self.folder.load_pairs(&scan.name())? {
            Some(pairs) => Study::new(scan.name(), pairs),
            None => {
                let (phantom, num_counts) = (self.plan.phantom(scan)?, self.plan.num_counts(scan)?);
                let study = scan_pairs(&phantom, self.plan.ring()?, num_counts, self.plan.seed, &Task::new())?;
                self.folder.store_pairs(&scan.name(), &study.measured)?;
                study
            }
        };
        let study = Arc::new(study);
        self.study = Some((scan, Arc::clone(&study)));
        Ok(study)
    }
}
