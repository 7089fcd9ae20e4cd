//! Sinograms with time of flight: conservation, places of points, and STIR 6.5, an independent program.

use std::sync::Arc;

use tomoscope::data::{Counts, Michelogram, Study, TofBins, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::{read_projections, read_volume};
use tomoscope::operator::{AxialRuns, Siddon, Subset, TofKernel, TofRuns};
use tomoscope::plan::{
    AlgorithmChoice, Cache, DeviceChoice, Job, Rays, RunInputs, RunSettings, SUBSET_ORDER, Values, prepare_with,
};
use tomoscope::recon::SubsetOrder;
use tomoscope::scanner::{ScanGeometry, find};
use tomoscope::task::Task;

use super::data::data_file;
use super::support::{forward, largest_difference, random_volume, relative, tiny, tiny_span_3};

/// A file of STIR's folder.
fn measured(name: &str) -> Option<Michelogram> {
    Some(read_projections(&data_file(&format!("stir-oracles/model/{name}"))?).unwrap().0)
}

fn image(name: &str) -> Option<Volume> {
    Some(read_volume(&data_file(&format!("stir-oracles/model/{name}"))?).unwrap().0)
}

/// The same times a factor: STIR counts lengths in voxels of x.
fn scaled(mut volume: Volume, factor: f64) -> Volume {
    volume.as_mut_slice().iter_mut().for_each(|value| *value = (f64::from(*value) * factor) as f32);
    volume
}

#[test]
fn bins_that_cover_the_lines_add_up_to_the_projection_without_time_of_flight() {
    for geometry in [tiny(4), tiny_span_3()] {
        let grid = Grid::centred([11, 9, 7], [5.5, 4.5, 3.0]).unwrap();
        let volume = random_volume(&grid);
        let siddon = || Siddon::new(Arc::clone(&geometry), grid.clone(), 30.0, [1, 2]);
        let whole = forward(&siddon(), Subset::ALL, &volume);
        for bins in [TofBins { num: 9, width_mm: 20.0, fwhm_mm: 30.0 }, TofBins { num: 40, width_mm: 5.0, fwhm_mm: 20.0 }] {
            let operator = siddon().with_tof(bins, TofKernel::new(bins.fwhm_mm));
            let by_tof = forward(&operator, Subset::ALL, &volume);
            let data = Michelogram::with_tof(Arc::clone(&geometry), bins, by_tof).unwrap();
            assert!(largest_difference(&data.counts, &whole) <= 1e-6, "{bins:?}");
        }
        // Bins that end within the image lose counts.
        let few = TofBins { num: 1, width_mm: 20.0, fwhm_mm: 30.0 };
        let operator = siddon().with_tof(few, TofKernel::new(few.fwhm_mm));
        let sum = |data: &[f32]| data.iter().map(|value| f64::from(*value)).sum::<f64>();
        assert!(sum(&forward(&operator, Subset::ALL, &volume)) < 0.9 * sum(&whole));
    }
}

#[test]
fn a_point_is_seen_where_it_is_along_every_line() {
    let Some(prompts) = measured("prompts_tof.hs") else { return };
    let geometry = Arc::clone(&prompts.geometry);
    let bins = TofBins { num: 41, width_mm: 10.0, fwhm_mm: 63.0 };
    let [x_mm, y_mm, z_mm] = [62.0, 32.0, 6.0];
    let grid = Grid::new([1, 1, 1], [2.0, 2.0, 1.0], [x_mm, y_mm, z_mm]).unwrap();
    let point = Volume::filled(grid.clone(), 1.0);
    // So many lines side by side that they cross the whole voxel.
    let kernel = TofKernel::new(bins.fwhm_mm);
    let definition = Siddon::new(Arc::clone(&geometry), grid.clone(), 100.0, [16, 1]).with_tof(bins, kernel);
    check_place(&geometry, &bins, [x_mm, y_mm, z_mm], &forward(&definition, Subset::ALL, &point), 0.1);
    let fast = AxialRuns::new(Arc::clone(&geometry), grid, 100.0, [16, 1]).unwrap().with_tof(bins, kernel);
    check_place(&geometry, &bins, [x_mm, y_mm, z_mm], &forward(&fast, Subset::ALL, &point), 1.0);
}

/// Checks that the mean of d over all bins of a view's lines is where the point is.
fn check_place(geometry: &ScanGeometry, bins: &TofBins, [x_mm, y_mm, z_mm]: [f64; 3], data: &[f32], tolerance_mm: f64) {
    let (planes, num_planes) = (geometry.planes(), geometry.num_planes());
    let of_views = data.chunks(geometry.num_tangential * num_planes * bins.num).enumerate();
    let mut farthest = 0.0f64;
    for (view, of_view) in of_views {
        // The mean of d over all bins, and of the point's place along their lines.
        let (mut sum, mut found, mut expected) = (0.0, 0.0, 0.0);
        for (tangential, of_lor) in of_view.chunks(num_planes * bins.num).enumerate() {
            let transaxial = geometry.transaxial_lor(view, tangential, 0, 1);
            for (at, value) in of_lor.iter().enumerate() {
                let (line, value) = (geometry.lor(transaxial, planes[at % num_planes]), f64::from(*value));
                let along = |a: usize| (line.end[a] - line.start[a]) / line.length_mm();
                let to_point = |a: usize| [x_mm, y_mm, z_mm][a] - 0.5 * (line.start[a] + line.end[a]);
                sum += value;
                found += value * bins.edges_mm(at / num_planes).iter().sum::<f64>() / 2.0;
                expected += value * (0..3).map(|a| along(a) * to_point(a)).sum::<f64>();
            }
        }
        assert!(sum > 0.0);
        farthest = farthest.max((found / sum - expected / sum).abs());
    }
    eprintln!("the point is at most {farthest:.3} mm off along the lines of a view");
    assert!(farthest <= tolerance_mm, "{farthest}");
}

/// The same for the fast projector; and its difference from the definition is that of a step's middle from a piece's.
#[test]
fn axial_runs_are_the_definition_up_to_the_middles_of_steps() {
    // (A step here is up to 0.4 σ.)
    for (geometry, limit) in [(tiny(4), 4e-3), (tiny_span_3(), 8e-3)] {
        let grid = Grid::centred([23, 21, 7], [2.6, 2.4, 3.0]).unwrap();
        let volume = random_volume(&grid);
        let runs = || AxialRuns::new(Arc::clone(&geometry), grid.clone(), 30.0, [1, 2]).unwrap();
        let whole = forward(&runs(), Subset::ALL, &volume);
        for bins in [TofBins { num: 9, width_mm: 20.0, fwhm_mm: 30.0 }, TofBins { num: 40, width_mm: 5.0, fwhm_mm: 20.0 }] {
            let kernel = TofKernel::new(bins.fwhm_mm);
            let operator = runs().with_tof(bins, kernel);
            let by_tof = forward(&operator, Subset::ALL, &volume);
            let data = Michelogram::with_tof(Arc::clone(&geometry), bins, by_tof.clone()).unwrap();
            let lost = largest_difference(&data.counts, &whole);
            let siddon = Siddon::new(Arc::clone(&geometry), grid.clone(), 30.0, [1, 2]).with_tof(bins, kernel);
            let defined = forward(&siddon, Subset::ALL, &volume);
            let difference = largest_difference(&by_tof, &defined);
            println!("{bins:?}: the bins' sum is off by {lost:.1e}, a bin by {difference:.1e} of the largest");
            assert!(lost <= 1e-6 && difference <= limit, "{bins:?}: {lost} {difference}");
        }
    }
}

/// The error that a run reports is one that no bin of a point exceeds, nor far from it.
#[test]
fn the_error_of_the_middles_of_steps_is_the_reported_one() {
    let geometry = tiny(4);
    // (Slices and steps of a line end at other places: the longest piece of a step is off by less than half of it.)
    let grid = Grid::centred([23, 21, 11], [2.6, 2.4, 2.0]).unwrap();
    let planes = geometry.planes();
    let max_rise_mm = planes.iter().map(|plane| (plane.z_end_mm - plane.z_start_mm).abs()).fold(0.0, f64::max);
    for bins in [TofBins { num: 9, width_mm: 20.0, fwhm_mm: 30.0 }, TofBins { num: 40, width_mm: 5.0, fwhm_mm: 20.0 }] {
        let kernel = TofKernel::new(bins.fwhm_mm);
        let (half_mm, rays) = (0.5 * bins.width_mm, [1, 1]);
        let largest = bins.width_mm * kernel.weight([-half_mm, half_mm], 0.0);
        let runs = TofRuns::new(bins, kernel, max_rise_mm, geometry.radius_mm(), 30.0);
        let limit = runs.max_error(runs.max_step_mm([2.6, 2.4]));
        let plain = Siddon::new(Arc::clone(&geometry), grid.clone(), 30.0, rays);
        let fast = AxialRuns::new(Arc::clone(&geometry), grid.clone(), 30.0, rays).unwrap().with_tof(bins, kernel);
        let defined = Siddon::new(Arc::clone(&geometry), grid.clone(), 30.0, rays).with_tof(bins, kernel);
        let (num_planes, mut found) = (planes.len(), 0.0f64);
        for voxel in (40..grid.num_voxels()).step_by(97) {
            let mut point = Volume::filled(grid.clone(), 0.0);
            point.as_mut_slice()[voxel] = 1.0;
            let counts = forward(&plain, Subset::ALL, &point);
            let [fast, defined] = [forward(&fast, Subset::ALL, &point), forward(&defined, Subset::ALL, &point)];
            for (at, (fast, defined)) in fast.into_iter().zip(defined).enumerate() {
                let counts = counts[at / (num_planes * bins.num) * num_planes + at % num_planes];
                // (Corners that are hardly touched are rounding.)
                if counts > 0.05 {
                    found = found.max(f64::from((fast - defined).abs() / counts) / largest);
                }
            }
        }
        println!("{bins:?}: a bin of a point is off by up to {found:.2e}, reported {limit:.2e}");
        assert!(found <= limit && found > 0.3 * limit, "{found} {limit}");
    }
}

/// Lines of one view of a whole-body scanner, at 400 ps: steep ones are not where flat ones are.
#[test]
fn a_small_sphere_is_in_the_bins_of_the_definition() {
    let geometry = Arc::new(find("discovery-ste").unwrap().geometry.clone());
    let bins = TofBins { num: 13, width_mm: 54.0, fwhm_mm: 60.0 };
    let kernel = TofKernel::new(bins.fwhm_mm);
    let slice_mm = geometry.default_grid().unwrap().voxel_mm[2];
    let grid = Grid::centred([154, 154, 7], [2.0, 2.0, slice_mm]).unwrap();
    for off_mm in [57.2, 140.0] {
        let mut sphere = Volume::filled(grid.clone(), 0.0);
        let [nx, ny, _] = grid.size;
        for (voxel, value) in sphere.as_mut_slice().iter_mut().enumerate() {
            let [x, y, z] = grid.mm_from_voxel([(voxel % nx) as f64, (voxel / nx % ny) as f64, (voxel / nx / ny) as f64]);
            *value = if (x - off_mm).hypot(y).hypot(z) <= 5.0 { 1.0 } else { 0.0 };
        }
        for index in [3, 3 + geometry.num_views / 2] {
            let view = Subset { index, count: geometry.num_views };
            let runs = AxialRuns::new(Arc::clone(&geometry), grid.clone(), 150.0, [1, 1]).unwrap();
            let siddon = Siddon::new(Arc::clone(&geometry), grid.clone(), 150.0, [1, 1]);
            let fast = forward(&runs.with_tof(bins, kernel), view, &sphere);
            let defined = forward(&siddon.with_tof(bins, kernel), view, &sphere);
            let difference = largest_difference(&fast, &defined);
            println!("a sphere of 10 mm at {off_mm} mm, view {index}: {difference:.1e} of the largest bin");
            assert!(difference <= 3e-3, "{off_mm} mm, view {index}: {difference}");
        }
    }
}

/// Elements of A with the kernel at the middle of each voxel, as STIR takes it: (datum, voxel, element). Its tails end at 4 √2 σ.
fn elements_at_voxels(geometry: &Arc<ScanGeometry>, grid: &Grid, bins: &TofBins) -> Vec<(usize, usize, f64)> {
    let kernel = TofKernel::new(bins.fwhm_mm).with_reach(4.0 * 2f64.sqrt());
    let siddon = Siddon::new(Arc::clone(geometry), grid.clone(), f64::INFINITY, [1, 1]);
    let (num_planes, [nx, ny, _]) = (geometry.num_planes(), grid.size);
    // STIR's rule: two rays along the axis where a plane is thicker than a slice.
    let rays: Vec<_> = (0..2).map(|ray| geometry.ray_planes(ray, 2)).collect();
    let rays =
        if geometry.axial_sampling_mm(&geometry.segments[0]) > grid.voxel_mm[2] * 1.001 { rays } else { vec![geometry.planes()] };
    let mut elements = Vec::new();
    for lor in 0..geometry.num_transaxial() {
        let transaxial = geometry.transaxial_lor(lor / geometry.num_tangential, lor % geometry.num_tangential, 0, 1);
        for plane in 0..num_planes {
            for planes in &rays {
                let line = geometry.lor(transaxial, planes[plane]);
                siddon.walk(&line, |voxel, inside_mm| {
                    let middle = grid.mm_from_voxel([(voxel % nx) as f64, (voxel / nx % ny) as f64, (voxel / nx / ny) as f64]);
                    let l: f64 = (0..3)
                        .map(|a| {
                            (middle[a] - 0.5 * (line.start[a] + line.end[a])) * (line.end[a] - line.start[a]) / line.length_mm()
                        })
                        .sum();
                    kernel.for_each_bin(bins, l, |bin, weight| {
                        elements.push((
                            (lor * bins.num + bin) * num_planes + plane,
                            voxel,
                            weight * inside_mm / rays.len() as f64,
                        ));
                    });
                });
            }
        }
    }
    elements
}

#[test]
fn projections_are_those_of_stir_up_to_the_place_at_which_it_takes_the_kernel() {
    let (Some(theirs), Some(activity)) = (measured("fwd_tof.hs"), image("activity.hv")) else { return };
    let (dx, tof) = (activity.grid.voxel_mm[0], theirs.tof.clone().unwrap());
    let of_stir: Vec<f32> = tof.values.iter().map(|value| (f64::from(*value) * dx) as f32).collect();
    let fov_mm = activity.grid.inscribed_radius_mm();
    let operator = Siddon::new(Arc::clone(&theirs.geometry), activity.grid.clone(), fov_mm, [1, 1])
        .with_tof(tof.bins, TofKernel::new(tof.bins.fwhm_mm));
    let ours = forward(&operator, Subset::ALL, &activity);
    let difference = relative(&ours, &of_stir);
    println!("pieces of a line: {difference:.2e} (norms), {:.2e} of the largest", largest_difference(&ours, &of_stir));
    assert!(difference <= 5e-3, "{difference}");
    let runs = AxialRuns::new(Arc::clone(&theirs.geometry), activity.grid.clone(), fov_mm, [1, 1]).unwrap();
    let fast = forward(&runs.with_tof(tof.bins, TofKernel::new(tof.bins.fwhm_mm)), Subset::ALL, &activity);
    let (to_stir, to_ours) = (relative(&fast, &of_stir), largest_difference(&fast, &ours));
    println!("axial runs: {to_stir:.2e} from STIR (norms), {to_ours:.2e} of the largest from pieces of a line");
    assert!(to_stir <= 5e-3 && to_ours <= 1e-2, "{to_stir} {to_ours}");
    let mut at_voxels = vec![0.0f64; of_stir.len()];
    for (datum, voxel, element) in elements_at_voxels(&theirs.geometry, &activity.grid, &tof.bins) {
        at_voxels[datum] += element * f64::from(activity.as_slice()[voxel]);
    }
    let at_voxels: Vec<f32> = at_voxels.into_iter().map(|value| value as f32).collect();
    let difference = largest_difference(&at_voxels, &of_stir);
    println!("middles of voxels: {difference:.2e} of the largest");
    assert!(difference <= 1e-4, "{difference}");
}

/// STIR's scan with its factors and its background, which is already corrected.
fn counts_of_stir() -> Option<Counts> {
    let (prompts, factors, mut additive) = (measured("prompts_tof.hs")?, measured("af.hs")?, measured("additive_tof.hs")?);
    additive.scale_bins(&factors.counts);
    Some(Counts::new(prompts).with_corrections(Some(factors), Some(additive)).unwrap())
}

#[test]
fn reconstructions_are_those_of_stir() {
    let (Some(counts), Some(start)) = (counts_of_stir(), image("start.hv")) else { return };
    let dx = start.grid.voxel_mm[0];
    for (algorithm, num_subsets, num_iterations, name) in [
        (AlgorithmChoice::MLEM, 1, 10, "mlem_tof_10.hv"),
        (AlgorithmChoice::OSEM, 4, 1, "osem_tof_4.hv"),
        (AlgorithmChoice::OSEM, 4, 2, "osem_tof_8.hv"),
    ] {
        let in_order = Values::default().with_choice(&SUBSET_ORDER, SubsetOrder::Sequential);
        let settings = RunSettings {
            parameters: if num_subsets > 1 { in_order } else { Values::default() },
            num_iterations,
            num_subsets,
            rays: Rays::Fixed { tangential: 1, axial: 1 },
            device: DeviceChoice::Cpu,
            inputs: RunInputs { init: Some(Arc::new(scaled(start.clone(), 1.0 / dx))), ..RunInputs::default() },
            ..RunSettings::new(algorithm, start.grid.clone())
        };
        let job = Job::of(&Study::new("STIR", counts.clone()), settings);
        let mut prepared = prepare_with(&Cache::nowhere(), &job, &Task::new()).unwrap();
        for _ in 0..num_iterations {
            prepared.algorithm.iterate(&Task::new()).unwrap();
        }
        let mut ours = Volume::filled(start.grid.clone(), 0.0);
        prepared.algorithm.volume_into(&mut ours).unwrap();
        let (ours, theirs) = (scaled(ours, dx), image(name).unwrap());
        let difference = largest_difference(ours.as_slice(), theirs.as_slice());
        println!("{name}: {difference:.2e} of the maximum");
        assert!(difference <= 5e-3, "{name}: {difference}");
    }
}

#[test]
fn mlem_with_the_kernel_at_the_middles_of_voxels_is_that_of_stir() {
    let (Some(counts), Some(start)) = (counts_of_stir(), image("start.hv")) else { return };
    let (geometry, tof) = (Arc::clone(counts.geometry()), counts.prompts.tof.clone().unwrap());
    let (num_planes, num_tof) = (geometry.num_planes(), tof.bins.num);
    let factors = counts.multiplicative.as_ref().unwrap();
    let factor = |datum: usize| f64::from(factors.counts[datum / (num_planes * num_tof) * num_planes + datum % num_planes]);
    let additive = counts.additive.as_ref().unwrap().tof.clone().unwrap();
    let elements = elements_at_voxels(&geometry, &start.grid, &tof.bins);
    // STIR's sensitivity is that without time of flight: bins that reach on for ever.
    let endless = TofBins { num: 1, width_mm: 1e5, fwhm_mm: 1.0 };
    let mut sensitivity = vec![0.0; start.grid.num_voxels()];
    for (datum, voxel, element) in elements_at_voxels(&geometry, &start.grid, &endless) {
        sensitivity[voxel] += element * f64::from(factors.counts[datum]);
    }
    let dx = start.grid.voxel_mm[0];
    let mut x: Vec<f64> = start.as_slice().iter().map(|value| f64::from(*value) / dx).collect();
    for iteration in 1..=10 {
        let mut mean = vec![0.0; tof.values.len()];
        elements.iter().for_each(|(datum, voxel, element)| mean[*datum] += element * x[*voxel]);
        let ratio = |datum: usize| {
            let expected = factor(datum) * mean[datum] + f64::from(additive.values[datum]);
            if expected > 0.0 { f64::from(tof.values[datum]) / expected } else { 0.0 }
        };
        let ratios: Vec<f64> = (0..mean.len()).map(|datum| factor(datum) * ratio(datum)).collect();
        let mut back = vec![0.0; x.len()];
        elements.iter().for_each(|(datum, voxel, element)| back[*voxel] += element * ratios[*datum]);
        for (x, (back, sensitivity)) in x.iter_mut().zip(back.iter().zip(&sensitivity)) {
            *x *= if *sensitivity > 0.0 { back / sensitivity } else { 0.0 };
        }
        let name = format!("mlem_tof_{iteration}.hv");
        let Some(theirs) = [1, 5, 10].contains(&iteration).then(|| image(&name).unwrap()) else { continue };
        let ours: Vec<f32> = x.iter().map(|value| (value * dx) as f32).collect();
        let difference = largest_difference(&ours, theirs.as_slice());
        println!("{name}: {difference:.2e} of the maximum");
        assert!(difference <= 1e-4, "{name}: {difference}");
    }
}
