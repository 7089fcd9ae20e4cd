//! System matrix: the response of a crystal ring to the basic functions of an image.
//!
//! The elements of a line of response l are contiguous: A(l, b) for the basic functions b that it crosses. All other elements
//! follow by symmetry, A(g l, g b) = A(l, b).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::coded::coded;
use crate::geometry::LENGTHS_MM;
use crate::named::named;
use crate::scanner::CrystalRing;

named! {
    "a basis";
    /// Kind of the basis functions of an image.
    pub enum BasisKind {
        /// Blobs about the middles of the cells of a polar grid.
        Blobs,
        /// The cells of a polar grid.
        Polar,
        /// Cubes.
        Cubic,
    }
}

impl BasisKind {
    /// Returns the functions in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Blobs => "blobs",
            Self::Polar => "polar voxels",
            Self::Cubic => "cubes",
        }
    }
}

/// The functions of an image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasisSettings {
    /// Kind of the functions.
    pub kind: BasisKind,
    /// Width of the cells, mm.
    pub spacing_mm: f64,
    /// Radius (for cubes half a side) and half length of the filled region, mm.
    pub radius_mm: f64,
    /// See `radius_mm`.
    pub half_length_mm: f64,
}

/// Simulation of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatrixMade {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Decays that were followed, in directions that can be counted.
    pub num_histories: u64,
    /// Of these, how many were counted.
    pub num_counted: u64,
    /// Decays into all directions, over the whole object, that would give as much.
    pub num_decays: f64,
    /// Share of the decays in the object that is counted, %.
    pub counted_percent: f64,
    /// Share of them that was rejected because more than two crystals reported, %.
    pub multiple_percent: f64,
    /// Mean of (Σ w)² / Σ w² over the elements.
    pub effective_counts: f64,
}

/// An element: 17 bits of the basic function's number and 15 of its value, a positive number with 5 bits of exponent and 10 of
/// mantissa, with a relative error of at most 2⁻¹¹. Its values are below 2; the matrix has a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct MatrixElement(u32);

/// Bits of the value, and bits below its last one in an f32.
const VALUE_BITS: u32 = 15;
const BELOW: u32 = 13;
/// The f32 of a value of 0 bits: 2⁻³¹.
const LEAST: u32 = (127 - 31) << 23;

impl MatrixElement {
    /// Maximum number of basic functions.
    pub const MAX_BASIC: usize = 1 << (32 - VALUE_BITS);

    /// Returns an element with a value from 0 to below 2; too small values become the smallest one.
    pub fn new(basic: usize, value: f32) -> Self {
        let rounded = value.to_bits() + (1 << (BELOW - 1));
        let code = (rounded.max(LEAST) - LEAST) >> BELOW;
        Self((basic as u32) << VALUE_BITS | code.min((1 << VALUE_BITS) - 1))
    }

    /// Returns the same with its value halved so often; what becomes too small is taken as the least there is.
    pub fn halved(self, times: u32) -> Self {
        let bits = u32::from(self.value_bits()).saturating_sub(times << (f32::MANTISSA_DIGITS - 1 - BELOW));
        Self(self.0 >> VALUE_BITS << VALUE_BITS | bits)
    }

    /// Returns the basic function.
    #[inline(always)]
    pub fn basic(self) -> usize {
        (self.0 >> VALUE_BITS) as usize
    }

    /// Returns the bits of its value.
    #[inline(always)]
    pub fn value_bits(self) -> u16 {
        (self.0 & ((1 << VALUE_BITS) - 1)) as u16
    }

    /// Returns its value.
    #[inline(always)]
    pub fn value(self) -> f32 {
        Self::value_of(self.value_bits())
    }

    /// Returns the value of these bits.
    #[inline(always)]
    pub fn value_of(bits: u16) -> f32 {
        f32::from_bits(LEAST + (u32::from(bits) << BELOW))
    }
}

/// A system matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseMatrix {
    /// Name of the ring.
    pub scanner: String,
    /// Functions of the image.
    pub basis: BasisSettings,
    /// Number of basic functions.
    pub num_basic: usize,
    /// Scale of the values of elements, mm³.
    pub scale_mm3: f32,
    /// Where the elements of each line of response begin, and how many there are in all.
    pub first: Arc<Vec<u64>>,
    /// The elements, those of a line of response in the order of the basic functions.
    pub elements: Arc<Vec<MatrixElement>>,
    /// Its simulation, if known.
    pub made: Option<MatrixMade>,
}

