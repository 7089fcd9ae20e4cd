//! Maps of attenuation: images of µ at 511 keV in 1/cm, as CASToR, STIR and others take them.

use std::path::{Path, PathBuf};

use crate::data::{AttenuationMap, Notice, Unit};
use crate::io::by_content::read_volume;
use crate::io::error::{IoError, MAX_PER_CM, Unsupported};
use crate::io::notice;

/// A map whose largest value is smaller than this is rather in 1/mm, 1/cm: water has 0.096, and an inflated lung 0.03.
const USUAL_PER_CM: f32 = 0.02;
const MM_PER_CM: f32 = 10.0;

/// Returns the path of the map of a simulated list: `OUT_mu.nii.gz` in the folder of `OUT.petsird`.
pub fn map_beside(list: &Path) -> PathBuf {
    let stem = list.file_stem().unwrap_or_default().to_string_lossy();
    list.with_file_name(format!("{stem}_mu.nii.gz"))
}

/// Reads a map, an image of µ in 1/cm in any format of images.
///
/// # Errors
/// It is no image, an image of something else, or holds what no attenuation is.
pub fn read_attenuation(path: &Path) -> Result<(AttenuationMap, Vec<Notice>), IoError> {
    let (mut volume, mut notices) = read_volume(path)?;
    let refuse = |problem: Unsupported| Err(IoError::unsupported(path, problem));
    if !matches!(volume.unit, Unit::PerCm | Unit::Unknown) {
        return refuse(Unsupported::AttenuationUnit(volume.unit.label()));
    }
    if let Some(values) = volume.not_finite() {
        return refuse(Unsupported::AttenuationNotFinite(values));
    }
    let (low, high) = volume.range();
    if low < 0.0 || high > MAX_PER_CM {
        return refuse(Unsupported::AttenuationRange([low, high]));
    }
    if high == 0.0 {
        notices.push(notice::info(path, "all its values are 0: nothing attenuates"));
    } else if high < USUAL_PER_CM {
        let text =
            format!("its largest value is {high} per cm, but water has 0.096: if its values are per mm, multiply them by 10");
        notices.push(notice::warning(path, text));
    }
    volume.as_mut_slice().iter_mut().for_each(|value| *value /= MM_PER_CM);
    volume.unit = Unit::Unknown;
    Ok((AttenuationMap { file: path.to_owned(), per_mm: volume, ct: None }, notices))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{NotFinite, Volume};
    use crate::geometry::Grid;
    use crate::io::by_content::write_volume;

    #[test]
    fn a_map_is_read_per_mm_and_what_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mu.nii.gz");
        let read = |unit: Unit, value: f32| {
            let mut volume = Volume { unit, ..Volume::filled(Grid::centred([3, 4, 5], [2.0, 2.0, 3.0]).unwrap(), 0.0) };
            volume.as_mut_slice()[7] = value;
            write_volume(&path, &volume).unwrap();
            read_attenuation(&path)
        };
        for unit in [Unit::PerCm, Unit::Unknown] {
            let (map, notices) = read(unit, 0.096).unwrap();
            assert!((map.per_mm.as_slice()[7] - 0.0096).abs() < 1e-9 && notices.is_empty(), "{notices:?}");
        }
        assert!(read(Unit::PerCm, 0.0).unwrap().1[0].text.contains("nothing attenuates"));
        assert!(read(Unit::PerCm, 0.0096).unwrap().1[0].text.contains("multiply them by 10"));
        for (unit, value, expected) in [
            (Unit::BqPerMl, 0.096, Unsupported::AttenuationUnit("Bq/mL")),
            (Unit::Unknown, 1000.0, Unsupported::AttenuationRange([0.0, 1000.0])),
            (Unit::Unknown, -0.1, Unsupported::AttenuationRange([-0.1, 0.0])),
            (Unit::Unknown, f32::NAN, Unsupported::AttenuationNotFinite(NotFinite { num: 1, num_voxels: 60 })),
        ] {
            let error = read(unit, value).unwrap_err();
            assert!(matches!(&error, IoError::Unsupported(found, problem) if *found == path && *problem == expected), "{error}");
        }
        assert_eq!(map_beside(Path::new("a.b/events.petsird")), Path::new("a.b/events_mu.nii.gz"));
    }
}
