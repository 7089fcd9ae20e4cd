//! Times of projection and backprojection with a system matrix: the plain product, the fast one, and on a GPU the paper's layout.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::matrix::{check_basis, crystal_pairs, ring_grid};
use crate::algebra::{Backend, Host};
#[cfg(feature = "cuda")]
use crate::cuda;
use crate::data::ResponseMatrix;
use crate::operator::{Accumulation, CrystalPairs, DataSpace, LinearOperator, StoredMatrix, Subset};
#[cfg(feature = "cuda")]
use crate::operator::{MatrixOrder, Residence};
use crate::plan::device::choice::DeviceChoice;
use crate::plan::error::SetupError;
#[cfg(feature = "cuda")]
use crate::plan::platform::open::choose_device;
use crate::scanner::CrystalRing;
use crate::statistics::median_and_spread;
use crate::task::Task;

/// Duration above which a product is measured once, s.
const SLOW_SECS: f64 = 5.0;

/// Settings of the measurement.
#[derive(Clone, Debug)]
pub struct MatrixTiming<'a> {
    /// The ring.
    pub ring: &'a CrystalRing,
    /// Its matrix.
    pub matrix: Arc<ResponseMatrix>,
    /// Where.
    pub device: DeviceChoice,
    /// Times that are measured, after one that is not.
    pub num_times: usize,
    /// The plain product takes one orbit in this number, since it may be slow; its times are scaled to all.
    pub plain_step: usize,
}

/// Layout of the product with a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum MatrixLayout {
    /// An element and a symmetry at a time.
    Plain,
    /// All symmetries of an element at once.
    Fast,
    /// A thread a line, which loops over elements and symmetries.
    Paper,
}

/// Times of one layout and accumulation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MatrixTimes {
    /// Device in words.
    pub device: String,
    /// Layout of the product.
    pub layout: MatrixLayout,
    /// Accumulation of the backprojection.
    pub accumulation: Accumulation,
    /// Seconds of a projection: median, and half of the interquartile range.
    pub forward_s: [f64; 2],
    /// Seconds of a backprojection, likewise.
    pub backprojection_s: [f64; 2],
    /// Seconds to bring the elements in the order of the lines and of the functions to the device, where it holds one order at a
    /// time (`reload`); the times above are without.
    pub loading_s: Option<[f64; 2]>,
    /// One orbit in this number was used; times are for all.
    pub step: usize,
}

impl MatrixTimes {
    /// Returns the seconds of both.
    pub fn both_s(&self) -> f64 {
        self.forward_s[0] + self.backprojection_s[0]
    }
}

/// Measures every layout of a device, on the threads of the calling pool.
///
/// # Errors
/// A device that is not usable, a failed step.
pub fn matrix_times(timing: &MatrixTiming) -> Result<Vec<MatrixTimes>, SetupError> {
    check_basis(timing.ring, &timing.matrix)?;
    let kind = timing.matrix.basis.kind;
    let pairs = crystal_pairs(timing.ring, kind)?;
    let num_central = ring_grid(timing.ring, &timing.matrix.basis).num_in_slice();
    #[cfg(feature = "cuda")]
    if let Some(backend) = choose_device(timing.device)?.0.take_cuda() {
        return timing.on_cuda(backend, &pairs, num_central);
    }
    let part = one_orbit_in(timing.plain_step, &timing.matrix, &pairs);
    let plain = StoredMatrix::new(part, pairs.clone(), num_central)?.plain();
    let way = [Accumulation::Deterministic];
    let mut rows = timing.measured(&mut Host, &plain, MatrixLayout::Plain, &pairs, &way)?;
    let fast = StoredMatrix::new(Arc::clone(&timing.matrix), pairs.clone(), num_central)?;
    let accumulations = [Accumulation::Deterministic, Accumulation::Reload];
    rows.extend(timing.measured(&mut Host, &fast, MatrixLayout::Fast, &pairs, &accumulations)?);
    Ok(rows)
}

/// Returns the elements of one orbit of lines in `step`.
fn one_orbit_in(step: usize, matrix: &Arc<ResponseMatrix>, pairs: &CrystalPairs) -> Arc<ResponseMatrix> {
    if step <= 1 {
        return Arc::clone(matrix);
    }
    let mut is_selected = vec![false; matrix.first.len() - 1];
    let selected = (0..pairs.num_orbits()).step_by(step).flat_map(|orbit| pairs.orbit(orbit));
    selected.for_each(|lor| is_selected[*lor as usize] = true);
    let (mut first, mut elements) = (vec![0], Vec::new());
    for (lor, is_selected) in is_selected.into_iter().enumerate() {
        if is_selected {
            elements.extend_from_slice(matrix.row(lor));
        }
        first.push(elements.len() as u64);
    }
    Arc::new(ResponseMatrix { first: Arc::new(first), elements: Arc::new(elements), ..(**matrix).clone() })
}

