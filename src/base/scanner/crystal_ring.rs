//! A ring of modules with individual readout of crystals: any two crystals are a line of response.
//!
//! Module m is at the angle 2π m / modules. Its crystals are counted across it along (−sin, cos), then along z, and its layers
//! from the bore outwards: crystal numbers are `[module][layer][axial][across]`.
//!
//! Symmetries. The ring is its own image under turns by a module, under the mirror y → −y and under the mirror z → −z: 4 ×
//! modules elements g = (turn k, mirrored m, flipped f), which first mirror, then flip, then turn. They permute crystals, and
//! with them the crystal pairs.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::coded::coded;
use crate::geometry::LENGTHS_MM;

/// A ring of modules.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrystalRing {
    /// Name on the command line and in files.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Where the figures come from.
    pub source: String,
    /// `checked` against the source, or `provisional`.
    pub status: String,
    /// Modules around the axis.
    pub num_modules: usize,
    /// From the axis to the faces of the first layer, mm.
    pub radius_mm: f64,
    /// Crystals of a layer across the module and along the axis.
    pub num: [usize; 2],
    /// Distance between the middles of neighbours, likewise, mm.
    pub pitch_mm: [f64; 2],
    /// Size of a crystal across and along the axis, mm.
    pub size_mm: [f64; 2],
    /// Depth of the crystals of each layer, from the bore outwards, mm.
    pub layer_depths_mm: Vec<f64>,
    /// Material of the crystals, by its name in the tables.
    pub material: String,
    /// Energy resolution at 511 keV, FWHM, %.
    pub energy_resolution_percent: f64,
    /// Least energy that a crystal reports, keV.
    pub threshold_kev: f64,
    /// Spacing of the functions of its images, mm.
    pub image_spacing_mm: f64,
    /// From the middle to either end of its images, mm.
    pub image_half_length_mm: f64,
    /// From the axis to the sides of its images of cubes, mm.
    pub cubes_half_side_mm: f64,
}

/// Reason for which a ring is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invalid ring of scanner {scanner}: {problem}")]
pub struct RingError {
    /// The scanner's name.
    pub scanner: String,
    /// The problem.
    pub problem: &'static str,
}

coded!(RingError = "scanner");

/// Largest number of crystals: pairs then have numbers below 2³².
const MAX_CRYSTALS: usize = 1 << 16;

/// An element of the group of symmetries of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symmetry {
    /// Turn, in modules.
    pub turn: usize,
    /// True if y is mirrored before that.
    pub is_mirrored: bool,
    /// True if z is mirrored.
    pub is_flipped: bool,
}

/// Where a crystal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrystalPlace {
    /// Module around the axis.
    pub module: usize,
    /// Layer, from the bore outwards.
    pub layer: usize,
    /// Number across the module and along the axis.
    pub at: [usize; 2],
}

