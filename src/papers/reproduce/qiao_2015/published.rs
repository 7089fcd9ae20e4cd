//! The paper's numbers, by table.

/// A row of table 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Voxels along each axis of the object.
    pub size: usize,
    /// Seconds of the single-stage program on the GPU: computing, bringing the object to the host, both.
    pub gs_s: [f64; 3],
    /// Seconds of the multi-stage program.
    pub cm_s: f64,
    /// Seconds of the single-stage program on the processor.
    pub cs_s: f64,
    /// Acceleration of the GPU, in the order of [`FACTORS`].
    pub factors: [f64; 4],
}

/// Comparisons of the acceleration factors.
pub const FACTORS: [&str; 4] = ["GS vs. CM, computing", "GS vs. CM", "GS vs. CS, computing", "GS vs. CS"];

/// Table 1.
pub const TIMES: [Row; 5] = [
    Row { size: 64, gs_s: [0.011, 0.049, 0.06], cm_s: 0.203, cs_s: 13.0, factors: [18.4, 3.4, 1181.0, 216.0] },
    Row { size: 100, gs_s: [0.016, 0.229, 0.245], cm_s: 0.624, cs_s: 44.0, factors: [39.0, 2.55, 2750.0, 180.0] },
    Row { size: 128, gs_s: [0.022, 0.378, 0.4], cm_s: 1.108, cs_s: 83.0, factors: [50.4, 2.7, 3772.0, 207.0] },
    Row { size: 150, gs_s: [0.029, 0.605, 0.634], cm_s: 1.91, cs_s: 142.0, factors: [65.8, 3.01, 4897.0, 223.0] },
    Row { size: 200, gs_s: [0.065, 1.442, 1.507], cm_s: 8.05, cs_s: 326.0, factors: [123.0, 5.34, 5015.0, 216.0] },
];

/// Averages of the factors, in the last row of table 1.
pub const AVERAGE_FACTORS: [f64; 4] = [59.3, 3.4, 3523.0, 208.4];

/// Section 4.1: time for 200³ over that for 64³ on the GPU, computing alone and with the transfer. (Table 1 has 5.9 and 25.)
pub const GROWTH_IN_TEXT: [f64; 2] = [5.0, 31.0];

/// Table 2: the GeForce GTX 760. The number of its multiprocessors is not in the text; it is the quotient of the cores.
pub mod gtx_760 {
    pub const MEMORY_GB: u32 = 4;
    pub const NUM_CORES: u32 = 1152;
    pub const NUM_CORES_PER_MULTIPROCESSOR: u32 = 192;
    pub const COMPUTE_CAPABILITY: &str = "3.0";
    pub const WARP_SIZE: u32 = 32;
    pub const MAX_THREADS_PER_BLOCK: u32 = 1024;
    pub const MAX_BLOCK_SIZE: [u32; 3] = [1024, 1024, 64];
    pub const MAX_GRID_SIZE: [u32; 3] = [i32::MAX as u32, 65535, 65535];
    pub const MAX_BLOCKS_PER_MULTIPROCESSOR: u32 = 16;
    pub const MAX_THREADS_PER_MULTIPROCESSOR: u32 = 2048;
    pub const REGISTERS_PER_MULTIPROCESSOR: u32 = 64 << 10;
    pub const SHARED_KIB: u32 = 48;
    /// Limit of a multiprocessor, according to the paper; the limit is that of one thread.
    pub const LOCAL_KIB: u32 = 512;
}

/// Section 4.4: size of the object and threads that a multiprocessor holds.
pub const RESIDENT_THREADS: [(usize, u32); 3] = [(64, 1024), (128, 2048), (200, 2000)];

/// Section 4.4: bytes of the local variables of a thread.
pub const LOCAL_VARIABLE_BYTES: u32 = 68;

pub fn of(size: usize) -> Option<&'static Row> {
    TIMES.iter().find(|row| row.size == size)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factors follow from the times, within the paper's own rounding: whoever mistypes a number breaks that.
    #[test]
    fn factors_are_those_of_the_times() {
        for row in TIMES {
            let [computing, transfer, total] = row.gs_s;
            assert!((computing + transfer - total).abs() < 1e-9, "{row:?}");
            let factors = [row.cm_s / computing, row.cm_s / total, row.cs_s / computing, row.cs_s / total];
            for (factor, published) in factors.into_iter().zip(row.factors) {
                assert!((factor / published - 1.0).abs() < 0.027, "{row:?}: {factor}");
            }
        }
        for (k, published) in AVERAGE_FACTORS.into_iter().enumerate() {
            let mean = TIMES.iter().map(|row| row.factors[k]).sum::<f64>() / TIMES.len() as f64;
            assert!((mean / published - 1.0).abs() < 0.002, "{}: {mean}", FACTORS[k]);
        }
        assert_eq!(of(128).map(|row| row.gs_s), Some([0.022, 0.378, 0.4]));
        assert_eq!(of(32), None);
    }
}
