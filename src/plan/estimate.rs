//! What a run will need, told before anything large is allocated: bytes from the lengths of its arrays, seconds from a
//! trial of a few views.

use std::sync::Arc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use crossbeam_channel::bounded;
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use super::setup::SetupError;
use crate::algebra::{Backend, ImageSpace};
#[cfg(feature = "cuda")]
use crate::cuda::CudaBackend;
use crate::geometry::Grid;
use crate::operator::{Accumulation, DataSpace, LinearOperator, OperatorError, Subset};
use crate::recon::MeasuredValues;
use crate::task::{Stopped, Task};

/// Longest side of an image that is accepted, voxels.
const MAX_SIDE: usize = 4096;
/// Volumes on their way to the screen.
pub(super) const NUM_FRAMES: u64 = 3;
/// Address space that is left for the stacks of threads and the allocator's reserves.
#[cfg(unix)]
const SPARE_ADDRESS_SPACE: u64 = 64 << 20;
/// The trial ends here even when it has learned nothing.
const TRIAL_LIMIT: Duration = Duration::from_millis(250);
/// What the trial aims to take.
const TRIAL_AIM_SECS: f64 = 0.1;
/// The trial's most views, for each thread.
const TRIAL_VIEWS_PER_THREAD: usize = 5;

/// Refuses an image that cannot be held at all.
///
/// # Errors
/// A side out of all proportion, more memory than there is.
pub(super) fn check_image(grid: &Grid, free: &FreeMemory) -> Result<(), SetupError> {
    if let Some(&side) = grid.size.iter().find(|side| **side > MAX_SIDE) {
        return Err(SetupError::Settings(format!(
            "the image has a side of {side} voxels; at most {MAX_SIDE} can be handled: choose fewer or larger voxels"
        )));
    }
    free.check(4 * NUM_FRAMES * grid.num_voxels() as u64)
}

/// The arrays of a run, before they are made.
pub(super) struct Arrays<'a> {
    /// Whether they are copied to a device of their own memory.
    pub are_copied: bool,
    pub image_len: usize,
    pub grid: &'a Grid,
    pub data: &'a dyn DataSpace,
    pub counts: &'a MeasuredValues,
}

impl Arrays<'_> {
    /// Bytes of a run where its arrays are: the data of a subset, the images of the algorithm (iterate, correction, a
    /// sensitivity for each subset and of several their sum), the working memory of the operator (`scratch_bytes`) and the volumes on their way to the screen; the
    /// counts where they are copied there; with a race what measuring it needs.
    pub fn bytes(&self, num_subsets: usize, accumulation: Accumulation, scratch_bytes: u64) -> u64 {
        let subset = Subset { index: 0, count: num_subsets };
        let bins = self.data.len(Subset::ALL) as u64;
        let corrections = self.counts.num_corrections() as u64;
        let copied = if self.are_copied { (1 + corrections) * bins } else { 0 };
        let races = accumulation.has_race();
        let (row_sums, race_images) = if races { (bins, 1 + num_subsets as u64) } else { (0, 0) };
        let sensitivities = num_subsets as u64 + u64::from(num_subsets > 1);
        let images = (2 + sensitivities + race_images) * self.image_len as u64;
        let frames = NUM_FRAMES * self.grid.num_voxels() as u64;
        let values = copied + row_sums + self.data.len(subset) as u64 + images + frames;
        4 * values + scratch_bytes
    }
}

/// What a run will need, before it begins.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Forecast {
    /// Memory where its arrays are, bytes.
    pub memory_bytes: u64,
    /// Device in words, as in [`super::StartInfo`].
    pub device: String,
    /// Projector, as there.
    pub projector: String,
    /// Bytes that are free there; `None` where the system does not tell.
    pub free_bytes: Option<u64>,
}

/// Memory that is free, and where.
#[derive(Clone, Debug)]
pub struct FreeMemory {
    /// Bytes; `None` where the system does not tell.
    pub bytes: Option<u64>,
    /// The GPU whose memory it is; `None` = the computer's own.
    pub gpu: Option<String>,
}

