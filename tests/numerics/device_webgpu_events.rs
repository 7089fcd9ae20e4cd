//! Projection onto events on GPUs through wgpu against the definition on the host.

use std::sync::Arc;

use tomoscope::algebra::{Backend, Data, Host, HostArray, Image};
use tomoscope::data::{Events, ListMetadata, TofMeasurement, Volume};
use tomoscope::geometry::{Grid, Point};
use tomoscope::operator::{
    Accumulation, DataSpace, EventLines, EventOrder, EventProjector, LinearOperator, Misfit, OperatorLimit, Subset,
};
use tomoscope::plan::{DeviceChoice, SensitivitySettings, list_sensitivity};
use tomoscope::scanner::{Crystal, Detectors, PairRays};
use tomoscope::task::Task;
use tomoscope::webgpu::{self, DeviceOptions, WebGpuBackend};

use super::device_webgpu::{backends, read, upload};
use super::events::{Tof, crowded_events, detectors, pair_rays, random_events, tof};
use super::support::{dot, noise, random_volume, relative};

const FOV_MM: f64 = 69.0;

/// The devices of all tests, and one whose buffers hold only some of the events and some of the image.
fn devices() -> Vec<(&'static str, WebGpuBackend)> {
    let mut devices = backends();
    if let Some(number) = devices.first().map(|(_, backend)| backend.info().number) {
        let options = |_: &_| DeviceOptions { segment_bytes: 4 << 10, ..DeviceOptions::least() };
        devices.push(("shortest buffers", WebGpuBackend::open_with(number, options).unwrap()));
    }
    devices
}

/// Events, of what scanner, and the image that they cross.
struct Case {
    events: Arc<Events>,
    detectors: Detectors,
    tof: Option<TofMeasurement>,
    grid: Grid,
    fov_radius_mm: f64,
    rays: PairRays,
    order: EventOrder,
}

impl Case {
    fn of(grid: &Grid, num_rays: usize, events: &Arc<Events>, order: EventOrder) -> Self {
        Self {
            events: Arc::clone(events),
            detectors: detectors(),
            tof: Some(tof(30.0)),
            grid: grid.clone(),
            fov_radius_mm: FOV_MM,
            rays: pair_rays(num_rays),
            order,
        }
    }

    /// The definition.
    fn on_host(&self) -> EventLines {
        let Self { events, detectors, tof, grid, fov_radius_mm, rays, order } = self;
        let lines =
            EventLines::new(Arc::clone(events), detectors, tof.as_ref(), grid.clone(), *fov_radius_mm, *rays, *order).unwrap();
        lines.plain()
    }

    fn on(&self, backend: &mut WebGpuBackend) -> webgpu::EventLines {
        let Self { events, detectors, tof, grid, fov_radius_mm, rays, order } = self;
        let (events, grid) = (Arc::clone(events), grid.clone());
        webgpu::EventLines::new(backend, events, detectors, tof.as_ref(), grid, *fov_radius_mm, *rays, *order).unwrap()
    }
}

/// A x in the order of the events' values.
fn projected(backend: &mut WebGpuBackend, operator: &webgpu::EventLines, subset: Subset, volume: &Volume) -> Vec<f32> {
    let x = upload::<Image>(backend, &operator.voxels().coefficients(volume));
    let mut out = backend.zeros::<Data>(operator.space().len(subset)).unwrap();
    backend.fill(&mut out, f32::NAN).unwrap();
    operator.apply(backend, subset, &x, &mut out, &Task::new()).unwrap();
    read(backend, &out)
}

/// Aᵀ q in the order of a volume.
fn backprojected(
    backend: &mut WebGpuBackend,
    operator: &webgpu::EventLines,
    subset: Subset,
    q: &[f32],
    accumulation: Accumulation,
) -> Vec<f32> {
    let q = upload::<Data>(backend, q);
    let mut out = backend.zeros::<Image>(operator.voxels().len()).unwrap();
    backend.fill(&mut out, f32::NAN).unwrap();
    operator.adjoint(backend, subset, &q, accumulation, &mut out, &Task::new()).unwrap();
    let mut volume = Volume::filled(operator.voxels().grid().clone(), 0.0);
    operator.voxels().write(&read(backend, &out), 1.0, &mut volume);
    volume.as_slice().to_vec()
}

