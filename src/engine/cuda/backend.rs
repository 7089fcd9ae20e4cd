//! Arrays in the memory of a CUDA device and the algebra on them.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut, DeviceRepr, LaunchConfig};

use super::device::driver::{self, copied, guarded};
use super::device::nccl::Summed;
use super::device::peers::Peers;
use super::device::probe::{DeviceInfo, open};
use super::device::timing::LaunchTimer;
use super::display::CudaDisplay;
use super::error::CudaError;
use super::images::voxel_map::CudaVoxelMap;
use super::kernel::{BLOCK, one_each};
use super::launches::{arrays, em_update, reductions, voxel_map};
use crate::algebra::{Backend, BackendError, Image, Kind, PeerGroup, PendingVolume, Rows, VoxelMap};
use crate::data::{RoiMask, RoiSums};

/// Blocks of a reduction: fixed, so that sums have the same bits on every run and every device.
pub(super) const REDUCTION_BLOCKS: u32 = 1024;

/// Most sums that a reduction makes at once.
const MAX_SUMS: usize = 6;

/// Values that `roi_sums` leaves for each region.
const VALUES_PER_ROI: usize = 5;

/// A CUDA device that is ready to compute. Calls are put on one stream and done in order.
pub struct CudaBackend {
    info: DeviceInfo,
    pub(super) context: Arc<CudaContext>,
    pub(super) stream: Arc<CudaStream>,
    pub(super) kernels: Kernels,
    /// Results of the blocks of a reduction.
    pub(super) partial: CudaSlice<f64>,
    pub(super) peers: Peers,
    /// Measures the launches of projections, where that was asked for.
    pub(super) timer: Option<LaunchTimer>,
}

/// The kernels that need no projector.
pub(super) struct Kernels {
    pub arrays: arrays::Kernels,
    pub em: em_update::Kernels,
    pub reductions: reductions::Kernels,
    pub voxel_map: voxel_map::Kernels,
}

/// f32 values in the memory of a CUDA device.
pub struct CudaArray<K>(pub(super) CudaSlice<f32>, PhantomData<fn() -> K>);

impl<K> From<CudaSlice<f32>> for CudaArray<K> {
    fn from(values: CudaSlice<f32>) -> Self {
        Self(values, PhantomData)
    }
}

impl<K> CudaArray<K> {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true without values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn piece(&self, range: Range<usize>) -> Result<CudaView<'_, f32>, CudaError> {
        let found = self.len();
        self.0.try_slice(range.clone()).ok_or(CudaError::Length { expected: range.end, found })
    }

    pub(super) fn piece_mut(&mut self, range: Range<usize>) -> Result<CudaViewMut<'_, f32>, CudaError> {
        let found = self.len();
        self.0.try_slice_mut(range.clone()).ok_or(CudaError::Length { expected: range.end, found })
    }

    pub(super) fn expect_len(&self, expected: usize) -> Result<(), CudaError> {
        let found = self.len();
        if found == expected { Ok(()) } else { Err(CudaError::Length { expected, found }) }
    }
}

/// Regions of interest on a device.
pub struct CudaMasks {
    num_voxels: Vec<usize>,
    index: CudaSlice<u32>,
    weight: CudaSlice<f32>,
    first: CudaSlice<u32>,
    sums: Mutex<CudaSlice<f64>>,
}

impl CudaBackend {
    /// Opens device `number` and loads the kernels.
    ///
    /// # Errors
    /// No driver, no such device, too old a device or driver.
    pub fn open(number: usize) -> Result<Self, CudaError> {
        let (info, context) = open(number)?;
        let stream = guarded("make a stream", || context.new_stream())?;
        let kernels = Kernels {
            arrays: arrays::Kernels::load(&context)?,
            em: em_update::Kernels::load(&context)?,
            reductions: reductions::Kernels::load(&context)?,
            voxel_map: voxel_map::Kernels::load(&context)?,
        };
        let partial = driver::zeros(&stream, MAX_SUMS * REDUCTION_BLOCKS as usize)?;
        Ok(Self { info, context, stream, kernels, partial, peers: Peers::default(), timer: None })
    }