impl MatrixTiming<'_> {
    #[cfg(feature = "cuda")]
    fn on_cuda(
        &self,
        mut backend: cuda::CudaBackend,
        pairs: &CrystalPairs,
        num_central: usize,
    ) -> Result<Vec<MatrixTimes>, SetupError> {
        let new = |backend: &cuda::CudaBackend, residence| {
            cuda::StoredMatrix::new(backend, &self.matrix, pairs.clone(), num_central, residence)
        };
        let fast = new(&backend, Residence::Both)?;
        let way = [Accumulation::Deterministic];
        let mut rows = self.measured(&mut backend, &fast, MatrixLayout::Fast, pairs, &way)?;
        let accumulations: Vec<Accumulation> =
            fast.accumulations().iter().copied().filter(|way| *way != Accumulation::Deterministic).collect();
        rows.extend(self.measured(&mut backend, &fast.by_lor(), MatrixLayout::Paper, pairs, &accumulations)?);
        let one_order = new(&backend, Residence::OneOrder)?;
        let loading_s = self.loading_s(&mut backend, &one_order)?;
        let reloads = rows.iter_mut().filter(|row| row.accumulation == Accumulation::Reload);
        reloads.for_each(|row| row.loading_s = Some(loading_s));
        Ok(rows)
    }

    /// Returns the median seconds to load either order while the other is loaded.
    #[cfg(feature = "cuda")]
    fn loading_s(&self, backend: &mut cuda::CudaBackend, operator: &cuda::StoredMatrix) -> Result<[f64; 2], SetupError> {
        let mut secs = [Vec::new(), Vec::new()];
        for _ in 0..self.num_times {
            // It begins with the lines.
            for (number, order) in [(1, MatrixOrder::Functions), (0, MatrixOrder::Lines)] {
                backend.finish()?;
                let start = Instant::now();
                operator.load(backend, order)?;
                backend.finish()?;
                secs[number].push(start.elapsed().as_secs_f64());
            }
        }
        Ok(secs.map(|secs| median_and_spread(secs).unwrap_or_default().0))
    }

    fn measured<B: Backend>(
        &self,
        backend: &mut B,
        operator: &impl LinearOperator<B>,
        layout: MatrixLayout,
        pairs: &CrystalPairs,
        accumulations: &[Accumulation],
    ) -> Result<Vec<MatrixTimes>, SetupError> {
        let task = Task::new();
        let num_coefficients = self.matrix.num_basic * pairs.num_symmetries();
        let x = backend.upload(Arc::new(vec![1.0; num_coefficients]))?;
        let mut y = backend.zeros(pairs.len(Subset::ALL))?;
        let mut back = backend.zeros(num_coefficients)?;
        let step = if layout == MatrixLayout::Plain { self.plain_step.max(1) } else { 1 };
        let mut timed = |accumulation: Option<Accumulation>| -> Result<[f64; 2], SetupError> {
            let mut secs = Vec::new();
            while secs.len() <= self.num_times && secs.iter().all(|secs| *secs < SLOW_SECS) {
                backend.finish()?;
                let start = Instant::now();
                match accumulation {
                    None => operator.apply(backend, Subset::ALL, &x, &mut y, &task)?,
                    Some(way) => operator.adjoint(backend, Subset::ALL, &y, way, &mut back, &task)?,
                }
                backend.finish()?;
                secs.push(start.elapsed().as_secs_f64());
            }
            if secs.len() > 1 {
                // The first touches its memory for the first time.
                secs.remove(0);
            }
            let (median, spread) = median_and_spread(secs).unwrap_or_default();
            Ok([median, spread].map(|secs| secs * step as f64))
        };
        let forward_s = timed(None)?;
        let mut rows = Vec::new();
        for &accumulation in accumulations {
            rows.push((accumulation, timed(Some(accumulation))?));
        }
        let device = backend.name();
        let row = |(accumulation, backprojection_s)| MatrixTimes {
            device: device.clone(),
            layout,
            accumulation,
            forward_s,
            backprojection_s,
            loading_s: None,
            step,
        };
        Ok(rows.into_iter().map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{BasisKind, BasisSettings, MatrixElement};
    use crate::scanner::find_ring;

    /// As many elements of a line as its number has units beyond a multiple of three.
    fn matrix(ring: &CrystalRing) -> ResponseMatrix {
        let (mut first, mut elements) = (vec![0], Vec::new());
        for lor in 0..ring.num_lors() {
            elements.extend((0..lor % 3).map(|basic| MatrixElement::new(basic, 1.0)));
            first.push(elements.len() as u64);
        }
        let basis = BasisSettings { kind: BasisKind::Polar, spacing_mm: 10.0, radius_mm: 30.0, half_length_mm: 10.0 };
        let (first, elements) = (Arc::new(first), Arc::new(elements));
        ResponseMatrix { scanner: ring.name.clone(), basis, num_basic: 3, scale_mm3: 1.0, first, elements, made: None }
    }

    #[test]
    fn a_part_of_the_orbits_is_whole() {
        let ring = find_ring("madpet2-reduced").unwrap();
        let (all, pairs) = (Arc::new(matrix(ring)), CrystalPairs::new(ring, &ring.symmetries()));
        let part = one_orbit_in(5, &all, &pairs);
        for orbit in 0..pairs.num_orbits() {
            for &lor in pairs.orbit(orbit) {
                let expected = if orbit % 5 == 0 { all.row(lor as usize) } else { &[] };
                assert_eq!(part.row(lor as usize), expected, "{lor}");
            }
        }
        assert_eq!(one_orbit_in(1, &all, &pairs), all);
        assert!((*part).clone().validate(ring).is_ok());
    }

    #[test]
    fn the_processor_has_a_plain_and_a_fast_way() {
        let ring = find_ring("madpet2-reduced").unwrap();
        let timing =
            MatrixTiming { ring, matrix: Arc::new(matrix(ring)), device: DeviceChoice::Cpu, num_times: 1, plain_step: 4 };
        let rows = matrix_times(&timing).unwrap();
        let accumulations: Vec<_> = rows.iter().map(|row| (row.layout, row.accumulation, row.step)).collect();
        let expected = [
            (MatrixLayout::Plain, Accumulation::Deterministic, 4),
            (MatrixLayout::Fast, Accumulation::Deterministic, 1),
            (MatrixLayout::Fast, Accumulation::Reload, 1),
        ];
        assert_eq!(accumulations, expected);
        assert!(rows.iter().all(|row| row.both_s() > 0.0 && row.loading_s.is_none()));
    }
}
