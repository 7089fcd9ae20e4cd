//! The processor as a back end.

use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::sync::Arc;

use rayon::prelude::*;

use super::{Backend, BackendError, Image, Kind, PendingVolume, Rows, VoxelMap};
use crate::data::{RoiMask, RoiSums};
use crate::text::counted;

/// Values per piece of a reduction: fixed, so that sums have the same bits for any number of threads.
pub const CHUNK: usize = 1 << 15;

/// The processor: arrays in ordinary memory, work shared among the threads of the rayon pool that the caller runs in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host;

/// Values in ordinary memory. A copy shares them until one of the two is changed.
pub struct HostArray<K> {
    values: Arc<Vec<f32>>,
    kind: PhantomData<fn() -> K>,
}

impl<K> HostArray<K> {
    /// Returns the values, to be changed.
    pub fn values_mut(&mut self) -> &mut [f32] {
        Arc::<Vec<f32>>::make_mut(&mut self.values).as_mut_slice()
    }

    /// Returns the values themselves.
    pub fn into_values(self) -> Vec<f32> {
        Arc::unwrap_or_clone(self.values)
    }

    /// Returns the piece that an operation was asked to use.
    ///
    /// # Errors
    /// It ends behind the array.
    pub fn piece(&self, range: Range<usize>) -> Result<&[f32], BackendError> {
        self.get(range.clone()).ok_or(BackendError::Length { expected: range.end, found: self.len() })
    }

    /// The same, to be changed.
    ///
    /// # Errors
    /// It ends behind the array.
    pub fn piece_mut(&mut self, range: Range<usize>) -> Result<&mut [f32], BackendError> {
        let found = self.len();
        self.values_mut().get_mut(range.clone()).ok_or(BackendError::Length { expected: range.end, found })
    }
}

impl Rows {
    /// Calls `work` with each value of x and its value of y.
    fn zip(self, x: &mut [f32], y: &[f32], work: impl Fn(&mut f32, f32) + Sync) {
        x.par_chunks_mut(self.repeats * self.len).zip(y.par_chunks(self.len)).for_each(|(x, y)| {
            for x in x.chunks_mut(self.len) {
                x.iter_mut().zip(y).for_each(|(x, y)| work(x, *y));
            }
        });
    }
}

impl<K> Clone for HostArray<K> {
    fn clone(&self) -> Self {
        Arc::clone(&self.values).into()
    }
}

impl<K> Deref for HostArray<K> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}

impl<K> From<Arc<Vec<f32>>> for HostArray<K> {
    fn from(values: Arc<Vec<f32>>) -> Self {
        Self { values, kind: PhantomData }
    }
}

impl<K> From<Vec<f32>> for HostArray<K> {
    fn from(values: Vec<f32>) -> Self {
        Arc::new(values).into()
    }
}

impl Backend for Host {
    const SHARES_MEMORY: bool = true;

    type Array<K: Kind> = HostArray<K>;
    type Masks = Vec<RoiMask>;
    type VoxelMap = VoxelMap;
    type Display = std::convert::Infallible;

    fn name(&self) -> String {
        format!("CPU, {}", counted(rayon::current_num_threads(), "thread"))
    }

    fn finish(&mut self) -> Result<(), BackendError> {
        Ok(())
    }

    fn zeros<K: Kind>(&mut self, len: usize) -> Result<HostArray<K>, BackendError> {
        Ok(vec![0.0; len].into())
    }

    fn upload<K: Kind>(&mut self, values: Arc<Vec<f32>>) -> Result<HostArray<K>, BackendError> {
        Ok(values.into())
    }

    fn read<K: Kind, R>(&mut self, array: &HostArray<K>, read: impl FnOnce(&[f32]) -> R) -> Result<R, BackendError> {
        Ok(read(array))
    }

    fn fill<K: Kind>(&mut self, array: &mut HostArray<K>, value: f32) -> Result<(), BackendError> {
        array.values_mut().par_chunks_mut(CHUNK).for_each(|chunk| chunk.fill(value));
        Ok(())
    }

    fn multiply<K: Kind>(
        &mut self,
        x: &mut HostArray<K>,
        at: usize,
        y: &HostArray<K>,
        range: Range<usize>,
    ) -> Result<(), BackendError> {
        let y = y.piece(range)?;
        let x = x.piece_mut(at..at + y.len())?;
        x.par_chunks_mut(CHUNK).zip(y.par_chunks(CHUNK)).for_each(|(x, y)| {
            for (x, y) in x.iter_mut().zip(y) {
                *x *= y;
            }
        });
        Ok(())
    }

