//! Kernels of algorithms that climb, and their implementation on the host. On CUDA: `kernels/arrays.cu`, `kernels/reductions.cu`.

use rayon::prelude::*;

use crate::algebra::{Backend, BackendError, CHUNK, Host, HostArray, Image};

/// The kernels of algorithms that climb on a back end: each is one pass through an image.
pub trait AscentKernels: Backend {
    /// out = scale · (a − b) + c: a gradient of all data from those of a subset.
    ///
    /// # Errors
    /// Different lengths, device failure.
    fn scaled_difference(
        &mut self,
        out: &mut Self::Array<Image>,
        scale: f32,
        parts: [&Self::Array<Image>; 2],
        c: Option<&Self::Array<Image>>,
    ) -> Result<(), BackendError>;

    /// x = max(floor, x + step size · P · direction). Returns Σ (P · direction)² and Σ x² of the x before, in f64, in an order that
    /// does not depend on the number of threads. The values of the direction are lost.
    ///
    /// # Errors
    /// Different lengths, device failure.
    fn climb(
        &mut self,
        x: &mut Self::Array<Image>,
        floor: &Self::Array<Image>,
        step_size: f32,
        preconditioner: &Self::Array<Image>,
        direction: &mut Self::Array<Image>,
    ) -> Result<[f64; 2], BackendError>;

    /// x = max(x, y).
    ///
    /// # Errors
    /// Different lengths, device failure.
    fn raise(&mut self, x: &mut Self::Array<Image>, y: &Self::Array<Image>) -> Result<(), BackendError>;

    /// Returns the largest |x|; 0 of none.
    ///
    /// # Errors
    /// Device failure.
    fn max_magnitude(&mut self, x: &Self::Array<Image>) -> Result<f64, BackendError>;
}

fn expect_len<const N: usize>(expected: usize, arrays: [&HostArray<Image>; N]) -> Result<(), BackendError> {
    match arrays.into_iter().map(|array| array.len()).find(|found| *found != expected) {
        Some(found) => Err(BackendError::Length { expected, found }),
        None => Ok(()),
    }
}

/// Returns the largest |x|; 0 of none.
pub(crate) fn max_magnitude(x: &[f32]) -> f32 {
    x.iter().fold(0.0, |largest, value| value.abs().max(largest))
}

impl AscentKernels for Host {
    fn scaled_difference(
        &mut self,
        out: &mut HostArray<Image>,
        scale: f32,
        [a, b]: [&HostArray<Image>; 2],
        c: Option<&HostArray<Image>>,
    ) -> Result<(), BackendError> {
        expect_len(out.len(), [a, b, c.unwrap_or(a)])?;
        out.values_mut().par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            let part = |values: &HostArray<Image>| chunk * CHUNK..(chunk * CHUNK + CHUNK).min(values.len());
            let values = out.iter_mut().zip(a[part(a)].iter().zip(&b[part(b)]));
            match c {
                Some(c) => values.zip(&c[part(c)]).for_each(|((out, (a, b)), c)| *out = scale * (a - b) + c),
                None => values.for_each(|(out, (a, b))| *out = scale * (a - b)),
            }
        });
        Ok(())
    }

    fn climb(
        &mut self,
        x: &mut HostArray<Image>,
        floor: &HostArray<Image>,
        step_size: f32,
        preconditioner: &HostArray<Image>,
        direction: &mut HostArray<Image>,
    ) -> Result<[f64; 2], BackendError> {
        expect_len(x.len(), [floor, preconditioner, direction])?;
        let others = floor.par_chunks(CHUNK).zip(preconditioner.par_chunks(CHUNK).zip(direction.par_chunks(CHUNK)));
        let chunks = x.values_mut().par_chunks_mut(CHUNK).zip(others);
        let sums_of_chunks = chunks.map(|(x, (floor, (preconditioner, direction)))| {
            let mut sums = [0.0; 2];
            for ((x, floor), (preconditioner, direction)) in x.iter_mut().zip(floor).zip(preconditioner.iter().zip(direction)) {
                let step = preconditioner * direction;
                sums[0] += f64::from(step) * f64::from(step);
                sums[1] += f64::from(*x) * f64::from(*x);
                *x = (*x + step_size * step).max(*floor);
            }
            sums
        });
        let partial: Vec<[f64; 2]> = sums_of_chunks.collect();
        Ok([0, 1].map(|sum| partial.iter().map(|sums| sums[sum]).sum()))
    }

    fn raise(&mut self, x: &mut HostArray<Image>, y: &HostArray<Image>) -> Result<(), BackendError> {
        expect_len(x.len(), [y])?;
        let chunks = x.values_mut().par_chunks_mut(CHUNK).zip(y.par_chunks(CHUNK));
        chunks.for_each(|(x, y)| x.iter_mut().zip(y).for_each(|(x, y)| *x = x.max(*y)));
        Ok(())
    }

    fn max_magnitude(&mut self, x: &HostArray<Image>) -> Result<f64, BackendError> {
        Ok(x.par_chunks(CHUNK).map(|x| f64::from(max_magnitude(x))).reduce(|| 0.0, f64::max))
    }
}
