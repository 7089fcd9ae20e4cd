//! Choice of a device and a projector: the first that the geometry allows, with a notice if it is not the fastest.

use std::sync::Arc;

use super::Platform;
use super::open::{Members, choose_device, choose_members, join_device_names};
use crate::algebra::{FieldOfView, PeerGroup};
use crate::data::Notice;
use crate::geometry::Grid;
use crate::operator::{MirrorSets, Misfit, OperatorError, TofRuns, axial_ripple, inner_grid, resampling_fwhm_mm};
use crate::plan::device::choice::DeviceChoice;
use crate::plan::device::memory::{FreeMemory, check_image};
use crate::plan::error::SetupError;
use crate::plan::problem::SetupProblem;
use crate::plan::projector::inputs::ProjectorInputs;
use crate::plan::projector::psf::check_psf;
use crate::plan::projector::registry::{PROJECTORS, ProjectorEntry, projector};
use crate::plan::projector::settings::{ProjectorChoice, ProjectorSettings};
use crate::plan::projector::system::System;
use crate::recon::ReconError;
use crate::scanner::ScanGeometry;

/// A projector on the devices of a team, each for its share of the data.
pub struct OpenedDevices {
    /// Which one.
    pub entry: &'static ProjectorEntry,
    /// Each device's system and place, at least one.
    pub members: Vec<(Box<dyn System>, PeerGroup)>,
    /// Notices for the user.
    pub notices: Vec<Notice>,
}

impl OpenedDevices {
    /// Returns the devices in words.
    pub fn device(&self) -> String {
        join_device_names(&self.members.iter().map(|(system, _)| system.device().to_owned()).collect::<Vec<String>>())
    }
}

/// Returns the projector that the settings ask for, on one device or on several.
///
/// # Errors
/// Those of [`choose_projector`].
pub fn choose_team(geometry: &Arc<ScanGeometry>, settings: &ProjectorSettings) -> Result<OpenedDevices, SetupError> {
    choose(geometry, settings, choose_members)
}

/// Returns the requested projector on the devices that `open` opens.
fn choose(
    geometry: &Arc<ScanGeometry>,
    settings: &ProjectorSettings,
    open: impl FnOnce(DeviceChoice) -> Result<Members, SetupError>,
) -> Result<OpenedDevices, SetupError> {
    check_image(&settings.grid, &FreeMemory::of_the_computer())?;
    check_field_of_view(&settings.grid, settings.fov_radius_mm)?;
    let (platforms, mut notices) = open(settings.device)?;
    let inputs = ProjectorInputs { geometry, settings, inner: None };
    let (mut members, mut chosen) = (Vec::new(), None);
    if let Some(psf) = &settings.psf {
        notices.extend(check_psf(psf, &settings.grid)?);
    }
    for (mut platform, team) in platforms {
        let First { entry, system, notice } = first_suitable(&mut *platform, &inputs)?;
        if chosen.is_none() {
            notices.extend(notice);
        }
        chosen = Some(entry);
        members.push((system, team));
    }
    let entry = chosen.ok_or(ReconError::NoDevice)?;
    notices.extend(unmatched(entry));
    notices.extend(unmirrored(entry, &inputs));
    notices.extend(tof_of_steps(entry, &inputs));
    Ok(OpenedDevices { entry, members, notices })
}

/// A projector on its device, with notices about the choice.
pub struct ChosenProjector {
    /// Which one.
    pub entry: &'static ProjectorEntry,
    /// Ready to be used.
    pub system: Box<dyn System>,
    /// Notices for the user.
    pub notices: Vec<Notice>,
}

/// Returns the requested projector on one device.
///
/// # Errors
/// A device that is not usable, an image that is too large, a field of view without a voxel, a projector that does not suit the
/// geometry.
pub fn choose_projector(geometry: &Arc<ScanGeometry>, settings: &ProjectorSettings) -> Result<ChosenProjector, SetupError> {
    let open = |device| choose_device(device).map(|(platform, notices)| (vec![(platform, PeerGroup::ALONE)], notices));
    let OpenedDevices { entry, members, notices } = choose(geometry, settings, open)?;
    let (system, _) = members.into_iter().next().ok_or(ReconError::NoDevice)?;
    Ok(ChosenProjector { entry, system, notices })
}