    /// Makes a group of several devices, and of those of other processes if this one is `among` some. Returns their places, and
    /// the reason if NCCL does not link them.
    ///
    /// # Errors
    /// Another process has left or is out of reach.
    pub fn join(backends: &mut [CudaBackend], among: &PeerGroup) -> Result<(Vec<PeerGroup>, Option<String>), BackendError> {
        let numbers: Vec<usize> = backends.iter().map(|backend| backend.info.number).collect();
        let (peers, why_not) = Peers::join(&numbers, among)?;
        let groups = peers.iter().map(|peers| peers.group.clone()).collect();
        backends.iter_mut().zip(peers).for_each(|(backend, peers)| backend.peers = peers);
        Ok((groups, why_not))
    }

    /// Returns its place in its group.
    pub fn group(&self) -> PeerGroup {
        self.peers.group.clone()
    }

    /// `values` = their sum over the group.
    pub(super) fn sum_over_group<T: Summed>(&self, values: &mut CudaSlice<T>) -> Result<(), BackendError> {
        self.peers.sum(&self.stream, values)
    }

    /// Returns the description of the device.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Returns the free memory of the device, bytes; `None` if the driver does not report it.
    pub fn free_memory_bytes(&self) -> Option<u64> {
        guarded("report its free memory", || self.context.mem_get_info()).ok().map(|(free, _)| free as u64)
    }

    /// Returns a table on the device.
    pub(super) fn table<T: DeviceRepr + Clone>(&self, values: &[T], if_empty: T) -> Result<CudaSlice<T>, CudaError> {
        driver::table(&self.stream, values, if_empty)
    }

    /// Sets an array to zero.
    pub(super) fn clear<K>(&self, array: &mut CudaArray<K>) -> Result<(), CudaError> {
        driver::clear(&self.stream, &mut array.0)
    }

    /// Largest |x| of the first `len` values, 0 of none.
    pub(super) fn largest_magnitude<K>(&mut self, x: &CudaArray<K>, len: usize) -> Result<f32, CudaError> {
        let (x, count) = (x.piece(0..len)?, len as u64);
        self.kernels.reductions.largest_magnitude.launch(&self.stream, REDUCTION, &x, &mut self.partial, count)?;
        Ok(self.partial::<1>()?.into_iter().fold(0.0, |most: f64, [value]| most.max(value)) as f32)
    }

    /// Returns the largest value of x\[range\]; −∞ of none.
    ///
    /// # Errors
    /// A range outside the array, device failure.
    pub fn max<K>(&mut self, x: &CudaArray<K>, range: Range<usize>) -> Result<f32, CudaError> {
        let (x, count) = (x.piece(range.clone())?, range.len() as u64);
        self.kernels.reductions.largest.launch(&self.stream, REDUCTION, &x, &mut self.partial, count)?;
        Ok(self.partial::<1>()?.into_iter().fold(f64::NEG_INFINITY, |most, [value]| most.max(value)) as f32)
    }

    /// Copies the results of the blocks of a reduction, N values each, in order.
    pub(super) fn partial<const N: usize>(&self) -> Result<Vec<[f64; N]>, CudaError> {
        let sums = self.partial.slice(..N * REDUCTION_BLOCKS as usize);
        let values = copied(&self.stream, "copy sums from the device", &sums)?;
        Ok(values.as_chunks::<N>().0.to_vec())
    }
}

