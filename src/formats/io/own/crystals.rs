//! The crystals of a scanner as a text (`NAME.crystals.toml`): blocks that are repeated around and along the axis, or crystals one by
//! one, in any number of each.
//!
//! ```toml
//! version = 1
//! name = "my scanner"
//! min_angle_deg = 30.0              # least angle between the depths of two crystals in coincidence, seen along the axis; default 0
//!
//! [[block]]
//! crystals = [8, 8]                 # around and along the axis
//! size_mm = [20.0, 4.7, 3.9]        # of a crystal: depth, around, along
//! pitch_mm = [4.8, 4.0]             # from one crystal to the next; default: their sides
//! centre_mm = [0.0, -330.0, 0.0]    # middle of the block
//! rotation_deg = 0.0                # about the line through its middle along z; 0 (default): it faces the axis
//! around = 48                       # copies around the axis, in equal steps from −y towards +x; default 1
//! along = 4                         # copies along the axis, about the middle; default 1
//! clockwise = false                 # whether copies, and the crystals of a block, follow each other the other way around
//! along_mm = 32.0                   # from one of them to the next; default: as long as a block
//! order = "blocks"                  # how crystals are numbered (below); default "blocks"
//!
//! [[single]]
//! size_mm = [20.0, 3.9, 3.9]        # default 0: not known
//! crystals = [[0.0, -120.0, 4.0, 0.0, -1.0, 0.0]]   # each: its middle, mm, and the direction of its depth, outwards
//! ```
//!
//! Lists call crystals by their number from 0 on: those of the first block, of the next ones, then the single ones in the order of the
//! file. Within a block they are numbered `[copy along][copy around][along][around]` with `order = "blocks"`, and ring by ring,
//! `[copy along][along][copy around][around]`, with `order = "rings"`; along from −z, around from −y towards +x, or the other way where they are clockwise.

use std::path::Path;

use serde::Deserialize;

use super::toml_text::Form;
use crate::geometry::Point;
use crate::io::error::IoError;
use crate::scanner::{Crystal, Detectors, axes_of_depth};

const FORM: Form = Form { is_not: "these are no crystals of a scanner", versions: &[1], max_bytes: 64 << 20 };
/// Most crystals, as of [`Detectors`].
const MAX_CRYSTALS: usize = 1 << 24;

/// A scanner's crystals, and which of their pairs can be in coincidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Crystals {
    /// The crystals.
    pub detectors: Detectors,
    /// Least angle between the depths of two crystals in coincidence, seen along the axis, degrees.
    pub min_angle_deg: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CrystalFile {
    #[serde(rename = "version")]
    _version: u32,
    name: String,
    #[serde(default)]
    min_angle_deg: f64,
    #[serde(default)]
    block: Vec<Block>,
    #[serde(default)]
    single: Vec<Singles>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    crystals: [usize; 2],
    size_mm: [f64; 3],
    pitch_mm: Option<[f64; 2]>,
    centre_mm: Point,
    #[serde(default)]
    rotation_deg: f64,
    #[serde(default = "one")]
    around: usize,
    #[serde(default = "one")]
    along: usize,
    #[serde(default)]
    clockwise: bool,
    along_mm: Option<f64>,
    #[serde(default)]
    order: Order,
}

fn one() -> usize {
    1
}

