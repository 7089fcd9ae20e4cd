//! Slices of the volumes on the graphics adapter.

use std::collections::HashMap;

use strum::VariantArray as _;
use wgpu::util::DeviceExt as _;

use super::picture::{Made, Picture, PicturePainter};
use super::pipeline::{TargetFormat, pipeline, texture_descriptor};
use super::slice_view::SliceUniforms;
use super::volume::{Volumes, VoxelValues};
use super::{Combination, Content, Interpolation, NUM_COLOURS, Palette, RenderError, SliceView, VolumeSlot};
use crate::algebra::DeviceImage;
use crate::webgpu::WindowNumber;

/// Maximum number of displayed slices. Each has its own part of the uniform buffer, because all are written before drawing.
pub const NUM_VIEWS: usize = 16;

/// Distance between the uniforms of two views, bytes: the largest alignment of dynamic offsets in wgpu's default limits.
const VIEW_BYTES: u64 = 256;

pub struct SliceRenderer {
    module: wgpu::ShaderModule,
    target: TargetFormat,
    layout: wgpu::BindGroupLayout,
    pipelines: HashMap<Variant, wgpu::RenderPipeline>,
    uniforms: wgpu::Buffer,
    palettes: wgpu::TextureView,
    volumes: Volumes,
    /// By the volume and the subtracted volume.
    bind_groups: HashMap<[VolumeSlot; 2], wgpu::BindGroup>,
    views: [Option<View>; NUM_VIEWS],
    /// Stored pictures of costly views.
    pictures: [Option<Picture>; NUM_VIEWS],
    painter: PicturePainter,
}

/// Drawing of a view.
#[derive(Clone, Copy)]
struct View {
    variant: Variant,
    volumes: [VolumeSlot; 2],
    is_cached: bool,
}

/// Variant of the compiled shader.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Variant {
    sampling: Sampling,
    combination: u8,
    is_difference: bool,
    is_over: bool,
}

/// Interpolation between voxel centres, with the numbers of the shader.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Sampling {
    Nearest = 0,
    Bilinear = 1,
    Trilinear = 2,
}

impl Variant {
    fn of(view: &SliceView) -> Self {
        Self {
            sampling: match view.interpolation {
                Interpolation::Nearest => Sampling::Nearest,
                Interpolation::Linear if view.lies_in_voxel_centres() => Sampling::Bilinear,
                Interpolation::Linear => Sampling::Trilinear,
            },
            combination: match view.slab.map(|slab| slab.combination) {
                None => 0,
                Some(Combination::Mean) => 1,
                Some(Combination::Maximum) => 2,
            },
            is_difference: matches!(view.content, Content::Difference { .. }),
            is_over: view.over.is_some(),
        }
    }
}

