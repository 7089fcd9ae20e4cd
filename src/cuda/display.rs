//! Copies of the image for the screen, made while the device goes on computing: the image is put into the order of a
//! volume on the device, copied into page-locked memory on a stream of its own, and from there by whoever wants it.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, unbounded};
use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, PinnedHostSlice};

use super::kernel::{launch, one_each};
use super::probe::guarded;
use super::{CudaArray, CudaBackend, CudaError};
use crate::operator::{BackendError, PendingVolume};

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
    on_host: PinnedHostSlice<f32>,
    copied: CudaEvent,
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
                #[allow(unsafe_code)]
                // SAFETY: the memory is read only after a copy has filled it. It is not write-combined, which is slow to
                // read.
                let on_host = unsafe { backend.context.alloc_pinned_with_flags(num_voxels.max(1), 0)? };
                let on_device = backend.stream.alloc_zeros(num_voxels.max(1))?;
                Ok(Slot { on_device, on_host, copied: backend.context.new_event(None)? })
            })?;
            // The receiver is in scope: it cannot be closed.
            let _ = give_back.send(slot);
        }
        let stream = guarded("make a stream", || backend.context.new_stream())?;
        Ok(Self { stream, index, free, give_back })
    }

    /// Takes a picture of the image as it is once all that was asked of the device is done, and begins to copy it. Waits
    /// while two copies are under way.
    pub(super) fn begin_copy(&mut self, backend: &CudaBackend, x: &CudaArray) -> Result<PendingVolume, CudaError> {
        let slot = self.free.recv().map_err(|_| CudaError::DisplayGone)?;
        let mut loan = Loan { slot: Some(slot), give_back: self.give_back.clone() };
        let Some(slot) = &mut loan.slot else { return Err(CudaError::DisplayGone) };
        let len = self.index.len();
        let count = len as u64;
        launch!(backend.stream, backend.kernels.gather, one_each(len), &mut slot.on_device, &x.0, &self.index, &count)?;
        guarded("copy an image for the display", || {
            self.stream.wait(&backend.stream.record_event(None)?)?;
            self.stream.memcpy_dtoh(&slot.on_device, &mut slot.on_host)?;
            slot.copied.record(&self.stream)
        })?;
        Ok(Box::new(move |volume| loan.fill(volume)))
    }
}

impl Loan {
    /// Fills a volume once the copy has arrived.
    fn fill(&self, volume: &mut [f32]) -> Result<(), BackendError> {
        let Some(slot) = &self.slot else { return Err(CudaError::DisplayGone.into()) };
        let values = guarded("copy an image for the display", || {
            slot.copied.synchronize()?;
            slot.on_host.as_slice()
        })?;
        if values.len() != volume.len() {
            return Err(BackendError::Length { expected: volume.len(), found: values.len() });
        }
        volume.copy_from_slice(values);
        Ok(())
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            // The memory is used again, or freed, only when the copy is over. An error shows at the next call.
            let _ = guarded("copy an image for the display", || slot.copied.synchronize());
            let _ = self.give_back.send(slot);
        }
    }
}
