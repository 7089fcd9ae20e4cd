//! Copies of the image for the screen, made while the device goes on computing: the image is put into the order of a
//! volume on the device, copied into page-locked memory on a stream of its own, and from there by whoever wants it.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, unbounded};
use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, DriverError, PinnedHostSlice};
use rayon::prelude::*;

use super::kernel::{launch, one_each};
use super::probe::guarded;
use super::{CudaArray, CudaBackend, CudaError};
use crate::operator::{BackendError, PendingVolume};

/// Values of a part that is copied by itself: while the next one is on the bus, the threads take it out.
const PART_LEN: usize = 1 << 20;
/// Values that a thread takes out at a time.
const COPY_LEN: usize = 1 << 16;

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
    on_host: Vec<Part>,
}

/// [`PART_LEN`] values, or fewer in the last one.
struct Part {
    values: PinnedHostSlice<f32>,
    /// Unlike the one of the values it is not slept for: waking up takes as long as a copy.
    copied: CudaEvent,
}

impl Part {
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
                let lens = (0..num_voxels).step_by(PART_LEN).map(|first| PART_LEN.min(num_voxels - first));
                #[allow(unsafe_code)]
                // SAFETY: the memory is read only after a copy has filled it. It is not write-combined, which is slow to
                // read.
                let values = |len| unsafe { backend.context.alloc_pinned_with_flags(len, 0) };
                let part = |len| Ok(Part { values: values(len)?, copied: backend.context.new_event(None)? });
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
    pub(super) fn begin_copy(&mut self, backend: &CudaBackend, x: &CudaArray) -> Result<PendingVolume, CudaError> {
        let slot = self.free.recv().map_err(|_| CudaError::DisplayGone)?;
        let mut loan = Loan { slot: Some(slot), give_back: self.give_back.clone() };
        let Some(slot) = &mut loan.slot else { return Err(CudaError::DisplayGone) };
        let len = self.index.len();
        let count = len as u64;
        launch!(backend.stream, backend.kernels.gather, one_each(len), &mut slot.on_device, &x.0, &self.index, &count)?;
        guarded("copy an image for the display", || {
            self.stream.wait(&backend.stream.record_event(None)?)?;
            for (index, part) in slot.on_host.iter_mut().enumerate() {
                let first = index * PART_LEN;
                self.stream.memcpy_dtoh(&slot.on_device.slice(first..first + part.values.len()), &mut part.values)?;
                part.copied.record(&self.stream)?;
            }
            Ok(())
        })?;
        Ok(Box::new(move |volume| loan.fill(volume)))
    }
}

impl Loan {
    /// Fills a volume once the copy has arrived.
    fn fill(&self, volume: &mut [f32]) -> Result<(), BackendError> {
        let Some(slot) = &self.slot else { return Err(CudaError::DisplayGone.into()) };
        let expected = slot.on_host.iter().map(|part| part.values.len()).sum();
        if expected != volume.len() {
            return Err(BackendError::Length { expected: volume.len(), found: expected });
        }
        for (part, to) in slot.on_host.iter().zip(volume.chunks_mut(PART_LEN)) {
            let values = guarded("copy an image for the display", || part.values())?;
            // One thread alone takes longer than the bus.
            to.par_chunks_mut(COPY_LEN).zip(values.par_chunks(COPY_LEN)).for_each(|(to, from)| to.copy_from_slice(from));
        }
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
