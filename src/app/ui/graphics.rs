//! The graphics adapters of this computer, and the request by which the window takes one of them.

use std::sync::Arc;

use eframe::egui_wgpu::{WgpuSetup, WgpuSetupCreateNew};

use crate::render::AdapterSummary;
use crate::webgpu;

/// Advice for a computer without a graphics driver: the package to install.
pub const DRIVER_ADVICE: &str = if cfg!(target_os = "linux") {
    "Install the GPU's Vulkan driver, or the software renderer: package mesa-vulkan-drivers (Arch Linux: vulkan-swrast)"
} else {
    "Install the graphics driver of the GPU's manufacturer"
};

/// Returns the window's request for an adapter: with 3D textures as large as the adapter supports.
pub fn wgpu_setup() -> WgpuSetup {
    WgpuSetup::CreateNew(create_new())
}

fn create_new() -> WgpuSetupCreateNew {
    WgpuSetupCreateNew { device_descriptor: Arc::new(webgpu::window_request), ..WgpuSetupCreateNew::without_display_handle() }
}

/// Returns all graphics adapters, without a window. The adapter that the window would take has
/// [`AdapterSummary::is_of_window`] set; no surface takes part in this choice. Loads every graphics driver: takes a second, and longer
/// where a driver hangs.
pub fn graphics_adapters() -> Vec<AdapterSummary> {
    let setup = create_new();
    let (backends, power_preference) = (setup.instance_descriptor.backends, setup.power_preference);
    pollster::block_on(async {
        let instance = WgpuSetup::CreateNew(setup).new_instance().await;
        let options = wgpu::RequestAdapterOptions { power_preference, ..Default::default() };
        let chosen = instance.request_adapter(&options).await.ok().map(|adapter| adapter.get_info());
        let adapters = instance.enumerate_adapters(backends).await;
        adapters.iter().map(|adapter| AdapterSummary::of(adapter, chosen.as_ref() == Some(&adapter.get_info()))).collect()
    })
}
