//! A reader of CASToR's lists that shares nothing with the program's, written from CASToR's description (its general documentation,
//! "Datafile" and "Scanner"): what the program writes is what another program finds.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use tomoscope::data::{Events, LIGHT_MM_PER_PS, ListMetadata, TofMeasurement};
use tomoscope::io::list_mode::castor::Writer;
use tomoscope::scanner::find;

use super::folder;

/// An event, in CASToR's units: ms, factors, counts per second, ps.
#[derive(Debug, Default)]
struct CastorEvent {
    ms: u32,
    attenuation: f32,
    scatter: f32,
    randoms: f32,
    normalization: f32,
    tof_ps: f32,
    crystals: [u32; 2],
}

/// A header's values by their keys: the first line that has the key.
struct Keys(HashMap<String, String>);

impl Keys {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let lines = text.lines().map(|line| line.split('#').next().unwrap()).filter_map(|line| line.split_once(':'));
        let mut keys = HashMap::new();
        for (key, value) in lines {
            keys.entry(key.trim().to_owned()).or_insert(value.trim().to_owned());
        }
        Self(keys)
    }

    fn number(&self, key: &str, default: f64) -> f64 {
        self.0.get(key).map_or(default, |value| value.parse().unwrap())
    }

    fn is_set(&self, key: &str) -> bool {
        self.number(key, 0.0) == 1.0
    }
}

/// All events, and the keys of the header.
fn read(header: &Path) -> (Keys, Vec<CastorEvent>) {
    let keys = Keys::read(header);
    for mandatory in
        ["Scanner name", "Data filename", "Number of events", "Data mode", "Data type", "Start time (s)", "Duration (s)"]
    {
        assert!(keys.0.contains_key(mandatory), "{mandatory}");
    }
    assert_eq!((keys.0["Data type"].as_str(), keys.number("Maximum number of lines per event", 1.0)), ("PET", 1.0));
    assert!(keys.0["Data mode"].starts_with("list"), "{}", keys.0["Data mode"]);
    let bytes = fs::read(header.with_file_name(&keys.0["Data filename"])).unwrap();
    let mut words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes(*word.first_chunk().unwrap()));
    let mut events = Vec::new();
    while let Some(ms) = words.next() {
        let mut float = |flag: &str, otherwise: f32| {
            if keys.is_set(flag) { f32::from_bits(words.next().unwrap()) } else { otherwise }
        };
        let mut event = CastorEvent {
            ms,
            attenuation: float("Attenuation correction flag", 1.0),
            scatter: float("Scatter correction flag", 0.0),
            randoms: float("Random correction flag", 0.0),
            normalization: float("Normalization correction flag", 1.0),
            tof_ps: float("TOF information flag", 0.0),
            crystals: [0; 2],
        };
        event.crystals = [words.next().unwrap(), words.next().unwrap()];
        events.push(event);
    }
    assert_eq!(events.len() as f64, keys.number("Number of events", -1.0));
    (keys, events)
}

/// The middles of the crystals in the table beside a header.
fn crystals(header: &Path, keys: &Keys) -> Vec<[f32; 3]> {
    let lut = fs::read(header.with_file_name(format!("{}.lut", keys.0["Scanner name"]))).unwrap();
    let table = Keys::read(&header.with_file_name(format!("{}.hscan", keys.0["Scanner name"])));
    let numbers: Vec<f32> = lut.chunks_exact(4).map(|word| f32::from_le_bytes(*word.first_chunk().unwrap())).collect();
    let crystals: Vec<[f32; 3]> = numbers.chunks_exact(6).map(|numbers| *numbers.first_chunk().unwrap()).collect();
    assert_eq!(crystals.len() as f64, table.number("number of elements", -1.0));
    crystals
}

