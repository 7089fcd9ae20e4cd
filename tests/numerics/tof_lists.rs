//! One scan by time of flight as events and as a sinogram: the same image up to the bins.

use std::path::Path;

use tomoscope::data::{Counts, EventChunk, Study, TofBins, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::list_mode::ListOptions;
use tomoscope::io::list_mode::petsird::PetsirdWriter;
use tomoscope::phantom::{ListSimulation, Material, Part, Phantom, Solid, simulate_list};
use tomoscope::plan::{
    AlgorithmChoice, Cache, DeviceChoice, HistogramSettings, Job, ListSelection, Rays, RunSettings, TofRequest,
    default_list_settings, histogram, list_study, prepare_with,
};
use tomoscope::task::Task;

use super::lists::ring_file;
use super::support::{relative, tiny};

const FWHM_MM: f64 = 20.0;
const NUM_ITERATIONS: usize = 5;

/// A warm cylinder with a hot ball away from its axis.
fn phantom() -> Phantom {
    let part = |solid, activity| Part { solid, material: Material { activity, ..Material::default() } };
    let parts = vec![part(Solid::cylinder([0.0, 0.0], 28.0, [-11.0, 11.0]), 1.0), part(Solid::ball([14.0, -8.0, 2.0], 9.0), 5.0)];
    Phantom { parts, size: 1.0, ..Phantom::default() }
}

/// Writes the events of the phantom as PETSIRD, with time-of-flight bins of a tenth of the resolution.
fn write_list(path: &Path, seed: u64) -> EventChunk {
    let scanner = tiny(4);
    let options = ListSimulation {
        counts: 60_000.0,
        attenuation: false,
        seed,
        duration_secs: 1.0,
        tof_fwhm_mm: Some(FWHM_MM),
        randoms_fraction: 0.0,
    };
    let list = simulate_list(&phantom(), &scanner, &options, &Task::new()).unwrap().measured;
    let mut writer = PetsirdWriter::create(path, &list.facts, 100).unwrap();
    writer.write(&list.events).unwrap();
    writer.finish().unwrap();
    list.events
}

/// MLEM on voxels of 5 mm with one ray per pair, on the processor.
fn settings(of_data: RunSettings) -> RunSettings {
    RunSettings {
        grid: Grid::centred([15, 15, 7], [5.0, 5.0, 3.0]).unwrap(),
        fov_radius_mm: 37.5,
        algorithm: AlgorithmChoice::MLEM,
        num_subsets: 1,
        num_iterations: NUM_ITERATIONS,
        rays: Rays::Fixed { tangential: 1, axial: 1 },
        device: DeviceChoice::Cpu,
        ..of_data
    }
}

fn image(job: &Job) -> Volume {
    let mut prepared = prepare_with(&Cache::nowhere(), job, &Task::new()).unwrap();
    for _ in 0..NUM_ITERATIONS {
        prepared.algorithm.iterate(&Task::new()).unwrap();
    }
    let mut volume = Volume::filled(job.grid().clone(), 0.0);
    prepared.algorithm.volume_into(&mut volume).unwrap();
    volume
}

fn image_of_list(path: &Path, without_tof: bool) -> Volume {
    let selection = ListSelection { without_tof, ..ListSelection::default() };
    let study = list_study(path, &ListOptions::default(), &selection, &Task::new()).unwrap();
    let settings = settings(default_list_settings(&study.measured).unwrap());
    image(&Job::of(&study, settings))
}

fn image_of_sinogram(path: &Path, tof: Option<TofRequest>) -> (Volume, Option<TofBins>) {
    let study = histogram(path, &ListOptions::default(), &HistogramSettings { tof, ..Default::default() }, &Task::new()).unwrap();
    let bins = study.measured.tof_bins();
    let settings = settings(RunSettings::new(AlgorithmChoice::MLEM, Grid::centred([1; 3], [1.0; 3]).unwrap()));
    (image(&Job::of(&study, settings)), bins)
}

#[test]
fn events_and_their_sinogram_are_one_image_up_to_the_bins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.petsird");
    let num_events = write_list(&path, 5).prompts.len();
    let difference = |list: &Volume, sinogram: &Volume| relative(sinogram.as_slice(), list.as_slice());
    let plain = image_of_list(&path, true);
    let without = difference(&plain, &image_of_sinogram(&path, None).0);
    let list = image_of_list(&path, false);
    let gain = difference(&list, &plain);
    println!("{num_events} events; without time of flight {without:.1e}, the image with it differs by {gain:.3}");
    // Bins of whole numbers of the list's own 2 mm, over its window of ±122 mm. Of 2 mm they are its intervals, and the models are
    // one, but for the pieces of voxels at the ends of the kernel, which events cut there.
    let differences = [[122, 2], [42, 6], [14, 18]].map(|[num, width_mm]| {
        let request = TofRequest { num: Some(num), width_mm: Some(width_mm as f64) };
        let (image, bins) = image_of_sinogram(&path, Some(request));
        let difference = difference(&list, &image);
        println!("{}: {difference:.2e}", bins.unwrap().text());
        difference
    });
    let (usual, bins) = image_of_sinogram(&path, Some(TofRequest::default()));
    let usual = difference(&list, &usual);
    println!("{}: {usual:.2e}", bins.unwrap().text());
    // The noise of the image, from another scan.
    write_list(&path, 6);
    let noise = difference(&list, &image_of_list(&path, false)) / 2f64.sqrt();
    println!("noise of the image: {noise:.3}");
    assert!(without <= 2e-5, "{without}");
    // The sinogram weighs whole steps of a line. Wider bins lose some of the time of flight: less than half of the noise.
    assert!(differences[0] <= 4e-3 && differences[0] < differences[1] && differences[1] < differences[2], "{differences:?}");
    assert!(differences[2].max(usual) < 0.5 * noise && usual < gain / 2.0, "{differences:?}, {usual}: {noise}, {gain}");
}

