//! Projectors onto michelograms on every GPU against the definition on the host, and against themselves in every way of adding.

use std::sync::Arc;

#[cfg(feature = "cuda")]
use strum::VariantArray as _;
#[cfg(feature = "cuda")]
use tomoscope::cuda::{self, BinDriven, CudaBackend};
use tomoscope::data::{TofBins, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::{Accumulation, BinOrder, DataSpace as _, OperatorError, Siddon, Subset, TofKernel, ViewProjector};
use tomoscope::scanner::ScanGeometry;
use tomoscope::task::Task;
use tomoscope::webgpu::{self, PerLor, WebGpuBackend};

use super::device::{Each, Gpu, assert_same_bits, backprojected, on_each_gpu, projected};
use super::support::{backward, dot, forward, geometry, largest_difference, noise, random_volume, relative, tiny, tiny_span_3};

on_each_gpu! {
    axial_runs_are_the_definition_and_adjoint,
    a_thread_for_each_bin_is_the_definition_and_adjoint_in_every_order,
    a_stopped_task_stops_a_projection;
    webgpu:
        time_of_flight_is_that_of_the_definition,
        #[ignore = "takes minutes on a software renderer"]
        the_largest_scan_agrees_with_the_host
}

/// One scan and grid.
pub struct Case {
    pub name: &'static str,
    pub geometry: Arc<ScanGeometry>,
    pub grid: Grid,
    pub fov_radius_mm: f64,
    pub rays: [usize; 2],
    pub subset: Subset,
    tof: Option<(TofBins, TofKernel)>,
}

impl Case {
    /// The same with bins of the time of flight, whose kernel ends at `reach` sigma.
    fn with_tof(self, num: usize, width_mm: f64, fwhm_mm: f64, reach: f64) -> Self {
        let kernel = TofKernel::new(fwhm_mm).with_reach(reach);
        Self { tof: Some((TofBins { num, width_mm, fwhm_mm }, kernel)), ..self }
    }

    /// The definition.
    fn plain(&self) -> Siddon {
        let plain = Siddon::new(Arc::clone(&self.geometry), self.grid.clone(), self.fov_radius_mm, self.rays);
        match self.tof {
            Some((bins, kernel)) => plain.with_tof(bins, kernel),
            None => plain,
        }
    }
}

fn case(name: &'static str, grid: Grid, fov_radius_mm: f64, rays: [usize; 2], subset: Subset) -> Case {
    let geometry = match name {
        "one ring" => tiny(1),
        "four rings" => tiny(4),
        "span 3" => tiny_span_3(),
        _ => geometry(name),
    };
    Case { name, geometry, grid, fov_radius_mm, rays, subset, tof: None }
}

fn grid(size: [usize; 3], voxel_mm: [f64; 3]) -> Grid {
    Grid::centred(size, voxel_mm).unwrap()
}

fn off_axis() -> Grid {
    Grid::new([47, 47, 9], [3.0, 3.0, 2.5], [-60.0, -75.0, -3.1]).unwrap()
}

const fn part(index: usize, count: usize) -> Subset {
    Subset { index, count }
}

/// Even and odd sizes, one plane, spanned segments, several lines per bin, off the axis, beyond the detectors.
pub fn large_cases() -> Vec<Case> {
    vec![
        case("small", grid([47, 47, 15], [3.0, 3.0, 2.5]), 69.0, [1, 1], part(0, 6)),
        case("small", grid([48, 48, 16], [3.0, 3.0, 2.5]), 72.0, [1, 1], part(0, 12)),
        case("small", grid([40, 52, 5], [3.0, 3.0, 2.5]), 200.0, [1, 2], part(1, 12)),
        case("small", grid([47, 47, 15], [3.0, 3.0, 2.5]), 50.0, [2, 1], part(0, 12)),
        case("small", grid([33, 20, 1], [4.0, 5.0, 2.5]), 200.0, [1, 1], part(0, 4)),
        case("small", grid([20, 20, 31], [7.0, 7.0, 1.25]), 69.0, [1, 1], part(0, 12)),
        case("small", off_axis(), 69.0, [1, 1], part(0, 12)),
        case("small", grid([61, 61, 41], [5.0, 5.0, 2.5]), 400.0, [1, 1], part(0, 12)),
        case("small", grid([24, 24, 81], [6.0, 6.0, 2.5]), 72.0, [1, 1], part(0, 24)),
        case("span 3", grid([15, 15, 15], [5.0, 5.0, 3.0]), 37.5, [1, 1], Subset::ALL),
        case("span 3", grid([16, 16, 29], [5.0, 5.0, 1.5]), 37.5, [1, 2], Subset::ALL),
        case("one ring", grid([15, 15, 1], [5.0, 5.0, 6.0]), 37.5, [1, 1], Subset::ALL),
        case("ecat-931", grid([64, 64, 15], [8.0, 8.0, 6.75]), 250.0, [1, 2], part(3, 64)),
        case("discovery-ste", grid([64, 64, 47], [10.9375, 10.9375, 3.27]), 350.0, [1, 1], part(0, 140)),
    ]
}

/// What a software GPU projects in axial runs: also longer than the scanner, finer than its planes, more places than threads of a group.
fn small_cases_of_runs() -> Vec<Case> {
    vec![
        case("small", grid([47, 47, 15], [3.0, 3.0, 2.5]), 69.0, [1, 1], part(1, 12)),
        case("small", grid([48, 48, 16], [3.0, 3.0, 2.5]), 72.0, [1, 2], part(0, 12)),
        case("small", grid([20, 20, 31], [7.0, 7.0, 1.25]), 69.0, [2, 1], part(3, 24)),
        case("small", off_axis(), 69.0, [1, 1], part(0, 24)),
        case("span 3", grid([16, 16, 29], [5.0, 5.0, 1.5]), 37.5, [1, 2], part(0, 2)),
        case("one ring", grid([15, 15, 1], [5.0, 5.0, 6.0]), 37.5, [1, 1], Subset::ALL),
        case("four rings", grid([9, 9, 150], [8.0, 8.0, 1.5]), 37.5, [1, 1], part(1, 4)),
    ]
}

/// What it projects with a thread for each bin.
fn small_cases_of_bins() -> Vec<Case> {
    vec![
        case("small", grid([47, 47, 15], [3.0, 3.0, 2.5]), 69.0, [1, 1], part(0, 24)),
        case("small", grid([48, 48, 16], [3.0, 3.0, 2.5]), 72.0, [1, 1], part(0, 48)),
        case("small", grid([40, 52, 5], [3.0, 3.0, 2.5]), 200.0, [1, 2], part(1, 48)),
        case("small", grid([33, 20, 1], [4.0, 5.0, 2.5]), 200.0, [2, 1], part(0, 12)),
        case("small", off_axis(), 69.0, [1, 1], part(0, 24)),
        case("small", grid([41, 41, 21], [7.5, 7.5, 5.0]), 400.0, [1, 1], part(0, 48)),
        case("span 3", grid([16, 16, 29], [5.0, 5.0, 1.5]), 37.5, [1, 2], part(0, 4)),
        case("one ring", grid([15, 15, 1], [5.0, 5.0, 6.0]), 37.5, [1, 1], Subset::ALL),
        case("discovery-ste", grid([32, 32, 24], [21.875, 21.875, 6.54]), 350.0, [1, 1], part(0, 280)),
    ]
}

/// Few bins that end within the image, narrow ones, a single one, many that no line meets; kernels that end early and late.
fn cases_with_tof() -> Vec<Case> {
    let off_axis = Grid::new([17, 19, 9], [5.0, 6.0, 4.5], [-35.0, -60.0, -3.1]).unwrap();
    vec![
        case("small", grid([31, 31, 15], [4.5, 4.5, 2.5]), 69.0, [1, 1], part(0, 96)).with_tof(5, 25.0, 40.0, 3.0),
        case("span 3", off_axis, 200.0, [2, 2], part(1, 8)).with_tof(4, 40.0, 30.0, 5.0),
        case("span 3", grid([16, 16, 29], [5.0, 5.0, 1.5]), 37.5, [1, 1], part(0, 8)).with_tof(21, 4.0, 60.0, 3.0),
        case("span 3", grid([15, 14, 9], [5.0, 5.0, 4.0]), 37.5, [1, 1], part(3, 16)).with_tof(12, 30.0, 40.0, 1.5),
        case("one ring", grid([15, 15, 1], [5.0, 5.0, 6.0]), 37.5, [1, 1], Subset::ALL).with_tof(1, 200.0, 5.0, 3.0),
    ]
}

/// Programs of a device with their names.
type Programs<B> = Vec<(String, Box<dyn ViewProjector<B>>)>;

/// A GPU with projectors onto michelograms.
trait ViewGpu: Gpu {
    /// The one in axial runs; none, said, where it does not suit.
    fn axial_runs(&mut self, case: &Case) -> Programs<Self>;

    /// That with a thread for each bin, in every order.
    fn by_bin(&mut self, case: &Case) -> Programs<Self>;
}

impl ViewGpu for WebGpuBackend {
    fn axial_runs(&mut self, Case { geometry, grid, fov_radius_mm, rays, .. }: &Case) -> Programs<Self> {
        let new = webgpu::AxialRuns::new(self, Arc::clone(geometry), grid.clone(), *fov_radius_mm, *rays);
        vec![("axial runs".into(), Box::new(new.unwrap()))]
    }

    fn by_bin(&mut self, Case { geometry, grid, fov_radius_mm, rays, tof, .. }: &Case) -> Programs<Self> {
        let (geometry, grid) = (Arc::clone(geometry), grid.clone());
        let new = match *tof {
            Some(tof) => PerLor::with_tof(self, geometry, grid, *fov_radius_mm, *rays, tof),
            None => PerLor::new(self, geometry, grid, *fov_radius_mm, *rays),
        };
        vec![("per LOR".into(), Box::new(new.unwrap()))]
    }
}

#[cfg(feature = "cuda")]
impl ViewGpu for CudaBackend {
    fn axial_runs(&mut self, Case { name, geometry, grid, fov_radius_mm, rays, .. }: &Case) -> Programs<Self> {
        match cuda::AxialRuns::new(self, Arc::clone(geometry), grid.clone(), *fov_radius_mm, *rays) {
            Ok(fast) => vec![("axial runs".into(), Box::new(fast))],
            Err(OperatorError::Unsuitable(why)) => {
                println!("axial-runs, {name}: {why}");
                Vec::new()
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn by_bin(&mut self, Case { geometry, grid, fov_radius_mm, rays, .. }: &Case) -> Programs<Self> {
        let new = || BinDriven::new(self, Arc::clone(geometry), grid.clone(), *fov_radius_mm, *rays, None).unwrap();
        let program = |order: &BinOrder| (order.to_string(), Box::new(new().with_order(*order)) as Box<dyn ViewProjector<Self>>);
        BinOrder::VARIANTS.iter().map(program).collect()
    }
}

/// Where each value of an operator's data of a subset lies in data `[view][tangential_pos][tof][plane]` of that subset.
fn places<B: Gpu>(operator: &dyn ViewProjector<B>, Case { geometry, subset, tof, .. }: &Case) -> Vec<usize> {
    let views = operator.views();
    let (view_len, np, nt, nv) = (views.view_len(), views.num_planes(), views.num_tangential(), views.of(*subset).len());
    let num_bins = geometry.num_bins() * tof.map_or(1, |(bins, _)| bins.num);
    // Numbers beyond 2^24 are not exact in f32: a view's number and a bin's are told apart.
    let numbered = |value: &dyn Fn(usize) -> usize| {
        views.arranged(&Arc::new((0..num_bins).map(|bin| value(bin) as f32).collect()), subset.count)
    };
    let (view_of, bin_of) = (numbered(&|bin| bin / view_len), numbered(&|bin| bin % view_len));
    let range = views.pieces(*subset).remove(0).1;
    let subset_view = |view: f32| (view as usize - subset.index) / subset.count;
    let places: Vec<usize> = range.map(|at| subset_view(view_of[at]) * view_len + bin_of[at] as usize).collect();
    // Radial position, then view, then time of flight and plane.
    let radial = |at: usize| (at / nt % nv * nt + at % nt) * np + at / nt / nv;
    assert!(views.order() != BinOrder::Radial || places.iter().enumerate().all(|(at, place)| *place == radial(at)));
    places
}

/// How far two arrays are apart in words, and whether they may be: in norms and in parts of the largest value.
fn differences<B: Gpu>(found: &[f32], expected: &[f32]) -> (String, bool) {
    let most = Each { webgpu: [1e-5, 1e-5], cuda: [1e-4, f64::INFINITY] }.of::<B>();
    let found = [relative(found, expected), largest_difference(found, expected)];
    (found.map(|found| format!("{found:.1e}")).join(" and "), found.iter().zip(most).all(|(found, most)| *found <= most))
}

/// Compares programs of all devices with the definition, in every way of adding that loses nothing; adjointness too. Those in runs also
/// subtract, and the integers of their deterministic sums are the same on all devices, unless the bins of a LOR lie in two buffers.
fn compare<B: ViewGpu>(devices: &mut [(&str, B)], case: &Case, in_runs: bool, programs: impl Fn(&mut B, &Case) -> Programs<B>) {
    if devices.is_empty() {
        return;
    }
    let Case { name, grid, rays, subset, .. } = case;
    let (plain, volume) = (case.plain(), random_volume(grid));
    let expected = forward(&plain, *subset, &volume);
    let q = noise(11, expected.len());
    let spread = backward(&plain, *subset, q.clone(), Accumulation::Deterministic, grid);
    // Image and projection of the first device.
    let mut first: Option<[Vec<f32>; 2]> = None;
    for (on, device) in devices {
        for (program, operator) in programs(device, case) {
            let (operator, text) = (&*operator, format!("{program}, {name} {:?} rays {rays:?}, {on}", grid.size));
            let places = places(operator, case);
            let arranged: Vec<f32> = places.iter().map(|&place| q[place]).collect();
            let x = operator.voxels().coefficients(&volume);
            let there = projected(device, operator, *subset, &x, places.len());
            let mut in_order = vec![0.0; there.len()];
            places.iter().zip(&there).for_each(|(&place, &value)| in_order[place] = value);
            let (of_bins, is_right) = differences::<B>(&in_order, &expected);
            assert!(is_right, "{text}: forward {of_bins}");
            let lossless: &[_] = &[Accumulation::Atomic, Accumulation::Deterministic];
            for &accumulation in (Each { webgpu: operator.accumulations(), cuda: lossless }).of::<B>() {
                let mut back = || backprojected(device, operator, *subset, &arranged, accumulation, x.len());
                let image = back();
                let mut seen = Volume::filled(grid.clone(), 0.0);
                operator.voxels().write(&image, 1.0, &mut seen);
                if accumulation == Accumulation::NonAtomic {
                    // The race loses some of what it adds.
                    assert!(seen.as_slice().iter().all(|value| value.is_finite()));
                    assert!(in_runs || (image.iter().all(|value| *value >= 0.0) && image.iter().any(|value| *value > 0.0)));
                    continue;
                }
                let (of_image, is_right) = differences::<B>(seen.as_slice(), spread.as_slice());
                let (left, right) = (dot(&there, &arranged), dot(&x, &image));
                let mismatch = (left - right).abs() / left;
                println!("{text}, {accumulation}: {of_bins}; {of_image}, adjoint {mismatch:.1e}");
                assert!(left > 0.0 && is_right && mismatch <= 1e-5);
                if accumulation == Accumulation::Deterministic {
                    assert_same_bits(&back(), &image);
                    // (Kernels that add with one instruction or with two are compiled apart: weights can differ in the last digit.)
                    if (Each { webgpu: true, cuda: false }).of::<B>() {
                        let first = first.get_or_insert_with(|| [image.clone(), there.clone()]);
                        assert!(largest_difference(&image, &first[0]) <= 1e-6 && relative(&image, &first[0]) < 1e-6);
                        assert!(largest_difference(&there, &first[1]) <= 1e-6);
                        assert!(!in_runs || *on == "short buffers" || image == first[0]);
                    }
                }
            }
        }
    }
}

fn axial_runs_are_the_definition_and_adjoint<B: ViewGpu>() {
    let mut devices = B::all();
    for case in (Each { webgpu: small_cases_of_runs(), cuda: large_cases() }).of::<B>() {
        compare(&mut devices, &case, true, B::axial_runs);
    }
}

fn a_thread_for_each_bin_is_the_definition_and_adjoint_in_every_order<B: ViewGpu>() {
    let mut devices = B::all();
    for case in (Each { webgpu: small_cases_of_bins(), cuda: large_cases() }).of::<B>() {
        compare(&mut devices, &case, false, B::by_bin);
    }
}

fn time_of_flight_is_that_of_the_definition<B: ViewGpu>() {
    let mut devices = B::all();
    for case in cases_with_tof() {
        compare(&mut devices, &case, false, B::by_bin);
    }
}

fn the_largest_scan_agrees_with_the_host<B: ViewGpu>() {
    let largest = large_cases().pop().unwrap();
    compare(&mut B::all(), &largest, true, B::axial_runs);
}

fn a_stopped_task_stops_a_projection<B: ViewGpu>() {
    let case = case("small", grid([47, 47, 15], [3.0, 3.0, 2.5]), 69.0, [1, 1], part(0, 24));
    for (_, mut device) in B::all() {
        let mut programs = device.axial_runs(&case);
        programs.extend(device.by_bin(&case));
        for (program, operator) in programs {
            let x = device.zeros(operator.voxels().len()).unwrap();
            let mut data = device.zeros(operator.views().len(case.subset)).unwrap();
            let task = Task::new();
            task.stop();
            let outcome = operator.apply(&mut device, case.subset, &x, &mut data, &task);
            assert!(matches!(outcome, Err(OperatorError::Stopped(_))), "{program}: {outcome:?}");
        }
    }
}
