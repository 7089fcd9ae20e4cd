//! Volumes on the graphics adapter.

use std::ops::Range;
use std::time::Duration;

use half::f16;
use pollster::block_on;
use rayon::prelude::*;
use strum::{EnumCount as _, VariantArray as _};

use super::pipeline::texture_descriptor;
use crate::algebra::DeviceImage;
use crate::coded::coded;
use crate::webgpu::{WindowImage, WindowNumber};

/// Bytes that are copied to the adapter at once: the copies take memory until they are complete.
const MAX_STAGED_BYTES: usize = 1 << 26;

/// Longest wait for such a copy.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Slot of a volume on the graphics adapter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::EnumCount, strum::VariantArray)]
pub enum VolumeSlot {
    /// Displayed image.
    #[default]
    First,
    /// Reference image.
    Second,
    /// Image over or under the displayed one.
    Layer,
}

/// Values of a volume, `[z, y, x]` (x fastest).
#[derive(Clone, Copy, Debug)]
pub enum VoxelValues<'a> {
    /// Any values.
    Float(&'a [f32]),
    /// Whole numbers. On the adapter they are 16-bit floats, exact up to ±2048, beyond with 11 significant bits.
    Integer(&'a [i16]),
}

impl<'a> From<&'a [f32]> for VoxelValues<'a> {
    fn from(values: &'a [f32]) -> Self {
        Self::Float(values)
    }
}

impl VoxelValues<'_> {
    fn len(self) -> usize {
        match self {
            Self::Float(values) => values.len(),
            Self::Integer(values) => values.len(),
        }
    }

    /// Returns the format of its texture, and the bytes of a texel.
    fn format(self) -> (wgpu::TextureFormat, usize) {
        match self {
            Self::Float(_) => (wgpu::TextureFormat::R32Float, 4),
            Self::Integer(_) => (wgpu::TextureFormat::R16Float, 2),
        }
    }

    /// Passes a part of the values on as texels.
    fn write(self, range: Range<usize>, write: impl FnOnce(&[u8])) {
        match self {
            Self::Float(values) => write(bytemuck::cast_slice(&values[range])),
            Self::Integer(values) => {
                let texel = |value: &i16| f16::from_f32(f32::from(*value)).to_bits();
                let texels: Vec<u16> = values[range].par_iter().map(texel).collect();
                write(bytemuck::cast_slice(&texels));
            }
        }
    }
}

/// Failure of drawing a volume.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A side exceeds the limit of the adapter.
    #[error(
        "the image has {found} voxels along one side, but this graphics adapter shows at most {limit}; reconstruct onto a smaller grid (the reconstruction continues)"
    )]
    TooLarge {
        /// Longest side.
        found: usize,
        limit: u32,
    },
    /// The adapter has too little memory.
    #[error("the graphics adapter has no room for an image of {voxels} voxels ({reason}); reconstruct onto a smaller grid")]
    Refused {
        voxels: usize,
        /// Message of the adapter.
        reason: String,
    },
    /// A side exceeds the limit of the adapter.
    #[error(
        "the picture would be {} × {} pixels, but this graphics adapter draws at most {limit} along a side; make the window smaller",
        size[0], size[1]
    )]
    PictureTooLarge {
        /// Width and height, pixels.
        size: [u32; 2],
        limit: u32,
    },
    /// The adapter returned no picture.
    #[error("the graphics adapter did not hand the picture over ({reason}); try again")]
    NoPicture {
        /// Message of the adapter.
        reason: String,
    },
    /// The numbers of voxels and values differ.
    #[error("an image of {expected} voxels was given {found} values")]
    Length {
        /// Number of voxels.
        expected: usize,
        /// Number of values.
        found: usize,
    },
}

coded!(RenderError = "render");

/// Volumes on the adapter, and their generations.
#[derive(Default)]
pub(super) struct Volumes {
    textures: [Option<wgpu::Texture>; VolumeSlot::COUNT],
    /// Images of the solver among them, which stay as they are while they are held here.
    lent: [Option<DeviceImage>; VolumeSlot::COUNT],
    generations: [u64; VolumeSlot::COUNT],
}

impl Volumes {
    pub(super) fn get(&self, slot: VolumeSlot) -> Option<&wgpu::Texture> {
        self.textures[slot as usize].as_ref()
    }

