//! An image: voxel values on a grid.

pub mod compact;

use ndarray::Array3;
use strum::VariantArray as _;

use super::pet::plausible::high_uptake;
use crate::geometry::{Grid, Point};

/// Meaning of the values of a volume.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray, serde::Serialize, serde::Deserialize,
)]
pub enum Unit {
    /// Emissions along a mm of each LOR: the result of a reconstruction without calibration (ȳ = A x, A in mm).
    #[default]
    #[strum(serialize = "counts/mm")]
    CountsPerMm,
    /// Activity concentration.
    #[strum(serialize = "Bq/mL")]
    BqPerMl,
    /// Decays in a mm³ during the scan: the result of a reconstruction with absolute responses.
    #[strum(serialize = "decays/mm³")]
    DecaysPerMm3,
    /// Line-integral lengths summed over LORs (sensitivity, plain backprojection).
    #[strum(serialize = "mm")]
    Mm,
    /// Proportional to the density of the object (spins), without calibration. Only EPRI has it: the axes of such an image are
    /// those of the gradients.
    #[strum(serialize = "a.u.")]
    Arbitrary,
    /// Linear attenuation coefficient.
    #[strum(serialize = "1/cm")]
    PerCm,
    /// X-ray attenuation relative to water (0) and air (−1000).
    #[strum(serialize = "HU")]
    Hounsfield,
    /// Standardised uptake value by body weight, g/mL.
    #[strum(serialize = "SUVbw")]
    SuvBodyWeight,
    /// Standardised uptake value by lean body mass (Janmahasatian), g/mL.
    #[strum(serialize = "SUL (Janmahasatian)")]
    SuvLeanJanmahasatian,
    /// Standardised uptake value by lean body mass (James), g/mL.
    #[strum(serialize = "SUL (James)")]
    SuvLeanJames,
    /// Standardised uptake value by body surface (Du Bois), cm²/mL.
    #[strum(serialize = "SUVbsa")]
    SuvBodySurface,
    /// Not known: values as a file gave them.
    #[strum(serialize = "file units")]
    Unknown,
    /// Concentration of free radicals, mmol/L, on the axes of the gradients.
    #[strum(serialize = "mmol/L")]
    Millimolar,
    /// Oxygen pressure, on the axes of the gradients.
    #[strum(serialize = "torr")]
    Torr,
    /// Relaxation rate, on the axes of the gradients.
    #[strum(serialize = "1/µs")]
    PerMicrosecond,
    /// Magnetic field, or a width in it, on the axes of the gradients.
    #[strum(serialize = "mT")]
    Millitesla,
}

impl Unit {
    /// Returns the text of the unit after a number.
    pub fn label(self) -> &'static str {
        self.into()
    }

    /// Returns true of uptake values.
    pub fn is_uptake(self) -> bool {
        use Unit::{SuvBodySurface, SuvBodyWeight, SuvLeanJames, SuvLeanJanmahasatian};
        matches!(self, SuvBodyWeight | SuvLeanJanmahasatian | SuvLeanJames | SuvBodySurface)
    }

    /// Returns the unit with this label, in small or capital letters.
    pub fn of_label(label: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|unit| unit.label().eq_ignore_ascii_case(label))
    }
}

/// The unit in which values are shown and written, and what 1 of the image's own unit is in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueScale {
    /// The unit shown.
    pub unit: Unit,
    /// Value of 1 of the image's own unit in it.
    pub factor: f64,
}

impl ValueScale {
    /// Returns the scale of values that are shown in their own unit.
    pub fn own(unit: Unit) -> Self {
        Self { unit, factor: 1.0 }
    }

    /// Returns the scale of an image in counts/mm with a calibration: 1 count/mm = `bq_per_ml`.
    pub fn calibrated(bq_per_ml: f64) -> Self {
        Self { unit: Unit::BqPerMl, factor: bq_per_ml }
    }

    /// Returns a value of the image in the unit shown.
    pub fn value(self, value: impl Into<f64>) -> f64 {
        self.factor * value.into()
    }

    /// Returns the text of the shown unit after a number.
    pub fn label(self) -> &'static str {
        self.unit.label()
    }
}