impl FreeMemory {
    /// What this process can still get: what the system has free, within the limits of its control group and of its
    /// address space.
    pub fn of_the_computer() -> Self {
        let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(kind).ok();
        let free = system.and_then(|system| {
            let limit = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory);
            Some(system.available_memory().min(limit)).filter(|bytes| *bytes > 0)
        });
        Self { bytes: [free, free_address_space()].into_iter().flatten().min(), gpu: None }
    }

    /// What is free on a CUDA device.
    #[cfg(feature = "cuda")]
    pub fn of_device(backend: &CudaBackend) -> Self {
        Self { bytes: backend.free_memory_bytes(), gpu: Some(backend.info().name.clone()) }
    }

    /// The same with what a run of so many bytes gives back when it ends.
    pub fn with(self, given_back_bytes: u64) -> Self {
        Self { bytes: self.bytes.map(|bytes| bytes.saturating_add(given_back_bytes)), ..self }
    }

    /// Refuses to begin what it cannot hold. Where the system does not tell, nothing is refused.
    ///
    /// # Errors
    /// The need is greater than what is free, with both figures.
    pub fn check(&self, needed_bytes: u64) -> Result<(), SetupError> {
        match self.bytes {
            Some(free_bytes) if needed_bytes > free_bytes => {
                Err(SetupError::Memory { needed_bytes, free_bytes, gpu: self.gpu.clone(), has_subsets: false })
            }
            _ => Ok(()),
        }
    }
}

/// What is left of the address space that the process may use (`ulimit -v`); `None` where it has no limit.
#[cfg(unix)]
fn free_address_space() -> Option<u64> {
    use sysinfo::{ProcessRefreshKind, ProcessesToUpdate};
    let (limit, _) = rlimit::getrlimit(rlimit::Resource::AS).ok()?;
    if limit == rlimit::INFINITY {
        return None;
    }
    let (mut system, pid) = (System::new().ok()?, sysinfo::get_current_pid().ok()?);
    let what = ProcessRefreshKind::nothing().with_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, what);
    Some(limit.saturating_sub(system.process(pid)?.virtual_memory()).saturating_sub(SPARE_ADDRESS_SPACE))
}

/// Other systems have no such limit.
#[cfg(not(unix))]
fn free_address_space() -> Option<u64> {
    None
}

/// Seconds for a forward projection and a backprojection of all views, from a few of them; `None` when even one view
/// takes longer than the trial may.
///
/// # Errors
/// The operator failed.
pub(super) fn trial_secs<B: Backend>(
    backend: &mut B,
    operator: &impl LinearOperator<B>,
    image: &impl ImageSpace<B>,
    data: &impl DataSpace,
    num_subsets: usize,
    accumulation: Accumulation,
) -> Result<Option<f64>, OperatorError> {
    let task = Task::new();
    let result = std::thread::scope(|scope| {
        let (done, waiting) = bounded::<()>(0);
        let clock = task.clone();
        let limit = Builder::new().spawn_scoped(scope, move || {
            // The sender is dropped when the trial is over; until then the limit runs.
            if waiting.recv_timeout(TRIAL_LIMIT) == Err(crossbeam_channel::RecvTimeoutError::Timeout) {
                clock.stop();
            }
        });
        if limit.is_err() {
            // No trial without its limit.
            return Err(Stopped.into());
        }
        let result = trial(backend, operator, image, data, num_subsets, accumulation, &task);
        drop(done);
        result
    });
    match result {
        Ok(secs) => Ok(Some(secs)),
        Err(OperatorError::Stopped(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The trial itself: the smallest subset forward tells how much can be afforded, and that is projected both ways.
fn trial<B: Backend>(
    backend: &mut B,
    operator: &impl LinearOperator<B>,
    image: &impl ImageSpace<B>,
    data: &impl DataSpace,
    num_subsets: usize,
    accumulation: Accumulation,
    task: &Task,
) -> Result<f64, OperatorError> {
    let most_subsets = data.max_subsets();
    let x = backend.upload(Arc::new(vec![1.0; image.len()]))?;
    let one = Subset { index: 0, count: most_subsets };
    let mut estimate = backend.zeros(data.len(one))?;
    let start = Instant::now();
    operator.apply(backend, one, &x, &mut estimate, task)?;
    backend.finish()?;
    let affordable = (TRIAL_AIM_SECS / (2.0 * start.elapsed().as_secs_f64()).max(1e-6)) as usize;
    let most = (TRIAL_VIEWS_PER_THREAD * rayon::current_num_threads()).min(most_subsets.div_ceil(num_subsets)).max(1);
    let few = Subset { index: 0, count: most_subsets.div_ceil(affordable.clamp(1, most)) };
    let part = data.len(few) as f64 / data.len(Subset::ALL).max(1) as f64;
    let mut estimate = backend.zeros(data.len(few))?;
    let mut correction = backend.zeros(image.len())?;
    let start = Instant::now();
    operator.apply(backend, few, &x, &mut estimate, task)?;
    operator.adjoint(backend, few, &estimate, accumulation, &mut correction, task)?;
    backend.finish()?;
    Ok(start.elapsed().as_secs_f64() / part)
}
