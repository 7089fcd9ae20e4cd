//! Texture as a target in place of the window, and its pixels.

use super::pipeline::texture_descriptor;
use super::{RenderError, TargetFormat};

/// Picture that the graphics adapter draws, and that is read back.
pub struct Offscreen {
    texture: wgpu::Texture,
}

const PIXEL_BYTES: u32 = 4;

impl Offscreen {
    pub const FORMAT: TargetFormat = wgpu::TextureFormat::Rgba8Unorm;

    /// Returns a picture of `size` pixels (width, height).
    ///
    /// # Errors
    /// A side exceeds the limit of the adapter.
    pub fn new(device: &wgpu::Device, size: [u32; 2]) -> Result<Self, RenderError> {
        let limit = device.limits().max_texture_dimension_2d;
        if size.iter().any(|side| *side > limit) {
            return Err(RenderError::PictureTooLarge { size, limit });
        }
        let [width, height] = size.map(|side| side.max(1));
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC;
        let texture = device.create_texture(&texture_descriptor("off screen", [width, height], Self::FORMAT, usage));
        Ok(Self { texture })
    }

    /// Returns the target of drawing.
    pub fn view(&self) -> wgpu::TextureView {
        self.texture.create_view(&wgpu::TextureViewDescriptor::default())
    }

    /// Returns the pixels (red, green, blue, alpha, row by row from the top) after all submitted work.
    ///
    /// # Errors
    /// Reading from the adapter failed.
    pub fn read(&self, device: &wgpu::Device, queue: &wgpu::Queue) -> Result<Vec<u8>, RenderError> {
        let row_bytes = PIXEL_BYTES * self.texture.width();
        let padded_bytes = row_bytes.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("pixels"),
            size: u64::from(padded_bytes) * u64::from(self.texture.height()),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("pixels") });
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(padded_bytes), rows_per_image: None };
        let into = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
        encoder.copy_texture_to_buffer(self.texture.as_image_copy(), into, self.texture.size());
        queue.submit([encoder.finish()]);
        let refused = |reason: String| RenderError::NoPicture { reason };
        let (sender, receiver) = crossbeam_channel::bounded(1);
        buffer.slice(..).map_async(wgpu::MapMode::Read, move |outcome| _ = sender.send(outcome));
        device.poll(wgpu::PollType::wait_indefinitely()).map_err(|error| refused(error.to_string()))?;
        receiver.recv().map_err(|error| refused(error.to_string()))?.map_err(|error| refused(error.to_string()))?;
        let range = buffer.slice(..).get_mapped_range().map_err(|error| refused(error.to_string()))?;
        let rows = range.chunks_exact(padded_bytes as usize);
        Ok(rows.flat_map(|row| &row[..row_bytes as usize]).copied().collect())
    }
}