impl CrystalRing {
    /// Checks every value.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn validate(self) -> Result<Self, RingError> {
        let is_length = |mm: &f64| LENGTHS_MM.contains(mm);
        let lengths = [&self.pitch_mm[..], &self.size_mm, &self.layer_depths_mm].concat();
        let others = [self.radius_mm, self.image_spacing_mm, self.image_half_length_mm, self.cubes_half_side_mm];
        let half_angle = std::f64::consts::PI / self.num_modules.max(1) as f64;
        let problems = [
            (self.num_modules < 3, "fewer than three modules make no ring"),
            (self.num.contains(&0) || self.layer_depths_mm.is_empty(), "a module has no crystals"),
            (!lengths.iter().chain(&others).all(is_length), "a length is no length"),
            ((0..2).any(|a| self.size_mm[a] > self.pitch_mm[a]), "crystals are wider than the distance between them"),
            (self.num[0] as f64 * self.pitch_mm[0] > 2.0 * self.radius_mm * half_angle.tan(), "the modules overlap"),
            (!(0.0..100.0).contains(&self.energy_resolution_percent), "the energy resolution is not between 0 and 100 %"),
            (!(self.threshold_kev >= 0.0 && self.threshold_kev < 511.0), "the threshold is not between 0 and 511 keV"),
            (self.checked_num_crystals().is_none_or(|num| num > MAX_CRYSTALS), "there are more than 65536 crystals"),
        ];
        match problems.into_iter().find(|(is_so, _)| *is_so) {
            Some((_, problem)) => Err(RingError { scanner: self.name, problem }),
            None => Ok(self),
        }
    }

    fn checked_num_crystals(&self) -> Option<usize> {
        let factors = [self.num_modules, self.layer_depths_mm.len(), self.num[0], self.num[1]];
        factors.into_iter().try_fold(1usize, usize::checked_mul)
    }

    /// Returns the number of layers.
    pub fn num_layers(&self) -> usize {
        self.layer_depths_mm.len()
    }

    /// Returns the number of crystals.
    pub fn num_crystals(&self) -> usize {
        self.num_modules * self.num_layers() * self.num[0] * self.num[1]
    }

    /// Returns the number of lines of response: pairs of different crystals.
    pub fn num_lors(&self) -> usize {
        let num = self.num_crystals();
        num * (num - 1) / 2
    }

    /// Returns the number of a crystal.
    pub fn crystal(&self, place: CrystalPlace) -> usize {
        let CrystalPlace { module, layer, at: [across, axial] } = place;
        ((module * self.num_layers() + layer) * self.num[1] + axial) * self.num[0] + across
    }

    /// Returns where a crystal is.
    pub fn place(&self, crystal: usize) -> CrystalPlace {
        let [num_across, num_axial] = self.num;
        let (across, rest) = (crystal % num_across, crystal / num_across);
        let (axial, rest) = (rest % num_axial, rest / num_axial);
        CrystalPlace { module: rest / self.num_layers(), layer: rest % self.num_layers(), at: [across, axial] }
    }

    /// Returns the line of response of two different crystals, in either order.
    pub fn lor(&self, one: usize, other: usize) -> usize {
        let (low, high) = (one.min(other), one.max(other));
        high * (high - 1) / 2 + low
    }

    /// Returns the crystals of a line of response, the lower number first.
    pub fn crystals_of(&self, lor: usize) -> [usize; 2] {
        // high (high − 1) / 2 ≤ lor, from the root of that and one step for its rounding.
        let root = ((8.0 * lor as f64 + 1.0).sqrt() + 1.0) / 2.0;
        let mut high = root as usize;
        while high * (high - 1) / 2 > lor {
            high -= 1;
        }
        while high * (high + 1) / 2 <= lor {
            high += 1;
        }
        [lor - high * (high - 1) / 2, high]
    }

    /// Returns the distance from the middle to either end of the crystals along the axis, mm.
    pub fn half_length_mm(&self) -> f64 {
        0.5 * ((self.num[1] - 1) as f64 * self.pitch_mm[1] + self.size_mm[1])
    }

    /// Returns the middle of a crystal, mm.
    pub fn middle_mm(&self, crystal: usize) -> [f64; 3] {
        let CrystalPlace { module, layer, at } = self.place(crystal);
        let depths = &self.layer_depths_mm;
        let towards = self.radius_mm + depths[..layer].iter().sum::<f64>() + 0.5 * depths[layer];
        let [across, z] = [0, 1].map(|a| (at[a] as f64 - 0.5 * (self.num[a] as f64 - 1.0)) * self.pitch_mm[a]);
        let (sin, cos) = self.module_angle_rad(module).sin_cos();
        [towards * cos - across * sin, towards * sin + across * cos, z]
    }

    /// Returns the direction from the axis to a module.
    pub fn module_angle_rad(&self, module: usize) -> f64 {
        std::f64::consts::TAU * module as f64 / self.num_modules as f64
    }

    /// Returns the number of symmetries.
    pub fn num_symmetries(&self) -> usize {
        4 * self.num_modules
    }

    /// Returns the symmetry of this number, 0 being the one that changes nothing: `[flipped][mirrored][turn]`.
    pub fn symmetry(&self, number: usize) -> Symmetry {
        let (turn, rest) = (number % self.num_modules, number / self.num_modules);
        Symmetry { turn, is_mirrored: rest % 2 == 1, is_flipped: rest / 2 == 1 }
    }

    /// Returns all symmetries, by their numbers.
    pub fn symmetries(&self) -> Vec<Symmetry> {
        (0..self.num_symmetries()).map(|number| self.symmetry(number)).collect()
    }

    /// Returns the symmetries of a grid of cubes about the middle, `[flipped][mirrored][half turn]`; `None` where the ring is not its own
    /// image after half a turn.
    pub fn symmetries_of_cubes(&self) -> Option<Vec<Symmetry>> {
        let half = self.num_modules / 2;
        let keeps = |symmetry: &Symmetry| symmetry.turn == 0 || symmetry.turn == half;
        self.num_modules.is_multiple_of(2).then(|| self.symmetries().into_iter().filter(keeps).collect())
    }

    /// Returns the symmetry that does `second` after `first`.
    pub fn composed(&self, second: Symmetry, first: Symmetry) -> Symmetry {
        // A mirror reverses an earlier turn.
        let before = if second.is_mirrored { self.num_modules - first.turn } else { first.turn };
        Symmetry {
            turn: (second.turn + before) % self.num_modules,
            is_mirrored: second.is_mirrored != first.is_mirrored,
            is_flipped: second.is_flipped != first.is_flipped,
        }
    }

    /// Returns the symmetry that undoes one.
    pub fn inverse(&self, symmetry: Symmetry) -> Symmetry {
        let turn = if symmetry.is_mirrored { symmetry.turn } else { (self.num_modules - symmetry.turn) % self.num_modules };
        Symmetry { turn, ..symmetry }
    }

    /// Returns the image of a crystal.
    pub fn image_of_crystal(&self, symmetry: Symmetry, crystal: usize) -> usize {
        let CrystalPlace { module, layer, at: [across, axial] } = self.place(crystal);
        let [num_across, num_axial] = self.num;
        let (module, across) =
            if symmetry.is_mirrored { (self.num_modules - module, num_across - 1 - across) } else { (module, across) };
        let axial = if symmetry.is_flipped { num_axial - 1 - axial } else { axial };
        self.crystal(CrystalPlace { module: (module + symmetry.turn) % self.num_modules, layer, at: [across, axial] })
    }

    /// Returns the image of each crystal under the inverse of each symmetry, `[symmetry][crystal]`.
    pub fn inverse_images(&self) -> Vec<u32> {
        let of = |number: usize| {
            let inverse = self.inverse(self.symmetry(number));
            (0..self.num_crystals()).map(move |crystal| self.image_of_crystal(inverse, crystal) as u32)
        };
        (0..self.num_symmetries()).flat_map(of).collect()
    }

    /// Returns the image of a line of response.
    pub fn image_of_lor(&self, symmetry: Symmetry, lor: usize) -> usize {
        let [one, other] = self.crystals_of(lor).map(|crystal| self.image_of_crystal(symmetry, crystal));
        self.lor(one, other)
    }

    /// Returns the image of a point, mm.
    pub fn image_of_point(&self, symmetry: Symmetry, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let (y, z) = (if symmetry.is_mirrored { -y } else { y }, if symmetry.is_flipped { -z } else { z });
        let (sin, cos) = self.module_angle_rad(symmetry.turn).sin_cos();
        [x * cos - y * sin, x * sin + y * cos, z]
    }
}