fn unmatched(entry: &ProjectorEntry) -> Option<Notice> {
    let text = "the backprojection of this projector is not exactly the adjoint of its projection: the likelihood need not rise";
    (!entry.is_matched).then(|| Notice::info(text))
}

/// Returns a notice where no LOR is the mirror image of another, though the fast projector could share paths among them.
fn unmirrored(entry: &ProjectorEntry, ProjectorInputs { geometry, settings, .. }: &ProjectorInputs) -> Option<Notice> {
    if ProjectorChoice::Named(entry.name) != ProjectorChoice::AXIAL_RUNS {
        return None;
    }
    let (grid, views) = (&settings.grid, (0..geometry.num_views).collect::<Vec<usize>>());
    let sets = MirrorSets::new(geometry, grid, &FieldOfView::new(grid, settings.fov_radius_mm), &views);
    let centred = Grid::centred(grid.size, grid.voxel_mm).ok().filter(|centred| centred.origin_mm[..2] != grid.origin_mm[..2]);
    let cause = match centred {
        Some(_) => "the image grid is not centred on the scanner's axis",
        None => "none of the scan's views is the image of another",
    };
    (sets.max_len() <= 1 && views.len() > 1).then(|| {
        Notice::info(format!(
            "the projector {} takes about twice as long here: {cause}, so that no two LORs share a path",
            entry.name
        ))
    })
}

/// Returns a notice of how exact the time of flight of the fast projector is, which weighs a step of a line at its middle.
fn tof_of_steps(entry: &ProjectorEntry, ProjectorInputs { geometry, settings, .. }: &ProjectorInputs) -> Option<Notice> {
    let is_of_steps = ProjectorChoice::Named(entry.name) == ProjectorChoice::AXIAL_RUNS;
    let (bins, kernel) = settings.tof.filter(|_| is_of_steps)?;
    let max_rise_mm = geometry.planes().iter().map(|plane| (plane.z_end_mm - plane.z_start_mm).abs()).fold(0.0, f64::max);
    let fov = FieldOfView::new(&settings.grid, settings.fov_radius_mm);
    let runs = TofRuns::new(bins, kernel, max_rise_mm, geometry.radius_mm(), fov.path_radius_mm);
    let [dx_mm, dy_mm, _] = settings.grid.voxel_mm;
    let step_mm = runs.max_step_mm([dx_mm, dy_mm]);
    Some(Notice::info(format!(
        "{} weighs time of flight at the middles of steps of up to {step_mm:.1} mm: a point is up to {:.1} mm off along a line, \
         and its bins by up to {:.1} % of the largest",
        entry.name,
        0.5 * step_mm,
        100.0 * runs.max_error(step_mm)
    )))
}

/// A projector that was made, and a notice about the choice.
struct First {
    entry: &'static ProjectorEntry,
    system: Box<dyn System>,
    notice: Option<Notice>,
}

/// Makes a projector; `None` if the platform lacks it. Where the height of the voxels does not suit it, images are resampled to slices
/// that do, with a notice.
fn make(
    platform: &mut dyn Platform,
    entry: &'static ProjectorEntry,
    inputs: &ProjectorInputs,
) -> Option<Result<First, OperatorError>> {
    let ProjectorInputs { geometry, settings, .. } = inputs;
    let misfit = match platform.view_system(entry.name, inputs)? {
        Ok(system) => return Some(Ok(First { entry, system, notice: None })),
        Err(OperatorError::Unsuitable(misfit @ (Misfit::PlaneStep { .. } | Misfit::Classes { .. }))) => misfit,
        Err(error) => return Some(Err(error)),
    };
    let has_room = |inner: &Grid| check_image(inner, &platform.free_memory()).is_ok();
    let Some(inner) = inner_grid(geometry, &settings.grid).filter(|inner| settings.may_resample && has_room(inner)) else {
        return Some(Err(misfit.into()));
    };
    let [outer_mm, inner_mm] = [settings.grid.voxel_mm[2], inner.voxel_mm[2]];
    let ripple = axial_ripple([&settings.grid, &inner]);
    match platform.view_system(entry.name, &ProjectorInputs { geometry, settings, inner: Some(inner) })? {
        Ok(system) => {
            let text = format!(
                "the projector {} resamples the image's slices of {outer_mm:.3} mm to {inner_mm:.3} mm, a height that divides the \
                 distance of the planes: along the axis this blurs like a Gaussian of {:.2} mm (FWHM), and an object longer than the \
                 image has a ripple of about {:.1} % in the outer slices",
                entry.name,
                resampling_fwhm_mm(inner_mm),
                100.0 * ripple
            );
            Some(Ok(First { entry, system, notice: Some(Notice::info(text)) }))
        }
        Err(OperatorError::Unsuitable(_)) => Some(Err(misfit.into())),
        Err(error) => Some(Err(error)),
    }
}

