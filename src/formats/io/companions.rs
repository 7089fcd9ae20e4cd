//! Companions of a scan: files of its folder that are taken along with it. Corrections (`scan_mult.hs`, `scan_add.hs`) and the
//! calibration (`scan.calibration.toml`) name the checksum of their scan. A companion of another scan is refused; those without a
//! checksum, of other programs and earlier versions, are read as they are.
//!
//! The map of a list (`list_mu.nii.gz`) is not taken along, but a new list under the old name is not written into its folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::data::CorrectionContent;
use crate::io::bytes::Checksum;
use crate::io::error::IoError;
use crate::io::formats::{FileKind, Format};
use crate::io::own::calibration;
use crate::io::sinograms::interfile::read_own_facts;

/// Bytes at the beginning of a data file without a recorded checksum that identify it.
const MAX_BYTES: u64 = 64 << 20;

/// Correction of measured data.
///
/// Each is named after the ending of its file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::VariantArray)]
pub enum Correction {
    /// Factors: attenuation and normalisation.
    #[strum(serialize = "mult")]
    Multiplicative,
    /// Background: scatter and randoms.
    #[strum(serialize = "add")]
    Additive,
}

impl Correction {
    /// Returns the path of a scan's correction: `scan_mult.hs` and `scan_add.hs` for `scan.hs`.
    pub fn path_beside(self, scan: &Path) -> PathBuf {
        let stem = scan.file_stem().unwrap_or_default().to_string_lossy();
        scan.with_file_name(format!("{stem}_{self}.hs"))
    }
}

/// Returns the path of the map of a simulated list: `OUT_mu.nii.gz` in the folder of `OUT.petsird`.
pub fn map_beside(list: &Path) -> PathBuf {
    let stem = list.file_stem().unwrap_or_default().to_string_lossy();
    list.with_file_name(format!("{stem}_mu.nii.gz"))
}

/// Returns the checksum of the data of a scan as text: the one that its header records, else of the first 64 MiB of its data.
///
/// # Errors
/// The header or the data do not read.
pub fn checksum_of_scan(scan: &Path) -> Result<String, IoError> {
    if FileKind::of(scan) == Some(FileKind::InterfileProjections)
        && let (_, Some(recorded)) = read_own_facts(scan)?
    {
        return Ok(recorded);
    }
    let data = Format::of(scan).and_then(|format| format.data_read(scan).into_iter().next()).unwrap_or_else(|| scan.to_owned());
    let len = fs::metadata(&data).map_err(IoError::open(&data))?.len();
    Ok(Checksum::of_file(&data, len.min(MAX_BYTES))?.to_string())
}

/// Returns the contents of a correction; `None` where its file does not name them.
///
/// # Errors
/// The header does not read.
pub fn correction_contents(correction: &Path) -> Result<Option<Vec<CorrectionContent>>, IoError> {
    match FileKind::of(correction) {
        Some(FileKind::InterfileProjections) => Ok(read_own_facts(correction)?.0.contents),
        _ => Ok(None),
    }
}

/// Refuses a correction that was written for another scan.
///
/// # Errors
/// It names another checksum than that of the scan; a header does not read.
pub fn check_correction(correction: &Path, scan: &Path) -> Result<(), IoError> {
    match checksum_in(correction)? {
        Some(found) => check(correction, found, scan),
        None => Ok(()),
    }
}

/// Returns the calibration in the folder of a scan, Bq/mL of 1 count/mm; `None` if none is stored.
///
/// # Errors
/// It does not read, is invalid, or is that of another scan.
pub fn calibration_beside(scan: &Path) -> Result<Option<f64>, IoError> {
    let path = calibration::path_beside(scan);
    if !path.exists() {
        return Ok(None);
    }
    let stored = calibration::read_stored(&path)?;
    stored.of_scan.map_or(Ok(()), |found| check(&path, found, scan))?;
    Ok(Some(stored.bq_per_ml))
}

/// Stores the calibration of a scan in its folder, Bq/mL of 1 count/mm; `None` removes it.
///
/// # Errors
/// The file is not writable or removable, or the scan does not read.
pub fn store_calibration(scan: &Path, bq_per_ml: Option<f64>) -> Result<(), IoError> {
    let path = calibration::path_beside(scan);
    match bq_per_ml {
        Some(bq_per_ml) => calibration::write(&path, bq_per_ml, &checksum_of_scan(scan)?),
        None if path.exists() => fs::remove_file(&path).map_err(IoError::write(&path)),
        None => Ok(()),
    }
}

