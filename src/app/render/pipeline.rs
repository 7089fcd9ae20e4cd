//! Textures without mip levels, and pipelines that draw into a texture with the entry points `vertex` and `fragment` of a shader,
//! without depth or vertex buffers.

pub type TargetFormat = wgpu::TextureFormat;

/// Returns the description of a two-dimensional texture, width × height.
pub(super) fn texture_descriptor(
    label: &'static str,
    [width, height]: [u32; 2],
    format: TargetFormat,
    usage: wgpu::TextureUsages,
) -> wgpu::TextureDescriptor<'static> {
    wgpu::TextureDescriptor {
        label: Some(label),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    }
}

/// Returns a pipeline with one group of bindings; `constants` are those of the fragment shader.
pub(super) fn pipeline(
    device: &wgpu::Device,
    label: &'static str,
    bindings: &wgpu::BindGroupLayout,
    module: &wgpu::ShaderModule,
    target: wgpu::ColorTargetState,
    constants: &[(&str, f64)],
) -> wgpu::RenderPipeline {
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(label),
        bind_group_layouts: &[Some(bindings)],
        immediate_size: 0,
    });
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(label),
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
            targets: &[Some(target)],
            compilation_options: wgpu::PipelineCompilationOptions { constants, ..Default::default() },
        }),
        multiview_mask: None,
        cache: None,
    })
}
