//! The part of the photon pairs that passes maps of attenuation on the lines of a cylinder.

use std::sync::Arc;

use rayon::prelude::*;

use crate::algebra::Host;
use crate::data::{AttenuationMap, Michelogram, SinogramRow};
use crate::operator::{OperatorError, Siddon, Subset, ViewProjector};
use crate::plan::device::choice::DeviceChoice;
use crate::plan::error::{AttenuationError, SetupError};
use crate::plan::platform::choose::{ChosenProjector, choose_projector};
use crate::plan::projector::inputs::ProjectorInputs;
use crate::plan::projector::settings::{ProjectorChoice, ProjectorSettings, Rays};
use crate::plan::projector::system::System;
use crate::scanner::ScanGeometry;
use crate::task::Task;

/// Returns the part of the photon pairs of each bin that passes some maps together, as an object and its bed: exp(−∫ µ), with the mean
/// integral over the rays of the bin.
///
/// # Errors
/// Stopped, too little memory.
pub fn attenuation_factors(
    geometry: &Arc<ScanGeometry>,
    maps: &[Arc<AttenuationMap>],
    rays: Rays,
    task: &Task,
) -> Result<Michelogram, AttenuationError> {
    Ok(Michelogram::new(Arc::clone(geometry), survival(geometry, maps, rays, task)?)?)
}

/// Returns the same as values in the order of a michelogram.
///
/// # Errors
/// Stopped, too little memory.
pub(super) fn survival(
    geometry: &Arc<ScanGeometry>,
    maps: &[Arc<AttenuationMap>],
    rays: Rays,
    task: &Task,
) -> Result<Vec<f32>, SetupError> {
    let mut sum = vec![0.0f32; geometry.num_bins()];
    for map in maps {
        let mut views = AttenuationOfViews::with_rays(map, geometry, DeviceChoice::Cpu, rays)?;
        let integrals = views.system.project(Subset::ALL, &map.per_mm, task)?;
        let integrals = views.system.data().in_order(integrals);
        sum.par_iter_mut().zip(integrals).for_each(|(sum, integral)| *sum += integral);
    }
    sum.par_iter_mut().for_each(|integral| *integral = (-*integral).exp());
    Ok(sum)
}

/// The part of the photon pairs that passes some maps together, of single rows of a sinogram: [`attenuation_factors`] line by line.
pub(in crate::plan) struct AttenuationOfRows {
    /// For each map its projector and its values.
    maps: Vec<(Siddon, Vec<f32>)>,
}

impl AttenuationOfRows {
    /// Prepares the projections of maps; `None` without maps.
    pub(in crate::plan) fn new(geometry: &Arc<ScanGeometry>, maps: &[Arc<AttenuationMap>]) -> Option<Self> {
        let prepared = maps.iter().map(|map| {
            let grid = map.per_mm.grid.clone();
            let radius_mm = grid.farthest_from_axis_mm();
            let settings = ProjectorSettings::new(grid, radius_mm, ProjectorChoice::PER_LOR, DeviceChoice::Cpu);
            let siddon = ProjectorInputs { geometry, settings: &settings, inner: None }.siddon();
            let values = ViewProjector::<Host>::voxels(&siddon).coefficients(&map.per_mm);
            (siddon, values)
        });
        (!maps.is_empty()).then(|| Self { maps: prepared.collect() })
    }

    /// Returns the factors of a row, by tangential position.
    pub(in crate::plan) fn row(&self, row: SinogramRow, num_tangential: usize) -> Vec<f32> {
        let factor = |tangential_pos| {
            let bin = [row.view, tangential_pos];
            let integral: f64 = self.maps.iter().map(|(siddon, values)| siddon.bin_sum(bin, row.plane, values)).sum();
            (-integral).exp() as f32
        };
        (0..num_tangential).into_par_iter().map(factor).collect()
    }
}

/// The part of the photon pairs that passes, of all planes of a cylinder's views.
pub(in crate::plan) struct AttenuationOfViews {
    map: Arc<AttenuationMap>,
    system: Box<dyn System>,
}

impl AttenuationOfViews {
    /// Opens the projector for all planes at once, else line by line.
    ///
    /// # Errors
    /// Too little memory, device failure.
    pub(in crate::plan) fn new(
        map: &Arc<AttenuationMap>,
        geometry: &Arc<ScanGeometry>,
        device: DeviceChoice,
    ) -> Result<Self, SetupError> {
        Self::with_rays(map, geometry, device, Rays::Fixed { tangential: 1, axial: 1 })
    }

    /// The same with these rays of a bin.
    fn with_rays(
        map: &Arc<AttenuationMap>,
        geometry: &Arc<ScanGeometry>,
        device: DeviceChoice,
        rays: Rays,
    ) -> Result<Self, SetupError> {
        let choose = |projector, device| {
            let (grid, radius_mm) = (map.per_mm.grid.clone(), map.per_mm.grid.farthest_from_axis_mm());
            let settings =
                ProjectorSettings { rays, may_resample: false, ..ProjectorSettings::new(grid, radius_mm, projector, device) };
            choose_projector(geometry, &settings)
        };
        // Line by line on the processor, where data are in the order of a michelogram.
        let chosen = choose(ProjectorChoice::AXIAL_RUNS, device).or_else(|_| choose(ProjectorChoice::PER_LOR, DeviceChoice::Cpu));
        let ChosenProjector { system, .. } = chosen?;
        Ok(Self { map: Arc::clone(map), system })
    }

    /// Multiplies the factors of a subset's bins.
    ///
    /// # Errors
    /// Stopped, device failure.
    pub(in crate::plan) fn multiply(&mut self, subset: Subset, factors: &mut [f32], task: &Task) -> Result<(), OperatorError> {
        let integrals = self.system.project(subset, &self.map.per_mm, task)?;
        factors.par_iter_mut().zip(integrals).for_each(|(factor, integral)| *factor *= (-integral).exp());
        Ok(())
    }
}
