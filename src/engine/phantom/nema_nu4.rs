//! The image-quality phantom of NEMA NU 4: hot rods in a solid part, a uniform chamber, two cold cylinders, one with water and one
//! with air.
//!
//! Along z come the rods, then the uniform half of the chamber, then the half with the cold cylinders; the middle of all lies at 0.

use super::draft::{Draft, PhantomInfo, WATER};
use super::nema::PMMA;
use super::object::Material;
use super::solid::Solid;
use crate::data::RoiRole;
use crate::data::nema_nu4::{
    CHAMBER_LENGTH_MM, CHAMBER_RADIUS_MM, COLD_OFFSET_MM, COLD_RADIUS_MM, ROD_DIAMETERS_MM, ROD_LENGTH_MM, ROD_RING_MM,
};
use crate::scanner::ScanGeometry;

/// Outer radius of the phantom, mm.
const OUTER_RADIUS_MM: f64 = 16.75;
/// Wall of the cold cylinders, mm.
const COLD_WALL_MM: f64 = 1.0;
/// Air without activity (0.087 cm²/g × 0.0012 g/cm³).
const AIR: Material = Material { activity: 0.0, mu_per_mm: 0.00001 };

/// Returns the phantom.
pub(super) fn small_animal(info: PhantomInfo, geometry: &ScanGeometry) -> Draft {
    let half_mm = 0.5 * (ROD_LENGTH_MM + CHAMBER_LENGTH_MM);
    let chamber_mm = [half_mm - CHAMBER_LENGTH_MM, half_mm];
    let cold_mm = [half_mm - 0.5 * CHAMBER_LENGTH_MM, half_mm];
    let active = Material { activity: 1.0, ..WATER };
    let mut draft = Draft::new(info, OUTER_RADIUS_MM, 2.0 * half_mm, geometry);
    let mut put = |axis_mm, radius_mm, z_mm, material: Material| {
        draft.part(Solid::cylinder(axis_mm, radius_mm, z_mm), material.activity, material);
    };
    put([0.0; 2], OUTER_RADIUS_MM, [-half_mm, half_mm], PMMA);
    put([0.0; 2], CHAMBER_RADIUS_MM, chamber_mm, active);
    for (side, content) in [(-1.0, WATER), (1.0, AIR)] {
        put([side * COLD_OFFSET_MM, 0.0], COLD_RADIUS_MM + COLD_WALL_MM, cold_mm, PMMA);
        put([side * COLD_OFFSET_MM, 0.0], COLD_RADIUS_MM, cold_mm, content);
    }
    let rod_axis = |index: usize| {
        let (sin, cos) = (72.0 * index as f64).to_radians().sin_cos();
        [ROD_RING_MM * cos, -ROD_RING_MM * sin]
    };
    for (index, diameter) in ROD_DIAMETERS_MM.into_iter().enumerate() {
        put(rod_axis(index), 0.5 * diameter, [-half_mm, chamber_mm[0]], active);
    }
    let middle = |[from, to]: [f64; 2]| 0.5 * (from + to);
    draft.circle("uniform", [0.0, 0.0, middle([chamber_mm[0], cold_mm[0]])], 11.25, RoiRole::Background, None);
    for (name, side) in [("cold, water", -1.0), ("cold, air", 1.0)] {
        draft.circle(name, [side * COLD_OFFSET_MM, 0.0, middle(cold_mm)], 2.0, RoiRole::Cold, None);
    }
    for (index, diameter) in ROD_DIAMETERS_MM.into_iter().enumerate() {
        let [x, y] = rod_axis(index);
        let centre_mm = [x, y, middle([-half_mm, chamber_mm[0]])];
        draft.circle(format!("rod {}", draft.made_mm(diameter)), centre_mm, 0.5 * diameter, RoiRole::None, None);
    }
    draft
}