const FILES: [&str; 2] = [
    include_str!("../../../assets/scanners/rings/madpet2.toml"),
    include_str!("../../../assets/scanners/rings/madpet2-reduced.toml"),
];

static RINGS: LazyLock<Vec<CrystalRing>> = LazyLock::new(|| FILES.iter().filter_map(|text| parse(text).ok()).collect());

/// Returns all built-in rings. (A test parses each of their files.)
pub fn rings() -> &'static [CrystalRing] {
    &RINGS
}

/// Returns the ring of this name.
pub fn find_ring(name: &str) -> Option<&'static CrystalRing> {
    rings().iter().find(|ring| ring.name.eq_ignore_ascii_case(name))
}

fn parse(text: &str) -> Result<CrystalRing, String> {
    let ring: CrystalRing = toml::from_str(text).map_err(|error| error.to_string())?;
    ring.validate().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_file_is_a_ring_and_madpet2_is_the_papers() {
        for text in FILES {
            if let Err(error) = parse(text) {
                panic!("{error}\n{text}");
            }
        }
        let ring = find_ring("madpet2").unwrap();
        assert_eq!((ring.num_crystals(), ring.num_lors(), ring.num_symmetries()), (1152, 662_976, 72));
        assert!((2.0 * ring.half_length_mm() - 18.1).abs() < 1e-9);
    }

    #[test]
    fn crystals_and_lors_are_numbered_through() {
        for ring in rings() {
            assert!((0..ring.num_crystals()).all(|crystal| ring.crystal(ring.place(crystal)) == crystal));
            let lors = (0..ring.num_crystals()).flat_map(|high| (0..high).map(move |low| [low, high]));
            assert!(lors.enumerate().all(|(lor, pair)| ring.crystals_of(lor) == pair && ring.lor(pair[1], pair[0]) == lor));
        }
    }

    #[test]
    fn symmetries_are_a_group_that_permutes_crystals_where_it_moves_them() {
        for ring in rings() {
            let group = ring.symmetries();
            for (number, &a) in group.iter().enumerate() {
                let Symmetry { turn, is_mirrored, is_flipped } = a;
                assert_eq!((2 * usize::from(is_flipped) + usize::from(is_mirrored)) * ring.num_modules + turn, number);
                assert_eq!(ring.composed(a, ring.inverse(a)), group[0]);
                assert_eq!(ring.composed(ring.inverse(a), a), group[0]);
                let mut images: Vec<usize> = (0..ring.num_crystals()).map(|c| ring.image_of_crystal(a, c)).collect();
                for (crystal, &image) in images.iter().enumerate() {
                    let (moved, there) = (ring.image_of_point(a, ring.middle_mm(crystal)), ring.middle_mm(image));
                    assert!((0..3).all(|axis| (moved[axis] - there[axis]).abs() < 1e-9), "{a:?} {crystal}");
                }
                images.sort_unstable();
                assert!(images.into_iter().eq(0..ring.num_crystals()));
                for &b in &group {
                    let both = ring.composed(a, b);
                    let one_by_one = |c| ring.image_of_crystal(a, ring.image_of_crystal(b, c));
                    assert!((0..ring.num_crystals()).step_by(37).all(|c| ring.image_of_crystal(both, c) == one_by_one(c)));
                }
            }
        }
    }

    #[test]
    fn the_group_moves_every_line_of_most_orbits_and_not_of_some() {
        let ring = find_ring("madpet2").unwrap();
        let group = ring.symmetries();
        let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
        let mut is_known = vec![false; ring.num_lors()];
        for lor in 0..ring.num_lors() {
            if is_known[lor] {
                continue;
            }
            let mut orbit: Vec<usize> = group.iter().map(|&g| ring.image_of_lor(g, lor)).collect();
            orbit.sort_unstable();
            orbit.dedup();
            orbit.iter().for_each(|&lor| is_known[lor] = true);
            *sizes.entry(orbit.len()).or_default() += 1;
        }
        assert_eq!(sizes, BTreeMap::from([(36, 624), (72, 8896)]));
    }
}
