//! Slices of one volume texture.

use pollster::block_on;
use strum::VariantArray as _;
use wgpu::util::DeviceExt as _;

use super::{NUM_COLOURS, Palette};

/// Slices that can be on the screen at once; each has its own place in the uniform buffer, because all are written
/// before any is drawn.
pub const NUM_SLOTS: usize = 4;

/// Distance between slots in bytes: the largest alignment of dynamic offsets that wgpu's default limits allow.
const SLOT_BYTES: u64 = 256;

/// Format of the texture that is drawn to.
pub type TargetFormat = wgpu::TextureFormat;

/// How values between voxel centres are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// The nearest voxel's.
    #[default]
    Nearest,
    /// Linear between the voxels around.
    Linear,
}

/// Why a volume cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A side is longer than the adapter's textures.
    #[error(
        "the image has {found} voxels along one side, but this graphics adapter shows at most {limit}; reconstruct onto a smaller grid (the reconstruction itself goes on)"
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
    /// Sizes and values do not go together.
    #[error("an image of {expected} voxels was given {found} values")]
    Length {
        /// Voxels.
        expected: usize,
        /// Values.
        found: usize,
    },
}

/// What a slice shows. All triples are x, y, z in voxel coordinates (voxel i spans i ± ½).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceView {
    /// Top left corner of the viewport.
    pub corner: [f32; 3],
    /// From there to the top right corner; along one axis only.
    pub across: [f32; 3],
    /// From there to the bottom left corner; along one other axis only.
    pub down: [f32; 3],
    /// Values shown as the first and the last colour.
    pub window: [f32; 2],
    /// Palette.
    pub palette: Palette,
    /// sRGB colour outside the volume, 0..=1.
    pub outside: [f32; 3],
}

/// The uniforms as `struct Slice` of the shader lays them out.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct SliceUniforms {
    corner: [f32; 4],
    across: [f32; 4],
    down: [f32; 4],
    step_across: [i32; 4],
    step_down: [i32; 4],
    outside: [f32; 4],
    window: [f32; 2],
    palette: u32,
    unused: u32,
}

impl SliceUniforms {
    fn new(view: &SliceView) -> Self {
        let four = |v: [f32; 3]| [v[0], v[1], v[2], 0.0];
        let step = |v: [f32; 3]| {
            let axis = (0..3).max_by(|&a, &b| v[a].abs().total_cmp(&v[b].abs())).unwrap_or(0);
            std::array::from_fn(|a| i32::from(a == axis))
        };
        let [low, high] = view.window;
        Self {
            corner: four(view.corner),
            across: four(view.across),
            down: four(view.down),
            step_across: step(view.across),
            step_down: step(view.down),
            outside: four(view.outside),
            window: [low, if high > low { high } else { low + f32::MIN_POSITIVE.max(low.abs() * f32::EPSILON) }],
            palette: view.palette.row(),
            unused: 0,
        }
    }
}

/// Draws slices of one volume.
pub struct SliceRenderer {
    layout: wgpu::BindGroupLayout,
    nearest: wgpu::RenderPipeline,
    linear: wgpu::RenderPipeline,
    uniforms: wgpu::Buffer,
    palettes: wgpu::TextureView,
    volume: Option<VolumeTexture>,
}

/// The volume on the adapter.
struct VolumeTexture {
    texture: wgpu::Texture,
    bind_group: wgpu::BindGroup,
}

impl SliceRenderer {
    /// Pipelines for a target of this format, without a volume yet.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue, target: TargetFormat) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("slice"),
            source: wgpu::ShaderSource::Wgsl(include_str!("../../shaders/slice.wgsl").into()),
        });
        let layout = bind_group_layout(device);
        let uniforms = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("slice uniforms"),
            size: SLOT_BYTES * NUM_SLOTS as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self {
            nearest: pipeline(device, &layout, &module, target, Interpolation::Nearest),
            linear: pipeline(device, &layout, &module, target, Interpolation::Linear),
            palettes: palette_texture(device, queue),
            layout,
            uniforms,
            volume: None,
        }
    }

    /// Sends a volume (`[z, y, x]` order, x fastest; `size` is x, y, z). The texture is made anew only when the size changes.
    ///
    /// # Errors
    /// Larger than the adapter can hold; another number of values than voxels.
    pub fn upload(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        size: [usize; 3],
        values: &[f32],
    ) -> Result<(), RenderError> {
        let expected = size.iter().product();
        if values.len() != expected {
            return Err(RenderError::Length { expected, found: values.len() });
        }
        let extent = wgpu::Extent3d { width: size[0] as u32, height: size[1] as u32, depth_or_array_layers: size[2] as u32 };
        if self.volume.as_ref().is_none_or(|volume| volume.texture.size() != extent) {
            self.volume = None;
            self.volume = Some(self.volume_texture(device, size, extent)?);
        }
        let Some(volume) = &self.volume else { return Ok(()) };
        queue.write_texture(
            volume.texture.as_image_copy(),
            bytemuck::cast_slice(values),
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(4 * extent.width), rows_per_image: Some(extent.height) },
            extent,
        );
        Ok(())
    }

    /// An empty texture for a volume.
    fn volume_texture(
        &self,
        device: &wgpu::Device,
        size: [usize; 3],
        extent: wgpu::Extent3d,
    ) -> Result<VolumeTexture, RenderError> {
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
        if let Some(error) = errors.into_iter().flatten().next() {
            return Err(RenderError::Refused { voxels: size.iter().product(), reason: error.to_string() });
        }
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("slice"),
            layout: &self.layout,
            entries: &[
                wgpu::BindGroupEntry {
                    binding: 0,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer: &self.uniforms,
                        offset: 0,
                        size: wgpu::BufferSize::new(size_of::<SliceUniforms>() as u64),
                    }),
                },
                wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::TextureView(&view) },
                wgpu::BindGroupEntry { binding: 2, resource: wgpu::BindingResource::TextureView(&self.palettes) },
            ],
        });
        Ok(VolumeTexture { texture, bind_group })
    }

    /// Sets what a slot shows; takes effect for draws of the same submission. Slots from [`NUM_SLOTS`] on are ignored.
    pub fn set_view(&self, queue: &wgpu::Queue, slot: usize, view: &SliceView) {
        if slot < NUM_SLOTS {
            queue.write_buffer(&self.uniforms, slot as u64 * SLOT_BYTES, bytemuck::bytes_of(&SliceUniforms::new(view)));
        }
    }

    /// Draws a slot over the pass's viewport; nothing while there is no volume.
    pub fn draw(&self, pass: &mut wgpu::RenderPass<'_>, slot: usize, interpolation: Interpolation) {
        let Some(volume) = &self.volume else { return };
        if slot >= NUM_SLOTS {
            return;
        }
        pass.set_pipeline(match interpolation {
            Interpolation::Nearest => &self.nearest,
            Interpolation::Linear => &self.linear,
        });
        pass.set_bind_group(0, &volume.bind_group, &[(slot as u64 * SLOT_BYTES) as u32]);
        pass.draw(0..3, 0..1);
    }
}

