//! Limits of a GPU, for its back end and for tables of devices.

/// Memories and parallelism of a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct GpuLimits {
    /// Multiprocessors.
    pub num_multiprocessors: u32,
    /// Threads that go in step.
    pub warp_size: u32,
    /// Most threads of a block.
    pub max_threads_per_block: u32,
    /// Most threads of a block along x, y and z; zeros where an earlier version of the program wrote the rest down.
    #[serde(default)]
    pub max_block_size: [u32; 3],
    /// Most blocks of a launch along x, y and z; likewise.
    #[serde(default)]
    pub max_grid_size: [u32; 3],
    /// Most threads that a multiprocessor holds at a time.
    pub max_threads_per_multiprocessor: u32,
    /// Most blocks that a multiprocessor holds at a time.
    pub max_blocks_per_multiprocessor: u32,
    /// 32-bit registers of a multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Shared memory of a multiprocessor, bytes.
    pub shared_bytes_per_multiprocessor: u32,
    /// Most shared memory of a block that asks for it, bytes.
    pub shared_bytes_per_block: u32,
    /// Second-level cache, bytes.
    pub l2_cache_bytes: u32,
    /// Highest clock of the multiprocessors, kHz.
    pub clock_khz: u32,
    /// Highest clock of the memory, kHz; the data rate is twice that.
    pub memory_clock_khz: u32,
    /// Width of the memory's bus, bits.
    pub memory_bus_bits: u32,
}
