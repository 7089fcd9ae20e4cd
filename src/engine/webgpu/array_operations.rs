//! The operations on arrays that every back end has.

use std::ops::Range;
use std::sync::Arc;

use super::array::{Segments, WebGpuArray, in_both};
use super::backend::{Span, WebGpuBackend};
use super::images::display::WebGpuDisplay;
use super::images::voxel_map::WebGpuVoxelMap;
use crate::algebra::{Backend, BackendError, Image, Kind, PendingVolume, VoxelMap};
use crate::data::{RoiMask, RoiSums};

/// Regions of interest, whose voxels the device gathers. The host adds them up in f64.
pub struct WebGpuMasks {
    /// Weights and places among the gathered values.
    masks: Vec<RoiMask>,
    places: Segments,
    gathered: Segments,
}

impl Backend for WebGpuBackend {
    const SHARES_MEMORY: bool = false;

    type Array<K: Kind> = WebGpuArray<K>;
    type Masks = WebGpuMasks;
    type VoxelMap = WebGpuVoxelMap;
    type Display = WebGpuDisplay;

    fn name(&self) -> String {
        let info = self.info();
        format!("{} ({})", info.name, info.interface)
    }

    fn finish(&mut self) -> Result<(), BackendError> {
        Ok(self.commands.finish("finish its work")?)
    }

    fn time_kernels(&mut self) -> Result<bool, BackendError> {
        Ok(self.commands.time_kernels()?)
    }

    fn take_kernel_secs(&mut self) -> Result<Option<f64>, BackendError> {
        Ok(self.commands.take_kernel_secs()?)
    }

    fn zeros<K: Kind>(&mut self, len: usize) -> Result<WebGpuArray<K>, BackendError> {
        Ok(self.memory(len, 4)?.into())
    }

    fn upload<K: Kind>(&mut self, values: Arc<Vec<f32>>) -> Result<WebGpuArray<K>, BackendError> {
        Ok(self.copied(&values)?.into())
    }

    fn read<K: Kind, R>(&mut self, array: &WebGpuArray<K>, read: impl FnOnce(&[f32]) -> R) -> Result<R, BackendError> {
        Ok(read(&self.read_values(&array.0, 0..array.len())?))
    }

    fn fill<K: Kind>(&mut self, array: &mut WebGpuArray<K>, value: f32) -> Result<(), BackendError> {
        self.set(&array.0, value);
        Ok(())
    }

    fn multiply<K: Kind>(
        &mut self,
        x: &mut WebGpuArray<K>,
        at: usize,
        y: &WebGpuArray<K>,
        range: Range<usize>,
    ) -> Result<(), BackendError> {
        let kernel = self.kernels.multiply.clone();
        self.with_both(&kernel, (x, at), (y, range), 0.0)
    }

    fn add_scaled<K: Kind>(
        &mut self,
        x: &mut WebGpuArray<K>,
        at: usize,
        scale: f32,
        y: &WebGpuArray<K>,
        range: Range<usize>,
    ) -> Result<(), BackendError> {
        let kernel = self.kernels.add_scaled.clone();
        self.with_both(&kernel, (x, at), (y, range), scale)
    }

    fn dot<K: Kind>(
        &mut self,
        x: &WebGpuArray<K>,
        at: usize,
        y: &WebGpuArray<K>,
        range: Range<usize>,
    ) -> Result<f64, BackendError> {
        y.expect_range(&range)?;
        x.expect_range(&(at..at + range.len()))?;
        let parts = in_both(&x.0, at, &y.0, range);
        let lens: Vec<usize> = parts.iter().map(|part| part.len).collect();
        let kernel = self.kernels.dot_product.clone();
        let sums = self.reduce::<1>(&lens, |commands, part, num_groups, partial| {
            let both = &parts[part];
            let span = Span { x_at: both.x_at as u32, y_at: both.y_at as u32, len: both.len as u32, value: 0.0 };
            commands.dispatch(&kernel, num_groups, &span, &[partial, both.x, both.y]);
        })?;
        Ok(sums.into_iter().map(|[sum]| f64::from(sum)).sum())
    }

    fn voxel_map(&mut self, map: VoxelMap) -> Result<WebGpuVoxelMap, BackendError> {
        Ok(WebGpuVoxelMap::new(self, &map)?)
    }

    fn map_voxels(
        &mut self,
        map: &WebGpuVoxelMap,
        x: &WebGpuArray<Image>,
        out: &mut WebGpuArray<Image>,
    ) -> Result<(), BackendError> {
        Ok(map.apply(self, x, out)?)
    }

    fn masks(&mut self, masks: &[RoiMask], index: &dyn Fn(usize) -> usize) -> Result<WebGpuMasks, BackendError> {
        let places: Vec<u32> =
            masks.iter().flat_map(|mask| mask.voxels.iter()).map(|(voxel, _)| index(*voxel as usize) as u32).collect();
        let mut next = 0;
        let masks = masks.iter().map(|mask| {
            let first = next;
            next += mask.voxels.len() as u32;
            RoiMask { voxels: (first..next).zip(mask.voxels.iter()).map(|(at, (_, weight))| (at, *weight)).collect() }
        });
        Ok(WebGpuMasks { masks: masks.collect(), gathered: self.memory(places.len(), 4)?, places: self.copied(&places)? })
    }

    fn roi_sums(&mut self, x: &WebGpuArray<Image>, masks: &WebGpuMasks) -> Result<Vec<RoiSums>, BackendError> {
        let WebGpuMasks { masks, places, gathered } = masks;
        if places.len == 0 {
            return Ok(masks.iter().map(|mask| mask.sums(&[])).collect());
        }
        self.gather(1.0, &x.0, places, gathered);
        let values = self.read_values(gathered, 0..places.len)?;
        Ok(masks.iter().map(|mask| mask.sums(&values)).collect())
    }

    fn display(&mut self, size: [usize; 3], index: &dyn Fn(usize) -> usize) -> Result<Option<WebGpuDisplay>, BackendError> {
        Ok(Some(WebGpuDisplay::new(self, size, index)?))
    }

    fn begin_copy(
        &mut self,
        x: &WebGpuArray<Image>,
        scale: f32,
        display: &mut WebGpuDisplay,
    ) -> Result<PendingVolume, BackendError> {
        Ok(display.begin_copy(self, x, scale)?)
    }
}
