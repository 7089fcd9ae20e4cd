//! Standards of image quality: the bands of their recovery coefficients, built in from `assets/standards`, or of a user's file.
//!
//! ```toml
//! version = 1
//! name = "my-site"
//! title = "My site"
//! source = "protocol of 2026-01-01"
//! diameters_mm = [37, 28, 22, 17, 13, 10]    # of the spheres, in the order of the limits
//!
//! [mean_a50]                                 # also [max] and [peak], at least one of them
//! min = [0.8, 0.8, 0.7, 0.6, 0.5, 0.3]       # fractions of the true activity
//! max = [0.9, 0.9, 0.8, 0.7, 0.6, 0.4]
//! ```

use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

use super::toml_text::{Form, parse};
use crate::data::nema::SPHERE_DIAMETERS_MM;
use crate::data::{RecoveryBand, RecoveryQuantity, RecoveryStandard};
use crate::io::bytes::read_text;
use crate::io::error::{Cause, IoError};
use crate::io::own::toml_text::FormProblem;

const FORM: Form = Form { is_not: "it is no standard of recovery coefficients", versions: &[1], max_bytes: 1 << 20 };

/// Largest recovery coefficient of a band.
const MAX_COEFFICIENT: f64 = 10.0;

const FILES: [&str; 1] = [include_str!("../../../../assets/standards/earl-18f-1.toml")];

static BUILT_IN: LazyLock<Vec<RecoveryStandard>> =
    LazyLock::new(|| FILES.iter().filter_map(|text| standard(text).ok()).collect());

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StandardFile {
    #[allow(dead_code)]
    version: u32,
    name: String,
    title: String,
    source: String,
    diameters_mm: Vec<f64>,
    mean_a50: Option<Limits>,
    max: Option<Limits>,
    peak: Option<Limits>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    min: Vec<f64>,
    max: Vec<f64>,
}

/// Returns the built-in standards. (That each of their files parses is tested.)
pub fn built_in() -> &'static [RecoveryStandard] {
    &BUILT_IN
}

/// Returns the built-in standard of a name.
pub fn find(name: &str) -> Option<&'static RecoveryStandard> {
    built_in().iter().find(|standard| standard.name.eq_ignore_ascii_case(name))
}

/// Reads a standard.
///
/// # Errors
/// It does not read, or has other diameters than the NEMA spheres, lists of other lengths, or invalid limits.
pub fn read_file(path: &Path) -> Result<RecoveryStandard, IoError> {
    standard(&read_text(path, FORM.max_bytes)?).map_err(|problem| FORM.refused(path, problem))
}

fn standard(text: &str) -> Result<RecoveryStandard, Cause> {
    let file: StandardFile = parse(text, FORM.versions)?;
    for (key, text) in [("name", &file.name), ("title", &file.title), ("source", &file.source)] {
        if text.trim().is_empty() {
            return Err(FormProblem::EmptyText(key).into());
        }
    }
    let place = |diameter: &f64| file.diameters_mm.iter().position(|listed| listed == diameter);
    let places: Vec<usize> = SPHERE_DIAMETERS_MM.iter().filter_map(place).collect();
    let places: [usize; 6] = match places.try_into() {
        Ok(places) if file.diameters_mm.len() == 6 => places,
        _ => return Err(RecoveryProblem::SphereDiameters(file.diameters_mm).into()),
    };
    let sections =
        [(RecoveryQuantity::MeanA50, &file.mean_a50), (RecoveryQuantity::Max, &file.max), (RecoveryQuantity::Peak, &file.peak)];
    let sections = sections.into_iter().filter_map(|(quantity, limits)| Some((quantity, limits.as_ref()?)));
    let bands = sections.map(|(quantity, limits)| band(quantity, limits, places)).collect::<Result<Vec<_>, _>>()?;
    if bands.is_empty() {
        return Err(RecoveryProblem::NoBand.into());
    }
    Ok(RecoveryStandard { name: file.name, title: file.title, source: file.source, bands })
}

/// Returns the band of a section; `places` are those of the spheres, the smallest first, in its lists.
fn band(quantity: RecoveryQuantity, limits: &Limits, places: [usize; 6]) -> Result<RecoveryBand, RecoveryProblem> {
    let section = quantity.key();
    for (key, list) in [("min", &limits.min), ("max", &limits.max)] {
        if list.len() != places.len() {
            return Err(RecoveryProblem::BandLen { section, key, found: list.len() });
        }
    }
    let limits = places.map(|place| [limits.min[place], limits.max[place]]);
    let is_invalid = |&[min, max]: &[f64; 2]| !(min >= 0.0 && min < max && max <= MAX_COEFFICIENT);
    match limits.iter().position(is_invalid) {
        Some(sphere) => {
            let [min, max] = limits[sphere];
            Err(RecoveryProblem::BandLimits { section, diameter_mm: SPHERE_DIAMETERS_MM[sphere], min, max })
        }
        None => Ok(RecoveryBand { quantity, limits }),
    }
}

