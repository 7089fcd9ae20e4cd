//! Attenuation of the object: maps out of files of µ or CT, and the part of the photon pairs that passes on the lines of a cylinder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use crate::data::{AttenuationMap, Counts, CtSettings, ImageChoice, Michelogram, MuUnit, Notice};
use crate::geometry::Grid;
use crate::io::dicom::is_dicom;
use crate::io::{read_attenuation, read_images};
use crate::operator::{OperatorError, Subset};
use crate::plan::device::choice::DeviceChoice;
use crate::plan::error::{AttenuationError, CtError, SetupError};
use crate::plan::platform::choose::{ChosenProjector, choose_projector};
use crate::plan::projector::settings::{ProjectorChoice, ProjectorSettings, Rays};
use crate::plan::projector::system::System;
use crate::recon::PlacedCt;
use crate::scanner::ScanGeometry;
use crate::task::Task;

/// Reads the attenuation of an object in this field of view: a map of µ, or CT with the settings of its conversion. DICOM is CT,
/// with the usual settings by default. Notices name the conversion and the part of the field of view without CT.
///
/// # Errors
/// An unreadable file, no map of attenuation, no CT, CT outside the field of view.
pub fn read_object_attenuation(
    file: &Path,
    ct: Option<&CtSettings>,
    unit: Option<MuUnit>,
    field: &Grid,
) -> Result<(AttenuationMap, Vec<Notice>), AttenuationError> {
    let settings = match ct {
        Some(settings) => *settings,
        None if is_dicom(file) => CtSettings::default(),
        None => return Ok(read_attenuation(file, unit)?),
    };
    let refuse = |problem| CtError { file: file.to_owned(), problem };
    let (series, mut notices) = read_images(file, ImageChoice::Only)?;
    let ct = PlacedCt::new(&series, &settings).map_err(refuse)?;
    let cover = ct.cover(field, Some(field.inscribed_radius_mm())).map_err(refuse)?;
    let (per_mm, conversion) = (ct.attenuation(&ct.grid(Some(field)).map_err(refuse)?), ct.conversion());
    let name = file.display();
    notices.push(Notice::info(format!("{name}: attenuation by CT, {}", conversion.text())));
    notices.extend(ct.remarks().into_iter().chain(cover.text()).map(|text| Notice::warning(format!("{name}: {text}"))));
    Ok((AttenuationMap { file: file.to_owned(), per_mm, ct: Some(conversion) }, notices))
}

/// Reads the attenuation of an object, as [`read_object_attenuation`] does, and further maps of µ, as of a bed; all maps of µ have
/// this unit. Returns that of the object first.
///
/// # Errors
/// As [`read_object_attenuation`].
pub fn read_maps(
    object: &Path,
    ct: Option<&CtSettings>,
    added: &[PathBuf],
    unit: Option<MuUnit>,
    field: &Grid,
) -> Result<(Vec<Arc<AttenuationMap>>, Vec<Notice>), AttenuationError> {
    let (mut maps, mut notices) = (Vec::new(), Vec::new());
    for (file, ct) in [(object, ct)].into_iter().chain(added.iter().map(|file| (file.as_path(), None))) {
        let (map, found) = read_object_attenuation(file, ct, unit, field)?;
        maps.push(Arc::new(map));
        notices.extend(found);
    }
    Ok((maps, notices))
}

/// Returns counts whose factors include the attenuation of maps.
///
/// # Errors
/// Stopped, too little memory.
pub fn attenuated(counts: Counts, maps: Vec<Arc<AttenuationMap>>, task: &Task) -> Result<Counts, AttenuationError> {
    let mut factors = attenuation_factors(counts.geometry(), &maps, Rays::Auto, task)?;
    if let Some(known) = &counts.multiplicative {
        factors.scale_bins(&known.counts);
    }
    Ok(Counts { multiplicative: Some(factors), attenuation: maps, ..counts })
}

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
    let mut sum = vec![0.0f32; geometry.num_bins()];
    for map in maps {
        let mut views = AttenuationOfViews::with_rays(map, geometry, DeviceChoice::Cpu, rays)?;
        let integrals = views.system.project(Subset::ALL, &map.per_mm, task).map_err(SetupError::from)?;
        let integrals = views.system.data().in_order(integrals);
        sum.par_iter_mut().zip(integrals).for_each(|(sum, integral)| *sum += integral);
    }
    sum.par_iter_mut().for_each(|integral| *integral = (-*integral).exp());
    Ok(Michelogram::new(Arc::clone(geometry), sum)?)
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
