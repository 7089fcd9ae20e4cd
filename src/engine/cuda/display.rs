//! Copies of the image for the display, made while the device continues to compute: the image is put into the order of a volume
//! on the device, copied into page-locked memory on a separate stream, and from there by the receiver.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, unbounded};
use cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, DriverError, PinnedHostSlice};
use rayon::prelude::*;

use super::device::driver::guarded;
use super::error::CudaError;
use super::kernel::one_each;
use super::launches::arrays::GatherKernel;
use crate::algebra::{BackendError, PendingVolume};

/// Parts of a copy. A thread takes each out once it has arrived, since one thread alone takes longer than the bus.
const NUM_PARTS: usize = 16;
/// Values of a part at least: smaller parts cost more than they gain.
const MIN_PART_LEN: usize = 1 << 17;

/// Copies that can be under way at once.
const NUM_SLOTS: usize = 2;

/// Memory and stream of display copies of images of one size.
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
    /// Returns the values, once their copy has arrived.
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
    /// Reserves memory for copies of `num_voxels` values from the stream of a device; `index` = place of each voxel in an image.
    pub(super) fn new(
        context: &Arc<CudaContext>,
        source: &Arc<CudaStream>,
        num_voxels: usize,
        index: CudaSlice<u32>,
    ) -> Result<Self, CudaError> {
        let (give_back, free) = unbounded();
        for _ in 0..NUM_SLOTS {
            let slot = guarded("reserve memory for the display", || {
                let part_len = num_voxels.div_ceil(NUM_PARTS).max(MIN_PART_LEN);
                let lens = (0..num_voxels).step_by(part_len).map(|first| part_len.min(num_voxels - first));
                #[allow(unsafe_code)]
                // SAFETY: the memory is read only after a copy has filled it. It is not write-combined, which is slow to
                // read.
                let values = |len| unsafe { context.alloc_pinned_with_flags(len, 0) };
                let part = |len| Ok(Piece { values: values(len)?, copied: context.new_event(None)? });
                let on_host = lens.map(part).collect::<Result<_, DriverError>>()?;
                Ok(Slot { on_device: source.alloc_zeros(num_voxels.max(1))?, on_host })
            })?;
            // The receiver is in scope: the channel is open.
            let _ = give_back.send(slot);
        }
        let stream = guarded("make a stream", || context.new_stream())?;
        Ok(Self { stream, index, free, give_back })
    }

    /// Takes a picture of the image as it is once all that was asked of the device is done, and begins to copy it. Waits
    /// while two copies are under way.
    pub(super) fn begin_copy(
        &mut self,
        source: &Arc<CudaStream>,
        gather: &GatherKernel,
        x: &CudaSlice<f32>,
        scale: f32,
    ) -> Result<PendingVolume, CudaError> {
        let slot = self.free.recv().map_err(|_| CudaError::DisplayGone)?;
        let mut loan = Loan { slot: Some(slot), give_back: self.give_back.clone() };
        let Some(slot) = &mut loan.slot else { return Err(CudaError::DisplayGone) };
        let len = self.index.len();
        gather.launch(source, one_each(len), &mut slot.on_device, x, &self.index, len as u64)?;
        guarded("copy an image for the display", || {
            self.stream.wait(&source.record_event(None)?)?;
            let mut first = 0;
            for part in &mut slot.on_host {
                let next = first + part.values.len();
                self.stream.memcpy_dtoh(&slot.on_device.slice(first..next), &mut part.values)?;
                part.copied.record(&self.stream)?;
                first = next;
            }
            Ok(())
        })?;
        Ok(PendingVolume::new(move |volume| loan.fill(volume, scale)))
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
