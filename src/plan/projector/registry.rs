//! Every projector that there is, for each back end, by its name. A further one is a line here.

use std::str::FromStr;
use std::sync::Arc;

use super::settings::{ProjectorChoice, ProjectorSettings, rays_per_bin};
use super::system::{OfTeam, Projector, System};
#[cfg(feature = "cuda")]
use crate::algebra::Backend;
use crate::algebra::{Host, Share};
#[cfg(feature = "cuda")]
use crate::cuda::{self, CudaBackend};
use crate::data::TubeSet;
use crate::geometry::Grid;
use crate::operator::{Accumulation, AxialRuns, Misfit, OperatorError, PlainTubes, Siddon, Tubes, ViewProjector};
use crate::plan::platform::memory::FreeMemory;
use crate::plan::platform::processes::process_team;
use crate::scanner::ScanGeometry;
use crate::words::{counted, either};

/// A projector by its name.
pub struct ProjectorEntry {
    /// On the command line, in files and in the window.
    pub name: &'static str,
    /// What it is, in a few words.
    pub text: &'static str,
    /// What to change where the geometry does not allow it.
    pub advice: &'static str,
    /// Whether a walk crosses one voxel after the other: time goes with nx + ny + nz, not with (nx + ny) nz.
    pub walks_voxels: bool,
    /// Whether its backprojection is exactly the adjoint of its projection, up to rounding: without that no likelihood is sure to rise.
    pub is_matched: bool,
    /// Whether only the reproduction of a paper needs it.
    pub is_research: bool,
    pub(in crate::plan) on_host: fn(&Between) -> Result<Box<dyn System>, OperatorError>,
    #[cfg(feature = "cuda")]
    pub(in crate::plan) on_cuda: Option<MakeOnCuda>,
}

/// All projectors; where none is asked for the first that can be.
pub static PROJECTORS: [ProjectorEntry; 4] = [
    ProjectorEntry {
        name: "axial-runs",
        text: "all planes of a transaxial line at once",
        advice: "A voxel height that divides the distance between the planes allows it",
        walks_voxels: false,
        is_matched: true,
        is_research: false,
        on_host: |between| {
            let projector = AxialRuns::new(between.geometry(), between.grid(), between.fov_radius_mm(), between.rays())?;
            let instructions = format!(", {}", projector.simd().name());
            host(projector, &instructions)
        },
        #[cfg(feature = "cuda")]
        on_cuda: Some(|backend, between| {
            let (geometry, grid, rays) = (between.geometry(), between.grid(), between.rays());
            Ok(device(cuda::AxialRuns::new(backend, geometry, grid, between.fov_radius_mm(), rays)?, String::new()))
        }),
    },
    ProjectorEntry {
        name: "per-lor",
        text: "Siddon's path, one line at a time: the definition",
        advice: "",
        walks_voxels: true,
        is_matched: true,
        is_research: false,
        on_host: |between| {
            let projector = Siddon::new(between.geometry(), between.grid(), between.fov_radius_mm(), between.rays());
            host(projector, "")
        },
        #[cfg(feature = "cuda")]
        on_cuda: Some(|backend, between| {
            let (geometry, grid, rays) = (between.geometry(), between.grid(), between.rays());
            let threads = between.settings.threads_per_block;
            let projector = cuda::BinDriven::new(backend, geometry, grid, between.fov_radius_mm(), rays, threads)?;
            let threads = format!(", {} threads per block", projector.threads_per_block());
            Ok(device(projector, threads))
        }),
    },
    ProjectorEntry {
        name: "tubes",
        text: "tubes of response, simulated for the scanner",
        advice: "",
        walks_voxels: false,
        is_matched: true,
        is_research: false,
        on_host: |between| {
            let projector = Tubes::new(between.geometry(), between.grid(), between.fov_radius_mm(), between.tubes()?)?;
            host(projector, "")
        },
        #[cfg(feature = "cuda")]
        on_cuda: Some(|backend, between| {
            let (geometry, grid, tubes) = (between.geometry(), between.grid(), between.tubes()?);
            Ok(device(cuda::Tubes::new(backend, geometry, grid, between.fov_radius_mm(), tubes)?, String::new()))
        }),
    },
    ProjectorEntry {
        name: "tubes-paper",
        text: "tubes of response by the kernels of Herraiz et al. 2011: the definition, slow",
        advice: "",
        walks_voxels: false,
        is_matched: false,
        is_research: true,
        on_host: |between| {
            let tubes = between.tubes()?.clone();
            let projector = PlainTubes::new(between.geometry(), between.grid(), between.fov_radius_mm(), tubes)?;
            host(projector, "")
        },
        #[cfg(feature = "cuda")]
        on_cuda: Some(|backend, between| {
            let (geometry, grid, tubes) = (between.geometry(), between.grid(), between.tubes()?);
            Ok(device(cuda::PaperTubes::new(backend, geometry, grid, between.fov_radius_mm(), tubes)?, String::new()))
        }),
    },
];