impl SliceRenderer {
    /// Returns a renderer without volumes for a target format.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue, target: TargetFormat) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("slice"),
            source: wgpu::ShaderSource::Wgsl(include_str!("../../../shaders/slice.wgsl").into()),
        });
        let uniforms = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("slice uniforms"),
            size: VIEW_BYTES * NUM_VIEWS as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self {
            module,
            target,
            layout: bind_group_layout(device),
            pipelines: HashMap::new(),
            uniforms,
            palettes: palette_texture(device, queue),
            volumes: Volumes::default(),
            bind_groups: HashMap::new(),
            views: [None; NUM_VIEWS],
            pictures: [const { None }; NUM_VIEWS],
            painter: PicturePainter::new(device, target),
        }
    }

    /// Uploads a volume (`[z, y, x]` order, x fastest; `size` is x, y, z), and waits for the adapter.
    ///
    /// # Errors
    /// The volume exceeds the limits of the adapter, or the numbers of values and voxels differ.
    pub fn upload<'a>(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        slot: VolumeSlot,
        size: [usize; 3],
        values: impl Into<VoxelValues<'a>>,
    ) -> Result<(), RenderError> {
        let uploaded = self.volumes.upload(device, queue, slot, size, values.into());
        self.bind(device, slot);
        uploaded
    }

    /// Uploads the next part of the volume with this number, at most [`MAX_PART_BYTES`](super::MAX_PART_BYTES). Returns true after
    /// the last part; the volume before is drawn until then.
    ///
    /// # Errors
    /// As [`SliceRenderer::upload`].
    pub fn upload_part<'a>(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        (slot, number): (VolumeSlot, u64),
        size: [usize; 3],
        values: impl Into<VoxelValues<'a>>,
    ) -> Result<bool, RenderError> {
        let uploaded = self.volumes.upload_part(device, queue, slot, number, size, values.into());
        if uploaded != Ok(false) || self.volumes.get(slot).is_none() {
            self.bind(device, slot);
        }
        uploaded
    }

    /// Draws an image that lies on this device, that of a window, from now on, without a copy; `size` is x, y, z. Returns false, and
    /// changes nothing, if the image is of another window or size.
    pub fn show(
        &mut self,
        device: &wgpu::Device,
        window: WindowNumber,
        slot: VolumeSlot,
        size: [usize; 3],
        image: &DeviceImage,
    ) -> bool {
        let is_shown = self.volumes.show(window, slot, size, image);
        if is_shown {
            self.bind(device, slot);
        }
        is_shown
    }

    /// Binds the texture of a slot alone and with each other one.
    fn bind(&mut self, device: &wgpu::Device, slot: VolumeSlot) {
        self.bind_groups.retain(|pair, _| !pair.contains(&slot));
        let held: Vec<VolumeSlot> = self.volumes.held().collect();
        for pair in held.into_iter().flat_map(|other| [[slot, other], [other, slot]]) {
            if let Some(group) = self.bind_group(device, pair) {
                self.bind_groups.insert(pair, group);
            }
        }
    }

    /// Returns the bindings of a volume and a subtracted volume; `None` unless both exist with the same size.
    fn bind_group(&self, device: &wgpu::Device, [of, minus]: [VolumeSlot; 2]) -> Option<wgpu::BindGroup> {
        let (of, minus) = (self.volumes.get(of)?, self.volumes.get(minus)?);
        if of.size() != minus.size() {
            return None;
        }
        let [of, minus] = [of, minus].map(|texture| texture.create_view(&wgpu::TextureViewDescriptor::default()));
        let uniforms = wgpu::BufferBinding {
            buffer: &self.uniforms,
            offset: 0,
            size: wgpu::BufferSize::new(size_of::<SliceUniforms>() as u64),
        };
        let entry = |binding, resource| wgpu::BindGroupEntry { binding, resource };
        Some(device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("slice"),
            layout: &self.layout,
            entries: &[
                entry(0, wgpu::BindingResource::Buffer(uniforms)),
                entry(1, wgpu::BindingResource::TextureView(&of)),
                entry(2, wgpu::BindingResource::TextureView(&minus)),
                entry(3, wgpu::BindingResource::TextureView(&self.palettes)),
            ],
        }))
    }

    /// Sets the content of a view for the draws of the same submission. Views from [`NUM_VIEWS`] on are ignored.
    pub fn set_view(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, index: usize, view: &SliceView) {
        let Some(stored) = self.views.get_mut(index) else { return };
        let volumes = match view.content {
            Content::Volume(slot) => [slot; 2],
            Content::Difference { of, minus, .. } => [of, minus],
        };
        let variant = Variant::of(view);
        *stored = Some(View { variant, volumes, is_cached: false });
        let constants = [
            ("SAMPLING", f64::from(variant.sampling as u32)),
            ("COMBINATION", f64::from(variant.combination)),
            ("IS_DIFFERENCE", f64::from(variant.is_difference)),
            ("IS_OVER", f64::from(variant.is_over)),
            ("SRGB_TARGET", f64::from(self.target.is_srgb())),
        ];
        let (layout, module) = (&self.layout, &self.module);
        let blend = variant.is_over.then_some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING);
        let target = wgpu::ColorTargetState { blend, ..self.target.into() };
        self.pipelines.entry(variant).or_insert_with(|| pipeline(device, "slice", layout, module, target, &constants));
        queue.write_buffer(&self.uniforms, index as u64 * VIEW_BYTES, bytemuck::bytes_of(&SliceUniforms::new(view)));
    }

    /// Sets the content of a costly view: `encoder` draws it into a picture of `size` pixels (width, height) if view, volume or
    /// size have changed. [`SliceRenderer::draw`] then copies the picture.
    pub fn set_cached_view(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        index: usize,
        view: &SliceView,
        size: [u32; 2],
    ) {
        self.set_view(device, queue, index, view);
        let (Some(Some(set)), Some(stored)) = (self.views.get_mut(index), self.pictures.get_mut(index)) else { return };
        let limit = device.limits().max_texture_dimension_2d;
        let size = size.map(|side| side.clamp(1, limit));
        if stored.as_ref().is_none_or(|picture| picture.size() != size) {
            *stored = Some(self.painter.picture(device, size));
        }
        let made = Made { view: *view, generations: set.volumes.map(|slot| self.volumes.generation(slot)) };
        let outdated = stored.as_mut().and_then(|picture| picture.outdated(made));
        set.is_cached = true;
        let set = *set;
        if let Some(target) = outdated {
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("picture"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &target,
                    resolve_target: None,
                    ops: wgpu::Operations::default(),
                    depth_slice: None,
                })],
                ..Default::default()
            });
            self.draw_slice(&mut pass, index, set);
        }
    }

    /// Draws a view into the viewport of the pass; nothing without its content or its volumes.
    pub fn draw(&self, pass: &mut wgpu::RenderPass<'_>, index: usize) {
        let Some(view) = self.views.get(index).copied().flatten() else { return };
        match self.pictures[index].as_ref().filter(|_| view.is_cached) {
            Some(picture) if self.bind_groups.contains_key(&view.volumes) => self.painter.draw(pass, picture),
            Some(_) => {}
            None => self.draw_slice(pass, index, view),
        }
    }

    fn draw_slice(&self, pass: &mut wgpu::RenderPass<'_>, index: usize, view: View) {
        let (Some(pipeline), Some(group)) = (self.pipelines.get(&view.variant), self.bind_groups.get(&view.volumes)) else {
            return;
        };
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, group, &[(index as u64 * VIEW_BYTES) as u32]);
        pass.draw(0..6, 0..1);
    }
}

