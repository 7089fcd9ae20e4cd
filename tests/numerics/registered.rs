//! Laws that hold for every projector of the registry, on every device that is here: a new one is tested by registering it.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use tomoscope::data::{Psf, PsfAtRadius, TofBins, TubeSampling, TubeSet, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, Subset, TofKernel};
use tomoscope::plan::{
    DeviceChoice, PROJECTORS, ProjectorChoice, ProjectorSettings, Rays, SetupError, SetupProblem, System, available_devices,
    choose_projector,
};
use tomoscope::scanner::ScanGeometry;
use tomoscope::task::Task;

#[cfg(feature = "cuda")]
use super::device::device;
use super::device::wait_for_gpu;
use super::support::{dot, noise, random_volume, tiny, tiny_span_3};

/// The first GPU through wgpu that may be used.
pub fn webgpu() -> Option<DeviceChoice> {
    wait_for_gpu();
    available_devices().iter().map(|device| device.choice).find(|choice| matches!(choice, DeviceChoice::WebGpu(_)))
}

/// Tubes of random coefficients.
fn some_tubes(geometry: &ScanGeometry) -> TubeSet {
    let (bin_mm, half_ring_mm) = (geometry.central_bin_mm(), 0.5 * geometry.ring_spacing_mm);
    let sampling = TubeSampling { num: [9, 3, 5], spacing_mm: [4.0, bin_mm, half_ring_mm], ..TubeSampling::of(geometry) };
    let coefficients = noise(5, sampling.num_coefficients().unwrap());
    TubeSet::new(geometry.scanner.clone(), sampling, coefficients).unwrap()
}

