//! Copies of the image for the screen, made while the device goes on computing: the image is put into the order of a
//! volume on the device, copied into page-locked memory on a stream of its own, and from there by whoever wants it.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, unbounded};
use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, DriverError, PinnedHostSlice};
use rayon::prelude::*;

use super::device::probe::guarded;
use super::kernel::one_each;
use super::{CudaArray, CudaBackend, CudaError};
use crate::algebra::{BackendError, Image, PendingVolume};

/// A copy has so many parts: as soon as one has arrived a thread takes it out, for one alone takes longer than the bus.
const NUM_PARTS: usize = 16;
/// Smaller parts than of so many values would cost more than they gain.
const MIN_PART_LEN: usize = 1 << 17;

/// Copies that can be under way at once.
const NUM_SLOTS: usize = 2;

/// What display copies of images of one size need.
pub struct CudaDisplay {
    stream: Arc<CudaStream>,
    /// For each voxel of a volume its place in an image.
    index: CudaSlice<u32>,
    free: Receiver<Slot>,
    give_back: Sender<Slot>,
}

/// Memory for one copy.
struct Slot {
    on_device: CudaSlice<f32>,
    /// All of the same length but the last.
    on_host: Vec<Piece>,
}

struct Piece {
    values: PinnedHostSlice<f32>,
    /// Unlike the one of the values it is not slept for: waking up takes as long as a copy.
    copied: CudaEvent,
}

impl Piece {
    /// The values, once their copy has arrived.
    fn values(&self) -> Result<&[f32], DriverError> {
        self.copied.synchronize()?;
        self.values.as_slice()
    }
}

/// A slot in use; it goes back when this is dropped.
struct Loan {
    slot: Option<Slot>,
    give_back: Sender<Slot>,
}

impl CudaDisplay {
    pub(super) fn new(backend: &CudaBackend, num_voxels: usize, index: &dyn Fn(usize) -> usize) -> Result<Self, CudaError> {
        let places: Vec<u32> = (0..num_voxels).map(|voxel| index(voxel) as u32).collect();
        let index = backend.table(&places, 0)?;
        let (give_back, free) = unbounded();
        for _ in 0..NUM_SLOTS {
            let slot = guarded("reserve memory for the display", || {
                let part_len = num_voxels.div_ceil(NUM_PARTS).max(MIN_PART_LEN);
                let lens = (0..num_voxels).step_by(part_len).map(|first| part_len.min(num_voxels - first));
                #[allow(unsafe_code)]
                // SAFETY: the memory is read only after a copy has filled it. It is not write-combined, which is slow to
                // read.
                let values = |len| unsafe { backend.context.alloc_pinned_with_flags(len, 0) };
                let part = |len| Ok(Piece { values: values(len)?, copied: backend.context.new_event(None)? });
                let on_host = lens.map(part).collect::<Result<_, DriverError>>()?;
                Ok(Slot { on_device: backend.stream.alloc_zeros(num_voxels.max(1))?, on_host })
            })?;
            // The receiver is in scope: it cannot be closed.
            let _ = give_back.send(slot);
        }
        let stream = guarded("make a stream", || backend.context.new_stream())?;
        Ok(Self { stream, index, free, give_back })
    }

    /// Takes a picture of the image as it is once all that was asked of the device is done, and begins to copy it. Waits
    /// while two copies are under way.
    pub(super) fn begin_copy(
        &mut self,
        backend: &CudaBackend,
        x: &CudaArray<Image>,
        scale: f32,
    ) -> Result<PendingVolume, CudaError> {
        let slot = self.free.recv().map_err(|_| CudaError::DisplayGone)?;
        let mut loan = Loan { slot: Some(slot), give_back: self.give_back.clone() };
        let Some(slot) = &mut loan.slot else { return Err(CudaError::DisplayGone) };
        let len = self.index.len();
        let gather = &backend.kernels.arrays.gather;
        gather.launch(&backend.stream, one_each(len), &mut slot.on_device, &x.0, &self.index, len as u64)?;
        guarded("copy an image for the display", || {
            self.stream.wait(&backend.stream.record_event(None)?)?;
            let mut first = 0;
            for part in &mut slot.on_host {
                let next = first + part.values.len();
                self.stream.memcpy_dtoh(&slot.on_device.slice(first..next), &mut part.values)?;
                part.copied.record(&self.stream)?;
                first = next;
            }
            Ok(())
        })?;
        Ok(Box::new(move |volume| loan.fill(volume, scale)))
    }
}

impl Loan {
    /// Fills a volume with `scale` times the copy once that has arrived.
    fn fill(&self, volume: &mut [f32], scale: f32) -> Result<(), BackendError> {
        let Some(slot) = &self.slot else { return Err(CudaError::DisplayGone.into()) };
        let expected = slot.on_host.iter().map(|part| part.values.len()).sum();
        if expected != volume.len() {
            return Err(BackendError::Length { expected: volume.len(), found: expected });
        }
        let part_len = slot.on_host.first().map_or(1, |part| part.values.len());
        slot.on_host.par_iter().zip(volume.par_chunks_mut(part_len)).try_for_each(|(part, to)| {
            let values = guarded("copy an image for the display", || part.values())?;
            to.iter_mut().zip(values).for_each(|(to, value)| *to = scale * value);
            Ok::<_, CudaError>(())
        })?;
        Ok(())
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            // The memory is used again, or freed, only when the copy is over. An error shows at the next call.
            let copied = || slot.on_host.iter().try_for_each(|part| part.copied.synchronize());
            let _ = guarded("copy an image for the display", copied);
            let _ = self.give_back.send(slot);
        }
    }
}
