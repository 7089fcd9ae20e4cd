//! Options that several commands share, and the forms of their values.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;

use super::error::{CliError, CliResult};
use super::progress::with_bar;
use super::{console, notices};
use crate::data::TubeSet;
use crate::io::saved_tubes::read_tubes;
use crate::operator::Accumulation;
use crate::plan::{Cache, DeviceChoice, ProjectorChoice, Rays};
use crate::scanner::ScanGeometry;
use crate::session::thread_pool;
use crate::task::Task;
pub use crate::text::count;
use crate::text::whole;

/// Amount of the printed text.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct TalkOptions {
    /// Print only results, warnings and errors.
    #[arg(long, global = true, help_heading = None::<&str>)]
    quiet: bool,
}

impl TalkOptions {
    /// Applies the choice from now on, for a command whose lines are its results.
    pub fn apply_to_notes(self) {
        if self.quiet {
            console::omit_notes();
        }
    }

    /// Applies the choice from now on: results are printed by [`console::print_result`], all other lines are notes.
    pub fn apply(self) {
        if self.quiet {
            console::set_quiet();
        }
    }
}

/// Options of every command that projects.
#[derive(Args, Clone, Debug)]
pub struct ProjectorOptions {
    /// Device: auto, cpu, cuda, cuda:N, gpu, gpu:N, or several GPUs: cuda:N,M or cuda:all.
    ///
    /// cuda is an NVIDIA GPU; gpu is one of any manufacturer, through Vulkan, Metal or Direct3D 12. Several GPUs reconstruct
    /// sinograms, list-mode data and EPRI acquisitions.
    #[arg(long, default_value = "auto", value_parser = device, help_heading = "Device")]
    pub device: DeviceChoice,

    /// Number of CPU threads.
    ///
    /// Default: all.
    #[arg(long, value_parser = count::<u16>, help_heading = "Device")]
    pub threads: Option<u16>,

    /// CUDA threads per block of the projector per-lor.
    ///
    /// Default: the number with maximum occupancy.
    #[arg(long, value_name = "N", value_parser = threads_of_a_block, help_heading = "Projector", group = "for_scans")]
    pub threads_per_block: Option<u32>,

    /// Accumulation in backprojection: atomic, non-atomic or deterministic.
    ///
    /// Default: deterministic on the CPU, atomic on CUDA.
    #[arg(long, help_heading = "Projector", group = "for_counts")]
    pub accumulation: Option<Accumulation>,

    /// Projector: auto, per-lor, axial-runs, tubes or tubes-paper (as in Herraiz et al. 2011).
    #[arg(long, default_value = "auto", help_heading = "Projector", group = "for_scans")]
    projector: ProjectorChoice,

    /// Tubes of response (.tubes) for the projector tubes.
    ///
    /// Default: a coarse set, simulated at the start within seconds.
    #[arg(long, value_name = "FILE", help_heading = "Projector", group = "for_scans")]
    pub tubes: Option<PathBuf>,

    /// Rays per LOR: auto, or TANGENTIAL,AXIAL.
    ///
    /// auto across: the maximum distance of neighbouring LORs in the field of view divided by the smaller of dx and dy, at
    /// most 8; 1 for list-mode data. auto along the axis: the axial sampling (list-mode data: crystal size or ring spacing)
    /// divided by dz.
    #[arg(long, default_value = "auto", value_name = "T,A", value_parser = rays, help_heading = "Projector", group = "for_lines")]
    pub rays: Rays,

    /// Sinogram of factors of each bin: efficiency × survival, from 0 to about 1.
    ///
    /// Correction factors (normalisation, ACF) are their inverse: --multiplicative-inverse.
    #[arg(long, value_name = "FILE", help_heading = "Corrections", group = "for_scans")]
    pub multiplicative: Option<PathBuf>,

    /// The multiplicative sinogram holds the inverse of the factors: correction factors, as STIR's ACF and normalisation.
    #[arg(long, requires = "multiplicative", help_heading = "Corrections", group = "for_scans")]
    pub multiplicative_inverse: bool,

    /// Sinogram of expected randoms + scatter of each bin.
    #[arg(long, value_name = "FILE", help_heading = "Corrections", group = "for_scans")]
    pub additive: Option<PathBuf>,

    /// The additive sinogram is added before the factors are applied (STIR's convention): it is a/m.
    #[arg(long, requires = "additive", help_heading = "Corrections", group = "for_scans")]
    pub additive_inside: bool,

    /// Radius of the field of view, mm: voxels whose centre lies farther from the axis stay zero.
    ///
    /// Default: the inscribed circle of the image; if the grid is off the axis, the scanner's field of view. project and backproject
    /// take every voxel.
    #[arg(long, value_name = "R", value_parser = positive, help_heading = "Image grid", group = "for_lines")]
    pub fov_radius_mm: Option<f64>,
}

impl ProjectorOptions {
    /// Returns the requested projector; tubes if there is a file of them.
    pub fn choice(&self) -> ProjectorChoice {
        if self.tubes.is_some() && self.projector == ProjectorChoice::Auto { ProjectorChoice::TUBES } else { self.projector }
    }

    /// Returns the tubes of response for a scan: those of the named file, or the coarse set if the projector needs tubes, with a
    /// bar while it is made.
    pub fn tubes(&self, geometry: &ScanGeometry) -> CliResult<Option<Arc<TubeSet>>> {
        if let Some(path) = &self.tubes {
            return Ok(Some(Arc::new(read_tubes(path)?)));
        }
        if !self.choice().uses_tubes() {
            return Ok(None);
        }
        let threads = thread_pool(self.threads.map(usize::from))?;
        let make = |task: &Task| threads.install(|| Cache::of_the_user().coarse_set(geometry, self.device, task));
        Ok(Some(Arc::new(notices::printed(with_bar("making tubes", make)??))))
    }
}

