//! A GPU that is ready to compute, with the kernels that it has compiled.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pollster::block_on;

use super::probe::{DeviceInfo, LONG_ATOMICS, adapters, devices, wanted_features};
use super::window::{WindowDevice, WindowNumber, forget_window, of_window};
use crate::webgpu::error::WebGpuError;
use crate::webgpu::kernel::{Kernel, MAX_PARAMETER_BYTES, with_immediates};

/// Groups of a dispatch along x: more lie along y.
pub(in crate::webgpu) const GROUPS_ALONG_X: u32 = 1 << 14;

/// Checks that wgpu adds to kernels: no counter in each loop, no test of each index.
const CHECKS: wgpu::ShaderRuntimeChecks =
    wgpu::ShaderRuntimeChecks { bounds_checks: false, force_loop_bounding: false, ..wgpu::ShaderRuntimeChecks::checked() };

/// Intended seconds of a submission: a window on the same GPU draws in between.
const AIM_SECS: f64 = 0.005;

/// Time within which a GPU that refuses a call reports that it is lost.
const LOSS_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of an element of the longest arrays, those of 64-bit integers.
pub(in crate::webgpu) const LONG_BYTES: u64 = 8;

/// Most values of a segment: indices of kernels have 31 bits.
const MAX_SEGMENT_LEN: u64 = 1 << 28;

/// Used limits and features of an adapter; by default all.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceOptions {
    /// Limits at most.
    pub limits: wgpu::Limits,
    /// Features at most.
    pub features: wgpu::Features,
    /// Bytes of a buffer of an array of f32, at most.
    pub segment_bytes: u64,
}

impl DeviceOptions {
    /// Everything that an adapter has.
    pub fn all_of(adapter: &wgpu::Adapter) -> Self {
        Self { limits: adapter.limits(), features: adapter.features(), segment_bytes: u64::MAX }
    }

    /// The limits that WebGPU guarantees everywhere, without any further feature.
    pub fn least() -> Self {
        Self { limits: wgpu::Limits::defaults(), features: wgpu::Features::empty(), segment_bytes: u64::MAX }
    }
}

/// A GPU that was opened.
pub struct Gpu {
    pub info: DeviceInfo,
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub limits: wgpu::Limits,
    /// Values of a buffer of an array at most.
    pub segment_len: usize,
    /// Intended seconds of a submission.
    pub aim_secs: f64,
    /// True if the parameters of kernels are immediates.
    pub has_immediates: bool,
    /// The window that draws with this device.
    pub window: Option<WindowNumber>,
    fault: Arc<Fault>,
    kernels: Mutex<HashMap<(String, &'static str), Kernel>>,
}

/// The first failure that no call has reported.
#[derive(Default)]
struct Fault(Mutex<Option<FaultKind>>);

#[derive(Clone)]
enum FaultKind {
    Lost(String),
    OutOfMemory,
    Other(String),
}

impl Fault {
    fn set(&self, kind: FaultKind) {
        let mut fault = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if fault.is_none() || matches!(kind, FaultKind::Lost(_)) {
            *fault = Some(kind);
        }
    }

    fn get(&self) -> Option<FaultKind> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// GPUs that this process has opened, by number and options. They stay, since opening and compiling take longer than many a
/// reconstruction.
static OPENED: Mutex<Vec<(usize, DeviceOptions, Arc<Gpu>)>> = Mutex::new(Vec::new());

impl Gpu {
    /// Opens GPU `number` with a part of its limits and features. A failed one is opened anew.
    pub fn open(number: usize, options: impl FnOnce(&wgpu::Adapter) -> DeviceOptions) -> Result<Arc<Self>, WebGpuError> {
        let devices = devices();
        let (adapter, info) = match (adapters().get(number), devices.get(number)) {
            (Some(adapter), Some(info)) => (adapter, info.clone()),
            _ if devices.is_empty() => return Err(WebGpuError::NoAdapter),
            _ => return Err(WebGpuError::NoSuchDevice { asked: number, found: devices.len() }),
        };
        if let Some(error) = info.why_not() {
            return Err(error);
        }
        let options = options(adapter);
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        for (.., failed) in opened.extract_if(.., |(_, _, gpu)| gpu.fault.get().is_some()) {
            if failed.window.is_some() {
                forget_window();
            }
        }
        let window = of_window(adapter, options.features & adapter.features() & wanted_features(), &options.limits);
        let is_it = |(other, used, gpu): &(usize, DeviceOptions, Arc<Self>)| {
            (*other, used) == (number, &options) && window.as_ref().is_none_or(|window| gpu.window == Some(window.number))
        };
        if let Some((.., gpu)) = opened.iter().find(|known| is_it(known)) {
            return Ok(Arc::clone(gpu));
        }
        let gpu = Self::new(adapter, info, options.clone(), window)?;
        opened.push((number, options, Arc::clone(&gpu)));
        Ok(gpu)
    }