/// Reason why numbers are no matrix.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MatrixError {
    /// Counts of another ring.
    #[error("the matrix is that of {scanner}, but the counts are of {counted}")]
    Scanner {
        /// The ring of the matrix.
        scanner: String,
        /// That of the counts.
        counted: String,
    },
    /// More basic functions than an element supports.
    #[error("a matrix has 1 to {max} basic functions, not {0}", max = MatrixElement::MAX_BASIC)]
    NumBasic(usize),
    /// A basis with more functions than an element supports.
    #[error("invalid basis: expected lengths in mm, the cylinder at most {max} times the spacing", max = MatrixElement::MAX_BASIC)]
    Basis,
    /// Rows that are not those of the ring.
    #[error("the matrix has {found} lines of response where {scanner} has {expected}")]
    NumLors {
        /// The ring.
        scanner: String,
        /// Its lines of response.
        expected: usize,
        /// Those of the matrix.
        found: usize,
    },
    /// The elements of a row do not follow on those of the row before.
    #[error("the elements of line of response {0} do not lie behind those of the one before")]
    Order(usize),
    /// An element of a basic function that there is not.
    #[error("element {index} belongs to basic function {basic}, but only {num_basic} exist")]
    Basic {
        /// Number of the element.
        index: usize,
        /// Its basic function.
        basic: usize,
        /// Number of basic functions.
        num_basic: usize,
    },
    /// The scale.
    #[error("the scale of the elements is {0} mm³; it must be a positive number")]
    Scale(f32),
}

coded!(MatrixError = "matrix");

impl ResponseMatrix {
    /// Checks a matrix of a ring.
    ///
    /// # Errors
    /// Invalid rows or elements.
    pub fn validate(self, ring: &CrystalRing) -> Result<Self, MatrixError> {
        if !(1..=MatrixElement::MAX_BASIC).contains(&self.num_basic) {
            return Err(MatrixError::NumBasic(self.num_basic));
        }
        let BasisSettings { spacing_mm, radius_mm, half_length_mm, .. } = self.basis;
        let are_lengths = [spacing_mm, radius_mm, half_length_mm].iter().all(|length| LENGTHS_MM.contains(length));
        if !are_lengths || radius_mm.max(half_length_mm) > spacing_mm * MatrixElement::MAX_BASIC as f64 {
            return Err(MatrixError::Basis);
        }
        if !(self.scale_mm3.is_normal() && self.scale_mm3 > 0.0) {
            return Err(MatrixError::Scale(self.scale_mm3));
        }
        let found = self.first.len().saturating_sub(1);
        if found != ring.num_lors() {
            return Err(MatrixError::NumLors { scanner: ring.name.clone(), expected: ring.num_lors(), found });
        }
        if let Some(lor) = self.first.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(MatrixError::Order(lor));
        }
        if self.first[0] != 0 || self.first[found] != self.elements.len() as u64 {
            return Err(MatrixError::Order(0));
        }
        let num_basic = self.num_basic;
        if let Some(index) = self.elements.iter().position(|element| element.basic() >= num_basic) {
            return Err(MatrixError::Basic { index, basic: self.elements[index].basic(), num_basic });
        }
        Ok(self)
    }

    /// Checks that it matches the counts of a ring.
    ///
    /// # Errors
    /// It is the matrix of another ring.
    pub fn fits(&self, ring: &CrystalRing) -> Result<(), MatrixError> {
        if self.scanner == ring.name {
            return Ok(());
        }
        Err(MatrixError::Scanner { scanner: self.scanner.clone(), counted: ring.name.clone() })
    }

    /// Returns the elements of a line of response.
    pub fn row(&self, lor: usize) -> &[MatrixElement] {
        &self.elements[self.first[lor] as usize..self.first[lor + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_within_its_precision() {
        for step in 0..200_000u32 {
            let value = 1.999 * (-(f64::from(step) * 1e-4)).exp2() as f32;
            let element = MatrixElement::new(step as usize % MatrixElement::MAX_BASIC, value);
            assert_eq!(element.basic(), step as usize % MatrixElement::MAX_BASIC);
            assert!((element.value() / value - 1.0).abs() <= 1.0 / 2048.0, "{value} {}", element.value());
        }
        assert_eq!(MatrixElement::new(5, 0.0).value(), (-31.0f32).exp2());
        assert_eq!(MatrixElement::new(131_071, 1.0).basic(), 131_071);
        assert_eq!(MatrixElement::new(9, 1.25).halved(3), MatrixElement::new(9, 1.25 / 8.0));
        assert_eq!(MatrixElement::new(9, (-30.0f32).exp2()).halved(4), MatrixElement::new(9, 0.0));
    }
}
