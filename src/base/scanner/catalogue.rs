//! The built-in scanners, as TOML in `assets/scanners`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::heads::Heads;
use super::{InPlane, ScanGeometry, Segment};

/// A scanner of the catalogue.
///
/// ```
/// use tomoscope_base::scanner;
///
/// let scanner = scanner::find("discovery-ste").unwrap();
/// assert_eq!(scanner.geometry.num_planes(), 553);
/// assert!(scanner::find("no-such-scanner").is_none());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scanner {
    /// Name on the command line.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Names by which files call it ("originating system", "Scanner type").
    pub originating_systems: Vec<String>,
    /// Where the figures come from.
    pub source: String,
    /// `checked` against the source, or `provisional`.
    pub status: String,
    /// Its default sampling: all segments, all views.
    pub geometry: ScanGeometry,
    /// Its detectors, where they are rotating heads.
    pub heads: Option<Heads>,
}

/// A file of the catalogue. Every key carries its unit; unknown keys are refused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    title: String,
    originating_systems: Vec<String>,
    source: String,
    status: String,
    num_rings: usize,
    ring_spacing_mm: f64,
    num_detectors_per_ring: usize,
    inner_radius_mm: f64,
    depth_of_interaction_mm: f64,
    num_views: usize,
    num_tangential: usize,
    /// Distance between arc-corrected bins; left out where bins follow the detectors.
    bin_mm: Option<f64>,
    view_offset_deg: f64,
    fov_radius_mm: f64,
    /// `[min, max]` ring difference of each segment that is not negative; the negative ones mirror them.
    ring_differences: Vec<[i32; 2]>,
    /// Rotating heads; left out where the detectors are a cylinder.
    heads: Option<Heads>,
}

const FILES: [&str; 8] = [
    include_str!("../../../assets/scanners/discovery-ste.toml"),
    include_str!("../../../assets/scanners/discovery-ste-detectors.toml"),
    include_str!("../../../assets/scanners/prt-1.toml"),
    include_str!("../../../assets/scanners/ecat-931.toml"),
    include_str!("../../../assets/scanners/advance.toml"),
    include_str!("../../../assets/scanners/small.toml"),
    include_str!("../../../assets/scanners/vrpet.toml"),
    include_str!("../../../assets/scanners/vrpet-2010.toml"),
];

static CATALOGUE: LazyLock<Vec<Scanner>> = LazyLock::new(|| FILES.iter().filter_map(|text| parse(text).ok()).collect());

/// Returns all scanners of the catalogue. (That each file of it parses is tested.)
pub fn catalogue() -> &'static [Scanner] {
    &CATALOGUE
}

/// Returns the scanner of this command-line name.
pub fn find(name: &str) -> Option<&'static Scanner> {
    catalogue().iter().find(|scanner| scanner.name.eq_ignore_ascii_case(name))
}

/// Returns the scanner that a file names as its originating system, ignoring case, spaces, `-` and `_`.
pub fn find_by_originating_system(system: &str) -> Option<&'static Scanner> {
    let plain = |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase() };
    let wanted = plain(system);
    catalogue().iter().find(|scanner| scanner.originating_systems.iter().any(|name| plain(name) == wanted))
}

/// Parses a file of the catalogue.
fn parse(text: &str) -> Result<Scanner, String> {
    let entry: Entry = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut segments: Vec<Segment> = Vec::new();
    for &[min, max] in &entry.ring_differences {
        segments.push(Segment::full(min, max, entry.num_rings));
        if min > 0 {
            segments.push(Segment::full(-max, -min, entry.num_rings));
        }
    }
    segments.sort_by_key(|s| s.min_ring_difference + s.max_ring_difference);
    let geometry = ScanGeometry {
        scanner: entry.originating_systems.first().unwrap_or(&entry.name).clone(),
        num_rings: entry.num_rings,
        ring_spacing_mm: entry.ring_spacing_mm,
        num_detectors_per_ring: entry.num_detectors_per_ring,
        inner_radius_mm: entry.inner_radius_mm,
        depth_of_interaction_mm: entry.depth_of_interaction_mm,
        num_views: entry.num_views,
        num_tangential: entry.num_tangential,
        view_offset_deg: entry.view_offset_deg,
        in_plane: match (entry.bin_mm, &entry.heads) {
            (None, _) => InPlane::Detectors,
            (Some(bin_mm), None) => InPlane::ArcCorrected { bin_mm },
            (Some(bin_mm), Some(_)) => InPlane::Heads { bin_mm },
        },
        segments,
        fov_radius_mm: entry.fov_radius_mm,
    };
    let heads = entry.heads.map(|heads| heads.validate(&entry.name)).transpose().map_err(|error| error.to_string())?;
    Ok(Scanner {
        heads,
        name: entry.name,
        title: entry.title,
        originating_systems: entry.originating_systems,
        source: entry.source,
        status: entry.status,
        geometry: geometry.validate().map_err(|error| error.to_string())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_catalogue_is_a_scanner() {
        for text in FILES {
            if let Err(error) = parse(text) {
                panic!("{error}\n{text}");
            }
        }
        assert_eq!(catalogue().len(), FILES.len());
    }

    #[test]
    fn a_scanner_is_found_as_files_name_it() {
        assert_eq!(find_by_originating_system("ge discovery_ste").map(|s| s.name.as_str()), Some("discovery-ste-detectors"));
        assert_eq!(find_by_originating_system("PRT1").map(|s| s.name.as_str()), Some("prt-1"));
        assert!(find_by_originating_system("nothing").is_none());
    }
}
