//! PETSIRD lists: one that the format's own package wrote, ours, those of other models, and those that cannot be.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use tomoscope::data::{EventChunk, Events, Fingerprint, ListMetadata, ListSampling, Notice, PairEfficiency, TofMeasurement};
use tomoscope::io::list_mode::petsird::PetsirdWriter;
use tomoscope::io::list_mode::{EventReader, ListOptions};
use tomoscope::io::{IoError, open_list_mode};
use tomoscope::scanner::{Crystal, Detectors, find};

use super::data::data_file;
use super::lists::{Whole, progress, read_list};
use super::{assert_event, assert_problem, assert_says, folder};

fn open(path: &Path) -> Result<Box<dyn EventReader>, IoError> {
    open_list_mode(path, &ListOptions::default())
}

/// All events of a list, and what the user should know; the list must end where it says.
fn read_all(path: &Path) -> Result<(EventChunk, Vec<Notice>), IoError> {
    let mut reader = open(path)?;
    let (mut all, mut chunk) = (EventChunk::default(), EventChunk::default());
    while reader.next(&mut chunk)? {
        all.prompts.extend(&chunk.prompts);
        all.delayeds.extend(&chunk.delayeds);
        all.intervals_ms.extend(&chunk.intervals_ms);
    }
    reader.check_end()?;
    Ok((all, reader.notices()))
}

/// The rows of the look-up table that lies beside the ring's list: the crystals' places, mm.
fn table() -> Option<Vec<[f64; 3]>> {
    let bytes = fs::read(data_file("listmode/TEST_RING_8x96.lut")?).unwrap();
    let floats: Vec<f32> = bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
    Some(floats.chunks(6).map(|row| [row[0], row[1], row[2]].map(f64::from)).collect())
}

fn truth() -> Option<Json> {
    Some(serde_json::from_slice(&fs::read(data_file("listmode/ring_truth.json")?).unwrap()).unwrap())
}

fn distance(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f64>().sqrt()
}

/// The row of the table for each crystal.
fn ids(detectors: &Detectors, table: &[[f64; 3]]) -> Vec<u64> {
    let near = |crystal: &Crystal| table.iter().position(|place| distance(place, &crystal.centre_mm) < 0.01);
    detectors.crystals().iter().map(|crystal| near(crystal).expect("a crystal at a place of the table") as u64).collect()
}

fn check_list(events: &Events, detectors: &Detectors, ids: &[u64], truth: &Json) {
    assert_eq!(events.len() as u64, truth["total"].as_u64().unwrap());
    assert_eq!((events.times_ms.len(), events.tof_mm.len()), (events.len(), events.len()));
    assert!(events.multiplicative.is_empty() && events.additive.is_empty());
    let middles = [500, 1500, 2250, 3250, 4500];
    let per_block = middles.map(|middle| events.times_ms.iter().filter(|time| **time == middle).count() as u64);
    assert_eq!(json!(per_block), truth["per_block"]);
    let bin = |event: usize| ((events.tof_mm[event][0] + 150.0) / 60.0).round() as u64;
    let mut histogram = [0u64; 5];
    (0..events.len()).for_each(|event| histogram[bin(event) as usize] += 1);
    assert_eq!(json!(histogram), truth["tof_histogram"]);
    let squares = (0..events.len()).fold(0u64, |sum, event| {
        let [id1, id2] = events.pairs[event].map(|crystal| ids[crystal as usize]);
        let value = id1 * 1_000_003 + id2 * 7919 + bin(event) * 31 + 1;
        sum.wrapping_add(value.wrapping_mul(value))
    });
    assert_eq!(json!(squares.to_string()), truth["checksum"]);
    for (event, expected) in truth["first_ten"].as_array().unwrap().iter().enumerate() {
        for (side, name) in ["crystal1_mm", "crystal2_mm"].into_iter().enumerate() {
            let place: [f64; 3] = std::array::from_fn(|axis| expected[name][axis].as_f64().unwrap());
            let found = detectors.crystals()[events.pairs[event][side] as usize].centre_mm;
            assert!(distance(&found, &place) < 1e-3, "{event}: {found:?} {place:?}");
        }
        let [low, high] = events.tof_mm[event];
        assert_eq!(f64::from(low + high) / 2.0, expected["tof_centre_mm"].as_f64().unwrap());
    }
    for (sign, name) in [(1.0, "mean_tof_position_mm"), (-1.0, "mean_tof_position_wrong_sign_mm")] {
        let place = |event: usize| -> [f64; 3] {
            let (line, [low, high]) = (detectors.line(events.pairs[event]), events.tof_mm[event]);
            let part = 0.5 + sign * f64::from(low + high) / 2.0 / distance(&line.start, &line.end);
            std::array::from_fn(|axis| line.start[axis] + part * (line.end[axis] - line.start[axis]))
        };
        let places: Vec<[f64; 3]> = (0..events.len()).map(place).collect();
        let mean = [0, 1, 2].map(|axis| places.iter().map(|place| place[axis]).sum::<f64>() / events.len() as f64);
        for axis in 0..3 {
            assert!((mean[axis] - truth[name][axis].as_f64().unwrap()).abs() < 1e-4, "{name} {mean:?}");
        }
    }
}

