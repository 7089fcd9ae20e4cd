//! An image: voxel values on a grid.

use ndarray::Array3;

use crate::geometry::Grid;

/// What the values of a volume mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Emissions along a mm of each LOR: what a reconstruction without calibration gives (ȳ = A x, A in mm).
    #[default]
    CountsPerMm,
    /// Activity concentration.
    BqPerMl,
    /// Line-integral lengths summed over LORs (sensitivity, plain backprojection).
    Mm,
    /// Proportional to the density of what is imaged (spins), without calibration. Only EPRI has it: the axes of such an
    /// image are those of the gradients.
    Arbitrary,
    /// Not known: values as a file gave them.
    Unknown,
}

impl Unit {
    /// The unit as it is written beside numbers.
    pub fn label(self) -> &'static str {
        match self {
            Unit::CountsPerMm => "counts/mm",
            Unit::BqPerMl => "Bq/mL",
            Unit::Mm => "mm",
            Unit::Arbitrary => "a.u.",
            Unit::Unknown => "file units",
        }
    }
}

/// Voxel values on a grid, `values[[z, y, x]]`, in standard layout (x fastest).
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// Where the voxels are.
    pub grid: Grid,
    /// The values, shape `grid.shape()`.
    pub values: Array3<f32>,
    /// What the values mean.
    pub unit: Unit,
}

impl Volume {
    /// A volume of one value.
    pub fn filled(grid: Grid, value: f32) -> Self {
        let values = Array3::from_elem(grid.shape(), value);
        Self { grid, values, unit: Unit::default() }
    }

    /// A volume from values in order z, y, x (x fastest); `None` if their number is not the grid's.
    pub fn from_vec(grid: Grid, values: Vec<f32>, unit: Unit) -> Option<Self> {
        let values = Array3::from_shape_vec(grid.shape(), values).ok()?;
        Some(Self { grid, values, unit })
    }

    /// The values in order z, y, x (x fastest).
    pub fn as_slice(&self) -> &[f32] {
        self.values.as_slice().unwrap_or_default()
    }

    /// The values in order z, y, x (x fastest), to write.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        self.values.as_slice_mut().unwrap_or_default()
    }

    /// Sum of all values.
    pub fn sum(&self) -> f64 {
        self.as_slice().iter().map(|&v| f64::from(v)).sum()
    }

    /// What is wrong with its values, as a sentence: how many are infinite or no numbers; `None` where all are finite.
    pub fn not_finite(&self) -> Option<String> {
        let num = self.as_slice().iter().filter(|value| !value.is_finite()).count();
        (num > 0).then(|| format!("{num} of {} voxels do not hold a finite number", self.grid.num_voxels()))
    }

    /// Smallest and largest value; (0, 0) where none is a number.
    pub fn range(&self) -> (f32, f32) {
        let (low, high) = self
            .as_slice()
            .iter()
            .filter(|v| v.is_finite())
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
        if low <= high { (low, high) } else { (0.0, 0.0) }
    }
}
