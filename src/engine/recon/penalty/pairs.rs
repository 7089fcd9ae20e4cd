//! Pairs of neighbouring voxels.

/// Weights w = Δx / distance of a voxel's pairs with its 26 neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairWeights([f64; 8]);

impl PairWeights {
    /// Returns the weights for voxels with these side lengths.
    pub fn new(voxel_mm: [f64; 3]) -> Self {
        Self(std::array::from_fn(|number| {
            let squares: f64 = (0..3).map(|axis| (number >> axis & 1) as f64 * voxel_mm[axis] * voxel_mm[axis]).sum();
            if number == 0 { 0.0 } else { voxel_mm[0] / squares.sqrt() }
        }))
    }

    /// Returns the steps to all neighbours, voxels along x, y and z.
    pub fn steps() -> impl Iterator<Item = [isize; 3]> {
        (0..27).map(|i| [i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1]).filter(|step| *step != [0; 3])
    }

    /// Returns the weight of the pair with the neighbour at a step.
    pub fn of(&self, step: [isize; 3]) -> f64 {
        let [x, y, z] = step.map(isize::unsigned_abs);
        self.0[x + 2 * y + 4 * z]
    }

    /// Returns the weights for kernels: at a + 2 b + 4 c that of neighbours a, b and c voxels away along x, y and z.
    pub fn table(&self) -> [f32; 8] {
        self.0.map(|weight| weight as f32)
    }
}