#[test]
fn a_list_of_the_formats_own_package() {
    let (Some(path), Some(table), Some(truth)) = (data_file("listmode/ring.petsird"), table(), truth()) else { return };
    let (events, notices) = read_all(&path).unwrap();
    assert!(notices.is_empty(), "{notices:?}");
    let reader = open(&path).unwrap();
    let facts = reader.facts();
    assert_eq!((facts.format.as_str(), facts.detectors.name()), ("PETSIRD 0.12", "TEST_RING_8x96"));
    let edges_mm = vec![-150.0, -90.0, -30.0, 30.0, 90.0, 150.0];
    assert_eq!(
        facts.tof,
        Some(TofMeasurement { fwhm_mm: 60.0, window_mm: [-150.0, 150.0], edges_mm, ..TofMeasurement::default() })
    );
    let ids = ids(&facts.detectors, &table);
    check_list(&events.prompts, &facts.detectors, &ids, &truth["prompts"]);
    check_list(&events.delayeds, &facts.detectors, &ids, &truth["delayeds"]);
    for crystal in facts.detectors.crystals() {
        let [x, y, _] = crystal.centre_mm;
        assert!(crystal.size_mm.iter().zip([20.0, 12.0, 12.0]).all(|(size, side)| (size - side).abs() < 1e-4), "{crystal:?}");
        // Modules are flat: the depth of their crystals is that of their middle, 30° apart.
        let [dx, dy, _] = crystal.axes[0];
        let cosine = (x * dx + y * dy) / x.hypot(y);
        assert!(cosine > 0.975 && (x * dx + y * dy - 200.0).abs() < 1e-3, "{crystal:?}");
        assert!(crystal.axes[2][2] > 1.0 - 1e-9 && (crystal.axes[1][0] + dy).abs() < 1e-9, "{crystal:?}");
    }
}

#[test]
fn the_efficiencies_of_all_pairs() {
    let (Some(path), Some(table), Some(truth)) = (data_file("listmode/ring.petsird"), table(), truth()) else { return };
    let reader = open(&path).unwrap();
    let facts = reader.facts();
    let (efficiency, num) = (facts.efficiency.as_ref().unwrap(), facts.detectors.crystals().len() as u32);
    let (mut sum, mut pairs, mut of_dead) = (0.0, 0u64, 0.0);
    let dead = ids(&facts.detectors, &table).iter().position(|id| *id == 492).unwrap() as u32;
    for first in 0..num {
        for second in 0..first {
            let value = efficiency.of([first, second]);
            assert_eq!(value, efficiency.of([second, first]));
            sum += f64::from(value);
            pairs += u64::from(value > 0.0);
            of_dead += if first == dead || second == dead { value } else { 0.0 };
        }
    }
    let expected = &truth["scanner"];
    assert_eq!((json!(pairs), of_dead, dead), (expected["pairs_in_coincidence_with_nonzero_efficiency"].clone(), 0.0, 173));
    let calibration = expected["calibration_factor"].as_f64().unwrap();
    let told = expected["sum_of_efficiency_over_pairs"].as_f64().unwrap();
    assert!((sum / calibration / told - 1.0).abs() < 1e-6, "{sum} {told}");
    // The formula that the data were made by, of a pair of modules in different halves and one in the same.
    let single = |crystal: u32| 0.6 + 0.04 * f64::from(7 * crystal % 11);
    for (modules, elements) in [([12, 1], [5, 30]), ([20, 5], [31, 2]), ([14, 2], [7, 7]), ([6, 0], [0, 9])] {
        let pair = [0, 1].map(|side: usize| 32 * modules[side] + elements[side]);
        let of_modules =
            if modules[0] % 2 == modules[1] % 2 { 1.0 } else { 0.8 + 0.02 * f64::from((elements[0] + 2 * elements[1]) % 5) };
        let expected = 2.5 * single(pair[0]) * single(pair[1]) * of_modules;
        assert!((f64::from(efficiency.of(pair)) / expected - 1.0).abs() < 1e-6, "{modules:?} {elements:?}");
    }
}

#[test]
fn a_list_that_grows_gives_every_event_once() {
    let Some(path) = data_file("listmode/ring.petsird") else { return };
    let (expected, _) = read_all(&path).unwrap();
    let (folder, bytes) = (folder(), fs::read(&path).unwrap());
    let growing = folder.path().join("a.petsird");
    let start = bytes.len() - 190_000;
    fs::write(&growing, &bytes[..start]).unwrap();
    let mut reader = open(&growing).unwrap();
    let (mut all, mut chunk, mut at, mut step) = (EventChunk::default(), EventChunk::default(), start, 1);
    loop {
        while reader.next(&mut chunk).unwrap() {
            all.prompts.extend(&chunk.prompts);
            all.delayeds.extend(&chunk.delayeds);
            all.intervals_ms.extend(&chunk.intervals_ms);
        }
        if at == bytes.len() {
            break;
        }
        let error = reader.check_end().unwrap_err();
        assert_problem(&error, "Cut(");
        // Steps of all lengths, so that the file ends everywhere in events and between them.
        step = step % 1023 + 1;
        let to = (at + step).min(bytes.len());
        fs::OpenOptions::new().append(true).open(&growing).unwrap().write_all(&bytes[at..to]).unwrap();
        at = to;
    }
    reader.check_end().unwrap();
    assert_eq!(all, expected);
    assert_eq!(progress(&mut *reader), [bytes.len() as u64; 2]);
}

/// An efficiency that is not a product.
#[derive(Debug)]
struct OfSum;

impl PairEfficiency for OfSum {
    fn of(&self, [first, second]: [u32; 2]) -> f32 {
        if first.abs_diff(second) < 2 { 0.0 } else { 1.0 + 0.25 * (first + second) as f32 }
    }

