//! Settings that only the reproduction of a paper needs. The window shows them where the user asks for them.

use crate::named::named;

/// Settings that only the reproduction of a paper needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ResearchSettings {
    /// True if a non-atomic run computes its sensitivity image with the race, too; else that image is free of races
    /// (Belzunce et al. 2012).
    pub racy_sensitivity: bool,
    /// Threads per block of the projector per-lor on CUDA; `None` = the number with which most are resident.
    pub threads_per_block: Option<u32>,
    /// Implementation of single-stage backprojection of an EPRI sweep.
    pub kernel: PlaneKernel,
}

named! {
    "a kernel";
    /// Implementation of the single-stage backprojection of planes.
    #[derive(Default)]
    pub enum PlaneKernel {
        /// The fast one, in single precision.
        #[default]
        Fast,
        /// The published one (Qiao et al. 2015), in double precision and its order of operations.
        Paper,
    }
}
