//! Maps of attenuation out of files of µ or CT.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::data::{AttenuationMap, CtSettings, ImageChoice, MuUnit, Notice};
use crate::geometry::Grid;
use crate::io::dicom::is_dicom;
use crate::io::{read_attenuation, read_images};
use crate::plan::error::{AttenuationError, CtError};
use crate::recon::PlacedCt;

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
