//! A stored matrix of a ring as an operator, with all symmetries at once.
//!
//! With i a line of response that stands for its orbit, every line of the orbit is h i, and the functions of an image are g b with b
//! basic. The element A(h i, b) then also stands for A(g h i, g b), so that
//!
//! ```text
//! y(g h i) += A(h i, b) x(g b)   and   x(g b) += A(h i, b) y(g h i)   for all g
//! ```
//!
//! For one element that is a multiply-add over all g, of which neighbours lie together in x; the product g h permutes within the
//! orbit and is done once for a row.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::chunk::{Chunk, LANES, add_multiple, load, store};
use super::{Accumulation, DataSpace, LinearOperator, OperatorError, Subset, check_lengths};
use crate::algebra::{Data, Host, HostArray, Image, Simd};
use crate::data::ResponseMatrix;
use crate::scanner::CrystalRing;
use crate::task::{Stopped, Task};

/// Most private images of one backprojection.
const MAX_PRIVATE_IMAGES: usize = 16;

/// The pairs of crystals of a ring as data, orbit by orbit: `[orbit][symmetry]`, the datum being that of the image of the orbit's
/// first line of response under the symmetry. Where two symmetries give the same line only the first place has it, and the others
/// stay 0.
#[derive(Clone, Debug)]
pub struct CrystalPairs {
    num_symmetries: usize,
    num_lors: usize,
    /// The line of each place, `[orbit][symmetry]`.
    lors: Arc<Vec<u32>>,
    /// For each symmetry the first one of its line, for the orbits in which lines coincide; `None` where none do.
    firsts: Arc<Vec<Option<Vec<u16>>>>,
    /// The number of the symmetry g h, `[h][g]`.
    products: Arc<Vec<u16>>,
}

impl CrystalPairs {
    /// The orbits of a ring.
    pub fn new(ring: &CrystalRing) -> Self {
        let num_symmetries = ring.num_symmetries();
        let symmetries: Vec<_> = (0..num_symmetries).map(|number| ring.symmetry(number)).collect();
        let images: Vec<Vec<usize>> =
            symmetries.iter().map(|&g| (0..ring.num_crystals()).map(|c| ring.image_of_crystal(g, c)).collect()).collect();
        let (mut lors, mut firsts) = (Vec::with_capacity(ring.num_lors()), Vec::new());
        let mut is_known = vec![false; ring.num_lors()];
        for lor in 0..ring.num_lors() {
            if is_known[lor] {
                continue;
            }
            let [one, other] = ring.crystals_of(lor);
            let orbit: Vec<u32> = images.iter().map(|image| ring.lor(image[one], image[other]) as u32).collect();
            let first = |g: usize| orbit.iter().position(|lor| *lor == orbit[g]).unwrap_or(g) as u16;
            let first: Vec<u16> = (0..num_symmetries).map(first).collect();
            let is_free = first.iter().enumerate().all(|(g, first)| g == usize::from(*first));
            orbit.iter().for_each(|&lor| is_known[lor as usize] = true);
            lors.extend(orbit);
            firsts.push((!is_free).then_some(first));
        }
        let product = |h: usize, g: usize| ring.symmetry_number(ring.composed(symmetries[g], symmetries[h])) as u16;
        let products = (0..num_symmetries).flat_map(|h| (0..num_symmetries).map(move |g| [h, g])).map(|[h, g]| product(h, g));
        Self {
            num_symmetries,
            num_lors: ring.num_lors(),
            lors: Arc::new(lors),
            firsts: Arc::new(firsts),
            products: Arc::new(products.collect()),
        }
    }

    /// Number of symmetries.
    pub fn num_symmetries(&self) -> usize {
        self.num_symmetries
    }

    /// Number of orbits.
    pub fn num_orbits(&self) -> usize {
        self.firsts.len()
    }

    /// The lines of an orbit.
    pub fn orbit(&self, orbit: usize) -> &[u32] {
        &self.lors[orbit * self.num_symmetries..][..self.num_symmetries]
    }

    /// For each symmetry the first one that gives the same line; `None` where each gives its own.
    pub fn firsts(&self, orbit: usize) -> Option<&[u16]> {
        self.firsts[orbit].as_deref()
    }

    /// The symmetries g h for all g.
    pub fn products(&self, h: usize) -> &[u16] {
        &self.products[h * self.num_symmetries..][..self.num_symmetries]
    }

