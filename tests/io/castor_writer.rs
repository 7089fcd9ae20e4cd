//! CASToR: what is written is read back, and what cannot be written is refused.

use std::fs;
use std::sync::Arc;

use tomoscope::data::{Events, ListMetadata, TofMeasurement};
use tomoscope::io::list_mode::ListOptions;
use tomoscope::io::list_mode::castor::Writer;
use tomoscope::io::open_list_mode;
use tomoscope::scanner::{Crystal, Detectors};

use super::castor::{assert_same_crystal, checksum};
use super::data::data_file;
use super::lists::{SQUARE, Whole, drain, put_square, read_list};
use super::{assert_problem, folder};

/// What a writer wrote, read back.
fn written(facts: ListMetadata, pieces: &[Events]) -> (tempfile::TempDir, Whole) {
    let folder = folder();
    let path = folder.path().join("out.Cdh");
    let mut writer = Writer::create(&path, Arc::new(facts)).unwrap();
    pieces.iter().for_each(|events| writer.put(events).unwrap());
    writer.finish().unwrap();
    let list = drain(open_list_mode(&path, &ListOptions::default()).unwrap()).unwrap();
    (folder, list)
}

fn assert_near(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1e-3), "{found} {expected}");
    }
}

#[test]
fn the_ring_is_written_as_it_was() {
    let Some(path) = data_file("listmode/ring_list.Cdh") else { return };
    let original = read_list(&path, &ListOptions::default()).unwrap();
    let (_folder, copy) = written(ListMetadata::clone(&original.facts), std::slice::from_ref(&original.prompts));
    let (a, b) = (&copy.prompts, &original.prompts);
    assert!(a.pairs == b.pairs && a.times_ms == b.times_ms && checksum(a) == checksum(b));
    assert_near(a.tof_mm.as_flattened(), b.tof_mm.as_flattened());
    assert_near(&a.multiplicative, &b.multiplicative);
    assert_near(&a.additive, &b.additive);
    assert_eq!((copy.facts.num_events, copy.facts.duration_ms), (Some(40_000), Some(5000)));
    let [copied, told] = [&copy.facts, &original.facts].map(|facts| facts.tof.clone().unwrap());
    assert!((copied.fwhm_mm - told.fwhm_mm).abs() < 1e-6 && (copied.window_mm[1] - told.window_mm[1]).abs() < 1e-6);
    assert_eq!(copy.facts.detectors.name(), "TEST_RING_8x96");
    for (copied, told) in copy.facts.detectors.crystals().iter().zip(original.facts.detectors.crystals()) {
        assert_same_crystal(copied, told, 1e-5);
        assert_eq!(copied.size_mm, told.size_mm);
    }
}

/// Four crystals, of two sizes.
fn square() -> Arc<Detectors> {
    let crystal = |[x, y]: [f64; 2], depth_mm: f64| Crystal {
        centre_mm: [10.0 * x, 10.0 * y, 0.0],
        axes: [[x, y, 0.0], [-y, x, 0.0], [0.0, 0.0, 1.0]],
        size_mm: [depth_mm, 4.0, 6.0],
    };
    let crystals = vec![crystal([1.0, 0.0], 2.0), crystal([0.0, 1.0], 2.0), crystal([-1.0, 0.0], 3.0), crystal([0.0, -1.0], 3.0)];
    Arc::new(Detectors::new("two sizes", crystals).unwrap())
}

#[test]
fn what_is_known_of_events_is_written_and_no_more() {
    let plain = Events { pairs: vec![[0, 2], [1, 3]], times_ms: vec![0, 1999], ..Events::default() };
    let (_folder, list) = written(ListMetadata::new("test", square()), &[plain.clone(), plain.clone()]);
    assert_eq!((list.prompts.pairs.len(), list.prompts.multiplicative.len(), list.prompts.tof_mm.len()), (4, 0, 0));
    assert_eq!((list.facts.duration_ms, list.facts.num_events), (Some(2000), Some(4)));
    assert_eq!(list.facts.detectors.crystals()[2].size_mm, [3.0, 4.0, 6.0]);
    let told = Events {
        multiplicative: vec![0.5, 3.0],
        additive: vec![1e-3, 0.0],
        tof_mm: vec![[-3.25, -3.25], [20.0, 20.0]],
        ..plain.clone()
    };
    let mut facts = ListMetadata::new("test", square());
    facts.duration_ms = Some(30_000);
    facts.isotope = Some("O-15".into());
    facts.tof =
        Some(TofMeasurement { fwhm_mm: 30.0, window_mm: [-25.0, 40.0], edges_mm: Vec::new(), ..TofMeasurement::default() });
    let (_folder, list) = written(facts, std::slice::from_ref(&told));
    assert_near(&list.prompts.multiplicative, &told.multiplicative);
    assert_near(&list.prompts.additive, &told.additive);
    assert_near(list.prompts.tof_mm.as_flattened(), told.tof_mm.as_flattened());
    let tof = list.facts.tof.as_ref().unwrap();
    assert!((tof.window_mm[0] + 40.0).abs() < 1e-9 && (tof.window_mm[1] - 40.0).abs() < 1e-9, "a range around 0: {tof:?}");
    assert_eq!(list.facts.isotope.as_deref(), Some("O-15"));
}

#[test]
fn what_cannot_be_written_is_refused_and_leaves_what_was_there() {
    let folder = folder();
    put_square(folder.path());
    let path = folder.path().join("SQUARE.Cdh");
    let other = Crystal { centre_mm: [11.0, 0.0, 0.0], ..square().crystals()[0] };
    let detectors = Arc::new(Detectors::new("SQUARE", vec![other; 2]).unwrap());
    let events = Events { pairs: vec![[0, 1]], times_ms: vec![0], ..Events::default() };
    let mut writer = Writer::create(&path, Arc::new(ListMetadata::new("test", detectors.clone()))).unwrap();
    writer.put(&events).unwrap();
    assert_problem(&writer.finish().unwrap_err(), "OtherTable");
    assert!(!path.exists() && fs::read_to_string(folder.path().join("SQUARE.hscan")).unwrap() == SQUARE);
    let refusal = |first: &Events, then: &Events| {
        let mut writer = Writer::create(&path, Arc::new(ListMetadata::new("test", detectors.clone()))).unwrap();
        writer.put(first).and_then(|()| writer.put(then)).unwrap_err()
    };
    let background = Events { additive: vec![1.0], ..events.clone() };
    assert_problem(&refusal(&background, &events), "NoDuration");
    assert_problem(&refusal(&events, &background), "OtherFields");
    let beyond = Events { pairs: vec![[0, 2]], ..events.clone() };
    assert_problem(&refusal(&events, &beyond), "EventCrystals([0, 2], 1)");
    let tof = Events { tof_mm: vec![[0.0, 1.0]], ..events.clone() };
    assert_problem(&refusal(&tof, &events), "NoTofResolution");
    for name in ["a/b", "", "..", "x\ny"] {
        let detectors = Arc::new(Detectors::new(name, square().crystals().to_vec()).unwrap());
        assert!(Writer::create(&path, Arc::new(ListMetadata::new("test", detectors))).is_err(), "{name}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}
