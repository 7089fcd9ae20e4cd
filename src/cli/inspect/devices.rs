//! `tomoscope devices`: the compute devices of this computer.

use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::report::{Column, Columns};
use crate::session::num_cores;
use crate::text::{bytes, counted};

/// Columns of a device: its name and description.
const DEVICE: Columns<2> = Columns([Column::words("", 8), Column::words("", 0)]);

/// Prints the processor, the CUDA devices and the GPUs through wgpu, or the reason why there are none.
pub fn run() -> CliResult {
    for (name, what) in std::iter::once(("cpu".to_owned(), processor())).chain(cuda_devices()).chain(gpus()) {
        out!("{}", DEVICE.line([name, what]));
    }
    Ok(())
}

/// Facts of the processor and its memory; `None` where the system hides them.
pub(in crate::cli) struct Processor {
    pub name: Option<String>,
    pub num_cores: Option<usize>,
    /// Hardware threads that this process may use.
    pub num_threads: usize,
    pub memory_bytes: Option<u64>,
}

impl Processor {
    /// Reads the facts of this computer.
    pub fn find() -> Self {
        let kind =
            RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing()).with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(kind).ok();
        let name = system.as_ref().and_then(|s| s.cpus().first()).map(|cpu| cpu.brand().trim().to_owned());
        Self {
            name: name.filter(|name| !name.is_empty()),
            num_cores: System::physical_core_count().ok(),
            num_threads: num_cores(),
            memory_bytes: system.map(|s| s.total_memory()).filter(|bytes| *bytes > 0),
        }
    }
}

/// Returns name, threads, memory and vector instructions of the processor.
fn processor() -> String {
    let Processor { name, num_cores, num_threads, memory_bytes } = Processor::find();
    let name = name.as_deref().unwrap_or("processor");
    let memory = memory_bytes.map_or(String::new(), |num| format!("{} memory, ", bytes(num)));
    let cores = num_cores.map_or(String::new(), |n| format!("{}, ", counted(n, "core")));
    let threads = counted(num_threads, "thread");
    format!("{name}: {cores}{threads}, {memory}vector instructions {}", vector_instructions())
}

/// Returns the sets of vector instructions of the processor, of those that compiled code may use.
pub(in crate::cli) fn vector_instructions() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        let sets = [
            ("SSE2", true),
            ("AVX2", is_x86_feature_detected!("avx2")),
            ("FMA", is_x86_feature_detected!("fma")),
            ("AVX-512F", is_x86_feature_detected!("avx512f")),
        ];
        sets.iter().filter(|(_, is_available)| *is_available).map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        format!("as every {} processor has them", std::env::consts::ARCH)
    }
}

#[cfg(feature = "cuda")]
fn cuda_devices() -> Vec<(String, String)> {
    let devices = match crate::cuda::devices() {
        Ok(devices) => devices,
        Err(error) => return vec![("cuda".to_owned(), format!("not available: {error}"))],
    };
    let line = |d: crate::cuda::DeviceInfo| {
        let device = format!("cuda:{}", d.number);
        if let Some(trouble) = d.trouble {
            return (device, format!("is not usable: {trouble}"));
        }
        let (name, (major, minor), (cuda, cuda_minor)) = (d.name, d.compute_capability, d.driver_cuda_version);
        let (free, all) = (bytes(d.free_memory_bytes as u64), bytes(d.memory_bytes as u64));
        let what = format!(
            "{name}: compute capability {major}.{minor}, {free} of {all} memory free, driver for CUDA {cuda}.{cuda_minor}"
        );
        (device, what)
    };
    devices.into_iter().map(line).collect()
}

/// Returns the GPUs through wgpu.
fn gpus() -> Vec<(String, String)> {
    let devices = crate::webgpu::devices();
    if devices.is_empty() {
        return vec![("gpu".to_owned(), format!("not available: {}", crate::webgpu::WebGpuError::NoAdapter))];
    }
    let line = |device: crate::webgpu::DeviceInfo| {
        let name = format!("gpu:{}", device.number);
        if let Some(reason) = device.why_not() {
            return (name, format!("is not used: {reason}"));
        }
        let additions = match (device.has_long_atomics, device.has_float_atomics) {
            (true, true) => "64-bit and f32 additions",
            (true, false) => "64-bit additions",
            (false, true) => "f32 additions",
            (false, false) => "32-bit additions",
        };
        let what = format!(
            "{}: {}, driver {}, {additions}, buffers of up to {}",
            device.name,
            device.interface,
            device.driver,
            bytes(device.max_binding_bytes)
        );
        (name, what)
    };
    devices.into_iter().map(line).collect()
}

#[cfg(not(feature = "cuda"))]
fn cuda_devices() -> Vec<(String, String)> {
    vec![("cuda".to_owned(), "not available: this program was built without its feature `cuda`".to_owned())]
}
