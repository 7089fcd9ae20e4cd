//! The device of the window, which computes too where its GPU is asked to: images then need not leave it to be drawn.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::probe::{INTERFACES, wanted_features};

/// Number of a window of this process. (Equal devices of wgpu may be those of two windows.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowNumber(u64);

static NUM_WINDOWS: AtomicU64 = AtomicU64::new(0);

/// The window's device.
static OF_WINDOW: Mutex<Option<WindowDevice>> = Mutex::new(None);

#[derive(Clone)]
pub(super) struct WindowDevice {
    pub number: WindowNumber,
    pub adapter: wgpu::AdapterInfo,
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
}

/// Returns the window's device to request from an adapter: the default limits of its kind with its largest textures, and what computing
/// needs as far as the adapter has it.
pub fn window_request(adapter: &wgpu::Adapter) -> wgpu::DeviceDescriptor<'static> {
    let (limits, backend) = (adapter.limits(), adapter.get_info().backend);
    let max_texture_dimension_2d = limits.max_texture_dimension_2d.min(16384);
    let (required_features, required_limits) = if INTERFACES.contains(backend.into()) {
        (adapter.features() & wanted_features(), wgpu::Limits { max_texture_dimension_2d, ..limits })
    } else {
        let is_gl = backend == wgpu::Backend::Gl;
        let base = if is_gl { wgpu::Limits::downlevel_webgl2_defaults() } else { wgpu::Limits::default() };
        let max_texture_dimension_3d = limits.max_texture_dimension_3d;
        (wgpu::Features::empty(), wgpu::Limits { max_texture_dimension_2d, max_texture_dimension_3d, ..base })
    };
    wgpu::DeviceDescriptor { label: Some("tomoscope"), required_features, required_limits, ..Default::default() }
}

/// Has the window's device compute from now on, where its GPU is asked to. It draws the images with the returned
/// number.
pub fn share_window(adapter: &wgpu::Adapter, device: &wgpu::Device, queue: &wgpu::Queue) -> WindowNumber {
    let number = WindowNumber(NUM_WINDOWS.fetch_add(1, Ordering::Relaxed));
    let shared = WindowDevice { number, adapter: adapter.get_info(), device: device.clone(), queue: queue.clone() };
    *OF_WINDOW.lock().unwrap_or_else(PoisonError::into_inner) = Some(shared);
    number
}

/// Returns the window's device, if it is of this adapter and has these features and limits.
pub(super) fn of_window(adapter: &wgpu::Adapter, features: wgpu::Features, limits: &wgpu::Limits) -> Option<WindowDevice> {
    let shared = OF_WINDOW.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
    let found = shared.device.limits();
    // (Compute kernels have no textures.)
    let wanted = wgpu::Limits { max_texture_dimension_2d: found.max_texture_dimension_2d, ..limits.clone() };
    let suits = shared.adapter == adapter.get_info() && shared.device.features().contains(features) && found == wanted;
    suits.then_some(shared)
}

/// Gives the window's device up, after it has failed.
pub(super) fn forget_window() {
    *OF_WINDOW.lock().unwrap_or_else(PoisonError::into_inner) = None;
}