/// The projector of this name.
pub fn projector(name: &str) -> Option<&'static ProjectorEntry> {
    PROJECTORS.iter().find(|entry| entry.name == name)
}

impl ProjectorChoice {
    /// All choices.
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

/// What a projector is made for.
pub(in crate::plan) struct Between<'a> {
    pub geometry: &'a Arc<ScanGeometry>,
    pub settings: &'a ProjectorSettings,
}

impl Between<'_> {
    fn geometry(&self) -> Arc<ScanGeometry> {
        Arc::clone(self.geometry)
    }

    fn grid(&self) -> Grid {
        self.settings.grid.clone()
    }

    fn fov_radius_mm(&self) -> f64 {
        self.settings.fov_radius_mm
    }

    fn tubes(&self) -> Result<&TubeSet, OperatorError> {
        self.settings.tubes.as_deref().ok_or(OperatorError::Unsuitable(Misfit::NoTubes))
    }

    fn rays(&self) -> [usize; 2] {
        rays_per_bin(self.geometry, &self.settings.grid, self.settings.fov_radius_mm, self.settings.rays)
    }
}

/// Makes a projector on a device.
#[cfg(feature = "cuda")]
type MakeOnCuda = fn(&CudaBackend, &Between) -> Result<Assemble, OperatorError>;

/// What makes a system of a projector and its device.
#[cfg(feature = "cuda")]
pub(in crate::plan) type Assemble = Box<dyn FnOnce(CudaBackend) -> Result<Box<dyn System>, OperatorError>>;

/// On the processor; `more` is said of the device.
fn host(projector: impl ViewProjector<Host> + 'static, more: &str) -> Result<Box<dyn System>, OperatorError> {
    let team = process_team();
    let free: fn(&Host) -> FreeMemory = |_| FreeMemory::of_the_computer();
    let device = format!("CPU, {}{more}", counted(rayon::current_num_threads(), "thread"));
    Ok(match team.share() {
        Share::WHOLE => Box::new(Projector::of_views(Host, projector, device, Accumulation::Deterministic, free)),
        _ => Box::new(OfTeam::of_views(Host, projector, device, Accumulation::Deterministic, free, team)?),
    })
}

/// On a CUDA device, where the first of a projector's ways to add is its fastest.
#[cfg(feature = "cuda")]
fn device(projector: impl ViewProjector<CudaBackend> + 'static, more: String) -> Assemble {
    Box::new(move |backend| {
        let device = format!("{}{more}", backend.name());
        let (accumulation, team) = (projector.accumulations()[0], backend.team());
        Ok(match team.share() {
            Share::WHOLE => Box::new(Projector::of_views(backend, projector, device, accumulation, FreeMemory::of_device)),
            _ => Box::new(OfTeam::of_views(backend, projector, device, accumulation, FreeMemory::of_device, team)?),
        })
    })
}
