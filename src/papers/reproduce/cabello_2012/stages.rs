//! The measurements, in stages; the matrix and the scans are stored too.

use super::implementation::Implementation;
use super::measure::{Data, Reconstruction, reconstruct};
use super::mouse;
use super::plan::Scan;
use super::{Cabello, Context};
use crate::data::{BasisKind, PairCounts, Study};
use crate::operator::Accumulation;
use crate::plan::{MatrixTimes, MatrixTiming, matrix_times, scan_pairs};
use crate::reproduce::device::timed_threads;
use crate::reproduce::prelude::*;
use crate::text::counted;

#[derive(Clone, Copy)]
pub enum Work {
    Matrix(BasisKind),
    /// Product on a GPU, or on a number of threads of the CPU.
    Times(DeviceChoice, Option<usize>),
    Image(BasisKind, Scan, Implementation),
    /// The beds as one image.
    Mouse(BasisKind),
}

/// Returns the name of data with a kind of functions; that of blobs has no suffix.
fn with_kind(kind: BasisKind, name: String) -> String {
    if kind == BasisKind::Blobs { name } else { format!("{name}-{kind}") }
}

impl Measurement<Cabello> for Work {
    fn names(&self) -> (String, String) {
        match self {
            Work::Matrix(kind) => (with_kind(*kind, "matrix".into()), format!("system matrix of {}", kind.text())),
            Work::Times(device, threads) => {
                let of_threads = threads.map_or(String::new(), |threads| format!(", {}", counted(threads, "thread")));
                let key = threads.map_or(String::new(), |threads| format!("-{threads}"));
                let (device, title) = (device::key(*device), device::title(*device));
                (format!("times.{device}{key}"), format!("times: {title}{of_threads}"))
            }
            Work::Image(kind, scan, implementation) => (
                format!("{}.{}", with_kind(*kind, scan.name()), implementation.key()),
                format!("{}, with {}: {}", scan.name(), kind.text(), implementation.title()),
            ),
            Work::Mouse(kind) => (with_kind(*kind, "mouse".into()), format!("mouse, with {}: beds as one image", kind.text())),
        }
    }

    fn make(&self, context: &Context) -> Result<&'static str, ReproduceError> {
        let (folder, key) = (&context.folder, self.key());
        match *self {
            Work::Matrix(kind) => drop(context.matrix(kind)?),
            Work::Times(device, threads) => folder.store(&key, &context.times(device, threads)?)?,
            Work::Image(kind, scan, implementation) => {
                let found = context.reconstruction(kind, scan, implementation)?;
                if let Some(found) = &found {
                    folder.store_image(&key, &found.image)?;
                }
                folder.store(&key, &found.as_ref().map(|found| &found.run))?;
                let Some(found) = found else { return Ok("not offered on this device, ") };
                if implementation == Implementation::reference(context.device) {
                    context.cache.reference.set(scan, found.measured);
                }
            }
            Work::Mouse(kind) => {
                let reference = Implementation::reference(context.device);
                let beds = (0..mouse::NUM_BEDS).map(|bed| context.load_image(&Work::Image(kind, Scan::Bed(bed), reference)));
                let images: Vec<Volume> = beds.filter_map(Result::transpose).collect::<Result<_, _>>()?;
                let whole = mouse::whole(context.plan.ring()?, &images)?;
                folder.store_image(&key, &whole)?;
                folder.store(&key, &whole.grid.size)?;
            }
        }
        Ok("")
    }
}

fn images(kind: BasisKind, scan: Scan, device: DeviceChoice) -> impl Iterator<Item = Work> {
    Implementation::of_images(scan, device).into_iter().map(move |one| Work::Image(kind, scan, one))
}

/// Returns the beds of the mouse and its whole image.
fn mouse(kind: BasisKind, device: DeviceChoice) -> impl Iterator<Item = Work> {
    (0..mouse::NUM_BEDS).flat_map(move |bed| images(kind, Scan::Bed(bed), device)).chain([Work::Mouse(kind)])
}

pub const STAGES: [Stage<Cabello>; 6] = [
    // Section 2.
    ("matrix", |_| vec![Work::Matrix(BasisKind::Blobs)]),
    // Table 1.
    ("times", |context| {
        let of_gpu = (context.device != DeviceChoice::Cpu).then_some(Work::Times(context.device, None));
        let of_cpu = timed_threads().into_iter().map(|threads| Work::Times(DeviceChoice::Cpu, Some(threads)));
        of_gpu.into_iter().chain(of_cpu).collect()
    }),
    // Figures 3 to 6.
    ("rods", |context| images(BasisKind::Blobs, Scan::Rods, context.device).collect()),
    // Table 2 and figures 7 to 9.
    ("ellipsoid", |context| images(BasisKind::Blobs, Scan::Ellipsoid, context.device).collect()),
    // Figure 10.
    ("mouse", |context| mouse(BasisKind::Blobs, context.device).collect()),
    // Figure 10 with cubes.
    ("cubic", |context| [Work::Matrix(BasisKind::Cubic)].into_iter().chain(mouse(BasisKind::Cubic, context.device)).collect()),
];

impl Context {
    /// Measures the times of a projection and a backprojection.
    fn times(&self, device: DeviceChoice, threads: Option<usize>) -> Result<Vec<MatrixTimes>, ReproduceError> {
        let (plan, matrix) = (&self.plan, self.matrix(BasisKind::Blobs)?);
        let (ring, num_times, plain_step) = (plan.ring()?, plan.num_times, plan.plain_step);
        let timing = MatrixTiming { ring, matrix, device, num_times, plain_step };
        on_threads(threads, || Ok(matrix_times(&timing)?))
    }

    /// Reconstructs; `None` where the device does not offer it.
    fn reconstruction(
        &self,
        kind: BasisKind,
        scan: Scan,
        implementation: Implementation,
    ) -> Result<Option<Reconstruction>, ReproduceError> {
        let (plan, one) = (&self.plan, Implementation::reference(self.device));
        // Its images are not stored: after a run that was interrupted they are made again.
        let make = || Ok(self.reconstruction(kind, scan, one)?.map_or_else(Arc::default, |found| found.measured));
        let reference = if implementation == one { None } else { Some(self.cache.reference.only(scan, make)?) };
        let data = Data { plan, scan, study: self.study(scan)?, matrix: self.matrix(kind)? };
        let num_iterations = self.num_iterations(scan, implementation);
        reconstruct(&data, implementation, num_iterations, reference.as_ref().map(|images| &images[..]))
    }

    fn num_iterations(&self, scan: Scan, Implementation { device, accumulation }: Implementation) -> usize {
        let is_followed = matches!(accumulation, Accumulation::Deterministic | Accumulation::RandomCentralAtomic);
        match scan {
            _ if device != self.device => self.plan.num_cpu_iterations,
            Scan::Rods if is_followed => self.plan.num_long_iterations,
            _ => self.plan.num_iterations,
        }
    }

    /// Returns a scan: reads it from the folder, or simulates and stores it.
    fn study(&self, scan: Scan) -> Result<Arc<Study<PairCounts>>, ReproduceError> {
        self.cache.study.only(scan, || {
            if let Some(pairs) = self.folder.load_pairs(&scan.name())? {
                return Ok(Arc::new(Study::new(scan.name(), pairs)));
            }
            let (phantom, num_counts) = (self.plan.phantom(scan)?, self.plan.num_counts(scan)?);
            let study = scan_pairs(&phantom, self.plan.ring()?, num_counts, self.plan.seed, &Task::new())?;
            self.folder.store_pairs(&scan.name(), &study.measured)?;
            Ok(Arc::new(study))
        })
    }
}
