//! Maps of attenuation: images of µ at 511 keV, in 1/cm as CASToR, STIR and others take them, or in 1/mm.

use std::path::Path;

use crate::coded::coded;
use crate::data::{AttenuationMap, MuUnit, NotFinite, Notice, Unit, Volume};
use crate::io::by_content::read_volume;
use crate::io::error::IoError;
use crate::io::notice;
use crate::text::counted;

/// Largest coefficient of attenuation that is read, 1/cm: lead has 1.8.
const MAX_PER_CM: f32 = 5.0;

/// Without a unit, a map whose largest value is above this is in 1/cm: water has 0.096.
const LEAST_PER_CM: f32 = 0.06;
/// Below this it is in 1/mm: water has 0.0096, and bone hardly twice as much.
const MOST_PER_MM: f32 = 0.02;
/// Values below 0 that an interpolation leaves; they count as 0.
const LEAST: f32 = -0.01;
const MM_PER_CM: f32 = 10.0;

/// Denser than bone, 1/cm; and the share of such voxels among those that attenuate above which a map is implausible.
const DENSE_PER_CM: f32 = 0.3;
const DENSE_SHARE: f64 = 0.01;

/// Denser than bone, 1/cm: most of a body is not.
const BONE_PER_CM: f32 = 0.18;

/// Largest value of a map in which there is less than water anywhere, 1/cm.
const NO_WATER_PER_CM: f32 = 0.05;

/// Smallest plausible share of the photon pairs that survive along a row.
const LEAST_SURVIVAL: f64 = 1e-4;

/// Reads a map, an image of µ in any format of images. Its unit is the one that is given, else that of the file, else 1/cm or 1/mm by
/// its largest value, with a notice.
///
/// # Errors
/// It is no image, an image of something else, holds what no attenuation is, or could be in either unit.
pub fn read_attenuation(path: &Path, unit: Option<MuUnit>) -> Result<(AttenuationMap, Vec<Notice>), IoError> {
    let (mut volume, mut notices) = read_volume(path)?;
    let refuse = |problem: AttenuationProblem| Err(IoError::unsupported(path, problem));
    if !matches!(volume.unit, Unit::PerCm | Unit::Unknown) {
        return refuse(AttenuationProblem::Unit(volume.unit.label()));
    }
    if let Some(values) = volume.not_finite() {
        return refuse(AttenuationProblem::NotFinite(values));
    }
    let (low, high) = volume.range();
    if low < LEAST || high > MAX_PER_CM {
        return refuse(AttenuationProblem::Range([low, high]));
    }
    let of_file = (volume.unit == Unit::PerCm).then_some(MuUnit::PerCm);
    let unit = match unit.or(of_file) {
        Some(unit) => unit,
        None if high > LEAST_PER_CM || high == 0.0 => MuUnit::PerCm,
        None if high < MOST_PER_MM => {
            let text = format!("its largest value is {high}: taken as 1/mm (water has 0.0096 there)");
            notices.push(notice::info(path, text));
            MuUnit::PerMm
        }
        None => return refuse(AttenuationProblem::Ambiguous(high)),
    };
    if high == 0.0 {
        notices.push(notice::info(path, "all its values are 0: nothing attenuates"));
    }
    let num_negative = volume.as_slice().iter().filter(|value| **value < 0.0).count();
    if num_negative > 0 {
        let text = format!("{} below 0 (down to {low}) count as 0", counted(num_negative, "value"));
        notices.push(notice::info(path, text));
    }
    let factor = if unit == MuUnit::PerCm { MM_PER_CM } else { 1.0 };
    volume.as_mut_slice().iter_mut().for_each(|value| *value = value.max(0.0) / factor);
    volume.unit = Unit::Unknown;
    notices.extend(implausible(&volume).map(|text| notice::warning(path, text)));
    Ok((AttenuationMap { file: path.to_owned(), per_mm: volume, ct: None }, notices))
}

/// Returns what makes a map implausible: nothing as dense as water, many dense voxels, or a row in which nearly no pair of photons
/// survives.
fn implausible(per_mm: &Volume) -> Option<String> {
    let values = per_mm.as_slice();
    let num_above = |per_cm: f32| values.iter().filter(|value| MM_PER_CM * **value > per_cm).count() as f64;
    let num = num_above(0.0);
    for (limit, most) in [(DENSE_PER_CM, DENSE_SHARE * num), (BONE_PER_CM, 0.5 * num_above(NO_WATER_PER_CM))] {
        let num_dense = num_above(limit);
        if num_dense > most {
            let percent = 100.0 * num_dense / num;
            return Some(format!(
                "{percent:.0} % of its voxels that attenuate are above {limit} /cm (water has 0.096, bone 0.17): check its unit (--mu-unit)"
            ));
        }
    }
    let largest = MM_PER_CM * per_mm.range().1;
    if largest > 0.0 && largest < NO_WATER_PER_CM {
        return Some(format!("its largest value is {largest} /cm, but water has 0.096: check its unit (--mu-unit)"));
    }
    let [nx, ny, _] = per_mm.grid.size;
    let [dx, dy, _] = per_mm.grid.voxel_mm;
    let along = |slice: &[f32]| {
        let rows = slice.chunks_exact(nx).map(|row| dx * row.iter().map(|value| f64::from(*value)).sum::<f64>());
        let columns = (0..nx).map(|x| dy * slice[x..].iter().step_by(nx).map(|value| f64::from(*value)).sum::<f64>());
        rows.chain(columns).fold(0.0, f64::max)
    };
    let survival = (-values.chunks_exact(nx * ny).map(along).fold(0.0, f64::max)).exp();
    (survival < LEAST_SURVIVAL).then(|| {
        format!("only {survival:.1e} of the photon pairs survive in a row of it (1 m of water leaves 7e-5): check its unit (--mu-unit)")
    })
}