/// The shape of a reduction.
pub(super) const REDUCTION: LaunchConfig =
    LaunchConfig { grid_dim: (REDUCTION_BLOCKS, 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 };

impl Backend for CudaBackend {
    const SHARES_MEMORY: bool = false;

    type Array<K: Kind> = CudaArray<K>;
    type Masks = CudaMasks;
    type VoxelMap = CudaVoxelMap;
    type Display = CudaDisplay;

    fn name(&self) -> String {
        self.info.name.clone()
    }

    fn finish(&mut self) -> Result<(), BackendError> {
        Ok(guarded("finish its work", || self.stream.synchronize())?)
    }

    fn time_kernels(&mut self) -> Result<bool, BackendError> {
        self.timer = Some(LaunchTimer::default());
        Ok(true)
    }

    fn take_kernel_secs(&mut self) -> Result<Option<f64>, BackendError> {
        Ok(self.timer.as_ref().map(LaunchTimer::take_secs).transpose()?)
    }

    fn zeros<K: Kind>(&mut self, len: usize) -> Result<CudaArray<K>, BackendError> {
        Ok(driver::zeros(&self.stream, len.max(1))?.into())
    }

    fn upload<K: Kind>(&mut self, values: Arc<Vec<f32>>) -> Result<CudaArray<K>, BackendError> {
        Ok(self.table(&values, 0.0)?.into())
    }

    fn read<K: Kind, R>(&mut self, array: &CudaArray<K>, read: impl FnOnce(&[f32]) -> R) -> Result<R, BackendError> {
        Ok(read(&copied(&self.stream, "copy values from the device", &array.0)?))
    }

    fn fill<K: Kind>(&mut self, array: &mut CudaArray<K>, value: f32) -> Result<(), BackendError> {
        if value.to_bits() == 0 {
            return Ok(self.clear(array)?);
        }
        let len = array.len();
        Ok(self.kernels.arrays.fill.launch(&self.stream, one_each(len), &mut array.0, value, len as u64)?)
    }

    fn multiply<K: Kind>(
        &mut self,
        x: &mut CudaArray<K>,
        at: usize,
        y: &CudaArray<K>,
        range: Range<usize>,
    ) -> Result<(), BackendError> {
        let (y, count) = (y.piece(range.clone())?, range.len() as u64);
        let mut x = x.piece_mut(at..at + range.len())?;
        Ok(self.kernels.arrays.multiply.launch(&self.stream, one_each(range.len()), &mut x, &y, count)?)
    }

    fn add_scaled<K: Kind>(
        &mut self,
        x: &mut CudaArray<K>,
        at: usize,
        scale: f32,
        y: &CudaArray<K>,
        range: Range<usize>,
    ) -> Result<(), BackendError> {
        let (y, count) = (y.piece(range.clone())?, range.len() as u64);
        let mut x = x.piece_mut(at..at + range.len())?;
        Ok(self.kernels.arrays.add_scaled.launch(&self.stream, one_each(range.len()), &mut x, scale, &y, count)?)
    }

    fn dot<K: Kind>(&mut self, x: &CudaArray<K>, at: usize, y: &CudaArray<K>, range: Range<usize>) -> Result<f64, BackendError> {
        let count = range.len() as u64;
        let (x, y) = (x.piece(at..at + range.len())?, y.piece(range)?);
        self.kernels.reductions.dot.launch(&self.stream, REDUCTION, &x, &y, &mut self.partial, count)?;
        Ok(self.partial::<1>()?.into_iter().map(|[value]| value).sum())
    }

    fn multiply_rows<K: Kind>(
        &mut self,
        x: &mut CudaArray<K>,
        at: usize,
        y: &CudaArray<K>,
        range: Range<usize>,
        Rows { len, repeats }: Rows,
    ) -> Result<(), BackendError> {
        let (y, count) = (y.piece(range.clone())?, repeats * range.len());
        let mut x = x.piece_mut(at..at + count)?;
        let (kernel, rows) = (&self.kernels.arrays.multiply_rows, [len, repeats].map(|n| n as u32));
        Ok(kernel.launch(&self.stream, one_each(count), &mut x, &y, rows[0], rows[1], count as u64)?)
    }

    fn add_rows<K: Kind>(
        &mut self,
        x: &mut CudaArray<K>,
        at: usize,
        y: &CudaArray<K>,
        range: Range<usize>,
        Rows { len, repeats }: Rows,
    ) -> Result<(), BackendError> {
        let (y, count) = (y.piece(range.clone())?, repeats * range.len());
        let mut x = x.piece_mut(at..at + count)?;
        let (kernel, rows) = (&self.kernels.arrays.add_rows, [len, repeats].map(|n| n as u32));
        Ok(kernel.launch(&self.stream, one_each(count), &mut x, &y, rows[0], rows[1], count as u64)?)
    }

    fn dot_rows<K: Kind>(
        &mut self,
        x: &CudaArray<K>,
        at: usize,
        y: &CudaArray<K>,
        range: Range<usize>,
        Rows { len, repeats }: Rows,
    ) -> Result<f64, BackendError> {
        let count = repeats * range.len();
        let (x, y) = (x.piece(at..at + count)?, y.piece(range)?);
        let (kernel, rows) = (&self.kernels.reductions.dot_rows, [len, repeats].map(|n| n as u32));
        kernel.launch(&self.stream, REDUCTION, &x, &y, &mut self.partial, rows[0], rows[1], count as u64)?;
        Ok(self.partial::<1>()?.into_iter().map(|[value]| value).sum())
    }

    fn voxel_map(&mut self, map: VoxelMap) -> Result<CudaVoxelMap, BackendError> {
        Ok(CudaVoxelMap::new(&self.stream, &map)?)
    }

    fn voxel_maps(&mut self, maps: Vec<VoxelMap>) -> Result<Vec<CudaVoxelMap>, BackendError> {
        match CudaVoxelMap::joined(&self.stream, &maps)? {
            Some(joined) => Ok(joined),
            None => maps.into_iter().map(|map| self.voxel_map(map)).collect(),
        }
    }

    fn fills(map: &CudaVoxelMap) -> bool {
        map.fills()
    }

    fn map_voxels(&mut self, map: &CudaVoxelMap, x: &CudaArray<Image>, out: &mut CudaArray<Image>) -> Result<(), BackendError> {
        x.expect_len(map.lens()[0])?;
        out.expect_len(map.lens()[1])?;
        Ok(map.apply(&self.stream, &self.kernels.voxel_map, &x.0, &mut out.0)?)
    }

    fn masks(&mut self, masks: &[RoiMask], index: &dyn Fn(usize) -> usize) -> Result<CudaMasks, BackendError> {
        let voxels = || masks.iter().flat_map(|mask| mask.voxels.iter());
        let places: Vec<u32> = voxels().map(|(voxel, _)| index(*voxel as usize) as u32).collect();
        let weights: Vec<f32> = voxels().map(|(_, weight)| *weight).collect();
        let mut first = vec![0u32];
        first.extend(masks.iter().scan(0, |sum, mask| {
            *sum += mask.voxels.len() as u32;
            Some(*sum)
        }));
        let sums = vec![0.0; VALUES_PER_ROI * masks.len()];
        Ok(CudaMasks {
            num_voxels: masks.iter().map(|mask| mask.voxels.len()).collect(),
            index: self.table(&places, 0)?,
            weight: self.table(&weights, 0.0)?,
            first: self.table(&first, 0)?,
            sums: Mutex::new(self.table(&sums, 0.0)?),
        })
    }

    fn roi_sums(&mut self, x: &CudaArray<Image>, masks: &CudaMasks) -> Result<Vec<RoiSums>, BackendError> {
        let num_rois = masks.num_voxels.len() as u32;
        if num_rois == 0 {
            return Ok(Vec::new());
        }
        let shape = LaunchConfig { grid_dim: (num_rois, 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 };
        let CudaMasks { index, weight, first, sums, .. } = masks;
        let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
        self.kernels.reductions.roi_sums.launch(&self.stream, shape, &x.0, index, weight, first, &mut *sums)?;
        let values = copied(&self.stream, "copy sums from the device", &*sums)?;
        let sums = |(&num_voxels, values): (&usize, &[f64; VALUES_PER_ROI])| {
            let [weight, sum, sum_of_squares, min, max] = *values;
            RoiSums { weight, sum, sum_of_squares, min: min as f32, max: max as f32, num_voxels }
        };
        Ok(masks.num_voxels.iter().zip(values.as_chunks().0).map(sums).collect())
    }

    fn display(&mut self, size: [usize; 3], index: &dyn Fn(usize) -> usize) -> Result<Option<CudaDisplay>, BackendError> {
        let num_voxels = size.into_iter().product();
        let places: Vec<u32> = (0..num_voxels).map(|voxel| index(voxel) as u32).collect();
        Ok(Some(CudaDisplay::new(&self.context, &self.stream, num_voxels, self.table(&places, 0)?)?))
    }

    fn begin_copy(&mut self, x: &CudaArray<Image>, scale: f32, display: &mut CudaDisplay) -> Result<PendingVolume, BackendError> {
        Ok(display.begin_copy(&self.stream, &self.kernels.arrays.gather, &x.0, scale)?)
    }
}
