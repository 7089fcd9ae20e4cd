//! Table 1: the device, and how many threads it holds at a time.

use serde::{Deserialize, Serialize};

use super::published::{GPUS, REGISTERS_AND_BLOCK};
use crate::reproduce::text_table::TextTable;
use crate::session::DeviceChoice;

/// Registers are given to warps in pieces of so many for each thread.
const REGISTER_PIECE: u32 = 8;

/// What a device is and how much it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Limits {
    pub name: String,
    /// `None` for a processor.
    pub gpu: Option<Gpu>,
}

/// How much a GPU holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Gpu {
    pub compute_capability: (u32, u32),
    pub memory_bytes: usize,
    pub num_multiprocessors: u32,
    pub warp_size: u32,
    pub max_threads_per_block: u32,
    pub max_threads_per_multiprocessor: u32,
    pub max_blocks_per_multiprocessor: u32,
    pub registers_per_multiprocessor: u32,
    pub shared_bytes_per_multiprocessor: u32,
    pub shared_bytes_per_block: u32,
    pub l2_cache_bytes: u32,
    pub clock_khz: u32,
    pub memory_clock_khz: u32,
    pub memory_bus_bits: u32,
}

impl Gpu {
    /// Threads that fit at a time.
    fn resident_threads(&self) -> u32 {
        self.num_multiprocessors * self.max_threads_per_multiprocessor
    }

    /// The same for a kernel that needs so many registers a thread, in blocks of so many threads.
    fn resident_threads_of(&self, registers: u32, block: u32) -> u32 {
        let registers = registers.div_ceil(REGISTER_PIECE) * REGISTER_PIECE;
        let by_registers = self.registers_per_multiprocessor / (registers * block);
        let by_threads = self.max_threads_per_multiprocessor / block;
        let blocks = by_registers.min(by_threads).min(self.max_blocks_per_multiprocessor);
        self.num_multiprocessors * blocks * block
    }

    /// Bytes to and from memory, GB/s.
    fn bandwidth_gb_per_s(&self) -> Option<f64> {
        let gb_per_s = 2.0 * f64::from(self.memory_clock_khz) * 1e3 * f64::from(self.memory_bus_bits) / 8.0 * 1e-9;
        // Newer drivers do not tell the clock.
        (gb_per_s > 0.0).then_some(gb_per_s)
    }

    /// Units that do one 32-bit addition at a time, as far as it is known for the architecture.
    fn num_cores(&self) -> Option<u32> {
        let per_multiprocessor = match self.compute_capability {
            (7, _) | (8, 0) => 64,
            (8..=12, _) => 128,
            _ => return None,
        };
        Some(per_multiprocessor * self.num_multiprocessors)
    }
}

/// What the device is.
pub(super) fn limits(device: DeviceChoice) -> Limits {
    match device {
        DeviceChoice::Cuda(number) => gpu(number),
        _ => {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            Limits { name: format!("processor, {threads} threads"), gpu: None }
        }
    }
}

#[cfg(feature = "cuda")]
fn gpu(number: usize) -> Limits {
    let Some(info) = crate::cuda::devices().ok().and_then(|all| all.into_iter().find(|info| info.number == number)) else {
        return Limits { name: format!("cuda:{number}"), gpu: None };
    };
    let limits = info.limits;
    let gpu = Gpu {
        compute_capability: info.compute_capability,
        memory_bytes: info.memory_bytes,
        num_multiprocessors: limits.num_multiprocessors,
        warp_size: limits.warp_size,
        max_threads_per_block: limits.max_threads_per_block,
        max_threads_per_multiprocessor: limits.max_threads_per_multiprocessor,
        max_blocks_per_multiprocessor: limits.max_blocks_per_multiprocessor,
        registers_per_multiprocessor: limits.registers_per_multiprocessor,
        shared_bytes_per_multiprocessor: limits.shared_bytes_per_multiprocessor,
        shared_bytes_per_block: limits.shared_bytes_per_block,
        l2_cache_bytes: limits.l2_cache_bytes,
        clock_khz: limits.clock_khz,
        memory_clock_khz: limits.memory_clock_khz,
        memory_bus_bits: limits.memory_bus_bits,
    };
    Limits { name: info.name, gpu: Some(gpu) }
}