/// A problem of a standard of recovery coefficients.
#[derive(Debug, thiserror::Error)]
enum RecoveryProblem {
    /// Diameters, mm, that are not those of the six spheres.
    #[error(
        "'diameters_mm' is {}; expected the inner diameters of the NEMA spheres, 10, 13, 17, 22, 28 and 37, each once", listed(.0)
    )]
    SphereDiameters(Vec<f64>),
    /// A list of another length than six.
    #[error("[{section}]: '{key}' has {found} numbers; expected 6, one for each of 'diameters_mm'")]
    BandLen {
        /// Its section.
        section: &'static str,
        /// Its key.
        key: &'static str,
        /// Its length.
        found: usize,
    },
    /// Limits of a sphere that are no band.
    #[error(
        "[{section}], sphere of {diameter_mm} mm: min is {min} and max {max}; expected 0 ≤ min < max ≤ 10, as fractions (1 is the true activity)"
    )]
    BandLimits {
        /// Their section.
        section: &'static str,
        /// Diameter of the sphere, mm.
        diameter_mm: f64,
        /// Lower limit.
        min: f64,
        /// Upper limit.
        max: f64,
    },
    /// No section with limits.
    #[error("it limits nothing; add [mean_a50], [max] or [peak], each with min and max")]
    NoBand,
}

/// Returns numbers as text.
fn listed(numbers: &[f64]) -> String {
    numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINE: &str = "version = 1\nname = 'mine'\ntitle = 'Mine'\nsource = 'us'\ndiameters_mm = [10, 13, 17, 22, 28, 37]\n\
                        [peak]\nmin = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]\nmax = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]\n";

    #[test]
    fn built_in_standards_parse_and_have_the_published_limits() {
        assert_eq!(built_in().len(), FILES.len());
        let earl = find("EARL-18F-1").unwrap();
        assert!(earl.source.contains("earl.eanm.org") && earl.source.contains("2017"), "{}", earl.source);
        let band = |quantity| earl.bands.iter().find(|band| band.quantity == quantity).unwrap().limits;
        // The smallest sphere first; the page lists the largest first.
        assert_eq!(
            band(RecoveryQuantity::MeanA50),
            [[0.27, 0.43], [0.44, 0.60], [0.57, 0.73], [0.63, 0.78], [0.72, 0.85], [0.76, 0.89]]
        );
        assert_eq!(
            band(RecoveryQuantity::Max),
            [[0.34, 0.57], [0.59, 0.85], [0.73, 1.01], [0.83, 1.09], [0.91, 1.13], [0.95, 1.16]]
        );
        assert!(!earl.has(RecoveryQuantity::Peak) && find("earl-18f-2").is_none());
    }

    #[test]
    fn limits_follow_the_order_of_the_diameters() {
        let mine = standard(MINE).unwrap();
        assert_eq!((mine.name.as_str(), mine.bands.len(), mine.bands[0].limits[0]), ("mine", 1, [0.1, 0.2]));
        let turned = standard(&MINE.replace("[10, 13, 17, 22, 28, 37]", "[37, 28, 22, 17, 13, 10]")).unwrap();
        assert_eq!(turned.bands[0].limits[0], [0.6, 0.7]);
        assert_eq!([0.6, 0.65, 0.7, 0.8].map(|rc| (turned.bands[0].deviation(0, rc) * 1e9).round() / 1e9), [-1.0, 0.0, 1.0, 3.0]);
    }

    #[test]
    fn errors_name_section_place_expected_and_found() {
        let refused = |from: &str, to: &str| {
            assert!(MINE.contains(from), "{from}");
            standard(&MINE.replace(from, to)).unwrap_err().to_string()
        };
        assert_eq!(
            refused("28, 37]", "28, 36]"),
            "'diameters_mm' is 10, 13, 17, 22, 28, 36; expected the inner diameters of the NEMA spheres, 10, 13, 17, 22, 28 and 37, each once"
        );
        assert!(refused("28, 37]", "28, 37, 37]").contains("28, 37, 37; expected"));
        assert_eq!(
            refused("0.5, 0.6]\nmax", "0.5]\nmax"),
            "[peak]: 'min' has 5 numbers; expected 6, one for each of 'diameters_mm'"
        );
        assert_eq!(
            refused("max = [0.2", "max = [0.1"),
            "[peak], sphere of 10 mm: min is 0.1 and max 0.1; expected 0 ≤ min < max ≤ 10, as fractions (1 is the true activity)"
        );
        assert!(refused("0.6, 0.7]", "0.6, nan]").contains("sphere of 37 mm: min is 0.6 and max NaN"));
        assert_eq!(refused("'us'", "' '"), "'source' is empty; enter a text");
        assert!(refused("version = 1", "version = 2").contains("version 2 is not supported; this program reads version 1"));
        assert!(refused("[peak]", "[peek]").contains("line 6: unknown field `peek`"));
        let none = standard(MINE.split_once("[peak]").unwrap().0).unwrap_err().to_string();
        assert_eq!(none, "it limits nothing; add [mean_a50], [max] or [peak], each with min and max");
    }
}