    fn new(
        adapter: &wgpu::Adapter,
        info: DeviceInfo,
        options: DeviceOptions,
        window: Option<WindowDevice>,
    ) -> Result<Arc<Self>, WebGpuError> {
        let DeviceOptions { limits, features, segment_bytes } = options;
        let features = adapter.features() & features & wanted_features();
        let info = DeviceInfo {
            has_long_atomics: features.contains(LONG_ATOMICS),
            has_float_atomics: features.contains(wgpu::Features::SHADER_FLOAT32_ATOMIC),
            has_wide_subgroups: info.has_wide_subgroups && features.contains(wgpu::Features::SUBGROUP),
            ..info
        };
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("tomoscope compute"),
            required_features: features,
            required_limits: limits.clone(),
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..Default::default()
        };
        let refused = |error: wgpu::RequestDeviceError| WebGpuError::NoStart { message: error.to_string() };
        let window_number = window.as_ref().map(|window| window.number);
        let has_immediates = features.contains(wgpu::Features::IMMEDIATES) && limits.max_immediate_size >= MAX_PARAMETER_BYTES;
        let (device, queue) = match window {
            Some(window) => (window.device, window.queue),
            None => block_on(adapter.request_device(&descriptor)).map_err(refused)?,
        };
        let fault = Arc::new(Fault::default());
        let lost = Arc::clone(&fault);
        device.set_device_lost_callback(move |reason, message| {
            let message = if message.is_empty() { format!("{reason:?}") } else { message };
            lost.set(FaultKind::Lost(message));
        });
        let failed = Arc::clone(&fault);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            failed.set(match error {
                wgpu::Error::OutOfMemory { .. } => FaultKind::OutOfMemory,
                error => FaultKind::Other(error.to_string()),
            });
        }));
        let longest = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) / LONG_BYTES;
        let segment_len = longest.min(segment_bytes / size_of::<f32>() as u64).min(MAX_SEGMENT_LEN);
        Ok(Arc::new(Self {
            info,
            device,
            queue,
            limits,
            // Whole blocks, which copies and 16-byte values need.
            segment_len: (segment_len as usize / 64 * 64).max(64),
            aim_secs: AIM_SECS,
            has_immediates,
            window: window_number,
            fault,
            kernels: Mutex::default(),
        }))
    }

    /// Returns the failure of an earlier call, if any.
    pub fn check(&self, doing: &'static str) -> Result<(), WebGpuError> {
        let mut fault = self.fault.get();
        if matches!(fault, Some(FaultKind::Other(_))) {
            // A lost device refuses calls, and reports that it is lost once its work is over.
            let _ = self.device.poll(wgpu::PollType::Wait { submission_index: None, timeout: Some(LOSS_TIMEOUT) });
            fault = self.fault.get();
        }
        match fault {
            None => Ok(()),
            Some(FaultKind::Lost(message)) => Err(WebGpuError::Lost { message }),
            Some(FaultKind::OutOfMemory) => Err(WebGpuError::OutOfMemory { doing }),
            Some(FaultKind::Other(message)) => Err(WebGpuError::Driver { doing, message }),
        }
    }

    /// Does something whose errors are those of this call.
    pub(super) fn guarded<T>(&self, doing: &'static str, work: impl FnOnce() -> T) -> Result<T, WebGpuError> {
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let done = work();
        // Outside a browser the errors of a scope are available immediately.
        let [validation, internal, memory] = [block_on(validation.pop()), block_on(internal.pop()), block_on(memory.pop())];
        self.check(doing)?;
        match (memory, internal.or(validation)) {
            (Some(_), _) => Err(WebGpuError::OutOfMemory { doing }),
            (None, Some(error)) => Err(WebGpuError::Driver { doing, message: error.to_string() }),
            (None, None) => Ok(done),
        }
    }

    /// Makes a buffer of zeros.
    pub fn buffer(&self, bytes: u64, usage: wgpu::BufferUsages, doing: &'static str) -> Result<wgpu::Buffer, WebGpuError> {
        let descriptor = wgpu::BufferDescriptor { label: Some(doing), size: bytes.max(16), usage, mapped_at_creation: false };
        self.guarded(doing, || self.device.create_buffer(&descriptor))
    }

    /// Returns a kernel, compiled on first use; `source` is its whole WGSL text.
    pub fn kernel(&self, entry: &'static str, source: &str) -> Result<Kernel, WebGpuError> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(&(source.to_owned(), entry)) {
            return Ok(kernel.clone());
        }
        let whole = if self.has_immediates { with_immediates(source) } else { source.to_owned() };
        let pipeline = self.guarded("compile a kernel", || {
            let source = wgpu::ShaderSource::Wgsl(whole.into());
            let descriptor = wgpu::ShaderModuleDescriptor { label: Some(entry), source };
            // SAFETY: no kernel has an endless loop: each ends at a bound of its tables or after a number of passes. Places come from
            // tables that are made together with the arrays that they point into. The checks take a fifth of the time.
            #[allow(unsafe_code)]
            let module = unsafe { self.device.create_shader_module_trusted(descriptor, CHECKS) };
            self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry),
                layout: None,
                module: &module,
                entry_point: Some(entry),
                compilation_options: wgpu::PipelineCompilationOptions {
                    zero_initialize_workgroup_memory: false,
                    ..Default::default()
                },
                cache: None,
            })
        });
        let pipeline = pipeline.map_err(|error| match error {
            WebGpuError::Driver { message, .. } => WebGpuError::Kernel { kernel: entry, message },
            other => other,
        })?;
        let kernel = Kernel { name: entry, layout: pipeline.get_bind_group_layout(0), pipeline };
        kernels.insert((source.to_owned(), entry), kernel.clone());
        Ok(kernel)
    }

    /// Waits for a submission.
    pub fn wait(&self, submission: wgpu::SubmissionIndex, doing: &'static str) -> Result<(), WebGpuError> {
        // (Without a time limit: wgpu panics where one passes while another thread looks after the queue.)
        let wait = wgpu::PollType::Wait { submission_index: Some(submission), timeout: None };
        let waited = self.device.poll(wait);
        self.check(doing)?;
        waited.map(|_| ()).map_err(|error| WebGpuError::Driver { doing, message: error.to_string() })
    }
}
