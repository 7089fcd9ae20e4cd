//! Materials of crystals: linear attenuation coefficients by process, from the tables in `assets/materials`.
//!
//! Between the tables' energies (spaced evenly in the logarithm, 1.6 % apart) the logarithms are interpolated linearly, ln μ = (1
//! − f) ln μ_k + f ln μ_{k+1}: an absorption edge is smeared over its step. This is done once, for every ¼ keV. The coefficients
//! of a photon are the linear interpolation of those (it adds 0.1 % at 10 keV, less above): a quarter of the time. Energies
//! outside 10 to 600 keV count as the nearest end.
//!
//! Source of the numbers: Elam, Ravel and Sieber 2002; `assets/materials/make.py` states compositions and mixing.

use std::sync::LazyLock;

use serde::Deserialize;
use thiserror::Error;

use super::rayleigh::FormFactors;
use crate::coded::coded;

/// Linear attenuation coefficients at one energy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attenuation {
    /// Photo-electric absorption.
    pub photoelectric_per_mm: f64,
    /// Incoherent (Compton) scattering.
    pub incoherent_per_mm: f64,
    /// Coherent (Rayleigh) scattering.
    pub coherent_per_mm: f64,
}

impl Attenuation {
    /// Returns all processes together.
    pub fn total_per_mm(&self) -> f64 {
        self.photoelectric_per_mm + self.incoherent_per_mm + self.coherent_per_mm
    }
}

/// A material of the catalogue.
#[derive(Clone, Debug)]
pub struct Material {
    /// Its usual short name: LSO, LYSO, BGO, GSO, NaI, water.
    pub name: String,
    /// Description, with its chemical formula.
    pub composition: String,
    /// Density.
    pub density_g_per_cm3: f64,
    /// Where the numbers come from.
    pub source: String,
    /// Lowest energy of the table, keV.
    pub lowest_kev: f64,
    /// Coefficients [photo-electric, incoherent, coherent], [`STEPS_PER_KEV`] to a keV from the lowest energy on.
    pub per_mm: Vec<[f64; 3]>,
    pub(super) form_factors: FormFactors,
}

/// A file of the catalogue; unknown keys are refused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    composition: String,
    density_g_per_cm3: f64,
    source: String,
    energy_ends_kev: [f64; 2],
    x_ends_per_angstrom: [f64; 2],
    photoelectric_per_mm: Vec<f64>,
    incoherent_per_mm: Vec<f64>,
    coherent_per_mm: Vec<f64>,
    squared_form_factors: Vec<f64>,
}

/// No such material.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("no material is called '{name}'; known are {known}")]
pub struct MaterialError {
    name: String,
    known: String,
}

coded!(MaterialError = "material");

/// Fineness of the table that a photon looks its coefficients up in.
pub const STEPS_PER_KEV: f64 = 4.0;

const FILES: [&str; 6] = [
    include_str!("../../../assets/materials/lso.toml"),
    include_str!("../../../assets/materials/lyso.toml"),
    include_str!("../../../assets/materials/bgo.toml"),
    include_str!("../../../assets/materials/gso.toml"),
    include_str!("../../../assets/materials/nai.toml"),
    include_str!("../../../assets/materials/water.toml"),
];

static CATALOGUE: LazyLock<Vec<Material>> = LazyLock::new(|| FILES.iter().filter_map(|text| parse(text).ok()).collect());

/// Returns all materials of the catalogue. (That each file of it parses is tested.)
pub fn materials() -> &'static [Material] {
    &CATALOGUE
}

impl Material {
    /// Returns the material of this name in any case; the error of an unknown name lists the known ones.
    pub fn find(name: &str) -> Result<&'static Self, MaterialError> {
        materials().iter().find(|material| material.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let known: Vec<_> = materials().iter().map(|material| material.name.as_str()).collect();
            MaterialError { name: name.to_owned(), known: known.join(", ") }
        })
    }

    /// Returns the table of coherent scattering: x² (per Å²) and ∫ F² dx² up to it.
    pub fn form_factors(&self) -> [&[f64]; 2] {
        self.form_factors.tables()
    }

    /// Coefficients at an energy.
    pub fn attenuation(&self, energy_kev: f64) -> Attenuation {
        let place = (energy_kev - self.lowest_kev) * STEPS_PER_KEV;
        let step = (place as usize).min(self.per_mm.len() - 2);
        let share = (place - step as f64).clamp(0.0, 1.0);
        let (below, above) = (&self.per_mm[step], &self.per_mm[step + 1]);
        let at = |process: usize| below[process] + share * (above[process] - below[process]);
        Attenuation { photoelectric_per_mm: at(0), incoherent_per_mm: at(1), coherent_per_mm: at(2) }
    }
}

/// Interpolates the logarithms of a column with energies even in the logarithm, and returns the power.
fn interpolated(column: &[f64], ln_lowest_kev: f64, ln_step: f64, energy_kev: f64) -> f64 {
    let place = ((energy_kev.ln() - ln_lowest_kev) / ln_step).clamp(0.0, (column.len() - 1) as f64);
    let step = (place as usize).min(column.len() - 2);
    let (below, above) = (column[step].ln(), column[step + 1].ln());
    (below + (place - step as f64) * (above - below)).exp()
}

