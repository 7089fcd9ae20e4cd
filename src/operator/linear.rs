//! A linear operator between an image and the projection data of a subset of views.

use std::ops::Range;
use std::sync::Arc;

use super::{Backend, BackendError};
use crate::data::{Michelogram, Volume};
use crate::task::{Stopped, Task};

/// How the backprojection adds to the image when several threads meet in a voxel.
///
/// A menu shows the variants in this order; the command line and files have their names.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = not_an_accumulation)]
pub enum Accumulation {
    /// Every addition arrives, in any order: results differ in the last digits from run to run.
    Atomic,
    /// Load, add, store without protection: additions are lost when threads meet (the race of Belzunce et al. 2012,
    /// section 2.4). Not for diagnosis.
    NonAtomic,
    /// Every addition arrives in a fixed order: the same bits on every run and for any number of threads.
    Deterministic,
}

impl Accumulation {
    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

fn not_an_accumulation(text: &str) -> String {
    format!("'{text}' is not a way to accumulate; use atomic, non-atomic or deterministic")
}

/// The views v ≡ `index` (mod `count`) of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subset {
    /// Which subset.
    pub index: usize,
    /// How many there are.
    pub count: usize,
}

impl Subset {
    /// All views in one subset.
    pub const ALL: Subset = Subset { index: 0, count: 1 };

    /// Its views in ascending order, of `num_views`.
    pub fn views(self, num_views: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
        (self.index..num_views).step_by(self.count.max(1))
    }
}

/// Why an operator could not be applied.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OperatorError {
    /// The work was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The device failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// An array has the wrong length.
    #[error("an array for {what} has {found} values where {expected} were expected")]
    Length {
        /// Which array.
        what: &'static str,
        /// Expected number of values.
        expected: usize,
        /// Number of values found.
        found: usize,
    },
    /// A setting that the device does not allow.
    #[error("{0}")]
    Settings(String),
    /// The fast projector does not apply to this geometry.
    #[error("the axial-run projector cannot be used here: {0}; use the per-LOR projector")]
    Unsuitable(String),
}

/// A and Aᵀ on the arrays of one back end. Images and data are in the operator's own order: `image_from_volume`,
/// `volume_from_image` and `image_index` translate images, `arranged` and `in_order` data.
pub trait LinearOperator<B: Backend>: Send {
    /// Number of values of an image array (with any padding).
    fn image_len(&self) -> usize;

    /// Number of values in the data of one view.
    fn view_len(&self) -> usize;

    /// Number of views.
    fn num_views(&self) -> usize;

    /// Number of values in the data of a subset.
    fn data_len(&self, subset: Subset) -> usize {
        subset.views(self.num_views()).len() * self.view_len()
    }

    /// The data of a scan in the operator's order for so many subsets. Here: as it is, views one after the other, each
    /// `[tangential_pos][plane]`; the data of a subset is its views in ascending order.
    fn arranged(&self, data: &Michelogram, _num_subsets: usize) -> Arc<Vec<f32>> {
        Arc::clone(&data.counts)
    }

    /// The reverse of [`LinearOperator::arranged`] for all views in one subset.
    fn in_order(&self, data: Vec<f32>) -> Vec<f32> {
        data
    }

    /// The pieces of arranged data that make up a subset: where each lies in the subset's data, and in the whole.
    fn pieces(&self, subset: Subset) -> Vec<(usize, Range<usize>)> {
        let view_len = self.view_len();
        if subset.count <= 1 {
            return vec![(0, 0..self.data_len(subset))];
        }
        let piece = |(k, view): (usize, usize)| (k * view_len, view * view_len..(view + 1) * view_len);
        subset.views(self.num_views()).enumerate().map(piece).collect()
    }

    /// `out` = A x for the views of a subset, overwriting `out` (whose length is at least `data_len(subset)`; values
    /// behind that are left alone). Lengths in mm.
    ///
    /// # Errors
    /// Stopped, device failure, wrong lengths.
    fn apply(&self, backend: &mut B, subset: Subset, x: &B::Array, out: &mut B::Array, task: &Task) -> Result<(), OperatorError>;

    /// `out` = Aᵀ q for the views of a subset, overwriting `out`.
    ///
    /// # Errors
    /// Stopped, device failure, wrong lengths.
    fn adjoint(
        &self,
        backend: &mut B,
        subset: Subset,
        q: &B::Array,
        accumulation: Accumulation,
        out: &mut B::Array,
        task: &Task,
    ) -> Result<(), OperatorError>;

    /// The ways in which `adjoint` can add.
    fn accumulations(&self) -> &'static [Accumulation];

    /// A volume's values in the operator's order.
    fn image_from_volume(&self, volume: &Volume) -> Vec<f32>;

    /// Writes an image array, downloaded to the host, into a volume of the operator's grid.
    fn volume_from_image(&self, image: &[f32], volume: &mut Volume);

    /// Where the voxel of index `voxel` in a `[z, y, x]` volume lies in an image array.
    fn image_index(&self, voxel: usize) -> usize;

    /// Bytes that one call needs beside its arguments, for the estimate before a run.
    fn scratch_bytes(&self, subset: Subset, accumulation: Accumulation) -> u64;
}
