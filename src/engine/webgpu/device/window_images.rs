//! Images in textures that the window draws.

use std::sync::Arc;

use super::opened::Gpu;
use super::window::WindowNumber;

/// Images on their way from the solver to the window, and in it, at most.
const MAX_IMAGES: usize = 6;

/// Texels of a row in a buffer that is copied to a texture: a multiple of 256 bytes.
const ROW_TEXELS: usize = 64;

const DOING: &str = "reserve memory for an image in the window";

/// An image in a texture of the window's device.
pub struct WindowImage {
    /// The window.
    pub window: WindowNumber,
    /// Values of a volume: width is x, height is y, depth is z.
    pub texture: wgpu::Texture,
}

/// Images of one size for the window. An image without another holder is used again.
pub(in crate::webgpu) struct WindowImages {
    window: WindowNumber,
    size: [usize; 3],
    all: Vec<Arc<WindowImage>>,
}

impl WindowImages {
    /// Returns none yet; `None` if the GPU does not draw the window, or such an image has no texture or needs several buffers.
    pub fn new(gpu: &Gpu, size: [usize; 3]) -> Option<Self> {
        let limit = gpu.device.limits().max_texture_dimension_3d as usize;
        let images = Self { window: gpu.window?, size, all: Vec::new() };
        let [_, height, depth] = size;
        let fits = size.iter().all(|side| (1..=limit).contains(side)) && images.row_len() * height * depth <= gpu.segment_len;
        fits.then_some(images)
    }

    /// Returns the values of a row in a buffer, with room behind it.
    pub fn row_len(&self) -> usize {
        self.size[0].next_multiple_of(ROW_TEXELS)
    }

    /// Records the copy of a buffer into an image that is free; `None` if there is no memory for one, or the window holds all.
    pub fn copy(&mut self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder, buffer: &wgpu::Buffer) -> Option<Arc<WindowImage>> {
        let [width, height, depth_or_array_layers] = self.size.map(|side| side as u32);
        let size = wgpu::Extent3d { width, height, depth_or_array_layers };
        let free = self.all.iter().find(|image| Arc::strong_count(image) == 1).map(Arc::clone);
        let image = match free {
            Some(image) => image,
            None if self.all.len() == MAX_IMAGES => return None,
            None => {
                let descriptor = wgpu::TextureDescriptor {
                    label: Some(DOING),
                    size,
                    mip_level_count: 1,
                    sample_count: 1,
                    dimension: wgpu::TextureDimension::D3,
                    format: wgpu::TextureFormat::R32Float,
                    // (Tests read it.)
                    usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST | wgpu::TextureUsages::COPY_SRC,
                    view_formats: &[],
                };
                let texture = gpu.guarded(DOING, || gpu.device.create_texture(&descriptor)).ok()?;
                let image = Arc::new(WindowImage { window: self.window, texture });
                self.all.push(Arc::clone(&image));
                image
            }
        };
        let layout = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some((size_of::<f32>() * self.row_len()) as u32),
            rows_per_image: Some(height),
        };
        encoder.copy_buffer_to_texture(wgpu::TexelCopyBufferInfo { buffer, layout }, image.texture.as_image_copy(), size);
        Some(image)
    }
}
