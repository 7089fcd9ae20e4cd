//! Memory forecast of a run before anything large is allocated, from the lengths of its arrays.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

#[cfg(feature = "cuda")]
use crate::cuda::CudaBackend;
use crate::geometry::Grid;
use crate::operator::{Accumulation, DataSpace, Subset};
use crate::plan::error::SetupError;
use crate::plan::problem::SetupProblem;
use crate::webgpu::WebGpuBackend;

/// Longest side of an image that is accepted, voxels.
const MAX_SIDE: usize = 4096;
/// Volumes on their way to the screen.
pub(in crate::plan) const NUM_FRAMES: u64 = 3;
/// Address space that is left for the stacks of threads and the allocator's reserves.
#[cfg(unix)]
const SPARE_ADDRESS_SPACE: u64 = 64 << 20;

/// Refuses an image that exceeds every memory.
///
/// # Errors
/// A side beyond the limit, more memory than is free.
pub(in crate::plan) fn check_image(grid: &Grid, free: &FreeMemory) -> Result<(), SetupError> {
    if let Some(&side) = grid.size.iter().find(|side| **side > MAX_SIDE) {
        return Err(SetupProblem::ImageSize { side, max: MAX_SIDE }.into());
    }
    free.check(4 * NUM_FRAMES * grid.num_voxels() as u64)
}

/// The arrays of a run, before they are made.
pub struct Arrays<'a> {
    /// True if they are copied to a device with its own memory.
    pub are_copied: bool,
    /// Coefficients of the image.
    pub image_len: usize,
    /// Grid of shown images.
    pub grid: &'a Grid,
    /// Data space.
    pub data: &'a dyn DataSpace,
    /// Values of all corrections in parts of the number of data.
    pub corrections_per_datum: f64,
}

impl Arrays<'_> {
    /// Returns the bytes of a run where its arrays are: the data of a subset, the images of the algorithm (iterate, correction, a
    /// sensitivity for each subset and of several their sum), the working memory of the operator (`scratch_bytes`) and the
    /// volumes on their way to the screen; the counts where they are copied there; with a race what measuring it needs.
    pub fn bytes(&self, num_subsets: usize, accumulation: Accumulation, scratch_bytes: u64) -> u64 {
        let subset = Subset { index: 0, count: num_subsets };
        let bins = self.data.len(Subset::ALL) as u64;
        let arrays = 1.0 + self.corrections_per_datum;
        let copied = if self.are_copied { (arrays * bins as f64) as u64 } else { 0 };
        let races = accumulation.has_race();
        let (row_sums, race_images) = if races { (bins, 1 + num_subsets as u64) } else { (0, 0) };
        let sensitivities = num_subsets as u64 + u64::from(num_subsets > 1);
        let images = (2 + sensitivities + race_images) * self.image_len as u64;
        let frames = NUM_FRAMES * self.grid.num_voxels() as u64;
        let values = copied + row_sums + self.data.len(subset) as u64 + images + frames;
        4 * values + scratch_bytes
    }
}

/// Memory forecast of a run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Forecast {
    /// Memory where its arrays are, bytes of all devices together.
    pub memory_bytes: u64,
    /// Device in words, as in [`crate::plan::job::StartInfo`].
    pub device: String,
    /// Projector, as there.
    pub projector: String,
    /// Free bytes on its devices; `None` if the system does not report them.
    pub free_bytes: Option<u64>,
}

impl Forecast {
    /// Returns the forecast of a run with these needs on a named device with a named projector.
    pub(in crate::plan) fn of(needs: &MemoryNeeds, [device, projector]: [String; 2]) -> Self {
        Self { memory_bytes: needs.bytes(), device, projector, free_bytes: needs.free_bytes() }
    }
}

/// Memory that is free, and where; by default unknown.
#[derive(Clone, Debug, Default)]
pub struct FreeMemory {
    /// Bytes; `None` if the system does not report them.
    pub bytes: Option<u64>,
    /// The GPU whose memory it is; `None` = the computer's own.
    pub gpu: Option<String>,
    /// That GPU's number.
    pub gpu_number: Option<usize>,
}

/// Memory that a run uses of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Number of the GPU; `None` = the computer's own memory.
    pub gpu_number: Option<usize>,
    /// Bytes.
    pub bytes: u64,
}

/// Memory that a run needs on each of its devices, with the free memory of each.
pub(in crate::plan) struct MemoryNeeds(Vec<(u64, FreeMemory)>);

impl MemoryNeeds {
    /// Returns the needs of a run on these devices.
    pub fn of(needs: impl IntoIterator<Item = (u64, FreeMemory)>) -> Self {
        Self(needs.into_iter().collect())
    }

    /// Returns the needs after the end of a run that uses this memory: each device regains only its own memory.
    pub fn with_given_back(mut self, used: &[DeviceMemory]) -> Self {
        for (_, free) in &mut self.0 {
            let of_device = used.iter().filter(|used| used.gpu_number == free.gpu_number);
            let given_back = of_device.map(|used| used.bytes).fold(0, u64::saturating_add);
            free.bytes = free.bytes.map(|bytes| bytes.saturating_add(given_back));
        }
        self
    }

