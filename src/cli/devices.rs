//! `tomoscope devices`: what this machine can compute on.

use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use super::CliResult;
use super::console::out;
use crate::report::{Column, Columns};
use crate::words::{bytes, counted};

/// A device and what it is.
const DEVICE: Columns<2> = Columns([Column::words("", 8), Column::words("", 0)]);

/// Prints the processor and the CUDA devices, or why there are none.
pub fn run() -> CliResult {
    for (name, what) in std::iter::once(("cpu".to_owned(), processor())).chain(cuda_devices()) {
        out!("{}", DEVICE.line([name, what]));
    }
    Ok(())
}

/// Name, threads, memory and vector instructions of the processor.
fn processor() -> String {
    let kind = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing()).with_memory(MemoryRefreshKind::nothing().with_ram());
    // A machine that hides these figures computes all the same: then they are left out.
    let system = System::new_with_specifics(kind).ok();
    let name = system.as_ref().and_then(|s| s.cpus().first()).map(|cpu| cpu.brand().trim()).filter(|name| !name.is_empty());
    let name = name.unwrap_or("processor");
    let memory = system.as_ref().map_or(String::new(), |s| format!("{} memory, ", bytes(s.total_memory())));
    let num_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = System::physical_core_count().map_or(String::new(), |n| format!("{}, ", counted(n, "core")));
    let threads = counted(num_threads, "thread");
    format!("{name}: {cores}{threads}, {memory}vector instructions {}", vector_instructions())
}

/// The sets of vector instructions that the processor has, of those that compiled code may use.
fn vector_instructions() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        let sets = [
            ("SSE2", true),
            ("AVX2", is_x86_feature_detected!("avx2")),
            ("FMA", is_x86_feature_detected!("fma")),
            ("AVX-512F", is_x86_feature_detected!("avx512f")),
        ];
        sets.iter().filter(|(_, there)| *there).map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
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
            return (device, format!("cannot be used: {trouble}"));
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

#[cfg(not(feature = "cuda"))]
fn cuda_devices() -> Vec<(String, String)> {
    vec![("cuda".to_owned(), "not available: this program was built without its feature `cuda`".to_owned())]
}
