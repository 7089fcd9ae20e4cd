//! What is asked of a graphics adapter, and what kind it is.

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
