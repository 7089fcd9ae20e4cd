//! Slices of the volumes on the graphics adapter.

use std::collections::HashMap;

use strum::VariantArray as _;
use wgpu::util::DeviceExt as _;

use super::picture::{Made, Picture, PicturePainter};
use super::pipeline::{TargetFormat, pipeline};
use super::slice_view::SliceUniforms;
use super::volume::Volumes;
use super::{Combination, Content, Interpolation, NUM_COLOURS, Palette, RenderError, SliceView, VolumeSlot};

/// Slices that can be on the screen at once; each has its own place in the uniform buffer, because all are written
/// before any is drawn.
pub const NUM_VIEWS: usize = 16;

/// Distance between the uniforms of two views in bytes: the largest alignment of dynamic offsets that wgpu's default limits
/// allow.
const VIEW_BYTES: u64 = 256;

/// Draws slices of volumes.
pub struct SliceRenderer {
    module: wgpu::ShaderModule,
    target: TargetFormat,
    layout: wgpu::BindGroupLayout,
    pipelines: HashMap<Variant, wgpu::RenderPipeline>,
    uniforms: wgpu::Buffer,
    palettes: wgpu::TextureView,
    volumes: Volumes,
    /// By the volume and what is subtracted from it.
    bind_groups: HashMap<[VolumeSlot; 2], wgpu::BindGroup>,
    views: [Option<View>; NUM_VIEWS],
    /// Pictures of views that are kept, and what draws them.
    pictures: [Option<Picture>; NUM_VIEWS],
    painter: PicturePainter,
}

/// How a view is drawn.
#[derive(Clone, Copy)]
struct View {
    variant: Variant,
    volumes: [VolumeSlot; 2],
    is_kept: bool,
}

/// What the shader is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Variant {
    sampling: Sampling,
    combination: u8,
    is_difference: bool,
}

/// How values between voxel centres are read, as the shader numbers it.
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
        }
    }
}

impl SliceRenderer {
    /// Draws to a target of this format, without a volume yet.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue, target: TargetFormat) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("slice"),
            source: wgpu::ShaderSource::Wgsl(include_str!("../../shaders/slice.wgsl").into()),
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

    /// Sends a volume (`[z, y, x]` order, x fastest; `size` is x, y, z). Its texture is made anew only when the size changes.
    ///
    /// # Errors
    /// Larger than the adapter can hold; another number of values than voxels.
    pub fn upload(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        slot: VolumeSlot,
        size: [usize; 3],
        values: &[f32],
    ) -> Result<(), RenderError> {
        let uploaded = self.volumes.upload(device, queue, slot, size, values);
        if self.volumes.get(slot).is_none() || uploaded == Ok(true) {
            self.bind_groups.retain(|pair, _| !pair.contains(&slot));
        }
        if uploaded? {
            let held: Vec<VolumeSlot> = self.volumes.held().collect();
            for pair in held.into_iter().flat_map(|other| [[slot, other], [other, slot]]) {
                if let Some(group) = self.bind_group(device, pair) {
                    self.bind_groups.insert(pair, group);
                }
            }
        }
        Ok(())
    }

    /// Lets a volume go: nothing that needs it is drawn any more.
    pub fn remove(&mut self, slot: VolumeSlot) {
        self.volumes.remove(slot);
        self.bind_groups.retain(|pair, _| !pair.contains(&slot));
    }

    /// What the shader reads of a volume and of what is subtracted from it; `None` unless both are there and of one size.
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

    /// Sets what a view shows; takes effect for draws of the same submission. Views from [`NUM_VIEWS`] on are ignored.
    pub fn set_view(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, index: usize, view: &SliceView) {
        let Some(place) = self.views.get_mut(index) else { return };
        let volumes = match view.content {
            Content::Volume(slot) => [slot; 2],
            Content::Difference { of, minus, .. } => [of, minus],
        };
        let variant = Variant::of(view);
        *place = Some(View { variant, volumes, is_kept: false });
        let constants = [
            ("SAMPLING", f64::from(variant.sampling as u32)),
            ("COMBINATION", f64::from(variant.combination)),
            ("IS_DIFFERENCE", f64::from(variant.is_difference)),
            ("SRGB_TARGET", f64::from(self.target.is_srgb())),
        ];
        let (layout, module) = (&self.layout, &self.module);
        self.pipelines.entry(variant).or_insert_with(|| pipeline(device, "slice", layout, module, self.target, &constants));
        queue.write_buffer(&self.uniforms, index as u64 * VIEW_BYTES, bytemuck::bytes_of(&SliceUniforms::new(view)));
    }

    /// The same of a view that is costly: it is drawn, by `encoder`, into a picture of `size` pixels (width, height) of which
    /// [`SliceRenderer::draw`] then makes a copy, and again only when view, volume or size have changed.
    pub fn set_kept_view(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        index: usize,
        view: &SliceView,
        size: [u32; 2],
    ) {
        self.set_view(device, queue, index, view);
        let (Some(Some(set)), Some(place)) = (self.views.get_mut(index), self.pictures.get_mut(index)) else { return };
        let limit = device.limits().max_texture_dimension_2d;
        let size = size.map(|side| side.clamp(1, limit));
        if place.as_ref().is_none_or(|picture| picture.size() != size) {
            *place = Some(self.painter.picture(device, size));
        }
        let made = Made { view: *view, generations: set.volumes.map(|slot| self.volumes.generation(slot)) };
        let outdated = place.as_mut().and_then(|picture| picture.outdated(made));
        set.is_kept = true;
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

    /// Draws a view into the pass's viewport; nothing where it has not been set or a volume that it needs is not there.
    pub fn draw(&self, pass: &mut wgpu::RenderPass<'_>, index: usize) {
        let Some(view) = self.views.get(index).copied().flatten() else { return };
        match self.pictures[index].as_ref().filter(|_| view.is_kept) {
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
