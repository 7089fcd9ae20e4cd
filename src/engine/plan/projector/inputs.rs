//! Inputs of all projectors.

use std::sync::Arc;

use super::settings::{ProjectorSettings, rays_per_bin};
use crate::algebra::{Columns, FieldOfView, Voxels};
use crate::data::TubeSet;
use crate::geometry::Grid;
use crate::operator::{ImageModel, Misfit, OperatorError, Siddon};
use crate::scanner::ScanGeometry;

/// Inputs of a projector.
pub struct ProjectorInputs<'a> {
    /// Geometry of the scan.
    pub geometry: &'a Arc<ScanGeometry>,
    /// Settings of the projector.
    pub settings: &'a ProjectorSettings,
    /// Grid of the projector if it is not that of the image: the image is resampled to its slices.
    pub inner: Option<Grid>,
}

impl ProjectorInputs<'_> {
    pub(in crate::plan) fn geometry(&self) -> Arc<ScanGeometry> {
        Arc::clone(self.geometry)
    }

    pub(in crate::plan) fn grid(&self) -> Grid {
        self.inner.as_ref().unwrap_or(&self.settings.grid).clone()
    }

    /// Returns the images of the reconstruction, and what becomes of them before the projector sees them.
    pub(in crate::plan) fn image_model(&self, of_projector: &Voxels) -> (Voxels, Option<ImageModel>) {
        let ProjectorSettings { grid, fov_radius_mm, psf, .. } = self.settings;
        let image = match self.inner {
            None => of_projector.clone(),
            Some(_) => {
                let columns = Columns { classes: 1, lanes: grid.size[2], first: 0, tail: 0 };
                Voxels::in_columns(grid.clone(), FieldOfView::new(grid, *fov_radius_mm), columns)
            }
        };
        let model = ImageModel::new(&image, of_projector, psf.as_ref());
        (image, model)
    }

    /// Returns the projector per LOR.
    pub(in crate::plan) fn siddon(&self) -> Siddon {
        let projector = Siddon::new(self.geometry(), self.grid(), self.fov_radius_mm(), self.rays());
        match self.settings.tof {
            Some((bins, kernel)) => projector.with_tof(bins, kernel),
            None => projector,
        }
    }

    pub(in crate::plan) fn fov_radius_mm(&self) -> f64 {
        self.settings.fov_radius_mm
    }

    /// Refuses data with time of flight.
    pub(in crate::plan) fn without_tof(&self) -> Result<(), OperatorError> {
        if self.settings.tof.is_some() { Err(Misfit::Tof.into()) } else { Ok(()) }
    }

    pub(in crate::plan) fn tubes(&self) -> Result<&TubeSet, OperatorError> {
        self.without_tof()?;
        self.settings.tubes.as_deref().ok_or(OperatorError::Unsuitable(Misfit::NoTubes))
    }

    pub(in crate::plan) fn rays(&self) -> [usize; 2] {
        rays_per_bin(self.geometry, &self.settings.grid, self.settings.fov_radius_mm, self.settings.rays)
    }
}
