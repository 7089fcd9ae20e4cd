//! Scanners as data, and the sampling of projection data that follows from them.
//!
//! A cylindrical scanner's lines of response are (transaxial LOR) × (axial plane pair). With the in-plane unit vectors of view
//! angle φ, the LOR of signed distance s and plane (m, δ) runs through
//!
//! ```text
//! x = s cos φ + a sin φ,   y = s sin φ − a cos φ,   z = m − a δ·spacing / (2 √(R² − s²)),   |a| ≤ √(R² − s²)
//! ```
//!
//! where R is the effective ring radius (crystal face plus depth of interaction), m the axial middle of the LOR and δ the mean
//! ring difference of its segment. At the two ends a = ∓√(R² − s²), z = m ± δ·spacing/2, for every s. So the product of an
//! in-plane and an axial table contains every LOR. Conventions are STIR's (Thielemans et al. 2012, Phys Med Biol 57:867), so that
//! projection data can be exchanged.
//!
//! Rotating flat heads ([`Heads`]) have no ring: the LORs of a view end on two planes, |a| ≤ R for every s.
//!
//! A ring of single crystals ([`CrystalRing`]) has no bins: any two crystals are a LOR. So are those of any [`Detectors`];
//! crystal pairs on a [`Cylinder`] have bins too.
//!
//! An EPRI imager measures along directions instead: [`epri`].

mod catalogue;
mod crystal_ring;
mod cylinder;
mod detectors;
mod difference;
pub mod epri;
mod geometry;
mod heads;

pub use catalogue::{Scanner, catalogue, find, find_by_originating_system};
pub use crystal_ring::{CrystalPlace, CrystalRing, RingError, Symmetry, find_ring, rings};
pub use cylinder::{Cylinder, CylinderBin};
pub use detectors::{Crystal, Detectors, DetectorsError, PairRays, axes_of_depth};
pub use difference::GeometryDifference;
pub use geometry::{InPlane, Plane, ScanGeometry, ScanGeometryError, Segment, TransaxialLor};
pub use heads::{Crystals, HeadPose, Heads, HeadsError};
