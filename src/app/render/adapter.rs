//! Requests to a graphics adapter, and its description.

/// PCI vendor number of NVIDIA.
const NVIDIA: u32 = 0x10de;

/// Returns true for a software renderer (llvmpipe and similar).
pub fn is_software(adapter: &wgpu::Adapter) -> bool {
    adapter.get_info().device_type == wgpu::DeviceType::Cpu
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterSummary {
    /// Name of the GPU or of the software renderer.
    pub name: String,
    /// Graphics interface: `vulkan`, `gl`, `metal`, `dx12`.
    pub backend: String,
    /// Driver and its version.
    pub driver: String,
    pub is_software: bool,
    pub is_nvidia: bool,
    /// True if the window uses it.
    pub is_of_window: bool,
    /// Longest side of a 2D texture, texels.
    pub max_texture_2d: u32,
    /// Longest side of a 3D texture, texels: the limit of a displayed volume.
    pub max_texture_3d: u32,
    pub max_buffer_bytes: u64,
}

impl AdapterSummary {
    pub fn of(adapter: &wgpu::Adapter, is_of_window: bool) -> Self {
        let (info, limits) = (adapter.get_info(), adapter.limits());
        let driver = [info.driver.trim(), info.driver_info.trim()].join(" ").trim().to_owned();
        Self {
            name: info.name,
            backend: info.backend.to_str().to_owned(),
            driver,
            is_software: is_software(adapter),
            is_nvidia: info.vendor & 0xffff == NVIDIA,
            is_of_window,
            max_texture_2d: limits.max_texture_dimension_2d,
            max_texture_3d: limits.max_texture_dimension_3d,
            max_buffer_bytes: limits.max_buffer_size,
        }
    }
}