/// Results of one pass over all values of a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Extremes {
    /// The smallest finite value, 0 where there is none.
    pub low: f32,
    /// The largest one.
    pub high: f32,
    /// Number of infinite values and NaN.
    pub num_not_finite: usize,
}

impl Extremes {
    /// Returns how many values of their volume are not finite; `None` where all are.
    pub fn not_finite(&self, volume: &Volume) -> Option<NotFinite> {
        (self.num_not_finite > 0).then(|| NotFinite { num: self.num_not_finite, num_voxels: volume.grid.num_voxels() })
    }
}

/// Voxels that are infinite or not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{num} of {num_voxels} voxels do not hold a finite number")]
pub struct NotFinite {
    /// Number of these voxels.
    pub num: usize,
    /// Voxels of the volume.
    pub num_voxels: usize,
}

/// Voxel values on a grid, `values[[z, y, x]]`, in standard layout (x fastest).
///
/// ```
/// use tomoscope_base::data::Volume;
/// use tomoscope_base::geometry::{Grid, GridError};
///
/// let mut image = Volume::filled(Grid::centred([4, 4, 2], [1.0; 3])?, 0.5);
/// assert_eq!(image.sum(), 16.0);
/// // x runs fastest, then y, then z: this is x = 1, y = 0, z = 0.
/// image.as_mut_slice()[1] = 3.0;
/// assert_eq!(image.range(), (0.5, 3.0));
/// # Ok::<(), GridError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// Where the voxels are.
    pub grid: Grid,
    /// The values, shape `grid.shape()`.
    pub values: Array3<f32>,
    /// Unit of the values.
    pub unit: Unit,
}

impl Volume {
    /// Returns a volume of one value.
    pub fn filled(grid: Grid, value: f32) -> Self {
        let values = Array3::from_elem(grid.shape(), value);
        Self { grid, values, unit: Unit::default() }
    }

    /// Returns a volume from values in order z, y, x (x fastest); `None` if their number is not the grid's.
    pub fn from_vec(grid: Grid, values: Vec<f32>, unit: Unit) -> Option<Self> {
        let values = Array3::from_shape_vec(grid.shape(), values).ok()?;
        Some(Self { grid, values, unit })
    }

    /// Returns the values in order z, y, x (x fastest).
    pub fn as_slice(&self) -> &[f32] {
        self.values.as_slice().unwrap_or_default()
    }