/// A x and Aᵀ q on the host.
fn on_host(operator: &EventLines, subset: Subset, volume: &Volume, q: &[f32]) -> [Vec<f32>; 2] {
    let x: HostArray<Image> = operator.voxels().coefficients(volume).into();
    let mut there: HostArray<Data> = Host.zeros(q.len()).unwrap();
    operator.apply(&mut Host, subset, &x, &mut there, &Task::new()).unwrap();
    let mut back: HostArray<Image> = Host.zeros(operator.voxels().len()).unwrap();
    let q = q.to_vec().into();
    operator.adjoint(&mut Host, subset, &q, Accumulation::Deterministic, &mut back, &Task::new()).unwrap();
    [there.into_values(), back.into_values()]
}

/// Compares both directions with the definition, and with each other; deterministic sums have the same bits everywhere.
fn compare(case: &Case, part: Subset, name: &str) {
    let host = case.on_host();
    let volume = random_volume(&case.grid);
    let mut seen = Volume::filled(case.grid.clone(), 0.0);
    host.voxels().write(&host.voxels().coefficients(&volume), 1.0, &mut seen);
    for subset in [Subset::ALL, part] {
        let q = noise(8, host.space().len(subset));
        let [expected, spread] = on_host(&host, subset, &volume, &q);
        let mut bits: Option<Vec<f32>> = None;
        for (device, mut backend) in devices() {
            let operator = case.on(&mut backend);
            let there = projected(&mut backend, &operator, subset, &volume);
            let forward = relative(&there, &expected);
            for &accumulation in LinearOperator::accumulations(&operator) {
                let back = backprojected(&mut backend, &operator, subset, &q, accumulation);
                if accumulation == Accumulation::NonAtomic {
                    assert!(back.iter().all(|value| value.is_finite()));
                    continue;
                }
                let error = relative(&back, &spread);
                let mismatch = (dot(&there, &q) / dot(seen.as_slice(), &back) - 1.0).abs();
                println!(
                    "{name}, {:?}, {device}, {accumulation}: forward {forward:.1e}, back {error:.1e}, adjoint {mismatch:.1e}",
                    case.order
                );
                assert!(forward <= 1e-5 && error <= 1e-5 && mismatch <= 1e-5);
                if accumulation == Accumulation::Deterministic {
                    let again = backprojected(&mut backend, &operator, subset, &q, accumulation);
                    assert_eq!(back, again);
                    assert_eq!(bits.get_or_insert_with(|| back.clone()), &back);
                }
            }
        }
    }
}

const ORDERS: [EventOrder; 2] = [EventOrder::ByLine, EventOrder::AsWritten];

/// Odd numbers of voxels, and even ones, where lines lie in faces.
fn grids() -> [Grid; 2] {
    [Grid::centred([19, 19, 15], [7.3, 7.3, 2.5]).unwrap(), Grid::centred([20, 16, 8], [7.0, 8.5, 5.0]).unwrap()]
}

#[test]
fn events_on_any_gpu_are_those_of_the_host() {
    for (grid, num_rays) in grids().iter().zip([1, 4]) {
        for known in [Tof::No, Tof::Numbers, Tof::Bins] {
            let events = Arc::new(random_events(2000, known));
            for order in ORDERS {
                let name = format!("{:?}, {num_rays} rays, {known:?}", grid.size);
                compare(&Case::of(grid, num_rays, &events, order), Subset { index: 2, count: 7 }, &name);
            }
        }
    }
}

#[test]
fn beams_of_events_are_those_of_the_host() {
    let events = Arc::new(crowded_events(4000));
    // Along faces of voxels in all directions, and rows of voxels that events rise through faster than they cross columns.
    let flat = Grid::centred([9, 8, 70], [15.0, 17.0, 0.6]).unwrap();
    for (grid, num_rays) in grids().iter().zip([4, 1]).chain([(&flat, 1)]) {
        let name = format!("beams, {:?}, {num_rays} rays", grid.size);
        compare(&Case::of(grid, num_rays, &events, EventOrder::ByLine), Subset { index: 1, count: 2 }, &name);
    }
}