/// Numbering of the crystals of a block and its copies.
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Order {
    #[default]
    Blocks,
    Rings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Singles {
    #[serde(default)]
    size_mm: [f64; 3],
    crystals: Vec<[f64; 6]>,
}

/// Reads the crystals of a scanner.
///
/// # Errors
/// Not such a text, another version, invalid crystals with their numbers.
pub fn read_crystals(path: &Path) -> Result<Crystals, IoError> {
    let refused = |problem: CrystalsProblem| FORM.refused(path, problem);
    let file: CrystalFile = FORM.read(path)?;
    if !(0.0..=180.0).contains(&file.min_angle_deg) {
        return Err(refused(CrystalsProblem::MinAngle(file.min_angle_deg)));
    }
    let mut crystals = Vec::new();
    for (number, block) in file.block.iter().enumerate() {
        block.add(number + 1, MAX_CRYSTALS - crystals.len(), &mut crystals).map_err(refused)?;
    }
    for Singles { size_mm, crystals: places } in &file.single {
        for &[x, y, z, ux, uy, uz] in places {
            let length = [ux, uy, uz].iter().map(|u| u * u).sum::<f64>().sqrt();
            let is_unit = (length - 1.0).abs() < 1e-3;
            if !is_unit {
                let (number, direction) = (crystals.len(), [ux, uy, uz]);
                return Err(refused(CrystalsProblem::CrystalDirection(number, direction)));
            }
            let axes = axes_of_depth([ux, uy, uz].map(|u| u / length));
            crystals.push(Crystal { centre_mm: [x, y, z], axes, size_mm: *size_mm });
        }
    }
    let detectors = Detectors::new(file.name, crystals).map_err(|source| IoError::Detectors(path.to_owned(), source))?;
    Ok(Crystals { detectors, min_angle_deg: file.min_angle_deg })
}

impl Block {
    /// Adds the crystals of all copies of block `number`; `room` = how many there may be.
    fn add(&self, number: usize, room: usize, crystals: &mut Vec<Crystal>) -> Result<(), CrystalsProblem> {
        let Self { crystals: [num_around, num_along], around, along, size_mm, centre_mm, order, .. } = *self;
        let nums = [num_around, num_along, around, along];
        if nums.contains(&0) {
            return Err(CrystalsProblem::EmptyBlock(number));
        }
        let num = nums.iter().try_fold(1usize, |product, num| product.checked_mul(*num)).filter(|num| *num <= room);
        let num = num.ok_or(CrystalsProblem::ManyCrystals(number, MAX_CRYSTALS))?;
        let [pitch_around, pitch_along] = self.pitch_mm.unwrap_or([size_mm[1], size_mm[2]]);
        let along_mm = self.along_mm.unwrap_or(pitch_along * num_along as f64);
        let radius_mm = centre_mm[0].hypot(centre_mm[1]);
        if radius_mm <= 0.0 && (around > 1 || self.rotation_deg == 0.0) {
            return Err(CrystalsProblem::BlockOnAxis(number));
        }
        let way = if self.clockwise { -1.0 } else { 1.0 };
        let from_middle = |index: usize, num: usize| index as f64 - 0.5 * (num as f64 - 1.0);
        let crystal = |[copy_along, copy_around, row, column]: [usize; 4]| {
            let turn = way * std::f64::consts::TAU * copy_around as f64 / around as f64;
            // From −y towards +x.
            let angle = centre_mm[0].atan2(-centre_mm[1]) + turn;
            let (sin, cos) = angle.sin_cos();
            let (depth_sin, depth_cos) = (angle + self.rotation_deg.to_radians()).sin_cos();
            let (across, up) = (way * pitch_around * from_middle(column, num_around), pitch_along * from_middle(row, num_along));
            let z = centre_mm[2] + along_mm * from_middle(copy_along, along) + up;
            Crystal {
                centre_mm: [radius_mm * sin + across * depth_cos, -radius_mm * cos + across * depth_sin, z],
                axes: [[depth_sin, -depth_cos, 0.0], [depth_cos, depth_sin, 0.0], [0.0, 0.0, 1.0]],
                size_mm,
            }
        };
        let copies_and_rows: Vec<[usize; 2]> = match order {
            Order::Blocks => (0..around).flat_map(|copy| (0..num_along).map(move |row| [copy, row])).collect(),
            Order::Rings => (0..num_along).flat_map(|row| (0..around).map(move |copy| [copy, row])).collect(),
        };
        crystals.reserve(num);
        for copy_along in 0..along {
            for &[copy, row] in &copies_and_rows {
                crystals.extend((0..num_around).map(|column| crystal([copy_along, copy, row, column])));
            }
        }
        Ok(())
    }
}

/// A problem of a file of a scanner's crystals.
#[derive(Debug, PartialEq, thiserror::Error)]
enum CrystalsProblem {
    /// An angle out of range.
    #[error("min_angle_deg is {0}; it must be 0 to 180")]
    MinAngle(f64),
    /// A block, by its number, without crystals or copies.
    #[error("block {0}: it has no crystals or no copies; crystals, around and along must be 1 or more")]
    EmptyBlock(usize),
    /// A block, by its number, with more crystals than a scanner can have.
    #[error("block {0}: with it the scanner would have more than {1} crystals")]
    ManyCrystals(usize, usize),
    /// A block, by its number, in the middle of the scanner.
    #[error("block {0}: its middle lies on the axis, from where no direction is outwards; move it (centre_mm)")]
    BlockOnAxis(usize),
    /// A crystal, by its number, whose direction is not a unit vector.
    #[error("crystal {} looks in the direction ({}, {}, {}), which is no unit vector", .0, .1[0], .1[1], .1[2])]
    CrystalDirection(usize, [f64; 3]),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::own::toml_text::FormProblem;
    use crate::scanner::{Cylinder, DetectorsError, find};

    fn read(text: &str) -> Result<Crystals, IoError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.crystals.toml");
        std::fs::write(&path, text).unwrap();
        read_crystals(&path)
    }

    const HEAD: &str = "version = 1\nname = \"mine\"\n";

    #[test]
    fn a_block_of_one_crystal_repeated_is_the_cylinder_of_a_scanner() {
        let geometry = &find("small").unwrap().geometry;
        let expected = Detectors::of_cylinder(geometry).unwrap();
        let size = expected.crystals()[0].size_mm;
        let text = format!(
            "{HEAD}[[block]]\ncrystals = [1, 1]\nsize_mm = {size:?}\ncentre_mm = [0.0, {}, 0.0]\naround = {}\nalong = {}\nalong_mm = {}\n",
            -geometry.radius_mm(),
            geometry.num_detectors_per_ring,
            geometry.num_rings,
            geometry.ring_spacing_mm
        );
        for text in [text.clone(), text + "order = \"rings\"\n"] {
            let found = read(&text).unwrap().detectors;
            assert_eq!(found.crystals().len(), expected.crystals().len());
            for (found, expected) in found.crystals().iter().zip(expected.crystals()) {
                let values = |crystal: &Crystal| {
                    let sides = crystal.axes.iter().flatten();
                    crystal.centre_mm.iter().chain(sides).chain(&crystal.size_mm).copied().collect::<Vec<f64>>()
                };
                assert!(values(found).iter().zip(values(expected)).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?} {expected:?}");
            }
        }
    }

    #[test]
    fn crystals_of_blocks_have_their_places_and_numbers() {
        let block = "[[block]]\ncrystals = [3, 2]\nsize_mm = [20.0, 4.0, 5.0]\npitch_mm = [4.5, 5.5]\ncentre_mm = [100.0, 0.0, 1.0]\n\
                     around = 4\nalong = 2\nalong_mm = 15.0\n";
        let blocks = read(&format!("{HEAD}{block}")).unwrap().detectors;
        assert_eq!(blocks.crystals().len(), 48);
        // On +x, around goes towards +y; the copies go on towards +y too.
        let near = |found: Point, expected: Point| found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
        let at = |crystal: usize| blocks.crystals()[crystal].centre_mm;
        for (crystal, expected) in [
            (0, [100.0, -4.5, 1.0 - 7.5 - 2.75]),
            (2, [100.0, 4.5, 1.0 - 7.5 - 2.75]),
            (3, [100.0, -4.5, 1.0 - 7.5 + 2.75]),
            (6, [4.5, 100.0, 1.0 - 7.5 - 2.75]),
            (24 + 12, [-100.0, 4.5, 1.0 + 7.5 - 2.75]),
        ] {
            assert!(near(at(crystal), expected), "{crystal}: {:?}", at(crystal));
        }
        assert!(near(blocks.crystals()[6].axes[0], [0.0, 1.0, 0.0]));
        let rings = read(&format!("{HEAD}{block}order = \"rings\"\n")).unwrap().detectors;
        assert!(near(rings.crystals()[3].centre_mm, at(6)) && near(rings.crystals()[12].centre_mm, at(3)));
        let other_way = read(&format!("{HEAD}{block}clockwise = true\n")).unwrap().detectors;
        assert!(near(other_way.crystals()[0].centre_mm, at(2)) && near(other_way.crystals()[18].centre_mm, at(8)));
        // Turned about its own middle, and a single crystal after all others.
        let single = "[[single]]\ncrystals = [[1.0, 2.0, 3.0, 0.0, 0.6, 0.8]]\n";
        let turned = read(&format!("{HEAD}min_angle_deg = 20.0\n{block}rotation_deg = 90.0\n{single}")).unwrap();
        let (turned, min_angle_deg) = (turned.detectors, turned.min_angle_deg);
        assert!(near(turned.crystals()[0].centre_mm, [104.5, 0.0, at(0)[2]]) && min_angle_deg == 20.0);
        let last = turned.crystals()[48];
        assert!(near(last.centre_mm, [1.0, 2.0, 3.0]) && near(last.axes[0], [0.0, 0.6, 0.8]) && last.size_mm == [0.0; 3]);
    }

    #[test]
    fn a_ring_of_blocks_is_recognised_with_its_gaps() {
        // 24 blocks of 4, a place of 5 between them left out.
        let radius = 120.0 / std::f64::consts::TAU * 4.0;
        let text = format!(
            "{HEAD}[[block]]\ncrystals = [4, 3]\nsize_mm = [20.0, 3.9, 3.9]\npitch_mm = [4.0, 4.0]\ncentre_mm = [0.0, -{radius}, 0.0]\naround = 24\n"
        );
        let cylinder = Cylinder::recognise(&read(&text).unwrap().detectors).unwrap();
        assert_eq!((cylinder.num_rings, cylinder.num_detectors, cylinder.num_gaps()), (3, 120, 3 * 24));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let block = |rest: &str| format!("{HEAD}[[block]]\nsize_mm = [20.0, 4.0, 4.0]\n{rest}");
        for (text, expected) in [
            ("version = 2\nname = \"mine\"\n".to_owned(), FormProblem::Version(2, &[1]).to_string()),
            (block("crystals = [0, 4]\ncentre_mm = [0.0, 1.0, 0.0]\n"), CrystalsProblem::EmptyBlock(1).to_string()),
            (
                block("crystals = [70000, 70000]\naround = 9999999\ncentre_mm = [0.0, 1.0, 0.0]\n"),
                CrystalsProblem::ManyCrystals(1, 1 << 24).to_string(),
            ),
            (block("crystals = [4, 4]\ncentre_mm = [0.0, 0.0, 0.0]\n"), CrystalsProblem::BlockOnAxis(1).to_string()),
            (format!("{HEAD}min_angle_deg = 200.0\n"), CrystalsProblem::MinAngle(200.0).to_string()),
            (
                format!("{HEAD}[[single]]\ncrystals = [[1.0, 2.0, 3.0, 0.0, 0.6, 0.9]]\n"),
                CrystalsProblem::CrystalDirection(0, [0.0, 0.6, 0.9]).to_string(),
            ),
        ] {
            let IoError::Unsupported(path, refusal) = read(&text).unwrap_err() else { panic!("{text}") };
            assert!(path.ends_with("my.crystals.toml"));
            assert_eq!(refusal.problem().to_string(), expected);
        }
        for (text, line) in [("colour = 1\n", 3), ("[[single]]\ncrystals = [[1.0, 2.0]]\n", 4)] {
            let error = read(&format!("{HEAD}{text}")).unwrap_err();
            assert!(matches!(error.problem(), Some(FormProblem::Syntax { line: found, .. }) if *found == line), "{error}");
        }
        let none = read(HEAD).unwrap_err();
        assert!(matches!(&none, IoError::Detectors(_, DetectorsError::Number { found: 0, .. })), "{none}");
        let nowhere = read(&block("crystals = [4, 4]\ncentre_mm = [nan, 1.0, 0.0]\n")).unwrap_err();
        assert!(matches!(&nowhere, IoError::Detectors(_, DetectorsError::Crystal { .. })), "{nowhere}");
    }
}