    /// Returns the values in order z, y, x (x fastest), to write.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        self.values.as_slice_mut().unwrap_or_default()
    }

    /// Returns the value of the voxel that a point lies in; `None` outside.
    pub fn at_mm(&self, point: Point) -> Option<f32> {
        let [x, y, z] = self.grid.voxel_from_mm(point).map(f64::round);
        let is_inside = [x, y, z].into_iter().zip(self.grid.size).all(|(at, size)| at >= 0.0 && at < size as f64);
        is_inside.then(|| self.values[[z as usize, y as usize, x as usize]])
    }

    /// Returns the value at a point, linear between the voxel centres around it and constant in the outer half voxels; `None`
    /// outside the voxels.
    pub fn interpolated_mm(&self, point: Point) -> Option<f64> {
        self.grid.interpolated_mm(point, |[x, y, z]| f64::from(self.values[[z, y, x]]))
    }

    /// Returns the sum of all values.
    pub fn sum(&self) -> f64 {
        self.as_slice().iter().map(|&v| f64::from(v)).sum()
    }

    /// Returns the share of the voxels whose centre lies farther than a radius (mm) from the axis in the sum of the absolute values.
    pub fn share_outside(&self, radius_mm: f64) -> f64 {
        let [nx, ny, _] = self.grid.size;
        let columns: Vec<bool> = (0..nx * ny)
            .map(|column| {
                let [x, y, _] = self.grid.mm_from_voxel([(column % nx) as f64, (column / nx) as f64, 0.0]);
                x.hypot(y) > radius_mm
            })
            .collect();
        let (mut outside, mut total) = (0.0, 0.0);
        for slice in self.as_slice().chunks_exact(nx * ny) {
            for (value, is_outside) in slice.iter().zip(&columns) {
                let value = f64::from(value.abs());
                total += value;
                outside += if *is_outside { value } else { 0.0 };
            }
        }
        if outside > 0.0 { outside / total } else { 0.0 }
    }

    /// Returns the image inverted through the origin: the value at a place is that of the opposite place before.
    pub fn inverted(&self) -> Self {
        let Grid { size, voxel_mm, origin_mm, .. } = self.grid;
        let mut inverted = self.clone();
        inverted.as_mut_slice().reverse();
        // (0 − x, so that no −0 is written.)
        inverted.grid.origin_mm =
            std::array::from_fn(|axis| 0.0 - (origin_mm[axis] + (size[axis] as f64 - 1.0) * voxel_mm[axis]));
        inverted
    }

    /// Returns the image in another unit.
    pub fn converted(&self, scale: ValueScale) -> Self {
        let values = self.values.mapv(|value| (f64::from(value) * scale.factor) as f32);
        Self { grid: self.grid.clone(), values, unit: scale.unit }
    }

    /// Returns the warning about an uptake value that no tissue has.
    pub fn high_uptake(&self) -> Option<String> {
        high_uptake(self.range().1.into()).filter(|_| self.unit.is_uptake())
    }

    /// Returns how many of its values are not finite; `None` where all are.
    pub fn not_finite(&self) -> Option<NotFinite> {
        self.extremes().not_finite(self)
    }

    /// Returns the smallest and largest value; (0, 0) where none is a number.
    pub fn range(&self) -> (f32, f32) {
        let Extremes { low, high, .. } = self.extremes();
        (low, high)
    }

    /// Returns both in one pass over the values, several at a time without branches: it delays every image.
    pub fn extremes(&self) -> Extremes {
        const LANES: usize = 16;
        let (body, tail) = self.as_slice().as_chunks::<LANES>();
        let (mut low, mut high, mut num) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES], [0u32; LANES]);
        let mut padded = [f32::INFINITY; LANES];
        padded[..tail.len()].copy_from_slice(tail);
        for chunk in body.iter().chain([&padded]) {
            for lane in 0..LANES {
                let value = chunk[lane];
                let is_finite = value.abs() < f32::INFINITY;
                let below = if is_finite { value } else { f32::INFINITY };
                let above = if is_finite { value } else { f32::NEG_INFINITY };
                low[lane] = if below < low[lane] { below } else { low[lane] };
                high[lane] = if above > high[lane] { above } else { high[lane] };
                num[lane] += u32::from(!is_finite);
            }
        }
        let low = low.into_iter().fold(f32::INFINITY, f32::min);
        let high = high.into_iter().fold(f32::NEG_INFINITY, f32::max);
        let num_padding = LANES - tail.len();
        let num_not_finite = num.into_iter().map(|num| num as usize).sum::<usize>() - num_padding;
        let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
        Extremes { low, high, num_not_finite }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_converts_values_and_images() {
        let calibrated = ValueScale::calibrated(50.0);
        assert_eq!((calibrated.value(0.5f32), calibrated.label()), (25.0, "Bq/mL"));
        assert_eq!(ValueScale::own(Unit::Arbitrary).value(0.5f32), 0.5);
        let image = Volume::filled(Grid::centred([2, 1, 1], [1.0; 3]).unwrap(), 0.5).converted(calibrated);
        assert_eq!((image.as_slice(), image.unit), (&[25.0; 2][..], Unit::BqPerMl));
    }

    #[test]
    fn extremes_are_found_wherever_they_lie() {
        let grid = Grid::centred([7, 5, 3], [1.0; 3]).unwrap();
        let num = grid.num_voxels();
        for place in 0..num {
            let mut volume = Volume::filled(grid.clone(), 2.0);
            volume.as_mut_slice()[place] = -3.0;
            volume.as_mut_slice()[(place + 40) % num] = 5.0;
            volume.as_mut_slice()[(place + 17) % num] = f32::NAN;
            volume.as_mut_slice()[(place + 90) % num] = f32::NEG_INFINITY;
            let Extremes { low, high, num_not_finite } = volume.extremes();
            assert_eq!((low, high, num_not_finite), (-3.0, 5.0, 2), "{place}");
        }
        let nothing = Volume::filled(grid, f32::INFINITY).extremes();
        assert_eq!((nothing.low, nothing.high, nothing.num_not_finite), (0.0, 0.0, num));
    }
}