#[test]
fn an_event_of_huge_weight_leaves_those_of_its_beam_their_digits() {
    let case = Case::of(&grids()[0], 1, &Arc::new(crowded_events(4000)), EventOrder::ByLine);
    let host = case.on_host();
    let volume = random_volume(&case.grid);
    // Some outweigh all others: compared is where none of these passes.
    let huge: Vec<f32> = (0..case.events.len()).map(|i| if i % 997 == 0 { 1e7 } else { 0.0 }).collect();
    let q: Vec<f32> = noise(8, huge.len()).iter().zip(&huge).map(|(q, huge)| q + huge).collect();
    let [_, expected] = on_host(&host, Subset::ALL, &volume, &q);
    let [_, outliers] = on_host(&host, Subset::ALL, &volume, &huge);
    let free: Vec<usize> = (0..expected.len()).filter(|voxel| outliers[*voxel] == 0.0 && expected[*voxel] > 0.0).collect();
    assert!(free.len() > 100);
    for (device, mut backend) in devices() {
        let operator = case.on(&mut backend);
        let found = backprojected(&mut backend, &operator, Subset::ALL, &q, Accumulation::Deterministic);
        let of = |image: &[f32]| free.iter().map(|voxel| image[*voxel]).collect::<Vec<f32>>();
        let error = relative(&of(&found), &of(&expected));
        println!("{device}: {} voxels without outliers, {error:.1e}", free.len());
        assert!(error <= 1e-5);
    }
}

#[test]
fn the_sensitivity_of_pairs_one_after_the_other_is_that_of_the_host() {
    let Some(number) = backends().first().map(|(_, backend)| backend.info().number) else { return };
    // Several rays side by side, or a window that ends in the image: all planes at once would not do.
    let near = TofMeasurement { fwhm_mm: 20.0, window_mm: [-20.0, 20.0], ..TofMeasurement::default() };
    for (tof, rays) in [(None, pair_rays(2)), (Some(near), PairRays::ONE)] {
        let facts = ListMetadata { tof, ..ListMetadata::new("test", Arc::new(detectors())) };
        let [host, device] = [DeviceChoice::Cpu, DeviceChoice::WebGpu(number)].map(|device| {
            let settings = SensitivitySettings { grid: grids()[1].clone(), fov_radius_mm: 60.0, rays, device };
            list_sensitivity(&facts, &settings, &Task::new()).unwrap()
        });
        assert!(!host.is_of_planes && !device.is_of_planes && host.num_pairs == device.num_pairs);
        let error = relative(device.volume.as_slice(), host.volume.as_slice());
        println!("sensitivity of {} pairs: {error:.1e}", host.num_pairs);
        assert!(host.volume.sum() > 0.0 && error <= 1e-6);
    }
}

#[test]
fn what_cannot_be_projected_is_refused() {
    let Some((_, mut backend)) = backends().into_iter().next() else { return };
    let detectors = detectors();
    let mut new = |tof: &TofMeasurement, voxel_mm: f64| {
        let events = Arc::new(random_events(100, Tof::Numbers));
        let (grid, order) = (Grid::centred([8, 8, 8], [voxel_mm; 3]).unwrap(), EventOrder::AsWritten);
        webgpu::EventLines::new(&mut backend, events, &detectors, Some(tof), grid, FOV_MM, PairRays::ONE, order).err()
    };
    assert!(new(&tof(30.0), 5.0).is_none());
    assert_eq!(new(&tof(30.0), 1e-5), Some(Misfit::FarImage.into()));
    assert_eq!(new(&tof(-1.0), 5.0), Some(OperatorLimit::TofResolution(-1.0).into()));
}