/// Makes the projector that is asked for, or where none is the first that the geometry allows, with a notice where that is not the first
/// of all.
fn first_suitable(platform: &mut dyn Platform, inputs: &ProjectorInputs) -> Result<First, SetupError> {
    check_image(&inputs.settings.grid, &platform.free_memory())?;
    if let ProjectorChoice::Named(name) = inputs.settings.projector {
        if inputs.settings.psf.is_some() && inputs.settings.projector.uses_tubes() {
            return Err(SetupProblem::PsfOfTubes.into());
        }
        let made = projector(name).and_then(|entry| make(platform, entry, inputs));
        return Ok(made.ok_or(SetupProblem::Projector(name))??);
    }
    let (mut first_misfit, mut tof_misfit) = (None, None);
    let with_tubes = |entry: &ProjectorEntry| ProjectorChoice::Named(entry.name).uses_tubes();
    for entry in PROJECTORS.iter().filter(|entry| inputs.settings.psf.is_none() || !with_tubes(entry)) {
        match make(platform, entry, inputs) {
            // (Data with time of flight have no faster one.)
            Some(Err(OperatorError::Unsuitable(Misfit::Tof))) => tof_misfit = Some(OperatorError::from(Misfit::Tof)),
            Some(Err(OperatorError::Unsuitable(misfit))) => {
                let ProjectorEntry { name: projector, advice, .. } = *entry;
                first_misfit.get_or_insert(SetupProblem::ProjectorMisfit { projector, misfit: Box::new(misfit), advice });
            }
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(first)) => {
                let text = |why| format!("the projector {} is used, which is many times slower: {why}", entry.name);
                let notice = first.notice.or(first_misfit.map(|why| Notice::warning(text(why))));
                return Ok(First { notice, ..first });
            }
            None => {}
        }
    }
    if let Some(misfit) = tof_misfit {
        return Err(misfit.into());
    }
    Err(first_misfit.unwrap_or(SetupProblem::NoProjector).into())
}

