//! Monte Carlo physics of a scanner's response: positrons, annihilation photons, and their interactions in crystals.
//!
//! One photon's history is a chain of plain functions on numbers of fixed size. It draws from a separate Philox stream
//! (`crate::random::stream(seed, history)`) in the order that each function states, always 32 bits at a time. So a twin of this
//! code on another device draws the same numbers and any number of threads gives the same histories.
//!
//! | file | content |
//! |---|---|
//! | `materials` | attenuation coefficients of the crystals, from 10 to 600 keV |
//! | `compton`, `rayleigh` | energy and angle after scattering |
//! | `positron` | positron range, photons that are not quite opposite |
//! | `crystals` | the crystals of one detector head, and straight flight through them |
//! | `track` | a photon's interactions in a head until it is absorbed or has left |
//! | `readout` | measured energy, energy window, the crystal that the event is assigned to |
//! | `coincidences` | decays between rotating heads and the crystals that count them |
//! | `tubes` | tubes of response |
//! | `edge_rings` | deviation of tubes at the ends of the heads |
//! | `recipe` | simulation of a set of them |
//! | `scan` | a scan of an object, decay by decay |
//! | `sensitivity` | share of the decays at a point that is counted |
//! | `ring` | decays inside a ring of modules and the crystal pairs that count them |
//! | `response` | the matrix of its response to the functions of an image |
//!
//! Left out: the recoil electron and the fluorescence photon after photo-electric absorption deposit their energy at their
//! origin; electrons are free and at rest for scattering (their binding affects its frequency, not its angle); polarisation;
//! light transport; gaps between crystals absorb nothing.

mod coincidences;
mod compton;
mod crystals;
mod detection;
mod draws;
mod edge_rings;
mod materials;
mod positron;
mod rayleigh;
mod readout;
mod recipe;
mod response;
mod ring;
mod scan;
mod sensitivity;
mod track;
mod tubes;

pub use coincidences::Coincidences;
pub use compton::{Scattered, scatter};
pub use crystals::{CrystalArray, CrystalHead, DetectorError, HeadError};
pub use detection::Detection;
pub use draws::{ELECTRON_KEV, isotropic};
pub use edge_rings::EdgeDeviation;
pub use materials::{Attenuation, Material, MaterialError, STEPS_PER_KEV, materials};
pub use positron::{AnnihilationPhysics, Isotope, RangeProfile};
pub use readout::{Assignment, Readout, ReadoutError};
pub use recipe::{Amount, TubeRecipe, TubesError};
pub use response::{
    FunctionsAt, Response, ResponseElement, ResponseElements, ResponseExtent, ResponsePart, ResponseStatistics, ResponseTally,
    ResponseTotals, TALLY_LIMIT, WEIGHT_UNITS, scale_above,
};
pub use ring::{DecayOutcome, RingDetector};
pub use scan::{measure, measure_pairs};
pub use track::{CUTOFF_KEV, Deposit, Photon, Track};
pub use tubes::{AllThreads, HistoryError, HistorySimulator, TallySums, TubePrecision, TubeTally};
