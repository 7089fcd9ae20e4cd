//! `tomoscope devices`: what this machine can compute on.

use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use super::CliResult;
use super::console::out;
use crate::words::counted;

/// Bytes of a GiB.
const GIB: f64 = (1u64 << 30) as f64;

/// Prints the processor and the CUDA devices, or why there are none.
pub fn run() -> CliResult {
    out!("cpu     {}", processor());
    for line in cuda_lines() {
        out!("{line}");
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
    let memory = system.as_ref().map_or(String::new(), |s| format!("{:.1} GiB memory, ", s.total_memory() as f64 / GIB));
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
fn cuda_lines() -> Vec<String> {
    let devices = match crate::cuda::devices() {
        Ok(devices) => devices,
        Err(error) => return vec![format!("cuda    not available: {error}")],
    };
    let line = |d: crate::cuda::DeviceInfo| {
        if let Some(trouble) = d.trouble {
            return format!("cuda:{}  cannot be used: {trouble}", d.number);
        }
        let (number, name, (major, minor), (cuda, cuda_minor)) = (d.number, d.name, d.compute_capability, d.driver_cuda_version);
        let (free, all) = (d.free_memory_bytes as f64 / GIB, d.memory_bytes as f64 / GIB);
        format!(
            "cuda:{number}  {name}: compute capability {major}.{minor}, {free:.1} of {all:.1} GiB memory free, driver for CUDA {cuda}.{cuda_minor}"
        )
    };
    devices.into_iter().map(line).collect()
}

#[cfg(not(feature = "cuda"))]
fn cuda_lines() -> Vec<String> {
    vec!["cuda    not available: this program was built without its feature `cuda`".to_owned()]
}