/// Parses a file of the catalogue.
fn parse(text: &str) -> Result<Material, String> {
    let entry: Entry = toml::from_str(text).map_err(|error| error.to_string())?;
    let columns = [&entry.photoelectric_per_mm, &entry.incoherent_per_mm, &entry.coherent_per_mm];
    let num = columns[0].len();
    if num < 2 || columns.iter().any(|column| column.len() != num || column.iter().any(|&value| value <= 0.0)) {
        return Err(format!("{}: the three attenuation columns must be positive and of one length", entry.name));
    }
    let [lowest_kev, highest_kev] = entry.energy_ends_kev;
    let ln_step = (highest_kev / lowest_kev).ln() / (num - 1) as f64;
    let num_steps = ((highest_kev - lowest_kev) * STEPS_PER_KEV).round() as usize;
    let energy_kev = |step: usize| lowest_kev + step as f64 / STEPS_PER_KEV;
    let at = |energy_kev| columns.map(|column| interpolated(column, lowest_kev.ln(), ln_step, energy_kev));
    Ok(Material {
        lowest_kev,
        per_mm: (0..=num_steps).map(|step| at(energy_kev(step))).collect(),
        form_factors: FormFactors::new(entry.x_ends_per_angstrom, &entry.squared_form_factors),
        name: entry.name,
        composition: entry.composition,
        density_g_per_cm3: entry.density_g_per_cm3,
        source: entry.source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_parses() {
        FILES.iter().for_each(|text| assert_eq!(parse(text).err(), None));
        assert_eq!(materials().len(), FILES.len());
        assert_eq!(Material::find("lyso").unwrap().name, "LYSO");
        let unknown = Material::find("lead").unwrap_err().to_string();
        assert_eq!(unknown, "no material is called 'lead'; known are LSO, LYSO, BGO, GSO, NaI, water");
    }

    fn assert_near(found: f64, expected: f64, tolerance: f64, what: &str) {
        assert!((found / expected - 1.0).abs() <= tolerance, "{what}: {found} instead of {expected}");
    }

    /// With and without coherent scattering, and the photo-electric share: the mixing, the density and the unit.
    #[test]
    fn lutetium_crystals_have_their_figures_at_511_kev() {
        for (name, with, without) in [("LSO", 0.0868, 0.0819), ("LYSO", 0.0818, 0.0774)] {
            let attenuation = Material::find(name).unwrap().attenuation(511.0);
            let total = attenuation.total_per_mm();
            assert_near(total, with, 0.002, name);
            assert_near(total - attenuation.coherent_per_mm, without, 0.002, name);
            let share = attenuation.photoelectric_per_mm / total;
            assert!((0.31..=0.34).contains(&(share + 5e-4)), "photo-electric share of {name}: {share}");
        }
    }

    /// Total attenuation at 511 keV as reviews of PET crystals round it, per cm.
    #[test]
    fn crystals_agree_with_reviews_at_511_kev() {
        for (name, per_cm) in [("LSO", 0.87), ("LYSO", 0.82), ("BGO", 0.96), ("GSO", 0.70), ("NaI", 0.34)] {
            assert_near(Material::find(name).unwrap().attenuation(511.0).total_per_mm(), per_cm / 10.0, 0.02, name);
        }
    }

    /// A source of its own: the tables of C. T. Chantler, J. Phys. Chem. Ref. Data 29 (2000) 597 (NIST FFAST), mixed by the
    /// same compositions. They end at 430 keV.
    #[test]
    fn crystals_agree_with_chantlers_tables() {
        let per_mm_at = [
            ("LSO", [(30.0, 11.357), (100.0, 2.2812), (200.0, 0.41812), (300.0, 0.18381), (400.0, 0.1162)]),
            ("LYSO", [(30.0, 10.867), (100.0, 2.0753), (200.0, 0.38342), (300.0, 0.17043), (400.0, 0.10875)]),
            ("GSO", [(30.0, 7.4081), (100.0, 1.5666), (200.0, 0.29266), (300.0, 0.1371), (400.0, 0.090673)]),
        ];
        for (name, per_mm_at) in per_mm_at {
            for (energy_kev, per_mm) in per_mm_at {
                let found = Material::find(name).unwrap().attenuation(energy_kev).total_per_mm();
                assert_near(found, per_mm, 0.02, &format!("{name} at {energy_kev} keV"));
            }
        }
    }

    /// cm²/g of water with coherent scattering: Hubbell and Seltzer 1995, NISTIR 5632, at energies between the table's own.
    #[test]
    fn water_agrees_with_nist() {
        let nist = [
            (10.0, 5.329),
            (20.0, 0.8096),
            (30.0, 0.3756),
            (50.0, 0.2269),
            (100.0, 0.1707),
            (150.0, 0.1505),
            (200.0, 0.1370),
            (300.0, 0.1186),
            (400.0, 0.1061),
            (500.0, 0.09687),
            (600.0, 0.08956),
        ];
        let water = Material::find("water").unwrap();
        for (energy_kev, per_cm) in nist {
            let found = water.attenuation(energy_kev).total_per_mm() * 10.0;
            assert_near(found, per_cm, 0.02, &format!("water at {energy_kev} keV"));
        }
    }

    /// The edge of a crystal's heaviest element stands where it belongs, and is not more than 4 % wide.
    #[test]
    fn absorption_edges_stand_out() {
        for (name, edge_kev, factor) in [("LSO", 63.31, 4.0), ("BGO", 90.53, 3.5), ("GSO", 50.24, 4.0), ("NaI", 33.17, 4.5)] {
            let material = Material::find(name).unwrap();
            let [below, above] = [0.98, 1.02].map(|share| material.attenuation(share * edge_kev).photoelectric_per_mm);
            assert!(above > factor * below, "{name}: {below} below and {above} above {edge_kev} keV");
        }
    }

    #[test]
    fn energies_outside_count_as_the_nearest_end() {
        let lso = Material::find("LSO").unwrap();
        assert_eq!(lso.attenuation(5.0), lso.attenuation(10.0));
        assert_eq!(lso.attenuation(1e4), lso.attenuation(600.0001));
    }
}
