//! Volumes on the graphics adapter.

use crate::coded::coded;
use pollster::block_on;
use strum::{EnumCount as _, VariantArray as _};

/// One of the volumes that are held at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::EnumCount, strum::VariantArray)]
pub enum VolumeSlot {
    /// The first: that of the run that is watched.
    #[default]
    First,
    /// The second.
    Second,
    /// The third.
    Third,
    /// The fourth.
    Fourth,
}

/// Why a volume cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case", prefix = "render.")]
pub enum RenderError {
    /// A side is longer than the adapter's textures.
    #[error(
        "the image has {found} voxels along one side, but this graphics adapter shows at most {limit}; reconstruct onto a smaller grid (the reconstruction continues)"
    )]
    TooLarge {
        /// Longest side.
        found: usize,
        /// The adapter's limit.
        limit: u32,
    },
    /// The adapter refused.
    #[error("the graphics adapter has no room for an image of {voxels} voxels ({reason}); reconstruct onto a smaller grid")]
    Refused {
        /// Number of voxels.
        voxels: usize,
        /// What the adapter said.
        reason: String,
    },
    /// A side is longer than the adapter's textures.
    #[error(
        "the picture would be {} × {} pixels, but this graphics adapter draws at most {limit} along a side; make the window smaller",
        size[0], size[1]
    )]
    PictureTooLarge {
        /// Width and height, pixels.
        size: [u32; 2],
        /// The adapter's limit.
        limit: u32,
    },
    /// The adapter did not draw a picture.
    #[error("the graphics adapter did not hand the picture over ({reason}); try again")]
    NoPicture {
        /// What it said.
        reason: String,
    },
    /// Sizes and values do not go together.
    #[error("an image of {expected} voxels was given {found} values")]
    Length {
        /// Voxels.
        expected: usize,
        /// Values.
        found: usize,
    },
}

coded!(RenderError);

/// The volumes that are held, and how often each was sent.
#[derive(Default)]
pub(super) struct Volumes {
    textures: [Option<wgpu::Texture>; VolumeSlot::COUNT],
    generations: [u64; VolumeSlot::COUNT],
}

impl Volumes {
    /// The texture of a volume, if it is there.
    pub(super) fn get(&self, slot: VolumeSlot) -> Option<&wgpu::Texture> {
        self.textures[slot as usize].as_ref()
    }

    /// Grows with each volume that is sent.
    pub(super) fn generation(&self, slot: VolumeSlot) -> u64 {
        self.generations[slot as usize]
    }

    /// The slots that hold a volume.
    pub(super) fn held(&self) -> impl Iterator<Item = VolumeSlot> {
        VolumeSlot::VARIANTS.iter().copied().filter(|slot| self.get(*slot).is_some())
    }

    /// Lets a volume go.
    pub(super) fn remove(&mut self, slot: VolumeSlot) {
        self.textures[slot as usize] = None;
    }

    /// Sends a volume; gives back whether it has a new texture.
    pub(super) fn upload(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        slot: VolumeSlot,
        size: [usize; 3],
        values: &[f32],
    ) -> Result<bool, RenderError> {
        let expected = size.iter().product();
        if values.len() != expected {
            return Err(RenderError::Length { expected, found: values.len() });
        }
        let extent = wgpu::Extent3d { width: size[0] as u32, height: size[1] as u32, depth_or_array_layers: size[2] as u32 };
        let place = &mut self.textures[slot as usize];
        self.generations[slot as usize] += 1;
        let is_new = place.as_ref().is_none_or(|texture| texture.size() != extent);
        if is_new {
            // The old one makes room first.
            *place = None;
        }
        let texture = match place {
            Some(texture) => texture,
            None => place.insert(texture(device, size, extent)?),
        };
        queue.write_texture(
            texture.as_image_copy(),
            bytemuck::cast_slice(values),
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(4 * extent.width), rows_per_image: Some(extent.height) },
            extent,
        );
        Ok(is_new)
    }
}

/// An empty texture for a volume.
fn texture(device: &wgpu::Device, size: [usize; 3], extent: wgpu::Extent3d) -> Result<wgpu::Texture, RenderError> {
    let limit = device.limits().max_texture_dimension_3d;
    let found = size.into_iter().max().unwrap_or(0);
    if found > limit as usize {
        return Err(RenderError::TooLarge { found, limit });
    }
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: Some("volume"),
        size: extent,
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D3,
        format: wgpu::TextureFormat::R32Float,
        usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    });
    // Outside a browser the errors of a scope are there at once.
    let errors = [block_on(validation.pop()), block_on(memory.pop())];
    match errors.into_iter().flatten().next() {
        Some(error) => Err(RenderError::Refused { voxels: size.iter().product(), reason: error.to_string() }),
        None => Ok(texture),
    }
}