    fn identify(&self, into: &mut Fingerprint) {
        into.text("of sum");
    }
}

/// Six crystals of two sizes, turned differently, with time of flight in uneven bins.
fn small_facts() -> ListMetadata {
    let crystal = |index: usize| {
        let angle = 1.0 + index as f64;
        let (sin, cos) = angle.sin_cos();
        Crystal {
            centre_mm: [100.0 * cos, 100.0 * sin, 2.0 * index as f64],
            axes: [[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]],
            size_mm: if index < 4 { [20.0, 4.0, 5.0] } else { [10.0, 4.0, 0.0] },
        }
    };
    let detectors = Detectors::new("a ring of six", (0..6).map(crystal).collect()).unwrap();
    let mut facts = ListMetadata::new("", Arc::new(detectors));
    facts.tof = Some(TofMeasurement {
        fwhm_mm: 60.0,
        window_mm: [-100.0, 100.0],
        edges_mm: vec![-100.0, -20.0, 20.0, 100.0],
        ..TofMeasurement::default()
    });
    facts.efficiency = Some(Arc::new(OfSum));
    facts
}

/// Events of these, all with the crystal of the higher number first.
fn small_events() -> EventChunk {
    let edges = [-100.0, -20.0, 20.0, 100.0];
    let event = |n: u32| ([2 + n % 4, (n / 4) % (2 + n % 4)], n / 16, (n % 3) as usize);
    let list = |numbers: std::ops::Range<u32>| Events {
        pairs: numbers.clone().map(|n| event(n).0).collect(),
        times_ms: numbers.clone().map(|n| event(n).1).collect(),
        tof_mm: numbers.map(|n| [edges[event(n).2], edges[event(n).2 + 1]]).collect(),
        ..Events::default()
    };
    EventChunk { prompts: list(0..100), delayeds: list(20..41), ..EventChunk::default() }
}

fn write(path: &Path, facts: &ListMetadata, events: &EventChunk) -> Vec<Notice> {
    let mut writer = PetsirdWriter::create(path, facts, 1).unwrap();
    writer.write(events).unwrap();
    writer.finish().unwrap()
}

#[test]
fn the_blocks_that_are_written_cover_the_scan() {
    let (folder, mut facts) = (folder(), small_facts());
    let path = folder.path().join("a.petsird");
    let times_ms = vec![120, 180, 450, 940];
    let pairs = vec![[2, 0]; 4];
    let events = Events { pairs, times_ms, tof_mm: vec![[-20.0, 20.0]; 4], ..Events::default() };
    let chunk = EventChunk { prompts: events, ..EventChunk::default() };
    let mut blocks_of = |duration_ms| {
        facts.duration_ms = duration_ms;
        let mut writer = PetsirdWriter::create(&path, &facts, 100).unwrap();
        writer.write(&chunk).unwrap();
        writer.finish().unwrap();
        let (found, _) = read_all(&path).unwrap();
        assert_eq!(found.prompts.times_ms, [150, 150, 450, if duration_ms == Some(960) { 930 } else { 950 }]);
        found.intervals_ms
    };
    let tenths = |num: u32| (0..num).map(|k| [100 * k, 100 * (k + 1)]).collect::<Vec<_>>();
    assert_eq!(blocks_of(None), tenths(10));
    assert_eq!(blocks_of(Some(1230)), [tenths(12), vec![[1200, 1230]]].concat());
    // The scan ends inside the last block.
    assert_eq!(blocks_of(Some(960)), [tenths(9), vec![[900, 960]]].concat());
    // A long time without events is in few blocks.
    let long = blocks_of(Some(3_600_000));
    assert!(long.len() < 80 && long.windows(2).all(|pair| pair[0][1] == pair[1][0]), "{}", long.len());
    assert_eq!(long.last().unwrap()[1], 3_600_000);
}

/// Events in an order that does not depend on types of modules.
fn sorted(events: &Events) -> Vec<(u32, [u32; 2], [i32; 2])> {
    let tof = |event: usize| events.tof_mm.get(event).map_or([0; 2], |interval| interval.map(|mm| (mm * 1000.0).round() as i32));
    let mut list: Vec<_> = (0..events.len()).map(|event| (events.times_ms[event], events.pairs[event], tof(event))).collect();
    list.sort_unstable();
    list
}

#[test]
fn what_is_written_is_read_again() {
    let (folder, facts, events) = (folder(), small_facts(), small_events());
    let path = folder.path().join("a.petsird");
    assert!(write(&path, &facts, &events).is_empty());
    let (found, notices) = read_all(&path).unwrap();
    assert!(notices.is_empty(), "{notices:?}");
    assert_eq!(sorted(&found.prompts), sorted(&events.prompts));
    assert_eq!(sorted(&found.delayeds), sorted(&events.delayeds));
    let reader = open(&path).unwrap();
    let read = reader.facts();
    assert_eq!((read.format.as_str(), &read.tof), ("PETSIRD 0.12", &facts.tof));
    for (found, written) in read.detectors.crystals().iter().zip(facts.detectors.crystals()) {
        assert!(distance(&found.centre_mm, &written.centre_mm) < 1e-4, "{found:?} {written:?}");
        assert!((0..3).all(|axis| distance(&found.axes[axis], &written.axes[axis]) < 1e-5), "{found:?} {written:?}");
        assert!(distance(&found.size_mm, &written.size_mm) < 1e-4, "{found:?} {written:?}");
    }
    let efficiency = read.efficiency.as_ref().unwrap();
    for pair in [[0, 1], [1, 2], [0, 2], [5, 0], [2, 5], [4, 1], [5, 3], [4, 4]] {
        assert_eq!(efficiency.of(pair), OfSum.of(pair), "{pair:?}");
    }
}