fn bind_group_layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let entry = |binding, ty| wgpu::BindGroupLayoutEntry { binding, visibility: wgpu::ShaderStages::FRAGMENT, ty, count: None };
    let texture = |view_dimension| wgpu::BindingType::Texture {
        sample_type: wgpu::TextureSampleType::Float { filterable: false },
        view_dimension,
        multisampled: false,
    };
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("slice"),
        entries: &[
            entry(
                0,
                wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Uniform,
                    has_dynamic_offset: true,
                    min_binding_size: wgpu::BufferSize::new(size_of::<SliceUniforms>() as u64),
                },
            ),
            entry(1, texture(wgpu::TextureViewDimension::D3)),
            entry(2, texture(wgpu::TextureViewDimension::D2)),
        ],
    })
}

fn pipeline(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    module: &wgpu::ShaderModule,
    target: TargetFormat,
    interpolation: Interpolation,
) -> wgpu::RenderPipeline {
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("slice"),
        bind_group_layouts: &[Some(layout)],
        immediate_size: 0,
    });
    let constants = [("LINEAR", f64::from(interpolation == Interpolation::Linear)), ("SRGB_TARGET", f64::from(target.is_srgb()))];
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("slice"),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module,
            entry_point: Some("vertex"),
            buffers: &[],
            compilation_options: wgpu::PipelineCompilationOptions::default(),
        },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil: None,
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module,
            entry_point: Some("fragment"),
            targets: &[Some(target.into())],
            compilation_options: wgpu::PipelineCompilationOptions { constants: &constants, ..Default::default() },
        }),
        multiview_mask: None,
        cache: None,
    })
}

/// All palettes, one per row.
fn palette_texture(device: &wgpu::Device, queue: &wgpu::Queue) -> wgpu::TextureView {
    let colours: Vec<[u8; 4]> = Palette::VARIANTS.iter().flat_map(|palette| palette.table()).collect();
    let texture = device.create_texture_with_data(
        queue,
        &wgpu::TextureDescriptor {
            label: Some("palettes"),
            size: wgpu::Extent3d { width: NUM_COLOURS as u32, height: Palette::VARIANTS.len() as u32, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Rgba8Unorm,
            usage: wgpu::TextureUsages::TEXTURE_BINDING,
            view_formats: &[],
        },
        wgpu::util::TextureDataOrder::LayerMajor,
        bytemuck::cast_slice(&colours),
    );
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}

/// The device to ask an adapter for: the defaults of its kind, with textures as large as it can hold.
pub fn device_descriptor(adapter: &wgpu::Adapter) -> wgpu::DeviceDescriptor<'static> {
    let base = if adapter.get_info().backend == wgpu::Backend::Gl {
        wgpu::Limits::downlevel_webgl2_defaults()
    } else {
        wgpu::Limits::default()
    };
    let limits = adapter.limits();
    wgpu::DeviceDescriptor {
        label: Some("tomoscope"),
        required_limits: wgpu::Limits {
            max_texture_dimension_2d: limits.max_texture_dimension_2d.min(16384),
            max_texture_dimension_3d: limits.max_texture_dimension_3d,
            ..base
        },
        ..Default::default()
    }
}

/// Whether the adapter draws on the processor (llvmpipe and the like).
pub fn is_software(adapter: &wgpu::Adapter) -> bool {
    adapter.get_info().device_type == wgpu::DeviceType::Cpu
}
