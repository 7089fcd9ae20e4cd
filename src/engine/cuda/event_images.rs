//! Projection of several images at once onto events on a CUDA device (`kernels/events/event_images.cu`).

use std::sync::{Mutex, PoisonError};

use cudarc::driver::CudaSlice;

use super::backend::{CudaArray, CudaBackend};
use super::device::driver;
use super::device::pacing::Pace;
use super::error::CudaError;
use super::kernel::one_each;
use super::launches::event_images::Kernels;
use super::launches::events::Events as EventTables;
use crate::algebra::{Data, Image};
use crate::operator::{IMAGES_AT_ONCE, OperatorError};
use crate::task::Task;

/// The kernels, with the speed of each, and the images between each other.
pub(super) struct EventImages {
    kernels: Kernels,
    state: Mutex<State>,
}

struct State {
    forward: Pace,
    back: Pace,
    /// `[voxel][image]`, of [`IMAGES_AT_ONCE`]; made on first use.
    images: Option<CudaSlice<f32>>,
    /// Placeholders for images and data that a kernel does not touch, of fewer than it takes.
    none: [CudaSlice<f32>; IMAGES_AT_ONCE - 1],
}

impl State {
    fn images(&mut self, backend: &CudaBackend, num_voxels: usize) -> Result<CudaSlice<f32>, CudaError> {
        match self.images.take() {
            Some(images) => Ok(images),
            None => driver::zeros(&backend.stream, IMAGES_AT_ONCE * num_voxels),
        }
    }
}

/// Returns four arrays to read: some, and the first again for those that are missing.
fn to_read<'a, K>(arrays: &[&'a CudaArray<K>]) -> Option<[&'a CudaSlice<f32>; IMAGES_AT_ONCE]> {
    let first = *arrays.first()?;
    Some(std::array::from_fn(|index| &arrays.get(index).unwrap_or(&first).0))
}

/// Returns four arrays to write to: some, and `none` for those that are missing.
fn to_write<'a, K>(
    arrays: &'a mut [&mut CudaArray<K>],
    none: &'a mut [CudaSlice<f32>],
) -> Option<[&'a mut CudaSlice<f32>; IMAGES_AT_ONCE]> {
    let arrays = arrays.iter_mut().map(|array| &mut array.0).chain(none);
    let four: Vec<&mut CudaSlice<f32>> = arrays.take(IMAGES_AT_ONCE).collect();
    four.try_into().ok()
}

impl EventImages {
    /// Loads the kernels.
    ///
    /// # Errors
    /// Device failure.
    pub fn new(backend: &CudaBackend) -> Result<Self, CudaError> {
        let [a, b, c] = [(); IMAGES_AT_ONCE - 1].map(|()| driver::zeros(&backend.stream, 1));
        let state = State { forward: Pace::default(), back: Pace::default(), images: None, none: [a?, b?, c?] };
        Ok(Self { kernels: Kernels::load(&backend.context)?, state: Mutex::new(state) })
    }

    /// `out` = A x of two images or more, at most [`IMAGES_AT_ONCE`], for the events of a subset.
    ///
    /// # Errors
    /// Stopped, device failure.
    pub fn project(
        &self,
        backend: &CudaBackend,
        events: &EventTables<'_>,
        images: &[&CudaArray<Image>],
        out: &mut [&mut CudaArray<Data>],
        num_events: usize,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some([a, b, c, d]) = to_read(images) else { return Ok(()) };
        let (num, num_voxels) = (images.len() as u32, a.len());
        let mut wide = state.images(backend, num_voxels)?;
        let (shape, len) = (one_each(num_voxels), num_voxels as u64);
        self.kernels.interleave.launch(&backend.stream, shape, a, b, c, d, num, &mut wide, len)?;
        let State { forward, none, .. } = &mut *state;
        let Some([a, b, c, d]) = to_write(out, none) else { return Ok(()) };
        forward.run(backend, num_events, task, |first, count| {
            let (shape, first, count) = (one_each(count), first as u64, count as u64);
            let kernel = &self.kernels.forward;
            kernel.launch(&backend.stream, shape, events, &wide, &mut *a, &mut *b, &mut *c, &mut *d, num, first, count)
        })?;
        state.images = Some(wide);
        Ok(())
    }

    /// `out` = Aᵀ q of as many data, over the group and in the field of view, which `seen` is 1 in.
    ///
    /// # Errors
    /// Stopped, device failure.
    #[allow(clippy::too_many_arguments)]
    pub fn backproject(
        &self,
        backend: &CudaBackend,
        events: &EventTables<'_>,
        q: &[&CudaArray<Data>],
        seen: &CudaArray<Image>,
        out: &mut [&mut CudaArray<Image>],
        num_events: usize,
        task: &Task,
    ) -> Result<(), OperatorError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some([a, b, c, d]) = to_read(q) else { return Ok(()) };
        let (num, num_voxels) = (q.len() as u32, seen.len());
        let mut wide = state.images(backend, num_voxels)?;
        driver::clear(&backend.stream, &mut wide)?;
        let State { back, none, .. } = &mut *state;
        back.run(backend, num_events, task, |first, count| {
            let (shape, first, count) = (one_each(count), first as u64, count as u64);
            self.kernels.atomic.launch(&backend.stream, shape, events, a, b, c, d, num, &mut wide, first, count)
        })?;
        backend.sum_over_group(&mut wide)?;
        let Some([a, b, c, d]) = to_write(out, none) else { return Ok(()) };
        let (shape, len) = (one_each(num_voxels), num_voxels as u64);
        self.kernels.separate.launch(&backend.stream, shape, &wide, &seen.0, a, b, c, d, num, len)?;
        state.images = Some(wide);
        Ok(())
    }
}
