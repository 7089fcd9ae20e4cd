//! The GPUs of this machine.

use std::sync::OnceLock;

use pollster::block_on;

use crate::webgpu::error::{ALLOW_SOFTWARE, WebGpuError};

/// Interfaces through which a GPU computes here. OpenGL lacks features of the kernels.
pub(super) const INTERFACES: wgpu::Backends = wgpu::Backends::VULKAN.union(wgpu::Backends::METAL).union(wgpu::Backends::DX12);

/// A GPU, or a software renderer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its number: GPUs first, then software renderers.
    pub number: usize,
    /// Name of the GPU.
    pub name: String,
    /// Graphics interface: `vulkan`, `metal`, `dx12`.
    pub interface: String,
    /// Driver and its version.
    pub driver: String,
    /// True for a software renderer.
    pub is_software: bool,
    /// True if its memory is that of the computer.
    pub shares_memory: bool,
    /// True if integers of 64 bits are added by one instruction.
    pub has_long_atomics: bool,
    /// True if f32 are added by one instruction.
    pub has_float_atomics: bool,
    /// True if 32 threads or more exchange values among them.
    pub has_wide_subgroups: bool,
    /// Largest binding, bytes.
    pub max_binding_bytes: u64,
    /// Shared memory of a workgroup, bytes.
    pub shared_bytes: u32,
}

impl DeviceInfo {
    fn of(number: usize, adapter: &wgpu::Adapter) -> Self {
        let (info, limits, features) = (adapter.get_info(), adapter.limits(), adapter.features());
        Self {
            number,
            is_software: is_software(adapter),
            shares_memory: matches!(info.device_type, wgpu::DeviceType::Cpu | wgpu::DeviceType::IntegratedGpu),
            name: info.name,
            interface: info.backend.to_str().to_owned(),
            driver: [info.driver.trim(), info.driver_info.trim()].join(" ").trim().to_owned(),
            has_long_atomics: features.contains(LONG_ATOMICS),
            has_float_atomics: features.contains(wgpu::Features::SHADER_FLOAT32_ATOMIC),
            has_wide_subgroups: features.contains(wgpu::Features::SUBGROUP) && info.subgroup_min_size >= 32,
            max_binding_bytes: limits.max_storage_buffer_binding_size,
            shared_bytes: limits.max_compute_workgroup_storage_size,
        }
    }

    /// Returns the reason why it is not used; `None` where it is.
    pub fn why_not(&self) -> Option<WebGpuError> {
        let is_allowed = !self.is_software || std::env::var_os(ALLOW_SOFTWARE).is_some_and(|value| value == "1");
        if is_allowed { None } else { Some(WebGpuError::Software { name: self.name.clone() }) }
    }
}

/// Features by which integers of 64 bits are added by one instruction.
pub(super) const LONG_ATOMICS: wgpu::Features = wgpu::Features::SHADER_INT64.union(wgpu::Features::SHADER_INT64_ATOMIC_ALL_OPS);

/// Returns all that kernels make use of.
pub(super) fn wanted_features() -> wgpu::Features {
    LONG_ATOMICS
        | wgpu::Features::SHADER_FLOAT32_ATOMIC
        | wgpu::Features::SUBGROUP
        | wgpu::Features::IMMEDIATES
        | wgpu::Features::TIMESTAMP_QUERY
}

fn is_software(adapter: &wgpu::Adapter) -> bool {
    adapter.get_info().device_type == wgpu::DeviceType::Cpu
}

/// Returns the adapters, GPUs first. Their drivers are loaded once.
pub(super) fn adapters() -> &'static [wgpu::Adapter] {
    static ADAPTERS: OnceLock<Vec<wgpu::Adapter>> = OnceLock::new();
    ADAPTERS.get_or_init(|| {
        let descriptor =
            wgpu::InstanceDescriptor { backends: INTERFACES, ..wgpu::InstanceDescriptor::new_without_display_handle() };
        let instance = wgpu::Instance::new(descriptor);
        let mut adapters = block_on(instance.enumerate_adapters(INTERFACES));
        adapters.sort_by_key(is_software);
        adapters
    })
}

/// Returns the GPUs and software renderers. Loads every driver: takes a second, and longer where a driver hangs.
pub fn devices() -> Vec<DeviceInfo> {
    adapters().iter().enumerate().map(|(number, adapter)| DeviceInfo::of(number, adapter)).collect()
}
