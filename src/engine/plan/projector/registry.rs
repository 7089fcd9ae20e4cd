//! Every projector by its name. A further one is an entry here, and a case of each platform beyond the CPU that has it.

use std::str::FromStr;

use super::inputs::ProjectorInputs;
use super::settings::ProjectorChoice;
use super::system::{System, host_threads, on_host};
use crate::operator::{AxialRuns, OperatorError, PlainTubes, Tubes};
use crate::text::either;

/// A projector by its name.
pub struct ProjectorEntry {
    /// On the command line, in files and in the window.
    pub name: &'static str,
    /// Short description.
    pub text: &'static str,
    /// Advice if the geometry does not allow it.
    pub advice: &'static str,
    /// True if a walk crosses one voxel after the other: time grows with nx + ny + nz, not with (nx + ny) nz.
    pub walks_voxels: bool,
    /// True if its backprojection is exactly the adjoint of its projection, up to rounding: else the likelihood need not
    /// increase.
    pub is_matched: bool,
    /// True if only the reproduction of a paper needs it.
    pub is_research: bool,
    /// Makes it on the CPU. Other platforms have those that they name ([`crate::plan::Platform::view_system`]).
    pub(in crate::plan) on_host: MakeOnHost,
}

/// Makes a system on the CPU.
type MakeOnHost = fn(&ProjectorInputs) -> Result<Box<dyn System>, OperatorError>;

/// All projectors; where none is asked for the first that can be.
pub static PROJECTORS: [ProjectorEntry; 4] = [
    ProjectorEntry {
        name: "axial-runs",
        text: "all planes of a transaxial line at once",
        advice: "Another voxel height allows it",
        walks_voxels: false,
        is_matched: true,
        is_research: false,
        on_host: |inputs| {
            let projector = AxialRuns::new(inputs.geometry(), inputs.grid(), inputs.fov_radius_mm(), inputs.rays())?;
            let projector = match inputs.settings.tof {
                Some((bins, kernel)) => projector.with_tof(bins, kernel),
                None => projector,
            };
            let device = format!("{}, {}", host_threads(), projector.simd().name());
            on_host(inputs, projector, device)
        },
    },
    ProjectorEntry {
        name: "per-lor",
        text: "Siddon's path, one line at a time: the definition",
        advice: "",
        walks_voxels: true,
        is_matched: true,
        is_research: false,
        on_host: |inputs| on_host(inputs, inputs.siddon(), host_threads()),
    },
    ProjectorEntry {
        name: "tubes",
        text: "tubes of response, simulated for the scanner",
        advice: "",
        walks_voxels: false,
        is_matched: true,
        is_research: false,
        on_host: |inputs| {
            let projector = Tubes::new(inputs.geometry(), inputs.grid(), inputs.fov_radius_mm(), inputs.tubes()?)?;
            on_host(inputs, projector, host_threads())
        },
    },
    ProjectorEntry {
        name: "tubes-paper",
        text: "tubes of response by the kernels of Herraiz et al. 2011: the definition, slow",
        advice: "",
        walks_voxels: false,
        is_matched: false,
        is_research: true,
        on_host: |inputs| {
            let tubes = inputs.tubes()?.clone();
            on_host(inputs, PlainTubes::new(inputs.geometry(), inputs.grid(), inputs.fov_radius_mm(), tubes)?, host_threads())
        },
    },
];

/// Returns the projector of this name.
pub fn projector(name: &str) -> Option<&'static ProjectorEntry> {
    PROJECTORS.iter().find(|entry| entry.name == name)
}

impl ProjectorChoice {
    /// Returns all choices.
    pub fn all() -> impl Iterator<Item = ProjectorChoice> {
        std::iter::once(ProjectorChoice::Auto).chain(PROJECTORS.iter().map(|entry| ProjectorChoice::Named(entry.name)))
    }
}

impl<'de> serde::Deserialize<'de> for ProjectorChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for ProjectorChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        ProjectorChoice::all().find(|choice| choice.name() == text).ok_or_else(|| {
            let names: Vec<&str> = ProjectorChoice::all().map(ProjectorChoice::name).collect();
            format!("'{text}' is not a projector; use {}", either(&names))
        })
    }
}
