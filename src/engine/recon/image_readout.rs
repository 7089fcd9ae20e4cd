//! Measurements and copies of an algorithm's image in any basis.

use crate::algebra::{Backend, BackendError, Image, ImageSpace, PendingVolume};
use crate::data::{RoiMask, RoiSums, Volume};

/// Regions on the device, and what copies of the image for the screen need; both are made when they are first asked for.
pub(super) struct ImageReadout<B: Backend, S> {
    space: S,
    /// The voxels of the image that was looked at last, where these are not its coefficients.
    evaluated: Option<B::Array<Image>>,
    masks: Option<B::Masks>,
    /// The inner `None` is a back end that needs nothing.
    display: Option<Option<B::Display>>,
}

impl<B: Backend, S: ImageSpace<B>> ImageReadout<B, S> {
    pub fn new(space: S) -> Self {
        Self { space, evaluated: None, masks: None, display: None }
    }

    /// Returns the basis of the image.
    pub fn space(&self) -> &S {
        &self.space
    }

    /// Measures these regions from now on.
    pub fn set_rois(&mut self, backend: &mut B, masks: &[RoiMask]) -> Result<(), BackendError> {
        self.masks = Some(backend.masks(masks, &|voxel| self.space.place(voxel))?);
        Ok(())
    }

    /// Sums over each region.
    pub fn roi_sums(&mut self, backend: &mut B, x: &B::Array<Image>) -> Result<Vec<RoiSums>, BackendError> {
        let Some(masks) = &self.masks else { return Ok(Vec::new()) };
        let voxels = voxels(&self.space, &mut self.evaluated, backend, x)?;
        backend.roi_sums(voxels, masks)
    }

    /// Copies `scale` times the image.
    pub fn volume_into(
        &mut self,
        backend: &mut B,
        x: &B::Array<Image>,
        scale: f32,
        volume: &mut Volume,
    ) -> Result<(), BackendError> {
        let voxels = voxels(&self.space, &mut self.evaluated, backend, x)?;
        backend.read(voxels, |voxels| self.space.write(voxels, scale, volume))
    }

    /// Begins to copy `scale` times the image while the device continues. `None` if that gains nothing.
    pub fn begin_volume(
        &mut self,
        backend: &mut B,
        x: &B::Array<Image>,
        scale: f32,
    ) -> Result<Option<PendingVolume>, BackendError> {
        let display = match &mut self.display {
            Some(display) => display,
            none => none.insert(backend.display(self.space.grid().size, &|voxel| self.space.place(voxel))?),
        };
        let Some(display) = display else { return Ok(None) };
        let voxels = voxels(&self.space, &mut self.evaluated, backend, x)?;
        backend.begin_copy(voxels, scale, display).map(Some)
    }
}

/// Returns the voxels of the image x.
fn voxels<'a, B: Backend>(
    space: &impl ImageSpace<B>,
    evaluated: &'a mut Option<B::Array<Image>>,
    backend: &mut B,
    x: &'a B::Array<Image>,
) -> Result<&'a B::Array<Image>, BackendError> {
    let Some(len) = space.evaluated_len() else { return Ok(x) };
    let voxels = match evaluated {
        Some(voxels) => voxels,
        none => none.insert(backend.zeros(len)?),
    };
    space.evaluate(backend, x, voxels)?;
    Ok(voxels)
}