    fn has_datum(&self, orbit: usize, symmetry: usize) -> bool {
        self.firsts(orbit).is_none_or(|firsts| usize::from(firsts[symmetry]) == symmetry)
    }

    /// The places that have a datum, with their lines.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let has = |(place, _): &(usize, &u32)| self.has_datum(place / self.num_symmetries, place % self.num_symmetries);
        self.lors.iter().enumerate().filter(has).map(|(place, lor)| (place, *lor as usize))
    }
}

impl DataSpace for CrystalPairs {
    fn max_subsets(&self) -> usize {
        1
    }

    fn len(&self, _: Subset) -> usize {
        self.lors.len()
    }

    fn arranged(&self, values: &Arc<Vec<f32>>, _: usize) -> Arc<Vec<f32>> {
        let mut arranged = vec![0.0; self.lors.len()];
        self.places().for_each(|(place, lor)| arranged[place] = values[lor]);
        Arc::new(arranged)
    }

    fn in_order(&self, values: Vec<f32>) -> Vec<f32> {
        let mut ordered = vec![0.0; self.num_lors];
        self.places().for_each(|(place, lor)| ordered[lor] = values[place]);
        ordered
    }

    fn pieces(&self, _: Subset) -> Vec<(usize, Range<usize>)> {
        vec![(0, 0..self.lors.len())]
    }
}

/// The matrix on the processor. Images are coefficients, `[basic][symmetry]`.
pub struct StoredMatrix {
    matrix: ResponseMatrix,
    pairs: CrystalPairs,
    simd: Simd,
    is_plain: bool,
}

impl StoredMatrix {
    /// The operator of a matrix.
    ///
    /// # Errors
    /// A ring with another number of symmetries than 72.
    pub fn new(matrix: ResponseMatrix, pairs: CrystalPairs) -> Result<Self, OperatorError> {
        if pairs.num_symmetries() != SYMMETRIES {
            let text = format!("stored matrices are used with {SYMMETRIES} symmetries; this ring has {}", pairs.num_symmetries());
            return Err(OperatorError::Unsuitable(text));
        }
        Ok(Self { matrix, pairs, simd: Simd::detect(), is_plain: false })
    }

    /// The same as a plain sparse product: an element and a symmetry at a time, by a list of indices. For comparison.
    pub fn plain(mut self) -> Self {
        self.is_plain = true;
        self
    }

    /// Vector instructions in use.
    pub fn simd(&self) -> Simd {
        self.simd
    }

    fn image_len(&self) -> usize {
        self.matrix.num_basic * SYMMETRIES
    }

    /// y of an orbit, one product after the other.
    fn project_plainly(&self, orbit: usize, x: &[f32], y: &mut [f32]) {
        y.fill(0.0);
        for (h, &lor) in self.pairs.orbit(orbit).iter().enumerate().filter(|(h, _)| self.pairs.has_datum(orbit, *h)) {
            for element in self.matrix.row(lor as usize) {
                let value = element.value() * self.matrix.scale_mm3;
                for (g, &gh) in self.pairs.products(h).iter().enumerate() {
                    let place = self.pairs.firsts(orbit).map_or(gh, |firsts| firsts[usize::from(gh)]);
                    y[usize::from(place)] += value * x[element.basic() * SYMMETRIES + g];
                }
            }
        }
    }

    /// x += the adjoint of the y of an orbit, one product after the other.
    fn spread_plainly(&self, orbit: usize, y: &[f32], x: &mut [f32]) {
        for (h, &lor) in self.pairs.orbit(orbit).iter().enumerate().filter(|(h, _)| self.pairs.has_datum(orbit, *h)) {
            for element in self.matrix.row(lor as usize) {
                let value = element.value() * self.matrix.scale_mm3;
                for (g, &gh) in self.pairs.products(h).iter().enumerate() {
                    let place = self.pairs.firsts(orbit).map_or(gh, |firsts| firsts[usize::from(gh)]);
                    x[element.basic() * SYMMETRIES + g] += value * y[usize::from(place)];
                }
            }
        }
    }

