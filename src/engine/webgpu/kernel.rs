//! Kernels, and where their parameters are.

/// Threads of a group in kernels with one thread per value.
pub(super) const THREADS: usize = 256;

/// Declarations of the parameters in the texts of kernels: in a separate buffer, and without a buffer.
const IN_A_BUFFER: &str = "@group(0) @binding(0) var<uniform>";
const IN_IMMEDIATES: &str = "var<immediate>";

/// Bytes of the parameters of a kernel at most.
pub(super) const MAX_PARAMETER_BYTES: u32 = 128;

/// Returns a text whose parameters are immediates: they travel with the commands, which is faster than a buffer for each dispatch.
pub(super) fn with_immediates(source: &str) -> String {
    source.replace(IN_A_BUFFER, IN_IMMEDIATES)
}

/// A kernel on a GPU. Its parameters are immediates, or in a buffer with binding 0. The others are buffers.
#[derive(Clone)]
pub struct Kernel {
    pub name: &'static str,
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
}
