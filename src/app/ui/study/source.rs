//! Sources of studies: files, files of the server, and built-in phantoms.

use std::path::{Path, PathBuf};

use crate::io::FileKind;
use crate::plan::{ListFiles, ScanFiles, StudyFiles, SweepFiles};

/// Built-in study: a phantom and its simulated measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltIn {
    pub title: &'static str,
    /// The phantom's name on the command line.
    pub phantom: &'static str,
    pub measured: Measured,
}

/// Measurement of a built-in phantom.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// Sinograms of a PET scanner.
    Counts {
        /// The scanner's name on the command line.
        scanner: &'static str,
        /// Expected true counts.
        counts: f64,
        /// Voxels of the image along x, y, z; `None` = the scanner's default grid.
        size: Option<[usize; 3]>,
        /// True if the phantom attenuates.
        attenuation: bool,
        /// Share of scatter and randoms in all counts.
        background_fraction: f64,
    },
    /// Projection data of rotating heads, photon by photon.
    Photons {
        /// The scanner's name on the command line.
        scanner: &'static str,
        /// Approximate number of counts.
        counts: u64,
    },
    /// Crystal-pair histogram of a ring, photon by photon.
    Pairs {
        /// The ring's name on the command line.
        ring: &'static str,
        counts: u64,
    },
    /// Pulse projections, in an order that spreads over the half sphere.
    Sweep {
        /// Standard deviation of the noise as a fraction of the largest sample.
        noise_fraction: f64,
    },
    /// Continuous-wave projections of a slice under gradients of several sizes.
    Spectra {
        /// Width of the line of each part in turn, mT.
        linewidths_mt: &'static [f64],
        /// Standard deviation of the noise as a fraction of the largest sample.
        noise_fraction: f64,
    },
    /// Pulse projections at several delays after an inversion.
    Oxygen {
        /// Signal-to-noise ratio of a voxel in the fully recovered image.
        snr: f64,
    },
}

/// Image of the Discovery STE's studies, voxels along x, y, z.
const STE_SIZE: Option<[usize; 3]> = Some([256, 256, 47]);

/// Widths of the lines of the vials, mT.
const VIAL_LINEWIDTHS_MT: [f64; 6] = [0.1, 0.15, 0.2, 0.12, 0.18, 0.25];

const fn ste(title: &'static str, phantom: &'static str, counts: f64, attenuation: bool, background_fraction: f64) -> BuiltIn {
    let scanner = "discovery-ste";
    let measured = Measured::Counts { scanner, counts, size: STE_SIZE, attenuation, background_fraction };
    BuiltIn { title, phantom, measured }
}

const fn ring(scanner: &'static str, title: &'static str, phantom: &'static str, counts: f64) -> BuiltIn {
    let measured = Measured::Counts { scanner, counts, size: None, attenuation: false, background_fraction: 0.0 };
    BuiltIn { title, phantom, measured }
}

const fn photons(scanner: &'static str, title: &'static str, phantom: &'static str, counts: u64) -> BuiltIn {
    BuiltIn { title, phantom, measured: Measured::Photons { scanner, counts } }
}

const fn pairs(ring: &'static str, title: &'static str, phantom: &'static str, counts: u64) -> BuiltIn {
    BuiltIn { title, phantom, measured: Measured::Pairs { ring, counts } }
}

const fn epri(title: &'static str, phantom: &'static str, noise_fraction: f64) -> BuiltIn {
    BuiltIn { title, phantom, measured: Measured::Sweep { noise_fraction } }
}

/// Built-in studies. The first one is the default, the last one the smallest.
pub const BUILT_IN: [BuiltIn; 15] = [
    ste("NEMA image quality 2001, Discovery STE", "nema-iq-2001", 1e8, false, 0.0),
    ste("NEMA image quality 2001 with attenuation and scatter", "nema-iq-2001", 1e8, true, 0.3),
    ste("NEMA image quality 2018 (six hot spheres)", "nema-iq-2018", 1e8, false, 0.0),
    ste("Derenzo rods, Discovery STE", "derenzo", 5e7, false, 0.0),
    ste("Uniform cylinder, Discovery STE", "cylinder", 3e7, false, 0.0),
    ste("Brain-like ellipsoids, Discovery STE", "brain-like", 5e7, false, 0.0),
    ring("vrpet", "Derenzo on VrPET", "derenzo", 2e6),
    photons("vrpet", "Derenzo on VrPET, Monte Carlo", "derenzo", 100_000),
    pairs("madpet2-reduced", "Rods on MADPET-II", "rods", 300_000),
    ring("prt-1", "Points and lines, CTI PRT-1", "points", 1e6),
    epri("EPRI: bottle, 208 projections", "bottle", 0.0),
    epri("EPRI: tubes, 208 projections with noise", "tubes", 0.005),
    BuiltIn { title: "Oxygen: tumour-like", phantom: "tumour", measured: Measured::Oxygen { snr: 50.0 } },
    BuiltIn {
        title: "Spectra: six vials",
        phantom: "vials",
        measured: Measured::Spectra { linewidths_mt: &VIAL_LINEWIDTHS_MT, noise_fraction: 0.005 },
    },
    ring("small", "Small cylinder, small ring", "cylinder", 2e6),
];

#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Files of this machine.
    Files(StudyFiles),
    /// A simulation.
    BuiltIn(BuiltIn),
    /// Files of the server, by their paths there.
    Elsewhere(StudyFiles),
}

impl Source {
    /// Returns the source of a file and of its companions in the same folder.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Source::Files(StudyFiles::File(path.into()))
    }

    /// Returns the source of a file that is still being written.
    pub fn followed(path: &Path) -> Self {
        match FileKind::of(path) {
            Some(kind) if kind.is_list() => ListFiles { is_followed: true, ..ListFiles::of(path) }.into(),
            _ => SweepFiles { is_followed: true, ..SweepFiles::of(path) }.into(),
        }
    }

    /// Describes reading or simulating it.
    pub fn text(&self) -> String {
        match self {
            Source::Files(files) => format!("Reading {}", files.measured().display()),
            Source::BuiltIn(study) => format!("Simulating {}", study.title),
            Source::Elsewhere(files) => format!("Reading {} there", files.measured().display()),
        }
    }
}

impl From<ScanFiles> for Source {
    fn from(files: ScanFiles) -> Self {
        Source::Files(StudyFiles::Counts(files))
    }
}

impl From<ListFiles> for Source {
    fn from(files: ListFiles) -> Self {
        Source::Files(StudyFiles::Events(files))
    }
}

impl From<SweepFiles> for Source {
    fn from(files: SweepFiles) -> Self {
        Source::Files(StudyFiles::Sweep(files))
    }
}
