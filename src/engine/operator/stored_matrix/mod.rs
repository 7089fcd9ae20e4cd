//! A system matrix of a ring as an operator, with all symmetries at once.
//!
//! With i a line of response that represents its orbit, every line of the orbit is h i, and the functions of an image are g b
//! with b basic. The element A(h i, b) is then also A(g h i, g b), so that
//!
//! ```text
//! y(g h i) += A(h i, b) x(g b)   and   x(g b) += A(h i, b) y(g h i)   for all g
//! ```
//!
//! For one element that is a multiply-add over all g, whose neighbours are contiguous in x; the product g h permutes within the
//! orbit and is done once for a row.

mod columns;
mod pairs;
mod shared;

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::accumulate::PrivateImages;
use super::chunk::{Chunk, LANES, add_multiple, load, store};
use super::group_sum::GroupSum;
use super::problem::STORED_SYMMETRIES;
use super::{Accumulation, DataSpace, LinearOperator, Misfit, OperatorError, Subset, check_lengths};
use crate::algebra::{Data, Host, HostArray, Image, Simd};
use crate::data::{MatrixElement, ResponseMatrix};
use crate::task::{Stopped, Task};
pub use columns::{MatrixColumns, MatrixOrder, Residence};
pub use pairs::CrystalPairs;

/// Most private images of one backprojection.
const MAX_PRIVATE_IMAGES: usize = 16;

/// The matrix on the processor. Images are coefficients, `[basic][symmetry]`.
pub struct StoredMatrix {
    matrix: Arc<ResponseMatrix>,
    pairs: CrystalPairs,
    /// Basic functions of the two central slices, which come first.
    num_central: usize,
    simd: Simd,
    is_plain: bool,
    private_images: PrivateImages,
    /// Made when `reload` first asks for them.
    columns: OnceLock<MatrixColumns>,
}

/// Chunks of values of all symmetries.
const ALL_OF_RING: usize = STORED_SYMMETRIES[0] / LANES;
const OF_SQUARES: usize = STORED_SYMMETRIES[1] / LANES;

/// Refuses what no code is made for.
///
/// # Errors
/// Another number of symmetries than [`STORED_SYMMETRIES`].
pub fn check_symmetries(pairs: &CrystalPairs) -> Result<(), OperatorError> {
    let num = pairs.num_symmetries();
    if STORED_SYMMETRIES.contains(&num) {
        return Ok(());
    }
    Err(Misfit::Symmetries { num }.into())
}

impl StoredMatrix {
    /// Makes the operator of a matrix; `num_central` basic functions, the first ones, are those of the two central slices.
    ///
    /// # Errors
    /// Another number of symmetries than [`STORED_SYMMETRIES`].
    pub fn new(matrix: Arc<ResponseMatrix>, pairs: CrystalPairs, num_central: usize) -> Result<Self, OperatorError> {
        check_symmetries(&pairs)?;
        Ok(Self {
            matrix,
            pairs,
            num_central,
            simd: Simd::detect(),
            is_plain: false,
            private_images: PrivateImages::default(),
            columns: OnceLock::new(),
        })
    }

    /// The same as a plain sparse product: an element and a symmetry at a time, by a list of indices. For comparison.
    pub fn plain(mut self) -> Self {
        self.is_plain = true;
        self
    }

    /// Returns the bytes of a call without its arguments.
    pub fn scratch_bytes_of(matrix: &ResponseMatrix, pairs: &CrystalPairs, accumulation: Accumulation) -> u64 {
        let image_bytes = 4 * (matrix.num_basic * pairs.num_symmetries()) as u64;
        match accumulation {
            Accumulation::Deterministic => MAX_PRIVATE_IMAGES.min(pairs.num_orbits()) as u64 * image_bytes,
            Accumulation::Reload => {
                let data = pairs.len(Subset::ALL) * pairs.num_symmetries();
                MatrixColumns::bytes(matrix) + 4 * data as u64
            }
            Accumulation::Atomic | Accumulation::NonAtomic | Accumulation::RandomCentralAtomic => image_bytes,
        }
    }

    /// Vector instructions in use.
    pub fn simd(&self) -> Simd {
        self.simd
    }

    fn image_len(&self) -> usize {
        self.matrix.num_basic * self.pairs.num_symmetries()
    }

