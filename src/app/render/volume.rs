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

/// Bytes that are copied to the adapter at once: the time of a copy is part of a frame, and until it is complete it takes memory.
pub const MAX_PART_BYTES: usize = 1 << 22;

/// Largest volume that a frame copies to the adapter as a whole, bytes.
pub const MAX_AT_ONCE_BYTES: usize = 1 << 24;

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

    /// Returns the bytes of its texture.
    pub fn bytes(self) -> usize {
        self.len() * self.format().1
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

/// Volume that is being copied.
struct Upload {
    /// Number of the volume, by which a call continues its upload.
    number: u64,
    texture: wgpu::Texture,
    /// Number of planes on the adapter.
    num_planes: usize,
}

/// Volume of a slot.
#[derive(Default)]
struct Stored {
    texture: Option<wgpu::Texture>,
    /// Texture of the volume before, for the next one.
    spare: Option<wgpu::Texture>,
    /// Image of the solver, if it is one, which stays as it is while it is held here.
    lent: Option<DeviceImage>,
    upload: Option<Upload>,
    /// Number of volumes so far.
    generation: u64,
}

/// Volumes on the adapter.
#[derive(Default)]
pub(super) struct Volumes([Stored; VolumeSlot::COUNT]);

impl Volumes {
    pub(super) fn get(&self, slot: VolumeSlot) -> Option<&wgpu::Texture> {
        self.0[slot as usize].texture.as_ref()
    }

    /// Returns the number of uploads to a slot.
    pub(super) fn generation(&self, slot: VolumeSlot) -> u64 {
        self.0[slot as usize].generation
    }

    /// Returns the slots with a volume.
    pub(super) fn held(&self) -> impl Iterator<Item = VolumeSlot> {
        VolumeSlot::VARIANTS.iter().copied().filter(|slot| self.get(*slot).is_some())
    }

    /// Uploads a volume, and waits for the adapter between its parts.
    pub(super) fn upload(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        slot: VolumeSlot,
        size: [usize; 3],
        values: VoxelValues<'_>,
    ) -> Result<(), RenderError> {
        self.0[slot as usize].upload = None;
        while !self.upload_part(device, queue, slot, 0, size, values)? {
            // The copies of the planes before free their memory; a lost device is reported by the next draw.
            let wait = wgpu::PollType::Wait { submission_index: Some(queue.submit([])), timeout: Some(MAX_WAIT) };
            let _ = device.poll(wait);
        }
        Ok(())
    }

    /// Uploads the next part of the volume with this number, of at most [`MAX_PART_BYTES`] or one plane; an upload of another one
    /// ends. After the last part, the volume takes the place of the one before; returns true.
    pub(super) fn upload_part(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        slot: VolumeSlot,
        number: u64,
        size: [usize; 3],
        values: VoxelValues<'_>,
    ) -> Result<bool, RenderError> {
        let expected = size.iter().product();
        if values.len() != expected {
            return Err(RenderError::Length { expected, found: values.len() });
        }
        let ((format, texel_bytes), extent, plane) = (values.format(), extent_of(size), size[0] * size[1]);
        let num_at_once = (MAX_PART_BYTES / (texel_bytes * plane.max(1))).clamp(1, size[2].max(1));
        let stored = &mut self.0[slot as usize];
        let mut upload = match stored.upload.take().filter(|upload| upload.number == number) {
            Some(upload) => upload,
            None => Upload { number, texture: stored.target(device, size, format, num_at_once >= size[2])?, num_planes: 0 },
        };
        let first = upload.num_planes;
        upload.num_planes = (first + num_at_once).min(size[2]);
        let origin = wgpu::Origin3d { z: first as u32, ..wgpu::Origin3d::ZERO };
        let part = wgpu::Extent3d { depth_or_array_layers: (upload.num_planes - first) as u32, ..extent };
        let layout = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(texel_bytes as u32 * extent.width),
            rows_per_image: Some(extent.height),
        };
        let target = wgpu::TexelCopyTextureInfo { origin, ..upload.texture.as_image_copy() };
        values.write(first * plane..upload.num_planes * plane, |texels| queue.write_texture(target, texels, layout, part));
        if upload.num_planes < size[2] {
            stored.upload = Some(upload);
            return Ok(false);
        }
        let is_lent = stored.lent.take().is_some();
        stored.spare = stored.texture.replace(upload.texture).filter(|_| !is_lent);
        stored.generation += 1;
        Ok(true)
    }

    /// Takes an image of the solver over, without a copy; false if it is of another window or size.
    pub(super) fn show(&mut self, window: WindowNumber, slot: VolumeSlot, size: [usize; 3], image: &DeviceImage) -> bool {
        let Some(WindowImage { window: of, texture }) = image.open() else { return false };
        if *of != window || texture.size() != extent_of(size) {
            return false;
        }
        let generation = self.generation(slot) + 1;
        let (texture, lent) = (Some(texture.clone()), Some(image.clone()));
        self.0[slot as usize] = Stored { texture, lent, generation, ..Stored::default() };
        true
    }
}

impl Stored {
    /// Returns the texture of the next volume: the present one if the volume is uploaded `at_once`. Else the volume before is drawn
    /// meanwhile, in its own texture if the memory suffices for both.
    fn target(
        &mut self,
        device: &wgpu::Device,
        size: [usize; 3],
        format: wgpu::TextureFormat,
        at_once: bool,
    ) -> Result<wgpu::Texture, RenderError> {
        let fits = |texture: &wgpu::Texture| texture.size() == extent_of(size) && texture.format() == format;
        let before = self.texture.take_if(|texture| at_once && self.lent.is_none() && fits(texture));
        if let Some(known) = before.or_else(|| self.spare.take().filter(fits)) {
            return Ok(known);
        }
        new_texture(device, size, format).or_else(|error| {
            self.texture = None;
            if matches!(error, RenderError::Refused { .. }) { new_texture(device, size, format) } else { Err(error) }
        })
    }
}

fn extent_of([width, height, depth]: [usize; 3]) -> wgpu::Extent3d {
    wgpu::Extent3d { width: width as u32, height: height as u32, depth_or_array_layers: depth as u32 }
}

/// Returns an empty texture for a volume.
fn new_texture(device: &wgpu::Device, size: [usize; 3], format: wgpu::TextureFormat) -> Result<wgpu::Texture, RenderError> {
    let limit = device.limits().max_texture_dimension_3d;
    let found = size.into_iter().max().unwrap_or(0);
    if found > limit as usize {
        return Err(RenderError::TooLarge { found, limit });
    }
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let usage = wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST;
    let flat = texture_descriptor("volume", [1; 2], format, usage);
    let descriptor = wgpu::TextureDescriptor { size: extent_of(size), dimension: wgpu::TextureDimension::D3, ..flat };
    let texture = device.create_texture(&descriptor);
    // Outside a browser the errors of a scope are available immediately.
    let errors = [block_on(validation.pop()), block_on(memory.pop())];
    match errors.into_iter().flatten().next() {
        Some(error) => Err(RenderError::Refused { voxels: size.iter().product(), reason: error.to_string() }),
        None => Ok(texture),
    }
}