/// Refuses a field of view that holds no voxel.
pub(in crate::plan) fn check_field_of_view(grid: &Grid, radius_mm: f64) -> Result<(), SetupError> {
    let nearest = |a: usize| {
        let axis = grid.voxel_from_mm([0.0; 3])[a].round().clamp(0.0, grid.size[a] as f64 - 1.0);
        grid.mm_from_voxel([axis; 3])[a]
    };
    let nearest_mm = nearest(0).hypot(nearest(1));
    if radius_mm.is_finite() && radius_mm > 0.0 && radius_mm >= nearest_mm {
        return Ok(());
    }
    Err(SetupProblem::EmptyFieldOfView { radius_mm, nearest_mm }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TofBins;
    use crate::operator::TofKernel;
    use crate::plan::device::choice::DeviceChoice;
    use crate::plan::projector::settings::{Rays, rays_per_bin};
    use crate::scanner::{InPlane, find};

    #[test]
    fn the_fast_projector_is_preferred_and_its_lack_is_reported() {
        let geometry = Arc::new(find("small").unwrap().geometry.clone());
        let choose = |dz: f64, projector| {
            let grid = Grid::centred([21, 21, 9], [3.0, 3.0, dz]).unwrap();
            let (rays, device) = (Rays::Fixed { tangential: 1, axial: 1 }, DeviceChoice::Cpu);
            let settings = ProjectorSettings {
                grid,
                fov_radius_mm: 30.0,
                rays,
                projector,
                device,
                threads_per_block: None,
                tubes: None,
                psf: None,
                tof: None,
                may_resample: true,
            };
            choose_projector(&geometry, &settings).map(|chosen| (chosen.entry.name, chosen.notices.len()))
        };
        assert_eq!(choose(2.5, ProjectorChoice::Auto), Ok(("axial-runs", 0)));
        assert_eq!(choose(2.5, ProjectorChoice::PER_LOR), Ok(("per-lor", 0)));
        // Slices of another height are resampled.
        assert_eq!(choose(2.3, ProjectorChoice::Auto), Ok(("axial-runs", 1)));
        assert_eq!(choose(2.3, ProjectorChoice::AXIAL_RUNS), Ok(("axial-runs", 1)));
        // So thin that the planes would lie too many slices apart.
        assert_eq!(choose(0.1, ProjectorChoice::Auto), Ok(("per-lor", 1)));
        let refusal = choose(0.1, ProjectorChoice::AXIAL_RUNS).unwrap_err();
        assert!(refusal.is_of_an_unsuitable_projector(), "{refusal}");
    }

    #[test]
    fn lors_without_shared_paths_are_reported() {
        let whole = Arc::new(find("small").unwrap().geometry.clone());
        let turned = Arc::new(ScanGeometry { view_offset_deg: 1.0, ..(*whole).clone() });
        let centred = Grid::centred([21, 21, 9], [3.0, 3.0, 2.5]).unwrap();
        let [x, y, z] = centred.origin_mm;
        let moved = Grid { origin_mm: [x + 0.7, y, z], ..centred.clone() };
        let oblong = Grid::centred([21, 15, 9], [3.0, 3.0, 2.5]).unwrap();
        for (geometry, grid, expected) in [
            (&whole, &centred, None),
            (&whole, &oblong, None),
            (&whole, &moved, Some("not centred")),
            // Turned, a square still is its own image by quarter turns.
            (&turned, &centred, None),
            (&turned, &moved, Some("not centred")),
        ] {
            let settings = ProjectorSettings {
                grid: grid.clone(),
                fov_radius_mm: 20.0,
                rays: Rays::Fixed { tangential: 1, axial: 1 },
                projector: ProjectorChoice::AXIAL_RUNS,
                device: DeviceChoice::Cpu,
                threads_per_block: None,
                tubes: None,
                psf: None,
                tof: None,
                may_resample: true,
            };
            let notices = choose_projector(geometry, &settings).unwrap().notices;
            assert_eq!(notices.len(), usize::from(expected.is_some()), "{notices:?}");
            assert!(notices.iter().all(|notice| notice.text.contains(expected.unwrap())), "{notices:?}");
        }
    }

    #[test]
    fn the_error_of_time_of_flight_is_that_of_the_steps() {
        let geometry = Arc::new(find("small").unwrap().geometry.clone());
        let notices = |projector, fwhm_mm: f64| {
            let grid = Grid::centred([21, 21, 9], [3.0, 4.0, 2.5]).unwrap();
            let bins = TofBins { num: 9, width_mm: 20.0, fwhm_mm };
            let tof = Some((bins, TofKernel::new(fwhm_mm)));
            let settings = ProjectorSettings { tof, ..ProjectorSettings::new(grid, 20.0, projector, DeviceChoice::Cpu) };
            let notices = choose_projector(&geometry, &settings).unwrap().notices;
            notices.into_iter().map(|notice| notice.text).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(notices(ProjectorChoice::PER_LOR, 30.0), "");
        // The diagonal of a column is 5 mm, and the steepest line a little longer.
        let percent = |text: &str| text.split(" % of the largest").next()?.rsplit(' ').next()?.parse::<f64>().ok();
        let [wide, narrow] = [60.0, 30.0].map(|fwhm_mm| notices(ProjectorChoice::AXIAL_RUNS, fwhm_mm));
        assert!(
            wide.contains("steps of up to 5.") && wide.contains("up to 2.") && narrow.contains("steps of up to 5."),
            "{wide}"
        );
        // Of a narrow bin, the steepest slope of a Gaussian is 0.61 of its top for each σ.
        let [wide_percent, narrow_percent] = [wide, narrow].map(|text| percent(&text).unwrap());
        assert!((5.0..=7.5).contains(&wide_percent) && wide_percent < narrow_percent, "{wide_percent} {narrow_percent}");
    }

    #[test]
    fn automatic_rays_cross_every_slice_of_a_bin() {
        let geometry = &find("prt-1").unwrap().geometry;
        let grid = |dz: f64| Grid::centred([9, 9, 9], [9.0, 9.0, dz]).unwrap();
        for (dz, axial) in [(6.75, 1), (3.375, 2), (3.0, 3), (2.25, 3), (10.0, 1)] {
            assert_eq!(rays_per_bin(geometry, &grid(dz), 30.0, Rays::Auto), [1, axial], "slices of {dz} mm");
        }
        assert_eq!(rays_per_bin(geometry, &grid(1.0), 30.0, Rays::Fixed { tangential: 2, axial: 1 }), [2, 1]);
    }

    fn tangential(geometry: &ScanGeometry, dx: f64, dy: f64, fov_radius_mm: f64) -> usize {
        let grid = Grid::centred([201, 201, 9], [dx, dy, 100.0]).unwrap();
        rays_per_bin(geometry, &grid, fov_radius_mm, Rays::Auto)[0]
    }

    #[test]
    fn automatic_rays_leave_no_voxel_between_neighbouring_lines() {
        // Arc-corrected bins of 3 mm.
        let small = &find("small").unwrap().geometry;
        for (dx, rays) in [(3.0, 1), (3.5, 1), (2.9, 2), (1.5, 2), (1.0, 3), (0.75, 4), (0.7, 5), (0.3, 8), (0.01, 8)] {
            assert_eq!(tangential(small, dx, dx, 60.0), rays, "voxels of {dx} mm");
        }
        // A quotient that is whole up to rounding; the finer side counts.
        assert_eq!(tangential(small, 3.0 / (1.0 + 5e-7), 3.0, 60.0), 1);
        assert_eq!(tangential(small, 3.0 / (1.0 + 5e-6), 3.0, 60.0), 2);
        assert_eq!([tangential(small, 1.5, 3.0, 60.0), tangential(small, 3.0, 1.5, 60.0)], [2, 2]);
    }

    #[test]
    fn default_grids_have_one_ray_but_between_pairs_of_detectors_that_take_turns() {
        for scanner in crate::scanner::catalogue() {
            let geometry = &scanner.geometry;
            let grid = geometry.default_grid().unwrap();
            let radius_mm = grid.inscribed_radius_mm();
            assert_eq!(rays_per_bin(geometry, &grid, radius_mm, Rays::Auto)[0], 1, "{}", scanner.name);
            if geometry.in_plane == InPlane::Detectors {
                let pairs = ScanGeometry { in_plane: InPlane::DetectorPairs, ..geometry.clone() };
                let step = std::f64::consts::PI / pairs.num_detectors_per_ring as f64;
                let mut gap = 0.0_f64;
                // Neighbouring lines of view 0 inside the circle, by their points there.
                for first in 0..pairs.num_tangential - 1 {
                    let [a, b] = [first, first + 1].map(|t| pairs.s_mm(t));
                    if a.abs().max(b.abs()) < radius_mm {
                        gap = gap.max(b - a + (radius_mm * radius_mm - a * a).sqrt() * step);
                    }
                }
                let found = pairs.largest_line_gap_mm(radius_mm);
                assert!((found / gap - 1.0).abs() < 0.01, "{}: {found} and {gap}", scanner.name);
                assert_eq!(rays_per_bin(&pairs, &grid, radius_mm, Rays::Auto)[0], 2, "{}", scanner.name);
                // Near the axis they lie hardly farther apart than the lines of a view.
                assert_eq!(tangential(&pairs, 1.1 * pairs.central_bin_mm(), 100.0, 10.0), 1, "{}", scanner.name);
            }
        }
    }

    #[test]
    fn planar_heads_have_rays_by_their_bins() {
        let geometry = &find("vrpet").unwrap().geometry;
        let bin_mm = geometry.in_plane.bin_mm().unwrap();
        for (part, rays) in [(1.0, 1), (2.0, 2), (2.5, 3)] {
            assert_eq!(tangential(geometry, bin_mm / part, bin_mm, 20.0), rays);
        }
    }
}