    /// Returns the symmetries h of an orbit that have a datum, each with the elements of its line.
    fn rows(&self, orbit: usize) -> impl Iterator<Item = (usize, &[MatrixElement])> {
        let rows = self.pairs.orbit(orbit).iter().enumerate().filter(move |(h, _)| self.pairs.has_datum(orbit, *h));
        rows.map(|(h, &lor)| (h, self.matrix.row(lor as usize)))
    }

    /// Returns the place in its orbit of the datum of a symmetry.
    #[inline(always)]
    fn datum(&self, orbit: usize, symmetry: u16) -> usize {
        self.pairs.firsts(orbit).map_or(symmetry, |firsts| firsts[usize::from(symmetry)]).into()
    }

    /// y of an orbit, one product after the other.
    fn project_plainly(&self, orbit: usize, x: &[f32], y: &mut [f32]) {
        y.fill(0.0);
        for (h, row) in self.rows(orbit) {
            for element in row {
                let value = element.value() * self.matrix.scale_mm3;
                for (g, &gh) in self.pairs.products(h).iter().enumerate() {
                    y[self.datum(orbit, gh)] += value * x[element.basic() * self.pairs.num_symmetries() + g];
                }
            }
        }
    }

    /// x += the adjoint of the y of an orbit, one product after the other.
    fn spread_plainly(&self, orbit: usize, y: &[f32], x: &mut [f32]) {
        for (h, row) in self.rows(orbit) {
            for element in row {
                let value = element.value() * self.matrix.scale_mm3;
                for (g, &gh) in self.pairs.products(h).iter().enumerate() {
                    x[element.basic() * self.pairs.num_symmetries() + g] += value * y[self.datum(orbit, gh)];
                }
            }
        }
    }

    /// y of an orbit.
    #[inline(always)]
    fn project_with<const FUSED: bool, const CHUNKS: usize>(&self, orbit: usize, x: &[f32], y: &mut [f32]) {
        y.fill(0.0);
        for (h, row) in self.rows(orbit) {
            let mut sums = [[0.0; LANES]; CHUNKS];
            for element in row {
                let (value, at) = (element.value(), element.basic() * CHUNKS * LANES);
                for (chunk, sum) in sums.iter_mut().enumerate() {
                    *sum = add_multiple::<FUSED>(value, load(x, at + chunk * LANES), *sum);
                }
            }
            let sums = sums.as_flattened();
            self.pairs.products(h).iter().zip(sums).for_each(|(&gh, sum)| y[usize::from(gh)] += sum * self.matrix.scale_mm3);
        }
        if let Some(firsts) = self.pairs.firsts(orbit) {
            for (g, &first) in firsts.iter().enumerate() {
                if usize::from(first) != g {
                    y[usize::from(first)] += y[g];
                    y[g] = 0.0;
                }
            }
        }
    }

    /// Returns the factors of a row's elements: the data of all images of its line.
    #[inline(always)]
    fn data_of<const CHUNKS: usize>(&self, orbit: usize, h: usize, y: &[f32]) -> [Chunk; CHUNKS] {
        let products = self.pairs.products(h);
        let of = |gh: u16| y[self.datum(orbit, gh)] * self.matrix.scale_mm3;
        std::array::from_fn(|chunk| std::array::from_fn(|lane| of(products[chunk * LANES + lane])))
    }