/// A problem of a map of attenuation.
#[derive(Debug, PartialEq, thiserror::Error)]
enum AttenuationProblem {
    /// A map of attenuation with another unit.
    #[error("its values are in {0}; a map of attenuation holds linear attenuation coefficients, 1/cm")]
    Unit(&'static str),
    /// A map of attenuation with voxels that are not finite.
    #[error(transparent)]
    NotFinite(NotFinite),
    /// A map of attenuation, by its smallest and largest values, that attenuation does not have.
    #[error(
        "its values go from {} to {}; a map of attenuation holds linear attenuation coefficients at 511 keV, from 0 to \
         {MAX_PER_CM} per cm (water has 0.096): Hounsfield units are converted by tomoscope mu-map, or by --ct", .0[0], .0[1]
    )]
    Range([f32; 2]),
    /// A map whose largest value suits 1/cm and 1/mm.
    #[error(
        "its largest value is {0}, which can be per cm or per mm (water has 0.096 or 0.0096); give its unit (--mu-unit per-cm or per-mm)"
    )]
    Ambiguous(f32),
}

coded!(AttenuationProblem = "io.unsupported.attenuation");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::NotFinite;
    use crate::geometry::Grid;
    use crate::io::by_content::write_volume;

    #[test]
    fn a_map_that_lets_nothing_through_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mu.nii.gz");
        let is_reported = |side_mm: f64, value: f32, unit: Option<MuUnit>| {
            let grid = Grid::centred([20, 20, 2], [side_mm / 20.0, side_mm / 20.0, 3.0]).unwrap();
            write_volume(&path, &Volume { unit: Unit::Unknown, ..Volume::filled(grid, value) }).unwrap();
            let notices = read_attenuation(&path, unit).unwrap().1;
            notices.iter().any(|notice| notice.text.contains("check its unit"))
        };
        // Water, and bone; a body as wide as a metre is none.
        assert!(![(400.0, 0.096), (100.0, 0.17)].into_iter().any(|(side_mm, value)| is_reported(side_mm, value, None)));
        // Twice the density of water everywhere, and a tenth of it.
        assert!(is_reported(100.0, 0.192, None) && is_reported(100.0, 0.0096, Some(MuUnit::PerCm)));
        assert!(
            is_reported(1000.0, 0.096, None) && is_reported(100.0, 1.0, None) && is_reported(100.0, 0.096, Some(MuUnit::PerMm))
        );
    }

    #[test]
    fn a_map_is_read_per_mm_and_what_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mu.nii.gz");
        let read = |unit: Unit, value: f32| {
            let mut volume = Volume { unit, ..Volume::filled(Grid::centred([3, 4, 5], [2.0, 2.0, 3.0]).unwrap(), 0.0) };
            volume.as_mut_slice()[7] = value;
            write_volume(&path, &volume).unwrap();
            read_attenuation(&path, None)
        };
        for unit in [Unit::PerCm, Unit::Unknown] {
            let (map, notices) = read(unit, 0.096).unwrap();
            assert!((map.per_mm.as_slice()[7] - 0.0096).abs() < 1e-9 && notices.is_empty(), "{notices:?}");
        }
        assert!(read(Unit::PerCm, 0.0).unwrap().1[0].text.contains("nothing attenuates"));
        // Without a unit the largest value decides, and between the two nothing does.
        let (map, notices) = read(Unit::Unknown, 0.0096).unwrap();
        assert!((map.per_mm.as_slice()[7] - 0.0096).abs() < 1e-9 && notices[0].text.contains("1/mm"), "{notices:?}");
        let (map, notices) = read(Unit::PerCm, 0.0096).unwrap();
        assert!((map.per_mm.as_slice()[7] - 0.00096).abs() < 1e-9 && notices[0].text.contains("water has 0.096"), "{notices:?}");
        let error = read(Unit::Unknown, 0.04).unwrap_err();
        assert_eq!(error.problem(), Some(&AttenuationProblem::Ambiguous(0.04)));
        let given = read_attenuation(&path, Some(MuUnit::PerMm)).unwrap().0;
        assert!((given.per_mm.as_slice()[7] - 0.04).abs() < 1e-9);
        let (map, notices) = read(Unit::Unknown, -0.005).unwrap();
        assert!(
            map.per_mm.as_slice()[7] == 0.0 && notices.iter().any(|notice| notice.text.contains("1 value below 0")),
            "{notices:?}"
        );
        for (unit, value, expected) in [
            (Unit::BqPerMl, 0.096, AttenuationProblem::Unit("Bq/mL")),
            (Unit::Unknown, 1000.0, AttenuationProblem::Range([0.0, 1000.0])),
            (Unit::Unknown, -0.1, AttenuationProblem::Range([-0.1, 0.0])),
            (Unit::Unknown, f32::NAN, AttenuationProblem::NotFinite(NotFinite { num: 1, num_voxels: 60 })),
        ] {
            let error = read(unit, value).unwrap_err();
            assert!(matches!(&error, IoError::Unsupported(found, _) if *found == path), "{error}");
            assert_eq!(error.problem(), Some(&expected));
        }
    }
}
