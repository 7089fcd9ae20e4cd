//! Analytic phantoms and scans of them.
//!
//! A phantom is a list of solids; its integrals along lines of response are closed forms, exact to rounding, so that a
//! simulated scan owes nothing to the projector that later reconstructs it:
//!
//! ```text
//! ȳ = exp(−∫ μ dl) · scale · ∫ activity dl + background,   y = ȳ or Poisson(ȳ)
//! ```
//!
//! with lengths in mm, so that a reconstruction converges to scale · activity, in counts per mm.
//!
//! EPRI measures integrals over planes: its phantoms are in [`epri`]. Those for rings of crystals are in [`ring`].

mod background;
mod catalogue;
mod decays;
mod draft;
pub mod epri;
mod list;
mod nema;
mod nema_nu4;
mod object;
mod poisson;
pub mod ring;
mod simulate;
mod solid;
mod tof;
mod trace;

pub use catalogue::{PhantomError, by_name, catalogue, find};
pub use decays::Decays;
pub use draft::PhantomInfo;
pub use list::{ListSimulation, SimulatedList, simulate_list};
pub use nema::eight_background_rois;
pub use object::{LineIntegrals, Material, Part, Phantom};
pub use poisson::poisson;
pub use simulate::{Noise, SimulationError, SimulationOptions, simulate};
pub use solid::Solid;