#[test]
fn events_written_in_the_other_order_are_the_same_events() {
    let (folder, facts, mut events) = (folder(), small_facts(), small_events());
    let path = folder.path().join("a.petsird");
    let expected = sorted(&events.prompts);
    // Every other event seen from the other side.
    for event in (0..100).step_by(2) {
        events.prompts.pairs[event].reverse();
        events.prompts.tof_mm[event] = [-events.prompts.tof_mm[event][1], -events.prompts.tof_mm[event][0]];
    }
    write(&path, &facts, &events);
    assert_eq!(sorted(&read_all(&path).unwrap().0.prompts), expected);
}

#[test]
fn a_cylinders_list_without_bins_of_time_of_flight() {
    let (folder, geometry) = (folder(), &find("small").unwrap().geometry);
    let detectors = Detectors::of_cylinder(geometry).unwrap();
    let path = folder.path().join("a.petsird");
    let mut facts = ListMetadata::new("", Arc::new(detectors.clone()));
    facts.sampling = Some(ListSampling { num_tangential: 49, max_ring_difference: 2 });
    facts.tof =
        Some(TofMeasurement { fwhm_mm: 60.0, window_mm: [-200.0, 200.0], edges_mm: Vec::new(), ..TofMeasurement::default() });
    let prompts = Events {
        pairs: vec![[50, 2], [300, 250], [96 * 3 + 50, 0]],
        times_ms: vec![5, 5, 7],
        tof_mm: vec![[31.0; 2], [-200.0; 2], [200.0; 2]],
        multiplicative: vec![1.0; 3],
        ..Events::default()
    };
    let notices = write(&path, &facts, &EventChunk { prompts, ..EventChunk::default() });
    assert!(notices.len() == 1 && notices[0].text.contains("no place for the factors"), "{notices:?}");
    let (found, _) = read_all(&path).unwrap();
    assert_eq!((found.prompts.pairs.len(), &found.prompts.times_ms), (3, &vec![5, 5, 7]));
    assert_eq!(found.prompts.tof_mm, [[30.0, 36.0], [-200.0, -194.0], [194.0, 200.0]].map(|i: [f32; 2]| near(i)));
    let reader = open(&path).unwrap();
    let read = reader.facts();
    for (found, written) in read.detectors.crystals().iter().zip(detectors.crystals()) {
        assert!(distance(&found.centre_mm, &written.centre_mm) < 1e-4 && found.size_mm[0] == 0.0, "{found:?} {written:?}");
        assert!((0..3).all(|axis| distance(&found.axes[axis], &written.axes[axis]) < 1e-5), "{found:?} {written:?}");
    }
    let efficiency = read.efficiency.as_ref().unwrap();
    let of = [[50, 2], [96 * 2 + 50, 2], [96 * 3 + 50, 2], [2, 48 + 2 + 24], [2, 48 + 2 + 25]].map(|pair| efficiency.of(pair));
    assert_eq!(of, [1.0, 1.0, 0.0, 1.0, 0.0], "outside of the sampling none are in coincidence");
}

#[test]
fn a_list_without_time_of_flight_and_efficiencies() {
    let (folder, mut facts, mut events) = (folder(), small_facts(), small_events());
    (facts.tof, facts.efficiency) = (None, None);
    events.prompts.tof_mm.clear();
    events.delayeds.tof_mm.clear();
    let path = folder.path().join("a.petsird");
    write(&path, &facts, &events);
    let (found, _) = read_all(&path).unwrap();
    assert!(found.prompts.tof_mm.is_empty() && found.delayeds.tof_mm.is_empty());
    assert_eq!(sorted(&found.prompts), sorted(&events.prompts));
    let reader = open(&path).unwrap();
    assert!(reader.facts().tof.is_none() && reader.facts().efficiency.is_none());
}

/// Ends of bins as the file holds them.
fn near(interval: [f32; 2]) -> [f32; 2] {
    // 67 bins of a tenth of the FWHM at least fill the window.
    let width = 400.0 / 67.0;
    interval.map(|mm| (-200.0 + ((f64::from(mm) + 200.0) / 6.0).round() * width) as f32)
}

/// A small list in three parts: schema, header and blocks.
struct Parts {
    schema: Json,
    header: Vec<u8>,
    blocks: Vec<u8>,
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Without crystals of a second size there is one type of modules, and no table of efficiencies.
fn one_type() -> ListMetadata {
    let mut facts = small_facts();
    let crystals = facts.detectors.crystals().iter().map(|crystal| Crystal { size_mm: [20.0, 4.0, 5.0], ..*crystal });
    facts.detectors = Arc::new(Detectors::new("one type", crystals.collect()).unwrap());
    facts.efficiency = None;
    facts
}

impl Parts {
    fn new() -> Self {
        let folder = folder();
        let path = folder.path().join("a.petsird");
        write(&path, &one_type(), &EventChunk::default());
        let bytes = fs::read(path).unwrap();
        let model = include_str!("../../assets/petsird-0.12.json").trim_end();
        let start = 9 + varint(model.len() as u64).len();
        assert_eq!(&bytes[start..start + model.len()], model.as_bytes());
        let header = bytes[start + model.len()..bytes.len() - 1].to_vec();
        Self { schema: serde_json::from_str(model).unwrap(), header, blocks: vec![0] }
    }