#[test]
fn a_simulated_list_is_what_another_reader_finds() {
    let scanner = &find("small").unwrap().geometry;
    let detectors = Arc::new(tomoscope::scanner::Detectors::of_cylinder(scanner).unwrap());
    let num_crystals = detectors.crystals().len() as u32;
    let tof = TofMeasurement { fwhm_mm: 45.0, window_mm: [-234.0, 234.0], ..TofMeasurement::default() };
    let facts = &Arc::new(ListMetadata { tof: Some(tof), duration_ms: Some(2000), ..ListMetadata::new("test", detectors) });
    let pairs: Vec<[u32; 2]> = (0..3000).map(|i| [i * 31 % num_crystals, (i * 31 + 40 + i % 17) % num_crystals]).collect();
    let times_ms = (0..3000).map(|i| i * 2 / 3).collect();
    let tof_mm = (0..3000).map(|i| [(f64::from(i) * 0.7).sin() as f32 * 230.0; 2]).collect();
    let prompts = &Events { pairs, times_ms, tof_mm, ..Events::default() };
    let folder = folder();
    let path = folder.path().join("out.Cdh");
    let mut writer = Writer::create(&path, Arc::clone(facts)).unwrap();
    writer.put(prompts).unwrap();
    writer.finish().unwrap();
    let (keys, events) = read(&path);
    let (crystals, tof) = (crystals(&path, &keys), facts.tof.as_ref().unwrap());
    assert_eq!(events.len(), prompts.len());
    let ps = 2.0 / LIGHT_MM_PER_PS;
    assert!((keys.number("TOF resolution (ps)", 0.0) / (45.0 * ps) - 1.0).abs() < 1e-6);
    assert!(
        (keys.number("List TOF measurement range (ps)", 0.0) / ((tof.window_mm[1] - tof.window_mm[0]) * ps) - 1.0).abs() < 1e-6
    );
    assert_eq!(keys.number("Duration (s)", 0.0), 2.0);
    for (event, found) in events.iter().enumerate() {
        assert_eq!((found.ms, found.crystals), (prompts.times_ms[event], prompts.pairs[event]));
        assert_eq!((found.attenuation, found.scatter, found.normalization), (1.0, 0.0, 1.0));
        assert!((f64::from(found.tof_ps) - f64::from(prompts.tof_mm[event][0]) * ps).abs() < 1e-2, "{found:?}");
        for (end, crystal) in found.crystals.into_iter().enumerate() {
            let expected = facts.detectors.crystals()[prompts.pairs[event][end] as usize].centre_mm;
            let off = crystals[crystal as usize].iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-3, "{off}");
        }
    }
}

#[test]
fn factors_and_background_are_found_in_castors_units() {
    let scanner = &find("small").unwrap().geometry;
    let detectors = Arc::new(tomoscope::scanner::Detectors::of_cylinder(scanner).unwrap());
    let tof = TofMeasurement { fwhm_mm: 30.0, window_mm: [-75.0, 75.0], ..TofMeasurement::default() };
    let facts = ListMetadata { tof: Some(tof), duration_ms: Some(4000), ..ListMetadata::new("test", detectors) };
    let events = Events {
        pairs: vec![[1, 50], [96, 40]],
        times_ms: vec![0, 3999],
        tof_mm: vec![[10.0; 2], [-7.5; 2]],
        multiplicative: vec![0.5, 4.0],
        additive: vec![0.02, 0.0],
    };
    let folder = folder();
    let path = folder.path().join("out.Cdh");
    let mut writer = Writer::create(&path, Arc::new(facts)).unwrap();
    writer.put(&events).unwrap();
    writer.finish().unwrap();
    let (keys, found) = read(&path);
    let calibration = keys.number("Calibration factor", 1.0);
    for (event, found) in found.iter().enumerate() {
        // Expected = line integral / (attenuation · normalisation · calibration), and background per mm = randoms · duration / range
        // of d + scatter · duration.
        let factor = 1.0 / (f64::from(found.attenuation) * f64::from(found.normalization) * calibration);
        assert!((factor / f64::from(events.multiplicative[event]) - 1.0).abs() < 1e-6, "{found:?}");
        let range_mm = keys.number("List TOF measurement range (ps)", 0.0) * LIGHT_MM_PER_PS / 2.0;
        let per_mm = (f64::from(found.randoms) / range_mm + f64::from(found.scatter)) * keys.number("Duration (s)", 0.0);
        assert!((per_mm - f64::from(events.additive[event])).abs() < 1e-7, "{found:?}");
    }
}
