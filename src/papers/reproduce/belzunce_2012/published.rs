//! The paper's numbers, by table.

use super::implementation::PaperColumn::{self, Gtx285, Gtx480, Gtx480Atomics, I7, Phenom};

/// Numbers of a table by the paper's columns.
pub type Columns<const N: usize> = &'static [(PaperColumn, [f64; N])];

pub fn of<const N: usize>(table: Columns<N>, column: PaperColumn) -> Option<[f64; N]> {
    table.iter().find(|(name, _)| *name == column).map(|(_, numbers)| *numbers)
}

/// Table 1: CUDA cores, processor clock in MHz, memory bandwidth in GB/s, memory in GB, compute capability; for both
/// GPUs.
pub const GPUS: [[f64; 5]; 2] = [[240.0, 1476.0, 159.0, 1.0, 1.3], [480.0, 1401.0, 177.4, 1.5, 2.0]];

/// Table 2: seconds of an iteration for 128², 256² over the full field of view, 256² within 20 cm.
pub const ITERATION_S: Columns<3> = &[
    (Phenom, [254.6, 435.1, 249.7]),
    (I7, [238.2, 395.5, 309.3]),
    (Gtx285, [6.2, 21.7, 12.4]),
    (Gtx480, [2.8, 8.5, 6.9]),
    (Gtx480Atomics, [13.6, 16.7, 23.3]),
];

/// Table 3: speed-up over one thread of the i7 for the same images.
pub const SPEED_UP: Columns<3> =
    &[(Gtx285, [38.4, 18.2, 25.0]), (Gtx480, [85.1, 46.5, 44.8]), (Gtx480Atomics, [17.5, 23.7, 13.3])];

/// Table 4: seconds of forward projection, backprojection and normalisation, 256² over the full field of view. (The head of the
/// table has GTX485 for the GTX480.)
pub const STAGE_S: Columns<3> = &[
    (Phenom, [187.0, 248.0, 0.01]),
    (I7, [211.0, 183.0, 0.04]),
    (Gtx285, [5.1, 15.5, 0.0005]),
    (Gtx480, [3.8, 4.0, 0.0005]),
    (Gtx480Atomics, [6.1, 17.2, 0.0005]),
];

/// Table 5: noise-to-signal ratio in the cylinder and in the background of the image-quality phantom, %.
pub const NSR: Columns<2> = &[(Gtx285, [16.8, 14.9]), (Gtx480, [10.6, 9.3]), (Gtx480Atomics, [4.9, 1.8]), (I7, [4.9, 1.2])];

/// Table 6: recovery contrast of the spheres of 10, 13, 17, 22, 28 and 37 mm, %.
pub const CONTRAST: Columns<6> = &[
    (Gtx285, [46.3, 69.1, 76.5, 83.0, 66.9, 73.3]),
    (Gtx480, [46.0, 67.4, 74.7, 80.7, 64.7, 70.9]),
    (Gtx480Atomics, [44.7, 68.6, 74.9, 80.4, 64.4, 71.1]),
    (I7, [44.6, 68.5, 74.9, 80.2, 64.1, 71.0]),
];

/// Table 7: speed-up of forward projection and backprojection, 256² over the full field of view.
pub const STAGE_SPEED_UP: Columns<2> = &[(Gtx285, [41.4, 11.8]), (Gtx480, [55.5, 45.8]), (Gtx480Atomics, [34.6, 10.6])];

/// Section 3: mean of the cylinder without atomic additions relative to that with them, %.
pub const NON_ATOMIC_MEAN: f64 = 98.0;

/// Section 2.4.1: registers of a thread of the projection kernels, and threads of a block on the GTX480.
pub const REGISTERS_AND_BLOCK: [u32; 2] = [25, 320];

/// Diameters of the spheres, mm.
pub const SPHERES_MM: [u32; 6] = [10, 13, 17, 22, 28, 37];

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper derives tables 3 and 7 from tables 2 and 4: whoever mistypes a number breaks that, within the paper's
    /// own rounding.
    #[test]
    fn ratios_are_those_of_the_times() {
        let near = |ratio: f64, published: f64, tolerance: f64| {
            assert!((ratio / published - 1.0).abs() < tolerance, "{ratio} is not {published}");
        };
        let cpu = of(ITERATION_S, I7).unwrap();
        for (column, ratios) in SPEED_UP {
            let times = of(ITERATION_S, *column).unwrap();
            for k in 0..3 {
                near(cpu[k] / times[k], ratios[k], 0.008);
            }
        }
        let cpu = of(STAGE_S, I7).unwrap();
        for (column, ratios) in STAGE_SPEED_UP {
            let times = of(STAGE_S, *column).unwrap();
            near(cpu[0] / times[0], ratios[0], 0.004);
            near(cpu[1] / times[1], ratios[1], 0.004);
        }
    }

    /// Tables 2 and 4 agree but for the GTX480 with atomics, and there the stages give what table 2 has for the 20 cm
    /// field of view.
    #[test]
    fn stages_sum_to_the_iteration_but_for_the_atomics() {
        for (column, [forward, back, _]) in STAGE_S {
            let [_, full, inner] = of(ITERATION_S, *column).unwrap();
            let whole = if *column == Gtx480Atomics { inner } else { full };
            assert!(((forward + back) / whole - 1.0).abs() < 0.09, "{column:?}");
        }
        assert_eq!(of(STAGE_S, Gtx480Atomics).map(|[forward, back, _]| (forward + back).round()), Some(23.0));
    }

    #[test]
    fn some_numbers_are_as_printed() {
        assert_eq!(of(NSR, Gtx480), Some([10.6, 9.3]));
        assert_eq!(of(CONTRAST, I7).unwrap()[0], 44.6);
        assert_eq!(of(CONTRAST, Gtx285).unwrap()[5], 73.3);
        assert_eq!(of(SPEED_UP, Phenom), None);
        assert_eq!(GPUS[1][2], 177.4);
    }
}