    /// Refuses what one of the devices cannot hold.
    ///
    /// # Errors
    /// Those of [`FreeMemory::check`].
    pub fn check(&self) -> Result<(), SetupError> {
        self.0.iter().try_for_each(|(bytes, free)| free.check(*bytes))
    }

    /// Returns the bytes on all devices together.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|(bytes, _)| bytes).sum()
    }

    /// Returns the free bytes of all devices together; `None` if the system does not report them.
    pub fn free_bytes(&self) -> Option<u64> {
        self.0.iter().map(|(_, free)| free.bytes).try_fold(0, |sum: u64, bytes| Some(sum.saturating_add(bytes?)))
    }

    /// Returns the bytes of each device.
    pub fn of_devices(&self) -> Vec<DeviceMemory> {
        self.0.iter().map(|(bytes, free)| DeviceMemory { gpu_number: free.gpu_number, bytes: *bytes }).collect()
    }
}

impl FreeMemory {
    /// Returns the memory available to this process: the free memory of the system, within the limits of its control group and of
    /// its address space.
    pub fn of_the_computer() -> Self {
        let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(kind).ok();
        let free = system.and_then(|system| {
            let limit = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory);
            Some(system.available_memory().min(limit)).filter(|bytes| *bytes > 0)
        });
        Self { bytes: [free, free_address_space()].into_iter().flatten().min(), gpu: None, gpu_number: None }
    }

    /// Returns the free memory of a CUDA device.
    #[cfg(feature = "cuda")]
    pub fn of_device(backend: &CudaBackend) -> Self {
        let info = backend.info();
        Self { bytes: backend.free_memory_bytes(), gpu: Some(info.name.clone()), gpu_number: Some(info.number) }
    }

    /// Returns half of the computer's free memory for a GPU that shares it. wgpu does not report the memory of other GPUs.
    pub fn of_webgpu(backend: &WebGpuBackend) -> Self {
        let info = backend.info();
        let bytes = if info.shares_memory { Self::of_the_computer().bytes.map(|bytes| bytes / 2) } else { None };
        Self { bytes, gpu: Some(info.name.clone()), gpu_number: None }
    }

    /// Refuses a need that exceeds the free memory. Nothing is refused if the system does not report it.
    ///
    /// # Errors
    /// The need exceeds the free memory; contains both figures.
    pub fn check(&self, needed_bytes: u64) -> Result<(), SetupError> {
        match self.bytes {
            Some(free_bytes) if needed_bytes > free_bytes => {
                Err(SetupError::Memory { needed_bytes, free_bytes, gpu: self.gpu.clone(), has_subsets: false, tof_mash: None })
            }
            _ => Ok(()),
        }
    }
}

/// Returns the rest of the address space available to the process (`ulimit -v`); `None` without a limit.
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

/// Returns no limit: other systems have none.
#[cfg(not(unix))]
fn free_address_space() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn free(gpu_number: Option<usize>, bytes: u64) -> FreeMemory {
        FreeMemory { bytes: Some(bytes), gpu: gpu_number.map(|_| "Some GPU".into()), gpu_number }
    }

    fn used(gpu_number: Option<usize>, bytes: u64) -> DeviceMemory {
        DeviceMemory { gpu_number, bytes }
    }

    #[test]
    fn each_device_regains_its_own_memory() {
        let needs = || MemoryNeeds::of([0, 1].map(|gpu| (100 * MIB, free(Some(gpu), 60 * MIB))));
        assert_eq!((needs().bytes(), needs().free_bytes()), (200 * MIB, Some(120 * MIB)));
        assert!(needs().check().is_err());
        // What both together give back would be enough for one.
        let shared = [0, 1].map(|gpu| used(Some(gpu), 30 * MIB));
        let error = needs().with_given_back(&shared).check().unwrap_err();
        assert!(
            matches!(error, SetupError::Memory { needed_bytes, free_bytes, .. } if [needed_bytes, free_bytes] == [100 * MIB, 90 * MIB])
        );
        assert!(needs().with_given_back(&[0, 1].map(|gpu| used(Some(gpu), 40 * MIB))).check().is_ok());
        // What one gives back is of no use to the other, though both have one name, nor is the computer's memory.
        for gpu in [Some(1), None] {
            let needs = MemoryNeeds::of([(100 * MIB, free(Some(0), 60 * MIB))]).with_given_back(&[used(gpu, 1 << 40)]);
            assert!(needs.check().is_err());
        }
        let uneven = needs().with_given_back(&[used(Some(0), 90 * MIB), used(Some(1), 30 * MIB)]);
        assert!(uneven.check().is_err() && uneven.free_bytes() == Some(240 * MIB));
        // Where the system does not tell, nothing is refused.
        let untold = MemoryNeeds::of([(1, FreeMemory { bytes: None, ..free(None, 0) })]);
        assert!(untold.check().is_ok() && untold.free_bytes().is_none());
        assert_eq!(uneven.of_devices(), [0, 1].map(|gpu| used(Some(gpu), 100 * MIB)));
    }
}