/// Every projector of a matched pair between a scan and a grid, on every device. (How far the other is from one: `tubes`.)
fn systems(
    geometry: &Arc<ScanGeometry>,
    grid: &Grid,
    fov_radius_mm: f64,
    rays: [usize; 2],
    psf: Option<&Psf>,
    tof: Option<TofBins>,
) -> Vec<(String, Box<dyn System>)> {
    #[cfg(feature = "cuda")]
    let cuda = device().map(|_| DeviceChoice::Cuda(0));
    #[cfg(not(feature = "cuda"))]
    let cuda = None;
    let devices = std::iter::once(DeviceChoice::Cpu).chain(cuda).chain(webgpu());
    let choices =
        devices.flat_map(|device| PROJECTORS.iter().filter(|entry| entry.is_matched).map(move |entry| (device, entry.name)));
    let tubes = Arc::new(some_tubes(geometry));
    let made = choices.map(|(device, name)| {
        let settings = ProjectorSettings {
            grid: grid.clone(),
            fov_radius_mm,
            rays: Rays::Fixed { tangential: rays[0], axial: rays[1] },
            projector: ProjectorChoice::Named(name),
            device,
            threads_per_block: None,
            tubes: Some(Arc::clone(&tubes)),
            psf: psf.cloned(),
            tof: tof.map(|bins| (bins, TofKernel::new(bins.fwhm_mm))),
            may_resample: true,
        };
        match choose_projector(geometry, &settings) {
            Ok(chosen) => Some((format!("{name} on {device:?}"), chosen.system)),
            // Tubes want slices in the middles of the rings and no further model, and there are none of them for some devices.
            Err(_) if name == "tubes" => None,
            Err(error) if tof.is_some() && error.is_of_an_unsuitable_projector() => {
                println!("{name} on {device:?} has no time of flight");
                None
            }
            Err(SetupError::Settings(SetupProblem::Projector(_))) => {
                println!("{name} is not on {device:?}");
                None
            }
            Err(error) => panic!("{name}: {error}"),
        }
    });
    made.flatten().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_registered_is_adjoint_and_its_subsets_are_all_data(
        span_3 in any::<bool>(),
        nx in 3usize..14,
        ny in 3usize..14,
        nz in 1usize..12,
        radius_mm in 8.0..40.0f64,
        rays in (1usize..3, 1usize..3),
        num_subsets in 1usize..17,
        // Slices that axial runs have, and some that are resampled.
        dz in prop_oneof![Just(3.0), Just(2.3), Just(3.7)],
        psf in 0usize..4,
        has_tof in any::<bool>(),
    ) {
        let tof = has_tof.then_some(TofBins { num: 5, width_mm: 14.0, fwhm_mm: 21.0 });
        let row = |radius_mm: f64, fwhm_mm: f64| PsfAtRadius {
            radius_mm,
            radial_fwhm_mm: 1.5 * fwhm_mm,
            tangential_fwhm_mm: fwhm_mm,
            axial_fwhm_mm: 0.3 * fwhm_mm,
        };
        let psf = [
            None,
            Some(Psf::Everywhere([9.0, 7.0, 2.0])),
            Some(Psf::Everywhere([0.0, 6.0, 0.0])),
            Some(Psf::ByRadius(vec![row(0.0, 5.0), row(20.0, 8.0)])),
        ][psf].clone();
        let geometry = if span_3 { tiny_span_3() } else { tiny(4) };
        let grid = Grid::centred([nx, ny, nz], [5.5, 4.5, dz]).unwrap();
        // What the host, the first device, projects.
        let mut of_host: HashMap<String, Vec<f32>> = HashMap::new();
        for (name, mut system) in systems(&geometry, &grid, radius_mm, [rays.0, rays.1], psf.as_ref(), tof) {
            let num_bins = system.data().len(Subset::ALL);
            let numbers = Arc::new((0..num_bins).map(|bin| bin as f32).collect::<Vec<f32>>());
            // A permutation there and back.
            prop_assert_eq!(&system.data().in_order(system.data().arranged(&numbers, 1).to_vec()), &*numbers, "{}", name);
            // Each datum is in one subset.
            let arranged = system.data().arranged(&numbers, num_subsets);
            let pieces = Subset::all(num_subsets).flat_map(|subset| system.data().pieces(subset));
            let mut found: Vec<f32> = pieces.flat_map(|(_, range)| arranged[range].to_vec()).collect();
            found.sort_unstable_by(f32::total_cmp);
            prop_assert_eq!(&found, &*numbers, "{}", name);
            // The image is seen where it is backprojected to, and nowhere else.
            let whole = random_volume(&grid);
            let mut seen = Volume::filled(grid.clone(), 0.0);
            let mut there = 0.0;
            let mut back = 0.0;
            for subset in Subset::all(num_subsets) {
                let projected = system.project(subset, &whole, &Task::new()).unwrap();
                prop_assert_eq!(projected.len(), system.data().len(subset));
                let q = noise(5 + subset.index as u32, projected.len());
                there += dot(&projected, &q);
                for &accumulation in system.accumulations().iter().filter(|way| **way != Accumulation::NonAtomic) {
                    let image = system.backproject(subset, Arc::new(q.clone()), accumulation, &Task::new()).unwrap();
                    let mismatch = (dot(&projected, &q) - dot(whole.as_slice(), image.as_slice())).abs();
                    prop_assert!(mismatch <= 1e-5 * dot(&projected, &q).max(1e-3), "{name}, {subset:?}, {accumulation}: {mismatch}");
                    if accumulation == system.default_accumulation() {
                        back += dot(whole.as_slice(), image.as_slice());
                        seen.as_mut_slice().iter_mut().zip(image.as_slice()).for_each(|(sum, value)| *sum += value);
                    }
                }
            }
            prop_assert!(there > 0.0 && (there - back).abs() <= 1e-5 * there, "{name}: {there} {back}");
            // The data of the subsets add up to those of all.
            let all = system.project(Subset::ALL, &whole, &Task::new()).unwrap();
            let parts: f64 = Subset::all(num_subsets)
                .map(|subset| system.project(subset, &whole, &Task::new()).unwrap().iter().map(|&v| f64::from(v)).sum::<f64>())
                .sum();
            let sum: f64 = all.iter().map(|&v| f64::from(v)).sum();
            prop_assert!((parts - sum).abs() <= 1e-6 * sum, "{name}: {parts} of {sum}");
            let all = system.data().in_order(all);
            let of_host = of_host.entry(name.split(' ').next().unwrap_or_default().to_owned()).or_insert_with(|| all.clone());
            let most = of_host.iter().copied().fold(0.0, f32::max);
            let differs = all.iter().zip(&*of_host).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            prop_assert!(differs <= 1e-5 * most, "{name}: {differs} of {most} from the host");
            let outside = |(voxel, value): (usize, &f32)| {
                let [x, y, _] = grid.mm_from_voxel([(voxel % nx) as f64, (voxel / nx % ny) as f64, 0.0]);
                x.hypot(y) > radius_mm && *value != 0.0
            };
            prop_assert!(!seen.as_slice().iter().enumerate().any(outside), "{name} reaches outside the field of view");
        }
    }
}
