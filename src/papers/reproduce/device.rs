//! Devices: names, limits, and the threads of the CPU.

use serde::{Deserialize, Serialize};

use super::ReproduceError;
use crate::algebra::GpuLimits;
use crate::plan::{DeviceChoice, available_devices};
use crate::session::{num_cores, thread_pool};

/// Granularity of the allocation of registers to a thread.
const REGISTER_PIECE: u32 = 8;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Limits {
    pub name: String,
    /// `None` for a CPU.
    pub gpu: Option<Gpu>,
}

/// Limits of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Gpu {
    pub compute_capability: (u32, u32),
    pub memory_bytes: usize,
    #[serde(flatten)]
    pub limits: GpuLimits,
}

impl Gpu {
    /// Returns the maximum number of resident threads.
    pub fn resident_threads(&self) -> u32 {
        self.limits.num_multiprocessors * self.limits.max_threads_per_multiprocessor
    }

    /// Returns the number of resident threads of a kernel with `registers` registers a thread, in blocks of `block` threads.
    pub fn resident_threads_of(&self, registers: u32, block: u32) -> u32 {
        let registers = registers.div_ceil(REGISTER_PIECE) * REGISTER_PIECE;
        let by_registers = self.limits.registers_per_multiprocessor / (registers * block);
        let blocks = by_registers.min(self.resident_blocks(block));
        self.limits.num_multiprocessors * blocks * block
    }

    /// Returns the number of blocks of `block` threads that a multiprocessor holds, by its limits of blocks and threads.
    pub fn resident_blocks(&self, block: u32) -> u32 {
        self.limits.max_blocks_per_multiprocessor.min(self.limits.max_threads_per_multiprocessor / block)
    }

    /// Returns the same if blocks consist of whole warps; the last warp may be partly empty.
    pub fn resident_blocks_of_warps(&self, block: u32) -> u32 {
        self.resident_blocks(block.next_multiple_of(self.limits.warp_size))
    }

    /// Returns the memory bandwidth, GB/s.
    pub fn bandwidth_gb_per_s(&self) -> Option<f64> {
        let gb_per_s = 2.0 * f64::from(self.limits.memory_clock_khz) * 1e3 * f64::from(self.limits.memory_bus_bits) / 8.0 * 1e-9;
        // Newer drivers do not report the clock.
        (gb_per_s > 0.0).then_some(gb_per_s)
    }

    /// Returns the number of units for 32-bit additions, if it is known for the architecture.
    pub fn num_cores(&self) -> Option<u32> {
        let per_multiprocessor = match self.compute_capability {
            (7, _) | (8, 0) => 64,
            (8..=12, _) => 128,
            _ => return None,
        };
        Some(per_multiprocessor * self.limits.num_multiprocessors)
    }
}

pub(super) fn limits(device: DeviceChoice) -> Limits {
    match device {
        DeviceChoice::Cuda(number) => gpu(number),
        _ => Limits { name: format!("processor, {} threads", num_cores()), gpu: None },
    }
}

#[cfg(feature = "cuda")]
fn gpu(number: usize) -> Limits {
    let Some(info) = crate::cuda::devices().ok().and_then(|all| all.into_iter().find(|info| info.number == number)) else {
        return Limits { name: format!("cuda:{number}"), gpu: None };
    };
    let gpu = Gpu { compute_capability: info.compute_capability, memory_bytes: info.memory_bytes, limits: info.limits };
    Limits { name: info.name, gpu: Some(gpu) }
}

#[cfg(not(feature = "cuda"))]
fn gpu(number: usize) -> Limits {
    Limits { name: format!("cuda:{number}"), gpu: None }
}

/// Returns the device of `auto`: the first GPU that can reconstruct, else the CPU.
pub(super) fn concrete(device: DeviceChoice) -> DeviceChoice {
    if device != DeviceChoice::Auto {
        return device;
    }
    let usable = |choice: &DeviceChoice| matches!(choice, DeviceChoice::Cuda(_));
    let devices = available_devices().into_iter().filter(|device| device.why_not.is_none());
    devices.map(|device| device.choice).find(usable).unwrap_or(DeviceChoice::Cpu)
}

/// Returns the part of a key that names a device.
pub(super) fn key(device: DeviceChoice) -> String {
    if let DeviceChoice::Cuda(number) = device { format!("cuda-{number}") } else { "cpu".into() }
}

/// Returns the name of a device in tables.
pub(super) fn title(device: DeviceChoice) -> String {
    if let DeviceChoice::Cuda(number) = device { format!("cuda:{number}") } else { "CPU".into() }
}

pub(super) fn limits_key(device: DeviceChoice) -> String {
    format!("limits.{device:?}").to_lowercase().replace(['(', ')'], "")
}

/// Returns the distinct names of devices, joined for a remark.
pub(super) fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut distinct: Vec<&str> = names.collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.join("; ")
}

/// Runs `work` on a number of threads of the CPU; `None` = all.
pub(super) fn on_threads<T: Send>(
    num_threads: Option<usize>,
    work: impl FnOnce() -> Result<T, ReproduceError> + Send,
) -> Result<T, ReproduceError> {
    thread_pool(num_threads).map_err(|problem| ReproduceError::Threads(problem.text))?.install(work)
}

/// Returns the timed numbers of threads: 1, 2, 4 and 8, as far as the CPU has them.
pub(super) fn timed_threads() -> Vec<usize> {
    [1, 2, 4, 8].into_iter().filter(|threads| *threads <= num_cores()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_threads_of_a_h100_by_hand() {
        let gpu = Gpu {
            compute_capability: (9, 0),
            memory_bytes: 80_000_000_000,
            limits: GpuLimits {
                num_multiprocessors: 132,
                warp_size: 32,
                max_threads_per_block: 1024,
                max_block_size: [1024, 1024, 64],
                max_grid_size: [2_147_483_647, 65535, 65535],
                max_threads_per_multiprocessor: 2048,
                max_blocks_per_multiprocessor: 32,
                registers_per_multiprocessor: 65536,
                shared_bytes_per_multiprocessor: 233_472,
                shared_bytes_per_block: 232_448,
                l2_cache_bytes: 52_428_800,
                clock_khz: 1_980_000,
                memory_clock_khz: 2_619_000,
                memory_bus_bits: 5120,
            },
        };
        assert_eq!(gpu.resident_threads(), 270_336);
        // 32 registers each: six blocks of 320 by the registers and by the threads.
        assert_eq!(gpu.resident_threads_of(25, 320), 132 * 6 * 320);
        assert_eq!(gpu.resident_threads_of(255, 1024), 0);
        // Blocks of 200 threads take seven warps each, of 64 that there are.
        assert_eq!((gpu.resident_blocks(200), gpu.resident_blocks_of_warps(200)), (10, 9));
        assert_eq!((gpu.resident_blocks(16), gpu.resident_blocks_of_warps(16)), (32, 32));
        assert_eq!(gpu.num_cores(), Some(16_896));
        assert!((gpu.bandwidth_gb_per_s().unwrap() - 3352.3).abs() < 0.1);
    }
}