/// The sinogram by time of flight of a file of the ring study, in 5 bins of 60 mm as its PETSIRD file has them.
fn sorted_ring(file: &str) -> Option<Study<Counts>> {
    let (path, options) = ring_file(file)?;
    let tof = Some(TofRequest { num: Some(5), width_mm: Some(60.0) });
    Some(histogram(&path, &options, &HistogramSettings { tof, ..Default::default() }, &Task::new()).unwrap())
}

#[test]
fn one_scan_in_three_formats_is_one_sinogram_by_time_of_flight() {
    let Some(petsird) = sorted_ring("ring.petsird") else { return };
    let (path, options) = ring_file("ring.petsird").unwrap();
    let usual = HistogramSettings { tof: Some(TofRequest::default()), ..Default::default() };
    let usual = histogram(&path, &options, &usual, &Task::new()).unwrap().measured.tof_bins().unwrap();
    assert!((usual.width_mm - 60.0).abs() < 1e-9 && usual.num == 5, "{usual:?}");
    let data = petsird.measured.prompts;
    let by_tof = data.tof.clone().unwrap();
    // The mean place of the events on their lines: that of the prompts by their detectors, a figure of the data's makers. Turned
    // round it would be (0.15, −0.09, 1.11).
    let (geometry, num_planes, num_tof) = (&data.geometry, data.geometry.num_planes(), by_tof.bins.num);
    let planes = geometry.planes();
    let mut sums = [0.0; 4];
    for (at, value) in by_tof.values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
        let (transaxial, tof, plane) = (at / (num_planes * num_tof), at / num_planes % num_tof, at % num_planes);
        let [view, tangential] = [transaxial / geometry.num_tangential, transaxial % geometry.num_tangential];
        let line = geometry.lor(geometry.transaxial_lor(view, tangential, 0, 1), planes[plane]);
        let t = 0.5 + by_tof.bins.edges_mm(tof).iter().sum::<f64>() / 2.0 / line.length_mm();
        let weight = f64::from(*value);
        (0..3).for_each(|a| sums[a] += weight * (line.start[a] + t * (line.end[a] - line.start[a])));
        sums[3] += weight;
    }
    let mean = [0, 1, 2].map(|a| sums[a] / sums[3]);
    println!("{} events, mean place {mean:.3?} mm", sums[3]);
    assert!((mean[0] - 3.7774).abs() < 0.5 && (mean[1] + 2.8263).abs() < 0.5 && (mean[2] - 1.2260).abs() < 0.3, "{mean:?}");
    for file in ["ring_list.Cdh", "ring_yrt.lmDat"] {
        let other = sorted_ring(file).unwrap().measured.prompts;
        assert!(other.counts == data.counts && other.tof.unwrap().values == by_tof.values, "{file}");
    }
}

#[test]
fn a_castor_histogram_by_time_of_flight_is_a_sinogram() {
    let Some((path, options)) = ring_file("ring_hist.Cdh") else { return };
    let settings = HistogramSettings { tof: Some(TofRequest::default()), ..Default::default() };
    let study = histogram(&path, &options, &settings, &Task::new()).unwrap();
    let data = &study.measured.prompts;
    let tof = data.tof.as_ref().unwrap();
    assert!((tof.bins.width_mm - 60.0).abs() < 1e-3 && tof.bins.num == 5, "{:?}", tof.bins);
    // Counts of its bins of time of flight, from either side: which end of a line is the first one differs.
    let mut of_bins = [0.0f32; 5];
    let num_planes = data.geometry.num_planes();
    tof.values.chunks(num_planes).enumerate().for_each(|(row, values)| of_bins[row % 5] += values.iter().sum::<f32>());
    println!("{of_bins:?}");
    assert_eq!([of_bins[0] + of_bins[4], of_bins[1] + of_bins[3], of_bins[2]], [590.0, 5973.0, 5676.0]);
}