#[cfg(not(feature = "cuda"))]
fn gpu(number: usize) -> Limits {
    Limits { name: format!("cuda:{number}"), gpu: None }
}

/// Table 1 with the paper's two GPUs, and what one thread per bin can make of this one.
pub(super) fn table(limits: &Limits) -> TextTable {
    let [registers, block] = REGISTERS_AND_BLOCK;
    let gpu = limits.gpu.as_ref();
    let paper = |row: usize| GPUS.map(|numbers| format!("{}", numbers[row]));
    let here = |number: &dyn Fn(&Gpu) -> String| gpu.map_or_else(|| "–".into(), number);
    let none = || ["–".to_owned(), "–".to_owned()];
    let mut rows = Vec::new();
    let mut row = |name: &str, paper: [String; 2], here: String| {
        // What neither has is left out.
        if here != "–" || paper != none() {
            rows.push([vec![name.to_owned()], paper.into(), vec![here]].concat());
        }
    };
    row("CUDA cores", paper(0), here(&|g| g.num_cores().map_or_else(|| "–".into(), |n| n.to_string())));
    row("processor clock, MHz", paper(1), here(&|g| (g.clock_khz / 1000).to_string()));
    row("memory bandwidth, GB/s", paper(2), here(&|g| g.bandwidth_gb_per_s().map_or_else(|| "–".into(), |b| format!("{b:.1}"))));
    row("memory, GB", paper(3), here(&|g| format!("{:.1}", g.memory_bytes as f64 * 1e-9)));
    row("compute capability", paper(4), here(&|g| format!("{}.{}", g.compute_capability.0, g.compute_capability.1)));
    row("multiprocessors", none(), here(&|g| g.num_multiprocessors.to_string()));
    row("threads of a block, at most", none(), here(&|g| g.max_threads_per_block.to_string()));
    row("threads of a multiprocessor, at most", none(), here(&|g| g.max_threads_per_multiprocessor.to_string()));
    row("registers of a multiprocessor", none(), here(&|g| g.registers_per_multiprocessor.to_string()));
    row("shared memory of a multiprocessor, KiB", none(), here(&|g| (g.shared_bytes_per_multiprocessor / 1024).to_string()));
    row("second-level cache, MiB", none(), here(&|g| format!("{:.1}", f64::from(g.l2_cache_bytes) / 1048576.0)));
    row("resident threads, at most", none(), here(&|g| g.resident_threads().to_string()));
    let name = format!("resident threads, {registers} registers, blocks of {block}");
    row(&name, none(), here(&|g| g.resident_threads_of(registers, block).to_string()));
    let remark = match gpu {
        Some(_) => "The last line takes the paper's kernels' registers and its block size for the GTX480.",
        None => "This device is no GPU: it has none of these limits.",
    };
    TextTable {
        title: "Table 1. The GPUs".into(),
        words: vec![String::new()],
        groups: vec![("paper".into(), vec!["GTX-285".into(), "GTX-480".into()]), ("here".into(), vec![limits.name.clone()])],
        rows,
        remarks: vec![remark.into()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_threads_of_a_h100_by_hand() {
        let gpu = Gpu {
            compute_capability: (9, 0),
            memory_bytes: 80_000_000_000,
            num_multiprocessors: 132,
            warp_size: 32,
            max_threads_per_block: 1024,
            max_threads_per_multiprocessor: 2048,
            max_blocks_per_multiprocessor: 32,
            registers_per_multiprocessor: 65536,
            shared_bytes_per_multiprocessor: 233_472,
            shared_bytes_per_block: 232_448,
            l2_cache_bytes: 52_428_800,
            clock_khz: 1_980_000,
            memory_clock_khz: 2_619_000,
            memory_bus_bits: 5120,
        };
        assert_eq!(gpu.resident_threads(), 270_336);
        // 32 registers each: six blocks of 320 by the registers and by the threads.
        assert_eq!(gpu.resident_threads_of(25, 320), 132 * 6 * 320);
        assert_eq!(gpu.resident_threads_of(255, 1024), 0);
        assert_eq!(gpu.num_cores(), Some(16_896));
        assert!((gpu.bandwidth_gb_per_s().unwrap() - 3352.3).abs() < 0.1);
    }
}