    /// The definition of a named type.
    fn ty(&mut self, name: &str) -> &mut Json {
        self.schema["types"].as_array_mut().unwrap().iter_mut().find(|ty| ty["name"] == name).unwrap()
    }

    /// A field of a named record.
    fn field(&mut self, record: &str, name: &str) -> &mut Json {
        self.ty(record)["fields"].as_array_mut().unwrap().iter_mut().find(|field| field["name"] == name).unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        let schema = self.schema.to_string();
        [b"yardl\x01\0\0\0", varint(schema.len() as u64).as_slice(), schema.as_bytes(), &self.header, &self.blocks].concat()
    }

    fn read(&self) -> Result<(EventChunk, Vec<Notice>), IoError> {
        let folder = folder();
        read_all(&put(folder.path(), &self.bytes()))
    }
}

fn put(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("a.petsird");
    fs::write(&path, bytes).unwrap();
    path
}

/// A run of one block of events from 3 to 4 ms: these prompts and no delayed ones.
fn block(prompts: &[u8]) -> Vec<u8> {
    [&[1, 0, 3, 4, 0, 1, 1], prompts, &[1, 1, 0, 0, 0]].concat()
}

#[test]
fn what_the_model_forbids_is_refused_or_told() {
    let (folder, facts) = (folder(), one_type());
    let path = folder.path().join("a.petsird");
    let prompts = Events { pairs: vec![[5, 2]], times_ms: vec![3], tof_mm: vec![[-20.0, 20.0]], ..Events::default() };
    write(&path, &facts, &EventChunk { prompts, ..EventChunk::default() });
    let bytes = fs::read(&path).unwrap();
    assert_eq!(read_all(&path).unwrap().1, []);
    let event = bytes.windows(3).rposition(|three| three == [5, 2, 1]).unwrap();
    let mut swapped = bytes.clone();
    swapped.swap(event, event + 1);
    let (found, notices) = read_all(&put(folder.path(), &swapped)).unwrap();
    assert_eq!(found.prompts.pairs, [[2, 5]]);
    assert!(notices.len() == 1 && notices[0].text.contains("1 coincidences of one type"), "{notices:?}");
    // The block is from 3 to 4 ms.
    let interval = bytes.windows(5).rposition(|five| five == [1, 0, 3, 4, 0]).unwrap();
    let mut backwards = bytes.clone();
    backwards[interval + 3] = 2;
    let error = read_all(&put(folder.path(), &backwards)).unwrap_err();
    assert_problem(&error, "BlockEnd(");
}

#[test]
fn other_models_are_read_where_they_have_the_fields() {
    // A kind of block that is not known, with types of every kind, stands before the events.
    let mut parts = Parts::new();
    let odd = json!({"name": "Odd", "fields": [
        {"name": "map", "type": {"map": {"keys": "string", "values": "complexfloat64"}}},
        {"name": "any", "type": {"array": {"items": [null, "uint32"]}}},
        {"name": "texts", "type": {"vector": {"items": "string", "length": 2}}},
        {"name": "pairs", "type": {"vector": {"items": {"array": {"items": "int16", "dimensions": 2}}}}},
        {"name": "is", "type": "bool"},
        {"name": "when", "type": "datetime"},
        {"name": "generic", "type": {"name": "PETSIRD.LowerTriangularMatrix", "typeArguments": ["float64"]}}]});
    parts.schema["types"].as_array_mut().unwrap().push(odd);
    parts.ty("TimeBlock")["type"].as_array_mut().unwrap().push(json!({"tag": "OddTimeBlock", "type": "PETSIRD.Odd"}));
    let mut bytes = vec![2, 6];
    bytes.extend([1, 2, b'a', b'b']);
    bytes.extend([7; 16]);
    bytes.extend([2, 1, 3, 0, 1, 0x80, 0x01, 0]);
    bytes.extend([0, 1, b'z']);
    bytes.extend([1, 2, 1, 5, 0xff, 0x7f, 1]);
    bytes.extend([0x80, 0x80, 1]);
    bytes.extend([1, 1]);
    bytes.extend([9; 8]);
    // A second one, empty, follows in the same run.
    bytes.extend([6, 0, 1, 0, 0, 0, 0, 1, 8, 0]);
    bytes.extend(block(&[2, 5, 2, 1, 4, 0, 2]));
    bytes.push(0);
    parts.blocks = bytes;
    let (events, notices) = parts.read().unwrap();
    assert_eq!((events.prompts.pairs, events.prompts.times_ms), (vec![[5, 2], [4, 0]], vec![3, 3]));
    assert_eq!(events.prompts.tof_mm, [[-20.0, 20.0], [20.0, 100.0]]);
    assert!(notices.len() == 1 && notices[0].text.contains("2 × OddTimeBlock"), "{notices:?}");

    // A coincidence with more fields, in another order and with bins of fixed length.
    let mut parts = Parts::new();
    let fields = json!([{"name": "tofIdx", "type": "uint8"}, {"name": "energies", "type": {"vector": {"items": "float32", "length": 2}}},
        {"name": "detectionBins", "type": {"vector": {"items": "PETSIRD.DetectionBin", "length": 2}}}, {"name": "delta", "type": "int32"}]);
    parts.ty("CoincidenceEvent")["fields"] = fields;
    parts.blocks = [block(&[1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 3, 1, 0xff, 0x01]), vec![0]].concat();
    let (events, _) = parts.read().unwrap();
    assert_eq!((events.prompts.pairs, events.prompts.tof_mm), (vec![[3, 1]], vec![[20.0, 100.0]]));
}

#[test]
fn what_the_header_says_of_the_list_is_told() {
    let told = |policies: [u8; 5], factor: f32| {
        let mut parts = Parts::new();
        // Those of single, prompt, delayed, triple and quadruple events; no words; the calibration factor.
        let before = [&[0, 8, 8, 0, 0, 0], 1f32.to_le_bytes().as_slice()].concat();
        let at = parts.header.windows(10).position(|window| window == before).unwrap();
        parts.header.splice(at..at + 10, [&policies, [0].as_slice(), &factor.to_le_bytes()].concat());
        parts.read().map(|(_, notices)| notices.into_iter().map(|notice| notice.text).collect::<Vec<_>>())
    };
    assert!(told([0, 8, 8, 0, 0], 1.0).unwrap().is_empty());
    let texts = told([2, 0, 8, 2, 0], 1.0).unwrap();
    assert!(texts.len() == 2 && texts[0].contains("single events, coincidences of three photons, which"), "{texts:?}");
    assert!(texts[1].contains("no coincidences"), "{texts:?}");
    let texts = told([0, 8, 8, 0, 0], 0.0).unwrap();
    assert!(texts.len() == 1 && texts[0].contains("calibrationFactor is 0"), "{texts:?}");
    assert_says(&told([0, 8, 8, 0, 0], -1.0).unwrap_err(), &["byte", "calibrationFactor of -1"]);
}

#[test]
fn other_models_are_refused_with_what_they_lack() {
    for (record, name) in [
        ("EventTimeBlock", "timeInterval"),
        ("EventTimeBlock", "promptEvents"),
        ("CoincidenceEvent", "detectionBins"),
        ("CoincidenceEvent", "tofIdx"),
        ("ScannerInformation", "scannerGeometry"),
        ("ScannerInformation", "tofBinEdges"),
        ("ScannerInformation", "eventEnergyBinEdges"),
        ("RigidTransformation", "matrix"),
        ("BoxShape", "corners"),
        ("ReplicatedObject", "transforms"),
    ] {
        let mut parts = Parts::new();
        parts.field(record, name)["name"] = json!("renamed");
        assert_says(&parts.read().unwrap_err(), &["a.petsird, byte", "0.12", &format!("'{name}'"), record]);
    }
    let of = |change: fn(&mut Parts)| {
        let mut parts = Parts::new();
        change(&mut parts);
        parts.read().unwrap_err()
    };
    assert_says(&of(|parts| parts.schema["protocol"]["name"] = json!("Other")), &["'Other', not PETSIRD"]);
    assert_says(&of(|parts| parts.ty("Atom")["name"] = json!("Molecule")), &["no type 'Atom'"]);
    assert_says(&of(|parts| parts.field("Atom", "massNumber")["type"] = json!("PETSIRD.Atom")), &["'Atom'", "contains itself"]);
    assert_says(&of(|parts| parts.field("Atom", "massNumber")["type"] = json!(7)), &["not understood: 7"]);
    let deep = |parts: &mut Parts| {
        let ty = (0..100).fold(json!("uint8"), |ty, _| json!([null, ty]));
        parts.field("Atom", "massNumber")["type"] = ty;
    };
    assert_says(&of(deep), &["deep in each other"]);
    // Records of nothing, each of which holds the next one twice: 2⁴⁹ of them take no byte.
    let nothing = |parts: &mut Parts| {
        let twice = |n: usize| json!([{"name": "a", "type": format!("N{n}")}, {"name": "b", "type": format!("N{n}")}]);
        let types = (0..50).map(|n| json!({"name": format!("N{n}"), "fields": if n == 0 { json!([]) } else { twice(n - 1) }}));
        parts.schema["types"].as_array_mut().unwrap().extend(types);
        for record in ["Header", "EventTimeBlock", "CoincidenceEvent"] {
            parts.ty(record)["fields"].as_array_mut().unwrap().push(json!({"name": "nothing", "type": "N49"}));
        }
        parts.field("Atom", "massNumber")["type"] = json!({"array": {"items": "N49", "dimensions": 0}});
        parts.blocks = [block(&[1, 5, 4, 2]), vec![0]].concat();
    };
    let mut parts = Parts::new();
    nothing(&mut parts);
    assert_eq!(parts.read().unwrap().0.prompts.pairs, [[5, 4]]);
    // Every type of a chain holds the next one twice, in two ways: without end, were they not limited.
    let many = |parts: &mut Parts| {
        let double = json!({"name": "Double", "typeParameters": ["T", "U"], "fields": [{"name": "a", "type":
            {"name": "Double", "typeArguments": [{"vector": {"items": "T"}}, "U"]}}, {"name": "b", "type":
            {"name": "Double", "typeArguments": ["U", {"vector": {"items": "T"}}]}}]});
        parts.schema["types"].as_array_mut().unwrap().push(double);
        parts.field("Atom", "massNumber")["type"] = json!({"name": "Double", "typeArguments": ["uint8", "uint16"]});
    };
    let error = of(many).to_string();
    assert!(error.contains("deep in each other") || error.contains("more than 4096 types"), "{error}");
}

#[test]
fn what_blocks_hold_that_cannot_be_is_refused_with_its_place() {
    let of = |blocks: Vec<u8>| {
        let mut parts = Parts::new();
        let start = parts.bytes().len() - 1;
        parts.blocks = blocks;
        (parts.read(), start)
    };
    let refused = |blocks: Vec<u8>, at: usize, problem: &str| {
        let (read, start) = of(blocks);
        let error = read.unwrap_err();
        assert_event(&error, "a.petsird", start + at, problem);
    };
    let with_end = |block: Vec<u8>| [block, vec![0]].concat();
    assert_eq!(of(with_end(block(&[1, 5, 4, 2]))).0.unwrap().0.prompts.len(), 1);
    refused(with_end(block(&[2, 5, 4, 2, 6, 1, 0])), 11, "DetectionBin(6, 6)");
    refused(with_end(block(&[2, 5, 4, 2, 5, 9, 0])), 11, "DetectionBin(9, 6)");
    refused(with_end(block(&[1, 5, 4, 3])), 8, "TofBin(3, 3)");
    refused(vec![1, 0, 3, 4, 0, 2, 1, 0, 1, 1, 5, 4, 2], 10, "ModuleTypes([1, 0])");
    refused(vec![1, 9], 1, "NoKind(9, 6)");
    refused(with_end(vec![0]), 1, "Excess(1)");
    refused(vec![1], 1, r#"Cut("without the end of its list")"#);
    refused([block(&[1, 5, 4, 2]), vec![1]].concat(), 17, r#"Cut("without the end of its list")"#);
    refused(block(&[1, 5, 4, 2]), 16, r#"Cut("without the end of its list")"#);
    // Claims of 2⁶⁰ of anything end where the file does.
    let huge = varint(1 << 60);
    for before in [vec![], vec![1, 0, 3, 4], vec![1, 0, 3, 4, 0], vec![1, 0, 3, 4, 0, 1, 1], vec![1, 1, 3, 4, 0]] {
        let (read, _) = of([&before, huge.as_slice(), &[1, 1, 1]].concat());
        assert!(read.is_err(), "{before:?}");
    }
    let matrix = |translation: f32| {
        let numbers = (0..12).map(|index| if index == 7 { translation } else { f32::from(index % 5 == 0) });
        numbers.flat_map(f32::to_le_bytes).collect::<Vec<u8>>()
    };
    let bed = |translation: f32| [&[1, 2, 3, 4], matrix(translation).as_slice(), &[0]].concat();
    assert!(of(bed(0.0)).0.is_ok());
    refused(bed(2.0), 1, r#"Movement("BedMovementTimeBlock")"#);
    let gantry = |translation: f32| [&[1, 3, 3, 4, 1], matrix(translation).as_slice(), &[0]].concat();
    assert!(of(gantry(0.0)).0.is_ok());
    refused(gantry(-3.0), 1, r#"Movement("GantryMovementTimeBlock")"#);
    // Dead time is told once, and only where there is some.
    let dead = |alive: f32| {
        let block = [&[1, 4, 3, 4, 1, 2], 1f32.to_le_bytes().as_slice(), &alive.to_le_bytes(), &[0]].concat();
        [block.clone(), block, vec![0]].concat()
    };
    assert!(of(dead(1.0)).0.unwrap().1.is_empty());
    let notices = of(dead(0.75)).0.unwrap().1;
    assert!(notices.len() == 1 && notices[0].text.contains("0.75"), "{notices:?}");
}

#[test]
fn what_is_no_such_file_is_refused() {
    let (folder, bytes) = (folder(), Parts::new().bytes());
    let refused = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        open(&put(folder.path(), &bytes)).err().unwrap()
    };
    assert_event(&refused(0, b'Y'), "a.petsird", 0, "NotYardl");
    assert_event(&refused(5, 2), "a.petsird", 5, "BinaryVersion(Mismatch { found: 2, expected: 1 })");
    assert_event(&refused(12, 0xff), "a.petsird", 11, "SchemaText");
    let claim = [b"yardl\x01\0\0\0", varint(1 << 60).as_slice(), b"{}"].concat();
    let error = open(&put(folder.path(), &claim)).err().unwrap();
    assert_event(&error, "a.petsird", 9, "SchemaSize(1152921504606846976)");
    let mut parts = Parts::new();
    parts.header.splice(..1, varint(1 << 60));
    assert_says(&parts.read().unwrap_err(), &["ends in its header"]);
}

#[test]
fn a_list_that_is_cut_anywhere_is_refused() {
    let folder = folder();
    let path = folder.path().join("a.petsird");
    write(&path, &small_facts(), &small_events());
    let bytes = fs::read(&path).unwrap();
    let expected = read_all(&path).unwrap().0.prompts.len();
    assert_eq!(expected, 100);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    for len in (0..bytes.len()).rev() {
        file.set_len(len as u64).unwrap();
        assert!(matches!(read_all(&path), Err(IoError::Events { .. })), "{len}");
    }
    assert!(read_all(&put(folder.path(), &[bytes, vec![0]].concat())).is_err());
}

#[test]
fn a_list_of_the_formats_own_package_written_again() {
    let Some(path) = data_file("listmode/ring.petsird") else { return };
    let (folder, (events, _)) = (folder(), read_all(&path).unwrap());
    let reader = open(&path).unwrap();
    let again = folder.path().join("a.petsird");
    assert!(write(&again, reader.facts(), &events).is_empty());
    // (Its blocks are of a millisecond.)
    let (found, _) = read_all(&again).unwrap();
    assert!(found.prompts == events.prompts && found.delayeds == events.delayeds);
    let read = open(&again).unwrap();
    let [first, second] = [&reader, &read].map(|reader| reader.facts().efficiency.as_ref().unwrap());
    for pair in (0..768).flat_map(|a| [[a, (a * 7 + 300) % 768], [a, 173], [a, (a + 400) % 768]]).filter(|[a, b]| a != b) {
        assert_eq!(first.of(pair), second.of(pair), "{pair:?}");
    }
    for (found, written) in read.facts().detectors.crystals().iter().zip(reader.facts().detectors.crystals()) {
        assert!(distance(&found.centre_mm, &written.centre_mm) < 1e-4, "{found:?} {written:?}");
        assert!((0..3).all(|axis| distance(&found.axes[axis], &written.axes[axis]) < 1e-5), "{found:?} {written:?}");
    }
}

/// Mutated files; `TOMOSCOPE_FUZZ_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("TOMOSCOPE_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(256)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_mutated_list_panics(
        changes in proptest::collection::vec((any::<bool>(), any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..6),
        cut in prop_oneof![3 => Just(0usize), 1 => 0usize..2000],
        grows in any::<bool>(),
    ) {
        static WRITTEN: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| {
            let folder = folder();
            let path = folder.path().join("a.petsird");
            write(&path, &small_facts(), &small_events());
            fs::read(path).unwrap()
        });
        let mut bytes = WRITTEN.clone();
        for (is_in_schema, at, byte, how) in changes {
            let start = if is_in_schema { 0 } else { 12_994.min(bytes.len() - 1) };
            let at = start + at.index(bytes.len() - start);
            match how {
                0 => bytes[at] ^= 1 << (byte % 8),
                1 => bytes[at] = byte,
                2 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        bytes.truncate(bytes.len() - cut.min(bytes.len()));
        let folder = folder();
        let path = put(folder.path(), &bytes[..if grows { bytes.len() / 64 * 63 } else { bytes.len() }]);
        if let Ok(mut reader) = open(&path) {
            let (mut chunk, mut num) = (EventChunk::default(), 0);
            while let Ok(true) = reader.next(&mut chunk) {
                num += chunk.prompts.len() + chunk.delayeds.len();
                let crystals = reader.facts().detectors.crystals().len() as u32;
                assert!(chunk.prompts.pairs.iter().flatten().all(|crystal| *crystal < crystals));
                if grows {
                    fs::write(&path, &bytes).unwrap();
                }
            }
            assert!(num <= bytes.len(), "more events than bytes");
            let (_, _) = (reader.check_end().is_ok(), reader.notices());
            if let Some(efficiency) = &reader.facts().efficiency {
                assert!(efficiency.of([0, 1]) >= 0.0);
            }
        }
    }
}

/// A list in `tests/data`, which the `petsird` package wrote.
fn of_the_package(name: &str) -> Whole {
    read_list(&tomoscope_support::in_repository("tests/data/petsird").join(name), &ListOptions::default()).unwrap()
}

#[test]
fn each_pair_of_types_has_its_own_time_of_flight() {
    let list = of_the_package("two_types.petsird");
    assert_eq!((list.prompts.len(), list.delayeds.len(), list.facts.detectors.crystals().len()), (2492, 240, 180));
    let tof = list.facts.tof.as_ref().unwrap();
    // Crystals of the first type are 0 to 119.
    assert_eq!((tof.fwhm_mm, tof.window_mm, tof.edges_mm.len()), (50.0, [-63.0, 63.0], 8));
    assert_eq!((tof.fwhm_of([150, 3]), tof.window_of([150, 3]), tof.window_of([3, 150])), (70.0, [-60.0, 70.0], [-70.0, 60.0]));
    assert_eq!((tof.fwhm_of([150, 130]), tof.window_of([150, 130])), (36.0, [-55.0, 60.0]));
    let edges = |[first, second]: [u32; 2]| -> &[f32] {
        match (first < 120, second < 120) {
            (true, true) => &[-63.0, -45.0, -27.0, -9.0, 9.0, 27.0, 45.0, 63.0],
            (false, true) => &[-60.0, -20.0, 0.0, 25.0, 70.0],
            _ => &[-55.0, -15.0, 20.0, 60.0],
        }
    };
    let mut seen = [0; 3];
    for (&pair, interval) in list.prompts.pairs.iter().zip(&list.prompts.tof_mm) {
        assert!(pair[0] > pair[1] && edges(pair).windows(2).any(|bin| bin == interval), "{pair:?} {interval:?}");
        seen[usize::from(pair[0] >= 120) + usize::from(pair[1] >= 120)] += 1;
    }
    assert!(seen.iter().all(|num| *num > 100), "{seen:?}");
}

#[test]
fn types_that_are_never_in_coincidence_may_have_any_time_of_flight_and_one_bin_is_a_window() {
    let list = of_the_package("idle_pair.petsird");
    assert_eq!((list.prompts.len(), list.prompts.tof_mm.len()), (70, 70));
    let tof = list.facts.tof.as_ref().unwrap();
    assert_eq!((tof.fwhm_mm, tof.window_mm, tof.exceptions.len()), (50.0, [-63.0, 63.0], 1));
    assert_eq!((tof.fwhm_of([150, 3]), tof.window_of([150, 3])), (50.0, [-80.0, 120.0]));
    assert!(tof.exceptions[0].edges_mm.is_empty());
    let of_window = list.prompts.pairs.iter().zip(&list.prompts.tof_mm).filter(|(pair, _)| pair[0] >= 120);
    assert!(of_window.map(|(_, interval)| *interval).eq(std::iter::repeat_n([-80.0, 120.0], 30)));
    assert_eq!(list.facts.efficiency.as_ref().unwrap().of([150, 170]), 0.0);
}