    /// x += the adjoint of the y of an orbit.
    #[inline(always)]
    fn spread_with<const FUSED: bool, const CHUNKS: usize>(&self, orbit: usize, y: &[f32], x: &mut [f32]) {
        for (h, row) in self.rows(orbit) {
            let data = self.data_of::<CHUNKS>(orbit, h, y);
            for element in row {
                let (value, at) = (element.value(), element.basic() * CHUNKS * LANES);
                for (chunk, data) in data.iter().enumerate() {
                    let at = at + chunk * LANES;
                    let sum = add_multiple::<FUSED>(value, *data, load(x, at));
                    store(x, at, sum);
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn project_avx2<const CHUNKS: usize>(&self, orbit: usize, x: &[f32], y: &mut [f32]) {
        self.project_with::<true, CHUNKS>(orbit, x, y);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn spread_avx2<const CHUNKS: usize>(&self, orbit: usize, y: &[f32], x: &mut [f32]) {
        self.spread_with::<true, CHUNKS>(orbit, y, x);
    }

    #[allow(unsafe_code)]
    fn project<const CHUNKS: usize>(&self, orbit: usize, x: &[f32], y: &mut [f32]) {
        match self.simd {
            _ if self.is_plain => self.project_plainly(orbit, x, y),
            // SAFETY: `simd` is never above what `Simd::detect` found on this processor.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 | Simd::Avx512 => unsafe { self.project_avx2::<CHUNKS>(orbit, x, y) },
            _ => self.project_with::<false, CHUNKS>(orbit, x, y),
        }
    }

    #[allow(unsafe_code)]
    fn spread<const CHUNKS: usize>(&self, orbit: usize, y: &[f32], x: &mut [f32]) {
        match self.simd {
            _ if self.is_plain => self.spread_plainly(orbit, y, x),
            // SAFETY: `simd` is never above what `Simd::detect` found on this processor.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 | Simd::Avx512 => unsafe { self.spread_avx2::<CHUNKS>(orbit, y, x) },
            _ => self.spread_with::<false, CHUNKS>(orbit, y, x),
        }
    }

    fn project_all<const CHUNKS: usize>(&self, x: &[f32], y: &mut [f32], task: &Task) -> Result<(), Stopped> {
        y.par_chunks_mut(CHUNKS * LANES).enumerate().try_for_each(|(orbit, y)| {
            task.check()?;
            self.project::<CHUNKS>(orbit, x, y);
            Ok(())
        })
    }

    /// Backprojects in a fixed number of pieces for any number of threads, each into a private image.
    fn spread_all<const CHUNKS: usize>(&self, q: &[f32], x: &mut [f32], task: &Task) -> Result<(), OperatorError> {
        let num_orbits = self.pairs.num_orbits();
        let each = num_orbits.div_ceil(MAX_PRIVATE_IMAGES).max(1);
        self.private_images.sum_of_pieces(&GroupSum::ALONE, num_orbits.div_ceil(each), x, |piece, image| {
            for orbit in piece * each..((piece + 1) * each).min(num_orbits) {
                task.check()?;
                self.spread::<CHUNKS>(orbit, &q[orbit * CHUNKS * LANES..][..CHUNKS * LANES], image);
            }
            Ok(())
        })
    }

    fn adjoint_in<const CHUNKS: usize>(
        &self,
        q: &[f32],
        accumulation: Accumulation,
        x: &mut [f32],
        task: &Task,
    ) -> Result<(), OperatorError> {
        match accumulation {
            Accumulation::Deterministic => self.spread_all::<CHUNKS>(q, x, task),
            Accumulation::Reload => Ok(self.gather_all::<CHUNKS>(q, x, task)?),
            Accumulation::Atomic | Accumulation::NonAtomic | Accumulation::RandomCentralAtomic => {
                Ok(self.scatter_all::<CHUNKS>(q, accumulation, x, task)?)
            }
        }
    }
}

impl LinearOperator<Host> for StoredMatrix {
    fn apply(
        &self,
        _: &mut Host,
        subset: Subset,
        x: &HostArray<Image>,
        out: &mut HostArray<Data>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_lengths([x.len(), self.image_len()], [out.len(), self.pairs.len(subset)])?;
        let out = &mut out.values_mut()[..self.pairs.len(subset)];
        if self.pairs.num_symmetries() == STORED_SYMMETRIES[0] {
            self.project_all::<ALL_OF_RING>(x, out, task)?;
        } else {
            self.project_all::<OF_SQUARES>(x, out, task)?;
        }
        Ok(())
    }

    fn adjoint(
        &self,
        _: &mut Host,
        subset: Subset,
        q: &HostArray<Data>,
        accumulation: Accumulation,
        out: &mut HostArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_lengths([out.len(), self.image_len()], [q.len(), self.pairs.len(subset)])?;
        let q = &q[..self.pairs.len(subset)];
        if self.pairs.num_symmetries() == STORED_SYMMETRIES[0] {
            self.adjoint_in::<ALL_OF_RING>(q, accumulation, out.values_mut(), task)?;
        } else {
            self.adjoint_in::<OF_SQUARES>(q, accumulation, out.values_mut(), task)?;
        }
        Ok(())
    }

    /// Into private images, and the paper's four ways.
    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_MATRICES
    }

    fn scratch_bytes(&self, _: Subset, accumulation: Accumulation) -> u64 {
        Self::scratch_bytes_of(&self.matrix, &self.pairs, accumulation)
    }
}