    /// y of an orbit.
    #[inline(always)]
    fn project_with<const FUSED: bool>(&self, orbit: usize, x: &[f32], y: &mut [f32]) {
        y.fill(0.0);
        for (h, &lor) in self.pairs.orbit(orbit).iter().enumerate() {
            if !self.pairs.has_datum(orbit, h) {
                continue;
            }
            let mut sums = [[0.0; LANES]; CHUNKS];
            for element in self.matrix.row(lor as usize) {
                let (value, at) = (element.value(), element.basic() * SYMMETRIES);
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

    /// x += the adjoint of the y of an orbit.
    #[inline(always)]
    fn spread_with<const FUSED: bool>(&self, orbit: usize, y: &[f32], x: &mut [f32]) {
        let of = |g: usize| y[self.pairs.firsts(orbit).map_or(g, |firsts| firsts[g].into())] * self.matrix.scale_mm3;
        for (h, &lor) in self.pairs.orbit(orbit).iter().enumerate() {
            if !self.pairs.has_datum(orbit, h) {
                continue;
            }
            let products = self.pairs.products(h);
            let values: [Chunk; CHUNKS] =
                std::array::from_fn(|chunk| std::array::from_fn(|lane| of(products[chunk * LANES + lane].into())));
            for element in self.matrix.row(lor as usize) {
                let (value, at) = (element.value(), element.basic() * SYMMETRIES);
                for (chunk, values) in values.iter().enumerate() {
                    let at = at + chunk * LANES;
                    let sum = add_multiple::<FUSED>(value, *values, load(x, at));
                    store(x, at, sum);
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn project_avx2(&self, orbit: usize, x: &[f32], y: &mut [f32]) {
        self.project_with::<true>(orbit, x, y);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn spread_avx2(&self, orbit: usize, y: &[f32], x: &mut [f32]) {
        self.spread_with::<true>(orbit, y, x);
    }

    #[allow(unsafe_code)]
    fn project(&self, orbit: usize, x: &[f32], y: &mut [f32]) {
        match self.simd {
            _ if self.is_plain => self.project_plainly(orbit, x, y),
            // SAFETY: `simd` is never above what `Simd::detect` found on this processor.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 | Simd::Avx512 => unsafe { self.project_avx2(orbit, x, y) },
            _ => self.project_with::<false>(orbit, x, y),
        }
    }

    #[allow(unsafe_code)]
    fn spread(&self, orbit: usize, y: &[f32], x: &mut [f32]) {
        match self.simd {
            _ if self.is_plain => self.spread_plainly(orbit, y, x),
            // SAFETY: `simd` is never above what `Simd::detect` found on this processor.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 | Simd::Avx512 => unsafe { self.spread_avx2(orbit, y, x) },
            _ => self.spread_with::<false>(orbit, y, x),
        }
    }
}

/// Symmetries that the operator is made for: those of a ring of 18 modules.
const SYMMETRIES: usize = 72;
const CHUNKS: usize = SYMMETRIES / LANES;

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
        out.values_mut().par_chunks_mut(SYMMETRIES).enumerate().try_for_each(|(orbit, y)| {
            task.check()?;
            self.project(orbit, x, y);
            Ok::<(), Stopped>(())
        })?;
        Ok(())
    }

    fn adjoint(
        &self,
        _: &mut Host,
        subset: Subset,
        q: &HostArray<Data>,
        _: Accumulation,
        out: &mut HostArray<Image>,
        task: &Task,
    ) -> Result<(), OperatorError> {
        check_lengths([out.len(), self.image_len()], [q.len(), self.pairs.len(subset)])?;
        // A fixed number of pieces, whatever the threads, each with an image of its own.
        let num_orbits = self.pairs.num_orbits();
        let each = num_orbits.div_ceil(MAX_PRIVATE_IMAGES).max(1);
        let images: Vec<Vec<f32>> = (0..num_orbits.div_ceil(each))
            .into_par_iter()
            .with_max_len(1)
            .map(|piece| {
                let mut image = vec![0.0; self.image_len()];
                for orbit in piece * each..((piece + 1) * each).min(num_orbits) {
                    task.check()?;
                    self.spread(orbit, &q[orbit * SYMMETRIES..][..SYMMETRIES], &mut image);
                }
                Ok(image)
            })
            .collect::<Result<_, Stopped>>()?;
        out.values_mut().par_iter_mut().enumerate().for_each(|(index, sum)| *sum = images.iter().map(|image| image[index]).sum());
        Ok(())
    }

    /// Each piece of the orbits has an image of its own.
    fn accumulations(&self) -> &'static [Accumulation] {
        &[Accumulation::Deterministic]
    }

    fn scratch_bytes(&self, _: Subset, _: Accumulation) -> u64 {
        4 * (MAX_PRIVATE_IMAGES.min(self.pairs.num_orbits()) * self.image_len()) as u64
    }
}
