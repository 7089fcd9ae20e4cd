//! Accumulation in the values of an image (`shaders/compute/adders`), and the kernels that accumulate.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::device::opened::Gpu;
use super::error::WebGpuError;
use super::kernel::Kernel;
use crate::operator::Accumulation;

/// Way in which a backprojection adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Adder {
    /// Integers of 64 bits: the same bits on every run.
    Fixed,
    /// Atomic additions of f32.
    Atomic,
    /// Load, add, store: lost updates.
    NonAtomic,
}

impl Adder {
    /// Returns the WGSL text that adds.
    fn source(self, gpu: &Gpu) -> &'static str {
        let [words, long, atomic, non_atomic] = ADDERS.map(|(_, source)| source);
        match self {
            Self::Fixed if gpu.info.has_long_atomics => long,
            Self::Fixed => words,
            Self::Atomic => atomic,
            Self::NonAtomic => non_atomic,
        }
    }
}

/// The WGSL texts that add, by their names.
pub(super) const ADDERS: [(&str, &str); 4] = [
    ("words", include_str!("../../../shaders/compute/adders/words.wgsl")),
    ("long", include_str!("../../../shaders/compute/adders/long.wgsl")),
    ("atomic", include_str!("../../../shaders/compute/adders/atomic.wgsl")),
    ("non_atomic", include_str!("../../../shaders/compute/adders/non_atomic.wgsl")),
];

/// Returns the accumulations of a GPU, the default first.
pub(super) fn accumulations(gpu: &Gpu) -> &'static [Accumulation] {
    use Accumulation::{Atomic, Deterministic, NonAtomic};
    if gpu.info.has_float_atomics { &[Deterministic, Atomic, NonAtomic] } else { &[Deterministic, NonAtomic] }
}

/// A kernel in each way of adding, compiled on first use.
pub(super) struct AddingKernel {
    entry: &'static str,
    source: String,
    kernels: Mutex<HashMap<Adder, Kernel>>,
}

impl AddingKernel {
    /// A kernel with this WGSL text, which calls `add`.
    pub fn new(entry: &'static str, source: String) -> Self {
        Self { entry, source, kernels: Mutex::default() }
    }

    /// Returns the kernel that adds in one way.
    pub fn get(&self, gpu: &Gpu, adder: Adder) -> Result<Kernel, WebGpuError> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(&adder) {
            return Ok(kernel.clone());
        }
        let kernel = gpu.kernel(self.entry, &format!("{}\n{}", adder.source(gpu), self.source))?;
        kernels.insert(adder, kernel.clone());
        Ok(kernel)
    }
}
