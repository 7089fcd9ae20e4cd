//! Stored pictures of views that are too costly for a drawing in each frame.

use super::SliceView;
use super::pipeline::{TargetFormat, pipeline, texture_descriptor};

/// Input of a picture: the view and the generations of its two volumes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Made {
    pub(super) view: SliceView,
    pub(super) generations: [u64; 2],
}

pub(super) struct Picture {
    texture: wgpu::Texture,
    group: wgpu::BindGroup,
    made: Option<Made>,
}

impl Picture {
    /// Returns the texture to draw into if the input has changed.
    pub(super) fn outdated(&mut self, made: Made) -> Option<wgpu::TextureView> {
        (self.made.replace(made) != Some(made)).then(|| self.texture.create_view(&wgpu::TextureViewDescriptor::default()))
    }

    /// Returns width and height in pixels.
    pub(super) fn size(&self) -> [u32; 2] {
        [self.texture.width(), self.texture.height()]
    }
}

pub(super) struct PicturePainter {
    target: TargetFormat,
    layout: wgpu::BindGroupLayout,
    pipeline: wgpu::RenderPipeline,
    sampler: wgpu::Sampler,
}

impl PicturePainter {
    pub(super) fn new(device: &wgpu::Device, target: TargetFormat) -> Self {
        let entry =
            |binding, ty| wgpu::BindGroupLayoutEntry { binding, visibility: wgpu::ShaderStages::FRAGMENT, ty, count: None };
        let texture = wgpu::BindingType::Texture {
            sample_type: wgpu::TextureSampleType::Float { filterable: true },
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        };
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("picture"),
            entries: &[entry(0, texture), entry(1, wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering))],
        });
        let sampler = device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some("picture"),
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            ..Default::default()
        });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("picture"),
            source: wgpu::ShaderSource::Wgsl(include_str!("../../../shaders/picture.wgsl").into()),
        });
        // A picture is transparent outside its volume, and as a whole by the opacity of its view.
        let blend = Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING);
        let state = wgpu::ColorTargetState { blend, ..target.into() };
        let pipeline = pipeline(device, "picture", &layout, &module, state, &[]);
        Self { target, pipeline, layout, sampler }
    }

    pub(super) fn picture(&self, device: &wgpu::Device, [width, height]: [u32; 2]) -> Picture {
        let usage = wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::RENDER_ATTACHMENT;
        let texture = device.create_texture(&texture_descriptor("picture", [width, height], self.target, usage));
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("picture"),
            layout: &self.layout,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&view) },
                wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::Sampler(&self.sampler) },
            ],
        });
        Picture { texture, group, made: None }
    }

    /// Draws a picture into the pass's viewport.
    pub(super) fn draw(&self, pass: &mut wgpu::RenderPass<'_>, picture: &Picture) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &picture.group, &[]);
        pass.draw(0..3, 0..1);
    }
}