/// Lines that rounding could send astray, mm: in voxels of 2 × 2.5 × 3 mm, of which an even number, an even and an odd number lie
/// about the origin.
fn nasty_lines() -> Vec<(&'static str, Point, Point)> {
    // Parts of a voxel along y, from and to.
    let beside = |from: f64, to: f64| ([-200.0, 2.5 * from, 0.4], [200.0, 2.5 * to, 0.4]);
    let line = |name, (start, end)| (name, start, end);
    vec![
        ("in a row along x", [-200.0, 1.0, 0.5], [200.0, 1.0, 0.5]),
        ("in a row along y, backwards", [3.3, 170.0, 0.5], [3.3, -190.0, 0.5]),
        ("in a face", [-200.0, 0.0, 0.5], [200.0, 0.0, 0.5]),
        ("in an edge", [-200.0, 5.0, 4.5], [200.0, 5.0, 4.5]),
        ("in the lower face of the image", [-200.0, -22.5, 0.5], [200.0, -22.5, 0.5]),
        ("in the upper face of the image", [200.0, 1.0, 13.5], [-200.0, 1.0, 13.5]),
        ("in a vertical face, rising", [0.0, -150.0, -20.0], [0.0, 150.0, 31.0]),
        line("almost in a face", beside(0.9e-6, 0.9e-6)),
        line("just beside a face", beside(1.1e-6, 1.1e-6)),
        line("just below another", beside(1.0 - 1.1e-6, 1.0 - 1.1e-6)),
        line("through a face by less than the tolerance", beside(-0.49e-6, 0.49e-6)),
        line("through a face by more", beside(-0.51e-6, 0.51e-6)),
        line("through it off the middle", beside(-0.495e-6, 0.605e-6)),
        line("by ten times more", beside(-5.2e-6, 5e-6)),
        line("by a ten-thousandth", beside(3.0 - 4.9e-5, 3.0 + 5.1e-5)),
        line("by a thousandth, backwards", beside(3.0 + 4.9e-4, 3.0 - 5.1e-4)),
        line("by a hundredth", beside(-4.0 - 5.0e-3, -4.0 + 5.1e-3)),
        ("along an axis of the scanner", [3.0, 2.0, -50.0], [3.0, 2.0, 60.0]),
        ("steep", [2.9, 1.0, -100.0], [3.1, 1.3, 110.0]),
        ("through corners of columns", [-200.0, -250.0, 0.2], [200.0, 250.0, 0.2]),
        ("through corners of voxels", [-160.0, -200.0, -238.5], [160.0, 200.0, 241.5]),
        ("through corners, backwards", [160.0, -200.0, 241.5], [-160.0, 200.0, -238.5]),
        ("through corners in the plane of a face", [-200.0, 250.0, 4.5], [200.0, -250.0, 4.5]),
        ("beside the circle", [-200.0, 19.0, 1.0], [200.0, 22.0, 1.0]),
        ("at the circle", [-200.0, 20.599, 1.0], [200.0, 20.599, 1.0]),
        ("outside of it", [-200.0, 20.7, 1.0], [200.0, 20.7, 1.0]),
        ("at a corner of the image", [-200.0, 202.49, 1.0], [210.0, -167.49, 1.0]),
        ("beside the image", [-200.0, 80.0, 1.0], [200.0, 30.0, 1.0]),
        ("from the image to the outside", [-5.3, 2.2, 1.0], [170.0, -30.0, -20.0]),
        ("in the image", [-5.3, 2.2, 1.0], [7.7, -3.0, -2.0]),
        ("in the image from face to face", [-4.0, 2.5, 1.5], [8.0, 2.5, -1.5]),
        ("in one voxel", [1.1, 1.0, 0.1], [1.2, 1.7, 0.3]),
        ("from afar", [-1500.0, 333.0, -80.0], [480.0, -120.0, 60.0]),
        ("a point", [3.0, 1.0, 1.0], [3.0, 1.0, 1.0]),
    ]
}

#[test]
fn each_of_the_nasty_lines_is_that_of_the_host() {
    let lines = nasty_lines();
    let crystal =
        |centre_mm: Point| Crystal { centre_mm, axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], size_mm: [0.0; 3] };
    let crystals = lines.iter().flat_map(|(_, start, end)| [crystal(*start), crystal(*end)]).collect();
    let detectors = Detectors::new("lines", crystals).unwrap();
    let events = Events { pairs: (0..lines.len() as u32).map(|line| [2 * line, 2 * line + 1]).collect(), ..Events::default() };
    let mut case = Case {
        events: Arc::new(events),
        detectors,
        tof: None,
        grid: Grid::centred([20, 18, 9], [2.0, 2.5, 3.0]).unwrap(),
        fov_radius_mm: 19.0,
        rays: PairRays::ONE,
        order: EventOrder::AsWritten,
    };
    for fov_radius_mm in [19.0, 1000.0] {
        case.fov_radius_mm = fov_radius_mm;
        let host = case.on_host();
        for (device, mut backend) in devices() {
            let operator = case.on(&mut backend);
            let (mut worst, mut num_seen) = ((0.0, ""), 0);
            for (number, (name, start, end)) in lines.iter().enumerate() {
                let length_mm = (0..3).map(|a| (end[a] - start[a]).powi(2)).sum::<f64>().sqrt();
                let mut q = vec![0.0; lines.len()];
                q[number] = 1.0;
                let [_, expected] = on_host(&host, Subset::ALL, &random_volume(&case.grid), &q);
                let found = backprojected(&mut backend, &operator, Subset::ALL, &q, Accumulation::Deterministic);
                num_seen += usize::from(expected.iter().any(|length| *length > 0.0));
                for (voxel, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    let error = f64::from((found - expected).abs());
                    assert!(error <= 1e-5 * length_mm, "{device}, {name}: {found} mm in voxel {voxel}, not {expected} mm");
                    worst = if error / length_mm.max(1e-9) > worst.0 { (error / length_mm, *name) } else { worst };
                }
            }
            println!("{device}: {num_seen} lines, at worst {:.1e} of a line's length ({})", worst.0, worst.1);
            assert!(num_seen >= 25);
        }
    }
}