/// Returns the companions of an existing scan that a new one under its name would leave behind: those of the old scan, with their
/// data files, to be removed. `is_written` returns true for the files that the new scan writes itself.
///
/// # Errors
/// A companion whose scan is unknown or another: it may be needed.
pub fn stale_companions(scan: &Path, is_written: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>, IoError> {
    let kind = Format::of(scan).map(|format| format.kind);
    let corrections = [Correction::Multiplicative, Correction::Additive].map(|which| which.path_beside(scan));
    let own: Vec<PathBuf> = match kind {
        Some(kind) if kind.is_scan() => corrections.into(),
        Some(kind) if kind.is_list() => vec![map_beside(scan)],
        _ => return Ok(Vec::new()),
    };
    let old = checksum_of_scan(scan).ok();
    let mut stale = Vec::new();
    for companion in own.into_iter().chain([calibration::path_beside(scan)]) {
        if !companion.is_file() || is_written(&companion) {
            continue;
        }
        let owner = checksum_in(&companion).ok().flatten();
        if owner.is_none() || owner != old {
            return Err(IoError::StaleCompanion { companion, scan: scan.to_owned() });
        }
        let data = Format::of(&companion).map(|format| format.data_read(&companion)).unwrap_or_default();
        stale.push(companion);
        stale.extend(data.into_iter().filter(|data| data.is_file()));
    }
    Ok(stale)
}

/// Returns the checksum of the scan that a companion names.
fn checksum_in(companion: &Path) -> Result<Option<String>, IoError> {
    match FileKind::of(companion) {
        Some(FileKind::InterfileProjections) => Ok(read_own_facts(companion)?.0.of_scan),
        Some(FileKind::Calibration) => Ok(calibration::read_stored(companion)?.of_scan),
        _ => Ok(None),
    }
}

fn check(companion: &Path, found: String, scan: &Path) -> Result<(), IoError> {
    let expected = checksum_of_scan(scan)?;
    if found == expected {
        return Ok(());
    }
    Err(IoError::OtherScan { companion: companion.to_owned(), scan: scan.to_owned(), expected, found })
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn corrections_are_named_after_the_data() {
        let paths: Vec<_> = Correction::VARIANTS.iter().map(|which| which.path_beside(Path::new("a.b/scan.1.hs"))).collect();
        assert_eq!(paths, ["a.b/scan.1_mult.hs", "a.b/scan.1_add.hs"].map(PathBuf::from));
        assert_eq!(map_beside(Path::new("a.b/events.petsird")), Path::new("a.b/events_mu.nii.gz"));
    }

    #[test]
    fn a_calibration_belongs_to_its_scan_and_that_of_an_earlier_version_to_any() {
        let folder = tempfile::tempdir().unwrap();
        let scan = folder.path().join("scan.s.hdr");
        fs::write(&scan, "data").unwrap();
        for bq_per_ml in [52_300.25, 1e-3, 7.0, 1e21] {
            store_calibration(&scan, Some(bq_per_ml)).unwrap();
            assert_eq!(calibration_beside(&scan).unwrap(), Some(bq_per_ml));
        }
        fs::write(&scan, "others").unwrap();
        let path = calibration::path_beside(&scan);
        let error = calibration_beside(&scan).unwrap_err();
        assert!(matches!(&error, IoError::OtherScan { companion, .. } if *companion == path), "{error}");
        // Named explicitly, as for the scan of another object.
        assert_eq!(calibration::read_file(&path).unwrap(), 1e21);
        fs::write(&path, "version = 1\nbq_per_ml = 2.5\n").unwrap();
        assert_eq!(calibration_beside(&scan).unwrap(), Some(2.5));
        assert!(matches!(stale_companions(&scan, |_| false), Err(IoError::StaleCompanion { .. })));
        assert_eq!(stale_companions(&scan, |file| file == path).unwrap(), Vec::<PathBuf>::new());
        store_calibration(&scan, Some(3.0)).unwrap();
        assert_eq!(stale_companions(&scan, |_| false).unwrap(), [path]);
        store_calibration(&scan, None).unwrap();
        store_calibration(&scan, None).unwrap();
        assert_eq!(calibration_beside(&scan).unwrap(), None);
    }
}