    /// Returns the number of uploads to a slot.
    pub(super) fn generation(&self, slot: VolumeSlot) -> u64 {
        self.generations[slot as usize]
    }

    /// Returns the slots with a volume.
    pub(super) fn held(&self) -> impl Iterator<Item = VolumeSlot> {
        VolumeSlot::VARIANTS.iter().copied().filter(|slot| self.get(*slot).is_some())
    }

    /// Uploads a volume; returns true if it has a new texture.
    pub(super) fn upload(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        slot: VolumeSlot,
        size: [usize; 3],
        values: VoxelValues<'_>,
    ) -> Result<bool, RenderError> {
        let expected = size.iter().product();
        if values.len() != expected {
            return Err(RenderError::Length { expected, found: values.len() });
        }
        let (format, texel_bytes) = values.format();
        let extent = extent_of(size);
        if self.lent[slot as usize].take().is_some() {
            self.textures[slot as usize] = None;
        }
        let stored = &mut self.textures[slot as usize];
        self.generations[slot as usize] += 1;
        let is_new = stored.as_ref().is_none_or(|texture| texture.size() != extent || texture.format() != format);
        if is_new {
            // The old texture frees its memory first.
            *stored = None;
        }
        let texture = match stored {
            Some(texture) => texture,
            None => stored.insert(texture(device, size, extent, format)?),
        };
        let plane = size[0] * size[1];
        let num_planes = (MAX_STAGED_BYTES / (texel_bytes * plane.max(1))).clamp(1, size[2].max(1));
        for first in (0..size[2]).step_by(num_planes) {
            if first > 0 {
                // The copies of the planes before free their memory; a lost device is reported by the next draw.
                let wait = wgpu::PollType::Wait { submission_index: Some(queue.submit([])), timeout: Some(MAX_WAIT) };
                let _ = device.poll(wait);
            }
            let last = (first + num_planes).min(size[2]);
            let origin = wgpu::Origin3d { z: first as u32, ..wgpu::Origin3d::ZERO };
            let part = wgpu::Extent3d { depth_or_array_layers: (last - first) as u32, ..extent };
            let layout = wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(texel_bytes as u32 * extent.width),
                rows_per_image: Some(extent.height),
            };
            let target = wgpu::TexelCopyTextureInfo { origin, ..texture.as_image_copy() };
            values.write(first * plane..last * plane, |texels| queue.write_texture(target, texels, layout, part));
        }
        Ok(is_new)
    }
}

impl Volumes {
    /// Takes an image of the solver over, without a copy; false if it is of another window or size.
    pub(super) fn show(&mut self, window: WindowNumber, slot: VolumeSlot, size: [usize; 3], image: &DeviceImage) -> bool {
        let Some(WindowImage { window: of, texture }) = image.open() else { return false };
        if *of != window || texture.size() != extent_of(size) {
            return false;
        }
        self.textures[slot as usize] = Some(texture.clone());
        self.lent[slot as usize] = Some(image.clone());
        self.generations[slot as usize] += 1;
        true
    }
}

fn extent_of([width, height, depth]: [usize; 3]) -> wgpu::Extent3d {
    wgpu::Extent3d { width: width as u32, height: height as u32, depth_or_array_layers: depth as u32 }
}

/// Returns an empty texture for a volume.
fn texture(
    device: &wgpu::Device,
    size: [usize; 3],
    extent: wgpu::Extent3d,
    format: wgpu::TextureFormat,
) -> Result<wgpu::Texture, RenderError> {
    let limit = device.limits().max_texture_dimension_3d;
    let found = size.into_iter().max().unwrap_or(0);
    if found > limit as usize {
        return Err(RenderError::TooLarge { found, limit });
    }
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let usage = wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST;
    let flat = texture_descriptor("volume", [1; 2], format, usage);
    let descriptor = wgpu::TextureDescriptor { size: extent, dimension: wgpu::TextureDimension::D3, ..flat };
    let texture = device.create_texture(&descriptor);
    // Outside a browser the errors of a scope are available immediately.
    let errors = [block_on(validation.pop()), block_on(memory.pop())];
    match errors.into_iter().flatten().next() {
        Some(error) => Err(RenderError::Refused { voxels: size.iter().product(), reason: error.to_string() }),
        None => Ok(texture),
    }
}