    fn add_scaled<K: Kind>(
        &mut self,
        x: &mut HostArray<K>,
        at: usize,
        scale: f32,
        y: &HostArray<K>,
        range: Range<usize>,
    ) -> Result<(), BackendError> {
        let y = y.piece(range)?;
        let x = x.piece_mut(at..at + y.len())?;
        x.par_chunks_mut(CHUNK).zip(y.par_chunks(CHUNK)).for_each(|(x, y)| {
            for (x, y) in x.iter_mut().zip(y) {
                *x += scale * y;
            }
        });
        Ok(())
    }

    fn dot<K: Kind>(&mut self, x: &HostArray<K>, at: usize, y: &HostArray<K>, range: Range<usize>) -> Result<f64, BackendError> {
        let y = y.piece(range)?;
        let x = x.piece(at..at + y.len())?;
        let partial: Vec<f64> = x
            .par_chunks(CHUNK)
            .zip(y.par_chunks(CHUNK))
            .map(|(x, y)| x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum())
            .collect();
        Ok(partial.iter().sum())
    }

    fn multiply_rows<K: Kind>(
        &mut self,
        x: &mut HostArray<K>,
        at: usize,
        y: &HostArray<K>,
        range: Range<usize>,
        rows: Rows,
    ) -> Result<(), BackendError> {
        let y = y.piece(range)?;
        let x = x.piece_mut(at..at + rows.repeats * y.len())?;
        rows.zip(x, y, |x, y| *x *= y);
        Ok(())
    }

    fn add_rows<K: Kind>(
        &mut self,
        x: &mut HostArray<K>,
        at: usize,
        y: &HostArray<K>,
        range: Range<usize>,
        rows: Rows,
    ) -> Result<(), BackendError> {
        let y = y.piece(range)?;
        let x = x.piece_mut(at..at + rows.repeats * y.len())?;
        rows.zip(x, y, |x, y| *x += y);
        Ok(())
    }

    fn dot_rows<K: Kind>(
        &mut self,
        x: &HostArray<K>,
        at: usize,
        y: &HostArray<K>,
        range: Range<usize>,
        rows: Rows,
    ) -> Result<f64, BackendError> {
        let y = y.piece(range)?;
        let x = x.piece(at..at + rows.repeats * y.len())?;
        let of_row = |(x, y): (&[f32], &[f32])| -> f64 {
            x.chunks(rows.len).flat_map(|x| x.iter().zip(y)).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
        };
        let partial: Vec<f64> = x.par_chunks(rows.repeats * rows.len).zip(y.par_chunks(rows.len)).map(of_row).collect();
        Ok(partial.iter().sum())
    }

    fn voxel_map(&mut self, map: VoxelMap) -> Result<VoxelMap, BackendError> {
        Ok(map)
    }

    fn map_voxels(&mut self, map: &VoxelMap, x: &HostArray<Image>, out: &mut HostArray<Image>) -> Result<(), BackendError> {
        let x = x.piece(0..map.from().len)?;
        map.apply(x, out.piece_mut(0..map.to().len)?);
        Ok(())
    }

    fn masks(&mut self, masks: &[RoiMask], index: &dyn Fn(usize) -> usize) -> Result<Self::Masks, BackendError> {
        let place = |&(voxel, weight): &(u32, f32)| (index(voxel as usize) as u32, weight);
        Ok(masks.iter().map(|mask| RoiMask { voxels: mask.voxels.iter().map(place).collect() }).collect())
    }

    fn roi_sums(&mut self, x: &HostArray<Image>, masks: &Self::Masks) -> Result<Vec<RoiSums>, BackendError> {
        Ok(masks.iter().map(|mask| mask.sums(x)).collect())
    }

    fn display(&mut self, _: [usize; 3], _: &dyn Fn(usize) -> usize) -> Result<Option<Self::Display>, BackendError> {
        Ok(None)
    }

    fn begin_copy(&mut self, _: &HostArray<Image>, _: f32, display: &mut Self::Display) -> Result<PendingVolume, BackendError> {
        match *display {}
    }
}