fn bind_group_layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let entry = |binding, visibility, ty| wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None };
    let texture = |view_dimension| wgpu::BindingType::Texture {
        sample_type: wgpu::TextureSampleType::Float { filterable: false },
        view_dimension,
        multisampled: false,
    };
    let uniforms = wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Uniform,
        has_dynamic_offset: true,
        min_binding_size: wgpu::BufferSize::new(size_of::<SliceUniforms>() as u64),
    };
    let fragment = wgpu::ShaderStages::FRAGMENT;
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("slice"),
        entries: &[
            entry(0, wgpu::ShaderStages::VERTEX_FRAGMENT, uniforms),
            entry(1, fragment, texture(wgpu::TextureViewDimension::D3)),
            entry(2, fragment, texture(wgpu::TextureViewDimension::D3)),
            entry(3, fragment, texture(wgpu::TextureViewDimension::D2)),
        ],
    })
}

/// Returns a texture of all palettes, one per row.
fn palette_texture(device: &wgpu::Device, queue: &wgpu::Queue) -> wgpu::TextureView {
    let colours: Vec<[u8; 4]> = Palette::VARIANTS.iter().flat_map(|palette| palette.table()).collect();
    let size = [NUM_COLOURS as u32, Palette::VARIANTS.len() as u32];
    let texture = device.create_texture_with_data(
        queue,
        &texture_descriptor("palettes", size, wgpu::TextureFormat::Rgba8Unorm, wgpu::TextureUsages::TEXTURE_BINDING),
        wgpu::util::TextureDataOrder::LayerMajor,
        bytemuck::cast_slice(&colours),
    );
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}
