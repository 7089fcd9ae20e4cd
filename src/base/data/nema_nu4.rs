//! Dimensions of the image-quality phantom of NEMA NU 4 (small animals), for its simulation and its analysis.
//!
//! Dimensions as in the public implementations of NU 4-2008: a cylinder with a chamber. Two cold cylinders reach into one end of
//! the chamber; beyond its other end is a solid part with five hot rods.

/// Radius of the chamber, mm.
pub const CHAMBER_RADIUS_MM: f64 = 15.0;
/// Length of the chamber, mm; the cold cylinders reach through half of it.
pub const CHAMBER_LENGTH_MM: f64 = 30.0;
/// Inner radius of the cold cylinders, mm.
pub const COLD_RADIUS_MM: f64 = 4.0;
/// Distance of their axes from the phantom's, mm.
pub const COLD_OFFSET_MM: f64 = 7.5;
/// Length of the rods, mm.
pub const ROD_LENGTH_MM: f64 = 20.0;
/// Diameters of the rods in their order around the axis, 72° apart, mm.
pub const ROD_DIAMETERS_MM: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
/// Distance of the rods' axes from the phantom's, mm.
pub const ROD_RING_MM: f64 = 7.0;