/// Parses a calibration factor, Bq/mL per count/mm.
pub fn calibration(text: &str) -> Result<f64, String> {
    positive(text).map_err(|error| format!("{error}, in Bq/mL"))
}

/// Parses a device: auto, cpu, cuda, cuda:N, gpu, gpu:N; or several: cuda:N,M or cuda:all.
pub fn device(text: &str) -> Result<DeviceChoice, String> {
    text.parse()
}

pub fn one_device(text: &str) -> Result<DeviceChoice, String> {
    match device(text) {
        Ok(DeviceChoice::Gpus(_)) => Err(format!("'{text}' is several devices; name one here (cuda:N)")),
        Ok(one) => Ok(one),
        Err(_) => Err(format!("'{text}' is not a device; use auto, cpu, cuda, cuda:N, gpu or gpu:N")),
    }
}

fn threads_of_a_block(text: &str) -> Result<u32, String> {
    count(text).ok().filter(|number| *number <= 1024).ok_or_else(|| "expected a whole number from 1 to 1024".to_owned())
}

pub fn rays(text: &str) -> Result<Rays, String> {
    if text == "auto" {
        return Ok(Rays::Auto);
    }
    let [tangential, axial] = triple::<usize, 2>(text)?;
    if tangential.checked_mul(axial).is_none_or(|num| !(1..=1024).contains(&num)) {
        return Err(format!("'{text}': expected 1 to 1024 rays per LOR in total"));
    }
    Ok(Rays::Fixed { tangential, axial })
}

/// A number for each axis of an image; that of z is optional for an image of one slice.
#[derive(Clone, Copy, Debug)]
pub struct PerAxis<T> {
    xy: [T; 2],
    z: Option<T>,
}

impl<T: Copy> PerAxis<T> {
    /// Returns the numbers of a volume, or of an image of one slice, with `z` as the default.
    fn of(self, option: &str, is_slice: bool, z: T) -> Result<[T; 3], String> {
        let [x, y] = self.xy;
        match self.z {
            Some(z) => Ok([x, y, z]),
            None if is_slice => Ok([x, y, z]),
            None => Err(format!("--{option} has two numbers where a volume has three: add one for z, after a comma")),
        }
    }
}

/// Requested numbers of voxels and their sides in mm along x, y, z.
pub type Voxels = (Option<[usize; 3]>, Option<[f64; 3]>);

/// Returns the requested number and size of the voxels. An image of one slice is as thick as its pixels are wide.
///
/// # Errors
/// Two numbers where a volume has three.
pub fn voxels(image: Option<PerAxis<usize>>, voxel_mm: Option<PerAxis<f64>>, is_slice: bool) -> CliResult<Voxels> {
    let size = image.map(|size| size.of("image", is_slice, 1)).transpose().map_err(CliError::arguments)?;
    Ok((size, voxel_mm.map(|side| side.of("voxel-mm", is_slice, side.xy[0])).transpose().map_err(CliError::arguments)?))
}

/// Parses numbers of voxels along the axes.
pub fn sizes(text: &str) -> Result<PerAxis<usize>, String> {
    per_axis(text, |&size| size >= 1).map_err(|numbers| format!("expected {numbers} of at least 1 (256,256,47)"))
}

/// Parses sides of a voxel, mm.
pub fn sides(text: &str) -> Result<PerAxis<f64>, String> {
    per_axis(text, |mm: &f64| mm.is_finite() && *mm > 0.0)
        .map_err(|numbers| format!("expected {numbers} above 0, in mm (2,2,3.27)"))
}

/// Parses two or three values separated by commas; the error describes them.
fn per_axis<T: FromStr + Copy>(text: &str, is_right: impl Fn(&T) -> bool) -> Result<PerAxis<T>, &'static str> {
    let three = triple::<T, 3>(text).ok().map(|[x, y, z]| PerAxis { xy: [x, y], z: Some(z) });
    let found = three.or_else(|| triple::<T, 2>(text).ok().map(|xy| PerAxis { xy, z: None }));
    found.filter(|found| found.xy.iter().chain(&found.z).all(is_right)).ok_or("two or three numbers separated by commas,")
}

pub fn seed(text: &str) -> Result<u64, String> {
    // Our own files hold it as TOML, whose numbers have a sign.
    whole(text).filter(|number| i64::try_from(*number).is_ok()).ok_or_else(|| "expected a whole number of at least 0".to_owned())
}

/// Parses a number that passes a test; the error describes such a number.
pub fn number<T: FromStr>(text: &str, is_right: impl Fn(&T) -> bool, error: impl Into<String>) -> Result<T, String> {
    text.parse().ok().filter(is_right).ok_or_else(|| error.into())
}

/// Parses a number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    number(text, |number: &f64| number.is_finite() && *number > 0.0, "expected a number above 0")
}

/// Parses a number of at least 0.
pub fn not_negative(text: &str) -> Result<f64, String> {
    number(text, |number: &f64| number.is_finite() && *number >= 0.0, "expected a number of at least 0")
}

/// Parses N values separated by commas.
pub fn triple<T: FromStr, const N: usize>(text: &str) -> Result<[T; N], String> {
    let values: Vec<T> = text.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    let parts = text.split(',').count();
    match <[T; N]>::try_from(values) {
        Ok(values) if parts == N => Ok(values),
        _ => Err(format!("'{text}' is not {N} numbers separated by commas")),
    }
}
