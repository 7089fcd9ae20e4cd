//! The ring study of the data folder, which other programs wrote: one scan as PETSIRD, CASToR and YRT-PET.

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tomoscope::data::{EventList, Events, Fingerprint, ListMetadata, PairEfficiency, Study, TofMeasurement, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::list_mode::{ListOptions, YrtFields};
use tomoscope::plan::{
    AlgorithmChoice, BETA, Cache, DeviceChoice, Job, ListSelection, Rays, RunInputs, RunSettings, SensitivitySettings, Values,
    default_list_settings, list_sensitivity, list_study, prepare_with,
};
use tomoscope::scanner::{Detectors, PairRays};
use tomoscope::task::Task;

use super::data::data_file;
use super::support::{geometry, list_of_prompts, relative, simulated_list};

/// A file of the study and the options that it needs, or `None` where there is no data folder.
pub fn ring_file(file: &str) -> Option<(PathBuf, ListOptions)> {
    let path = data_file(&format!("listmode/{file}"))?;
    let step_ps = 400.276_914_237_782_5;
    let yrt = YrtFields { tof_ps: Some([step_ps, step_ps]), ..YrtFields::default() };
    let scanner = file.ends_with("lmDat").then(|| path.with_file_name("TEST_RING_8x96.lut"));
    Some((path, ListOptions { scanner, yrt, ..ListOptions::default() }))
}

/// The study in a format, or `None` where there is no data folder.
fn ring(file: &str, selection: &ListSelection) -> Option<Study<EventList>> {
    let (path, options) = ring_file(file)?;
    Some(list_study(&path, &options, selection, &Task::new()).unwrap())
}

/// MLEM on voxels of 8 mm, on the processor.
fn coarse_settings(list: &EventList) -> RunSettings {
    RunSettings {
        grid: Grid::centred([25, 25, 12], [8.0; 3]).unwrap(),
        fov_radius_mm: 100.0,
        algorithm: AlgorithmChoice::MLEM,
        rays: Rays::Fixed { tangential: 1, axial: 1 },
        device: DeviceChoice::Cpu,
        ..default_list_settings(list).unwrap()
    }
}

/// The image by them, and the log-likelihood of each iteration.
fn reconstructed(study: Study<EventList>, num_iterations: usize) -> (Volume, Vec<f64>) {
    let settings = RunSettings { num_iterations, ..coarse_settings(&study.measured) };
    let mut volume = Volume::filled(settings.grid.clone(), 0.0);
    let job = Job::of(&study, settings);
    let mut prepared = prepare_with(&Cache::nowhere(), &job, &Task::new()).unwrap();
    let steps =
        (0..num_iterations).map(|_| prepared.algorithm.step(&Task::new()).unwrap().em.unwrap().log_likelihood.unwrap()).collect();
    prepared.algorithm.volume_into(&mut volume).unwrap();
    (volume, steps)
}

/// Mean of the voxels whose middles are somewhere.
fn mean(volume: &Volume, is_inside: impl Fn([f64; 3]) -> bool) -> f64 {
    let [nx, ny, _] = volume.grid.size;
    let at = |i: usize| volume.grid.mm_from_voxel([(i % nx) as f64, (i / nx % ny) as f64, (i / nx / ny) as f64]);
    let values: Vec<f64> =
        volume.as_slice().iter().enumerate().filter(|(i, _)| is_inside(at(*i))).map(|(_, &value)| f64::from(value)).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sphere to background of the object: a sphere of radius 18 mm at (40, −25, 12) with six times the activity of a cylinder of radius
/// 70 mm and length 72 mm.
fn contrast(volume: &Volume) -> f64 {
    let from = |p: [f64; 3]| ((p[0] - 40.0).powi(2) + (p[1] + 25.0).powi(2) + (p[2] - 12.0).powi(2)).sqrt();
    let sphere = mean(volume, |p| from(p) <= 14.0);
    let background = mean(volume, |p| from(p) >= 30.0 && p[0].hypot(p[1]) <= 58.0 && p[2].abs() <= 28.0);
    sphere / background
}

#[test]
fn one_scan_in_three_formats_is_one_list_and_one_image() {
    let all = ListSelection::default();
    let Some(petsird) = ring("ring.petsird", &all) else { return };
    let [castor, yrt] = ["ring_list.Cdh", "ring_yrt.lmDat"].map(|file| ring(file, &all).unwrap());
    let places = |list: &EventList| -> Vec<[[i64; 3]; 2]> {
        let crystals = list.facts.detectors.crystals();
        let place = |crystal: u32| crystals[crystal as usize].centre_mm.map(|mm| (100.0 * mm).round() as i64);
        list.prompts.pairs.iter().map(|pair| pair.map(place)).collect()
    };
    for other in [&castor, &yrt] {
        let (one, other) = (&petsird.measured, &other.measured);
        assert_eq!(places(one), places(other));
        assert_eq!(one.prompts.times_ms.len(), other.prompts.times_ms.len());
        for (a, b) in one.prompts.tof_mm.iter().zip(&other.prompts.tof_mm) {
            assert!((a[0] - b[0]).abs() < 1e-3 && (a[1] - b[1]).abs() < 1e-3, "{a:?} {b:?}");
        }
    }
    // Without what each format tells of efficiencies and randoms.
    let plain = |study: Study<EventList>| {
        let list = study.measured;
        let prompts = Events { multiplicative: Vec::new(), additive: Vec::new(), ..(*list.prompts).clone() };
        // Only PETSIRD states where its bins end.
        let tof = list.facts.tof.clone().map(|tof| TofMeasurement { window_mm: [-1e4, 1e4], ..tof });
        let facts = ListMetadata { efficiency: None, sampling: None, tof, ..(*list.facts).clone() };
        let plain = list_of_prompts(Arc::new(facts), Arc::new(prompts));
        Study::new("plain", EventList { time: list.time, rates: list.rates, ..plain })
    };
    let [one, castor, yrt] = [petsird, castor, yrt].map(|study| reconstructed(plain(study), 5).0);
    for other in [castor, yrt] {
        let largest = one.as_slice().iter().fold(0.0f32, |largest, value| largest.max(*value));
        for (a, b) in one.as_slice().iter().zip(other.as_slice()) {
            assert!((a - b).abs() <= 1e-5 * largest, "{a} {b}");
        }
    }
}

/// All pairs of a list's crystals as a CASToR histogram, which counts its events.
fn write_histogram(list: &EventList, folder: &Path) -> PathBuf {
    let crystals = list.facts.detectors.crystals();
    let lut = crystals.iter().flat_map(|crystal| [crystal.centre_mm, crystal.axes[0]]).flatten();
    fs::write(folder.join("RING.lut"), lut.flat_map(|mm| (mm as f32).to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    let num = crystals.len();
    let text = format!(
        "scanner name: RING\nnumber of elements: {num}\nnumber of layers: 1\nnumber of crystals in layer(s): {num}\n\
         crystals size depth: 20\ncrystals size transaxial: 12\ncrystals size axial: 12\n"
    );
    fs::write(folder.join("RING.hscan"), text).unwrap();
    let mut counts = HashMap::new();
    list.prompts.pairs.iter().for_each(|&[a, b]| *counts.entry([a.min(b), a.max(b)]).or_insert(0u32) += 1);
    let pairs = (0..num as u32).flat_map(|a| (a + 1..num as u32).map(move |b| [a, b]));
    let mut data = Vec::new();
    for pair in pairs {
        let count = counts.get(&pair).copied().unwrap_or(0) as f32;
        data.extend([0u32.to_le_bytes(), count.to_le_bytes(), pair[0].to_le_bytes(), pair[1].to_le_bytes()].concat());
    }
    let header = format!(
        "Scanner name: RING\nData filename: ring.Cdf\nNumber of events: {}\nData mode: histogram\nData type: PET\n\
         Start time (s): 0\nDuration (s): 5\n",
        num * (num - 1) / 2
    );
    fs::write(folder.join("ring.Cdf"), data).unwrap();
    fs::write(folder.join("ring.Cdh"), header).unwrap();
    folder.join("ring.Cdh")
}

#[test]
fn a_histogram_of_all_pairs_is_the_image_of_its_events() {
    let list = simulated_list(3e4, 2, None, 0.0);
    let folder = tempfile::tempdir().unwrap();
    let path = write_histogram(&list, folder.path());
    let histogram = list_study(&path, &ListOptions::default(), &ListSelection::default(), &Task::new()).unwrap();
    assert_eq!(histogram.measured.prompts.len(), list.prompts.len());
    // Its table has 32-bit numbers: both take the crystals from there.
    let detectors = Arc::clone(&histogram.measured.facts.detectors);
    let list = EventList { facts: Arc::new(ListMetadata::new("list", detectors)), ..list };
    let (expected, expected_steps) = reconstructed(Study::new("list", list), 4);
    let (found, steps) = reconstructed(histogram, 4);
    let largest = expected.range().1;
    let difference = expected.as_slice().iter().zip(found.as_slice()).fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
    println!("histogram and list: {:.1e} of the largest value", difference / largest);
    assert!(difference <= 1e-5 * largest, "{difference} {largest}");
    assert!((steps[3] - expected_steps[3]).abs() <= 1e-6 * expected_steps[3].abs(), "{steps:?} {expected_steps:?}");
}

#[test]
fn kappa_of_events_adds_up_to_their_number() {
    let list = simulated_list(2e4, 5, None, 0.0);
    let num_events = list.prompts.len() as f64;
    let settings = coarse_settings(&list);
    let study = Study::new("list", list);
    let at_level = |level: f32| {
        let settings = RunSettings {
            algorithm: AlgorithmChoice::SVRG,
            parameters: Values::default().with_number(&BETA, Some(1e-3)),
            inputs: RunInputs { init: Some(Arc::new(Volume::filled(settings.grid.clone(), level))), ..RunInputs::default() },
            ..settings.clone()
        };
        prepare_with(&Cache::nowhere(), &Job::of(&study, settings), &Task::new()).unwrap().algorithm
    };
    // Of a uniform image c the log-likelihood is N ln c − c Σ s and what does not depend on c: its second derivative is −N / c².
    // (Levels near the one that makes as many counts expect as there are, 8.3e-4; others are refused.)
    let [low, middle, high] = [8e-4f32, 1e-3, 1.2e-3];
    let (step, square) = (f64::from(high - middle).powi(2), f64::from(middle).powi(2));
    let kappa = at_level(middle).kappa(&Task::new()).unwrap().unwrap();
    let sum: f64 = kappa.as_slice().iter().map(|kappa| f64::from(*kappa).powi(2)).sum();
    let data_term = |level: f32| at_level(level).objective(&Task::new()).unwrap().unwrap().log_likelihood;
    let ln = |level: f32| f64::from(level).ln();
    let second = (data_term(high) - 2.0 * data_term(middle) + data_term(low)) / step;
    let expected_second = num_events * (ln(high) - 2.0 * ln(middle) + ln(low)) / step;
    println!(
        "sum of the squares of κ {sum:.1}, N / c² {:.1}; differences {second:.1} and {expected_second:.1}",
        num_events / square
    );
    assert!((sum * square / num_events - 1.0).abs() < 1e-3, "{sum} {num_events}");
    // (Of sums in f32.)
    assert!((second / expected_second - 1.0).abs() < 5e-3, "{second} {expected_second}");
}

#[test]
fn time_of_flight_finds_the_sphere_and_turned_round_it_does_not() {
    let Some(study) = ring("ring.petsird", &ListSelection::default()) else { return };
    let turned = {
        let list = study.measured.clone();
        let tof_mm = list.prompts.tof_mm.iter().map(|[from, to]| [-to, -from]).collect();
        Study::new("turned", EventList { prompts: Arc::new(Events { tof_mm, ..(*list.prompts).clone() }), ..list })
    };
    let without = ring("ring.petsird", &ListSelection { without_tof: true, ..ListSelection::default() }).unwrap();
    assert_eq!((study.measured.prompts.len(), study.measured.delayeds.len()), (40_000, 4_000));
    let (image, steps) = reconstructed(study, 25);
    let found = contrast(&image);
    let (image_turned, steps_turned) = reconstructed(turned, 25);
    let (image_without, steps_without) = reconstructed(without, 25);
    let [turned, without] = [contrast(&image_turned), contrast(&image_without)];
    println!("sphere to background: {found:.2} with time of flight, {without:.2} without, {turned:.2} with its sign turned");
    println!("log-likelihood: {:.0} with, {:.0} turned", steps[24], steps_turned[24]);
    assert!((found - 6.5).abs() < 0.6, "{found}");
    assert!(turned < 4.0, "{turned}");
    assert!(steps[24] > steps_turned[24] + 500.0);
    for steps in [&steps, &steps_turned, &steps_without] {
        assert!(steps.windows(2).all(|pair| pair[1] >= pair[0] - 1e-6 * pair[0].abs()), "{steps:?}");
    }
    // Flat to some per cent in quadrants.
    let mean_of = |signs: [f64; 2]| {
        mean(&image, |p| p[0] * signs[0] > 4.0 && p[1] * signs[1] > 4.0 && p[0].hypot(p[1]) < 58.0 && p[2].abs() < 28.0)
    };
    let quadrants = [[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]].map(mean_of);
    let middle = quadrants.iter().sum::<f64>() / 3.0;
    assert!(quadrants.iter().all(|value| (value / middle - 1.0).abs() < 0.1), "{quadrants:?}");
}

/// One iteration of the frame that the settings name.
fn image_of(study: &Study<EventList>, frame_ms: Option<Range<u32>>) -> Volume {
    let settings = RunSettings { frame_ms, ..coarse_settings(&study.measured) };
    let job = Job::of(&study.clone(), settings);
    let mut prepared = prepare_with(&Cache::nowhere(), &job, &Task::new()).unwrap();
    let mut volume = Volume::filled(job.grid().clone(), 0.0);
    prepared.algorithm.step(&Task::new()).unwrap();
    prepared.algorithm.volume_into(&mut volume).unwrap();
    volume
}

#[test]
fn a_frame_of_a_list_in_memory_is_the_frame_that_is_read() {
    for file in ["ring.petsird", "ring_list.Cdh"] {
        for without_tof in [false, true] {
            let Some(whole) = ring(file, &ListSelection { without_tof, ..ListSelection::default() }) else { return };
            let mut num = 0;
            for frame_ms in [0..1000, 1000..2500, 2500..6000] {
                let frame =
                    ring(file, &ListSelection { without_tof, frame_ms: Some(frame_ms.clone()), split_seed: None }).unwrap();
                num += frame.measured.prompts.len();
                assert_eq!(frame.measured.prompts.len(), whole.measured.prompts.num_in_frame(&frame_ms));
                assert!(image_of(&frame, None) == image_of(&whole, Some(frame_ms.clone())), "{file} {frame_ms:?}");
            }
            assert_eq!(num, 40_000);
        }
    }
}

#[test]
fn the_background_that_a_list_tells_is_shared_among_its_frames() {
    let Some(whole) = ring("ring_list.Cdh", &ListSelection::default()) else { return };
    // Told as a rate, of a scan of 5 s.
    let frame = ring("ring_list.Cdh", &ListSelection { frame_ms: Some(0..1000), ..ListSelection::default() }).unwrap();
    let [whole, frame] = [&whole, &frame].map(|study| &study.measured.prompts);
    assert!(whole.additive[0] > 0.0 && frame.pairs[..100] == whole.pairs[..100]);
    for (part, all) in frame.additive.iter().zip(&whole.additive) {
        assert!((part - 0.2 * all).abs() <= 1e-6 * all, "{part} of {all}");
    }
}

/// One crystal in seven of each ring does not count, nor does one ring.
#[derive(Debug)]
struct Gaps {
    num_detectors: u32,
    are_told_by_crystal: bool,
}

impl Gaps {
    fn counts(&self, crystal: u32) -> bool {
        !(crystal % self.num_detectors).is_multiple_of(7) && crystal / self.num_detectors != 2
    }
}

impl PairEfficiency for Gaps {
    fn of(&self, pair: [u32; 2]) -> f32 {
        if pair.into_iter().all(|crystal| self.counts(crystal)) { 1.0 } else { 0.0 }
    }

    fn identify(&self, into: &mut Fingerprint) {
        into.whole(self.num_detectors.into());
    }

    fn of_crystal(&self, crystal: u32) -> Option<bool> {
        self.are_told_by_crystal.then(|| self.counts(crystal))
    }
}

#[test]
fn a_sensitivity_of_crystals_that_count_is_that_of_their_pairs() {
    let geometry = geometry("small");
    let num_detectors = geometry.num_detectors_per_ring as u32;
    let detectors = Arc::new(Detectors::of_cylinder(&geometry).unwrap());
    let grid = geometry.default_grid().unwrap();
    let settings = SensitivitySettings { grid, fov_radius_mm: 60.0, rays: PairRays::ONE, device: DeviceChoice::Auto };
    let of = |efficiency: Option<Arc<dyn PairEfficiency>>| {
        let facts = ListMetadata { efficiency, ..ListMetadata::new("a test", Arc::clone(&detectors)) };
        list_sensitivity(&facts, &settings, &Task::new()).unwrap()
    };
    let [by_crystal, by_pair] =
        [true, false].map(|are_told_by_crystal| of(Some(Arc::new(Gaps { num_detectors, are_told_by_crystal }))));
    assert!(by_crystal.is_of_planes && by_pair.is_of_planes);
    assert!(by_crystal.volume.sum() > 0.0);
    assert_eq!(by_crystal.num_pairs, by_pair.num_pairs);
    assert!(relative(by_crystal.volume.as_slice(), by_pair.volume.as_slice()) <= 1e-6);
    // 7 rings of 96 − 14 crystals: every pair of different places around the axis, in each direction of the rings.
    let (num_there, num_rings) = (u64::from(num_detectors - num_detectors.div_ceil(7)), geometry.num_rings as u64 - 1);
    assert_eq!(by_crystal.num_pairs, num_there * (num_there - 1) / 2 * num_rings * num_rings);
    let all = of(None);
    assert!(all.num_pairs > by_crystal.num_pairs && all.volume.sum() > by_crystal.volume.sum());
}
