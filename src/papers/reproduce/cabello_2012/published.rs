//! The paper's numbers, by table and figure.

/// A row of table 1: name, seconds of the projection, the backprojection and an iteration, and the improvement factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeRow {
    pub name: &'static str,
    pub forward_s: f64,
    pub back_s: f64,
    pub iteration_s: f64,
    /// Seconds to load the matrix for the projection and for the backprojection, in its two orders.
    pub loading_s: Option<[f64; 2]>,
    pub factor: f64,
}

const fn row(name: &'static str, [forward_s, back_s, iteration_s, factor]: [f64; 4]) -> TimeRow {
    TimeRow { name, forward_s, back_s, iteration_s, loading_s: None, factor }
}

/// Table 1.
pub const TIMES: [TimeRow; 9] = [
    row("CPU (np)", [417.0, 488.0, 905.0, 1.0]),
    row("CPU (MPI-1)", [523.0, 748.0, 1272.0, 0.71]),
    row("CPU (MPI-2)", [315.0, 560.0, 875.0, 1.03]),
    row("CPU (MPI-4)", [214.0, 357.0, 571.0, 1.58]),
    row("CPU (MPI-8)", [209.0, 316.0, 526.0, 1.72]),
    row("GPU (overwrite hazard ignored)", [79.0, 121.0, 200.0, 4.52]),
    TimeRow { loading_s: Some([58.0, 57.0]), ..row("GPU (SRM reload)", [97.0, 87.0, 184.0, 3.03]) },
    row("GPU (SRM atomic)", [79.0, 232.0, 311.0, 2.90]),
    row("GPU (SRM rand-at)", [79.0, 132.0, 211.0, 4.28]),
];

/// Rows of [`TIMES`].
pub const NP: usize = 0;
/// Rows of 1, 2, 4 and 8 processes.
pub const MPI: [(usize, usize); 4] = [(1, 1), (2, 2), (4, 3), (8, 4)];
pub const HAZARD_IGNORED: usize = 5;
pub const RELOAD: usize = 6;
pub const ATOMIC: usize = 7;
pub const RANDOM_CENTRAL_ATOMIC: usize = 8;

/// Table 2: FWHM of the six points by one core of the processor (eight are the same) and by the GPU, mm.
pub const FWHM_MM: [[f64; 6]; 2] = [[1.17, 1.65, 1.73, 1.96, 2.25, 2.24], [1.17, 1.66, 1.74, 1.96, 2.26, 2.24]];

/// Section 4.2.1: coefficient of variation of the hot, warm and cold region at 300 iterations, of processor and GPU.
pub const CV: [[f64; 3]; 2] = [[0.15, 0.28, 0.72], [0.15, 0.28, 0.73]];

/// Difference of the GPU's from the processor's, hot and cold, %.
pub const CV_DIFFERENCE_PERCENT: [f64; 2] = [-0.37, 0.81];

/// The contrast-to-noise ratio, at most, %.
pub const CNR_DIFFERENCE_PERCENT: f64 = 2.5;

/// Section 4.2.2: the widths, below, %.
pub const FWHM_DIFFERENCE_PERCENT: f64 = 0.4;

/// Section 4.2.1: correlation of GPU and processor at 300 iterations (above this) and at 600, %.
pub const CORRELATION_PERCENT: [f64; 2] = [98.5, 94.0];

/// Section 4.3: hours for the mouse: cubic voxels on one core, blobs on one core (an estimate), on eight, and on the GPU.
pub const MOUSE_HOURS: [(&str, f64); 4] = [
    ("CPU-single-core, cubic voxels", 110.0),
    ("CPU-single-core (estimate)", 380.0),
    ("CPU-multicore (8)", 220.0),
    ("GPU (SRM rand-at)", 88.0),
];

/// Section 2: the matrix.
pub mod matrix {
    pub const NUM_ELEMENTS: f64 = 7.04e8;
    pub const NUM_DECAYS: f64 = 3.7e10;
    pub const GB: f64 = 5.3;
    pub const NUM_SYMMETRIES: f64 = 72.0;
    /// With as many symmetries as cubes have.
    pub const GB_OF_EIGHT: f64 = 47.2;
    pub const FEWER_SYMMETRIES: f64 = 8.0;
    pub const NUM_BASIC: f64 = 8740.0;
    pub const NUM_LORS: f64 = 662_976.0;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever mistypes a number breaks the sums and the factors, within the paper's own rounding.
    #[test]
    fn iterations_and_factors_are_those_of_the_times() {
        for row in TIMES {
            assert!((row.forward_s + row.back_s - row.iteration_s).abs() <= 1.0, "{row:?}");
            let loading_s = row.loading_s.map_or(0.0, |[one, other]| one + other);
            let factor = TIMES[NP].iteration_s / (row.iteration_s + loading_s);
            assert!((factor - row.factor).abs() < 0.013, "{row:?}: {factor}");
        }
        assert!(MPI.iter().all(|(count, at)| TIMES[*at].name == format!("CPU (MPI-{count})")));
        assert_eq!(TIMES[RELOAD].loading_s, Some([58.0, 57.0]));
        let names = [HAZARD_IGNORED, ATOMIC, RANDOM_CENTRAL_ATOMIC].map(|at| TIMES[at].name);
        assert_eq!(names, ["GPU (overwrite hazard ignored)", "GPU (SRM atomic)", "GPU (SRM rand-at)"]);
    }

    #[test]
    fn some_numbers_are_as_printed() {
        assert_eq!((FWHM_MM[0][4], FWHM_MM[1][4], CV[1][2]), (2.25, 2.26, 0.73));
        let times_fewer = matrix::NUM_SYMMETRIES / matrix::FEWER_SYMMETRIES;
        assert!((matrix::GB_OF_EIGHT / matrix::GB / times_fewer - 1.0).abs() < 0.02);
    }
}
