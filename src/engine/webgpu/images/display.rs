//! Copies of the image for the display, made while the device continues to compute: the image is put into the order of a volume
//! on the device and copied into memory that the host reads; and where the device draws the window, into a texture.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use rayon::prelude::*;

use crate::algebra::{BackendError, CHUNK, DeviceImage, Image, PendingVolume};
use crate::webgpu::array::{Segments, WebGpuArray};
use crate::webgpu::backend::WebGpuBackend;
use crate::webgpu::device::opened::Gpu;
use crate::webgpu::device::window_images::WindowImages;
use crate::webgpu::error::WebGpuError;

const DOING: &str = "copy an image for the display";

/// A place beyond every image: the room behind a row.
const NO_PLACE: u32 = u32::MAX;

/// Copies that can be under way at once.
const NUM_SLOTS: usize = 2;

/// Memory of display copies of images of one size.
pub struct WebGpuDisplay {
    /// For each voxel of a volume its place in an image.
    places: Segments,
    on_device: Segments,
    /// Values of a row of a volume, and of a row on the device.
    row_lens: [usize; 2],
    /// Images that the window draws, where the device is that of the window.
    for_window: Option<WindowImages>,
    free: Receiver<Slot>,
    give_back: Sender<Slot>,
}

/// Memory for one copy, a buffer for each of the image.
struct Slot(Vec<wgpu::Buffer>);

/// A slot in use; it goes back when this is dropped.
struct Loan {
    slot: Option<Slot>,
    give_back: Sender<Slot>,
    row_lens: [usize; 2],
    gpu: Arc<Gpu>,
    submission: wgpu::SubmissionIndex,
    mapped: Receiver<Result<(), wgpu::BufferAsyncError>>,
}

impl WebGpuDisplay {
    /// Reserves memory for copies of images of this size; `index` = the place of a voxel in an image.
    pub(in crate::webgpu) fn new(
        backend: &mut WebGpuBackend,
        size: [usize; 3],
        index: &dyn Fn(usize) -> usize,
    ) -> Result<Self, WebGpuError> {
        let (give_back, free) = unbounded();
        let [width, height, depth] = size;
        let for_window = WindowImages::new(backend.gpu(), size);
        let row_len = for_window.as_ref().map_or(width, WindowImages::row_len);
        let place = |at: usize| {
            let (row, x) = (at / row_len.max(1), at % row_len.max(1));
            if x < width { index(row * width + x) as u32 } else { NO_PLACE }
        };
        let places: Vec<u32> = (0..row_len * height * depth).map(place).collect();
        let places = backend.copied(&places)?;
        let on_device = backend.memory(places.len, 4)?;
        for _ in 0..NUM_SLOTS {
            let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
            let buffers = on_device.all().map(|part| backend.gpu().buffer(part.buffer.size(), usage, DOING));
            // The receiver is in scope: the channel is open.
            let _ = give_back.send(Slot(buffers.collect::<Result<_, _>>()?));
        }
        Ok(Self { places, on_device, row_lens: [width, row_len], for_window, free, give_back })
    }

    /// Takes a picture of the image as it is once all that was asked of the device is done, and begins to copy it. Waits
    /// while two copies are under way.
    pub(in crate::webgpu) fn begin_copy(
        &mut self,
        backend: &mut WebGpuBackend,
        x: &WebGpuArray<Image>,
        scale: f32,
    ) -> Result<PendingVolume, WebGpuError> {
        let slot = self.free.recv().map_err(|_| WebGpuError::DisplayGone)?;
        backend.gather(scale, &x.0, &self.places, &self.on_device);
        for (part, buffer) in self.on_device.all().zip(&slot.0) {
            backend.commands.encoder().copy_buffer_to_buffer(part.buffer, 0, buffer, 0, part.buffer.size());
        }
        let gpu = Arc::clone(backend.gpu());
        let shown = self.for_window.as_mut().zip(self.on_device.all().next());
        let shown = shown.and_then(|(images, whole)| images.copy(&gpu, backend.commands.encoder(), whole.buffer));
        let submission = backend.commands.submit();
        let (mapping, mapped) = bounded(slot.0.len());
        for buffer in &slot.0 {
            let mapping = mapping.clone();
            buffer.map_async(wgpu::MapMode::Read, .., move |outcome| _ = mapping.send(outcome));
        }
        let (row_lens, give_back) = (self.row_lens, self.give_back.clone());
        let loan = Loan { slot: Some(slot), give_back, row_lens, gpu, submission, mapped };
        Ok(PendingVolume::new(move |volume| loan.fill(volume)).with(shown.map(DeviceImage::new)))
    }
}

impl Loan {
    /// Fills a volume with the copy once that has arrived.
    fn fill(&self, volume: &mut [f32]) -> Result<(), BackendError> {
        let [width, row_len] = self.row_lens;
        let Some(Slot(buffers)) = &self.slot else { return Err(WebGpuError::DisplayGone.into()) };
        let failed = |message: String| WebGpuError::Driver { doing: DOING, message };
        self.gpu.wait(self.submission.clone(), DOING)?;
        let mut first = 0;
        for buffer in buffers {
            self.mapped.recv().map_err(|_| WebGpuError::DisplayGone)?.map_err(|error| failed(error.to_string()))?;
            let bytes = buffer.get_mapped_range(..).map_err(|error| failed(error.to_string()))?;
            let values: &[f32] = bytemuck::cast_slice(&bytes);
            let found = volume.len();
            let to = volume.get_mut(first..).ok_or(BackendError::Length { expected: first + values.len(), found })?;
            if row_len == width {
                let pieces = to.par_chunks_mut(CHUNK).zip(values.par_chunks(CHUNK));
                pieces.for_each(|(to, values)| to.iter_mut().zip(values).for_each(|(to, value)| *to = *value));
            } else {
                // (All rows are in one buffer.)
                let rows = to.par_chunks_mut(width).zip(values.par_chunks(row_len));
                rows.for_each(|(to, values)| to.iter_mut().zip(values).for_each(|(to, value)| *to = *value));
            }
            first += values.len();
        }
        Ok(())
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(Slot(buffers)) = self.slot.take() {
            // The memory is used again only when the copy is over. An error shows at the next call.
            let _ = self.gpu.wait(self.submission.clone(), DOING);
            buffers.iter().for_each(wgpu::Buffer::unmap);
            let _ = self.give_back.send(Slot(buffers));
        }
    }
}
