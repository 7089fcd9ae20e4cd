//! CASToR: the list and the histogram of the ring, all fields of an entry, tables of crystals, normalisation files, and what is
//! refused.

use std::fs;
use std::path::Path;

use tomoscope::data::{Attenuation, EventChunk, Events, tof_mm};
use tomoscope::io::list_mode::ListOptions;
use tomoscope::io::list_mode::castor::{Histogram, HistogramBin};
use tomoscope::io::{IoError, list_mode, open_list_mode};
use tomoscope::scanner::{Crystal, DetectorsError};

use super::data::data_file;
use super::lists::{SQUARE, Word, bytes_of_words, progress, put_castor, read_list, square_lut};
use super::{assert_brief, assert_event, assert_problem, folder, warns_of};

/// Numbers that the ring's makers wrote down.
fn truth() -> Option<serde_json::Value> {
    let path = data_file("listmode/ring_truth.json")?;
    Some(serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
}

/// Bin of time of flight of an event of the ring: 60 mm each, the third in the middle.
fn tof_bin([from, to]: [f32; 2]) -> usize {
    assert!((to - from - 60.0).abs() < 1e-4, "{from} {to}");
    let bin = 0.5 * (from + to) / 60.0 + 2.0;
    assert!((bin - bin.round()).abs() < 1e-4);
    bin.round() as usize
}

/// Σ (id1·1000003 + id2·7919 + tof·31 + 1)² mod 2⁶⁴.
pub(super) fn checksum(events: &Events) -> u64 {
    let tofs = events.tof_mm.iter().map(|&interval| tof_bin(interval));
    let terms = events.pairs.iter().zip(tofs).map(|(&[a, b], tof)| {
        let term = u64::from(a) * 1_000_003 + u64::from(b) * 7919 + tof as u64 * 31 + 1;
        term.wrapping_mul(term)
    });
    terms.fold(0, u64::wrapping_add)
}

#[test]
fn the_ring_is_the_scan_that_was_made() {
    let (Some(truth), Some(path)) = (truth(), data_file("listmode/ring_list.Cdh")) else { return };
    let list = read_list(&path, &ListOptions::default()).unwrap();
    let (facts, events) = (&list.facts, &list.prompts);
    assert_eq!((events.len(), facts.num_events, facts.duration_ms), (40_000, Some(40_000), Some(5000)));
    assert!(list.delayeds.is_empty());
    assert_eq!(checksum(events).to_string(), truth["prompts"]["checksum"].as_str().unwrap());
    let mut histogram = [0u64; 5];
    events.tof_mm.iter().for_each(|&interval| histogram[tof_bin(interval)] += 1);
    assert_eq!(histogram, [1338, 10_012, 18_028, 9375, 1247]);
    let ends = [1000, 2000, 2500, 4000, 5000];
    let per_block: Vec<usize> = ends.iter().map(|&end| events.times_ms.iter().filter(|&&ms| ms < end).count()).collect();
    assert_eq!(per_block, [8017, 16_053, 20_000, 31_999, 40_000]);
    // 1 / (norm · 0.4) and rate · 5 s / 300 mm of the first event.
    assert!((f64::from(events.multiplicative[0]) * 1.235_177_874_565_124_5 * 0.4 - 1.0).abs() < 1e-6);
    assert!((f64::from(events.additive[0]) / (0.006_409_308_873_116_97 * 5.0 / 300.0) - 1.0).abs() < 1e-6);
    let norms: f64 = events.multiplicative.iter().map(|&m| 1.0 / (0.4 * f64::from(m))).sum();
    let rates: f64 = events.additive.iter().map(|&b| f64::from(b) * 300.0 / 5.0).sum();
    assert!((norms / 68_549.545_804_739 - 1.0).abs() < 1e-6 && (rates / 195.755_636_753_747_24 - 1.0).abs() < 1e-6);
    let tof = facts.tof.as_ref().unwrap();
    assert!(
        (tof.fwhm_mm - 60.0).abs() < 1e-4 && (tof.window_mm[1] - 150.0).abs() < 1e-3 && tof.window_mm[0] == -tof.window_mm[1]
    );
    for first in truth["prompts"]["first_ten"].as_array().unwrap().iter().enumerate() {
        let (event, told) = first;
        for (end, key) in ["crystal1_mm", "crystal2_mm"].iter().enumerate() {
            let centre = facts.detectors.crystals()[events.pairs[event][end] as usize].centre_mm;
            for (axis, found) in centre.iter().enumerate() {
                assert!((found - told[*key][axis].as_f64().unwrap()).abs() < 1e-3, "{event} {key} {centre:?}");
            }
        }
        let middle = f64::from(events.tof_mm[event][0] + events.tof_mm[event][1]) / 2.0;
        assert!((middle - told["tof_centre_mm"].as_f64().unwrap()).abs() < 1e-3);
    }
}

#[test]
fn events_of_the_ring_lie_where_the_activity_was() {
    let Some(path) = data_file("listmode/ring_list.Cdh") else { return };
    let list = read_list(&path, &ListOptions::default()).unwrap();
    let mut mean = [0.0; 3];
    for (&pair, &[from, to]) in list.prompts.pairs.iter().zip(&list.prompts.tof_mm) {
        let line = list.facts.detectors.line(pair);
        let along: Vec<f64> = (0..3).map(|a| line.end[a] - line.start[a]).collect();
        let length = along.iter().map(|v| v * v).sum::<f64>().sqrt();
        let part = 0.5 + f64::from(from + to) / 2.0 / length;
        (0..3).for_each(|a| mean[a] += (line.start[a] + part * along[a]) / list.prompts.len() as f64);
    }
    for (found, expected) in mean.iter().zip([3.7774, -2.8263, 1.2260]) {
        assert!((found - expected).abs() < 2e-3, "{mean:?}");
    }
}

#[test]
fn the_rings_histogram_has_its_counts() {
    let Some(path) = data_file("listmode/ring_hist.Cdh") else { return };
    let mut histogram = Histogram::open(&path, &ListOptions::default()).unwrap();
    assert_eq!((histogram.num_bins(), histogram.detectors().crystals().len()), (17_975, 768));
    let tof = histogram.tof().unwrap();
    for (edge, expected) in tof.edges_mm.iter().zip([-150.0, -90.0, -30.0, 30.0, 90.0, 150.0]) {
        assert!((edge - expected).abs() < 1e-4, "{tof:?}");
    }
    let (mut bin, mut per_tof, mut lines, mut norms, mut rates, mut num_with) =
        (HistogramBin::default(), [0.0; 5], [0; 3], 0.0, 0.0, 0);
    while histogram.next(&mut bin).unwrap() {
        bin.counts.iter().zip(&mut per_tof).for_each(|(&counts, sum)| *sum += counts);
        num_with += usize::from(bin.counts.iter().any(|&counts| counts > 0.0));
        lines[bin.lines.len()] += 1;
        norms += 1.0 / (0.4 * f64::from(bin.multiplicative));
        rates += bin.additive.iter().map(|&b| f64::from(b) / 5.0).sum::<f64>();
    }
    assert_eq!((per_tof, per_tof.iter().sum::<f32>()), ([285.0, 3163.0, 5676.0, 2810.0, 305.0], 12_239.0));
    assert_eq!((lines, num_with), ([0, 9625, 8350], 7518));
    assert!((norms / 22_623.321_709_871_292 - 1.0).abs() < 1e-6, "{norms}");
    assert!((rates / 131.525_827_820_645_65 - 1.0).abs() < 1e-6, "{rates}");
}

#[test]
fn a_histogram_is_as_many_events_of_each_bin_as_it_has_counts() {
    const HISTOGRAM: &str = "Scanner name: SQUARE\nData filename: a.Cdf\nNumber of events: 3\nData mode: histogram\nData type: PET\n\
                             Start time (s): 0\nDuration (s): 20\nCalibration factor: 2\nNormalization correction flag: 1\n\
                             Random correction flag: 1\nTOF information flag: 1\nTOF resolution (ps): 400\n\
                             Histo TOF number of bins: 2\nHisto TOF bin size (ps): 300\n";
    let folder = folder();
    let data = |counts: [[f32; 2]; 3]| {
        let bin = |bin: usize| {
            let [a, b] = [[0, 2], [3, 1], [2, 1]][bin];
            let [first, second] = counts[bin];
            let (randoms, norm) = (Word::F(0.5), Word::F(4.0));
            bytes_of_words(&[Word::U(7), randoms, norm, Word::F(first), Word::F(second), Word::U(a), Word::U(b)])
        };
        (0..3).flat_map(bin).collect::<Vec<u8>>()
    };
    let read = |counts: [[f32; 2]; 3]| read_list(&put_castor(folder.path(), HISTOGRAM, &data(counts)), &ListOptions::default());
    let many = (list_mode::EVENTS_AT_ONCE + 3) as f32;
    let list = read([[2.0, many], [0.0, 0.0], [0.0, 1.0]]).unwrap();
    let num = 3 + many as usize;
    assert_eq!(list.prompts.len(), num);
    assert!(list.prompts.pairs[..num - 1].iter().all(|pair| *pair == [0, 2]) && list.prompts.pairs[num - 1] == [2, 1]);
    let width = tof_mm(300.0) as f32;
    assert!(list.prompts.tof_mm[..2].iter().all(|interval| *interval == [-width, 0.0]));
    assert!(list.prompts.tof_mm[2..].iter().all(|interval| *interval == [0.0, width]));
    // Half of 0.5 · 20 falls to each bin of time of flight, and is spread over its width.
    assert!(list.prompts.additive.iter().all(|b| (b / (5.0 / width) - 1.0).abs() < 1e-6));
    // What its pairs count, with or without counts; others are not in coincidence.
    let of = |pair| list.facts.efficiency.as_ref().unwrap().of(pair);
    assert_eq!(
        ([of([0, 2]), of([1, 3]), of([1, 2]), of([0, 1])], list.prompts.multiplicative.len()),
        ([0.125, 0.125, 0.125, 0.0], 0)
    );
    assert!(!warns_of(&list.notices, "without counts"));
    assert!(warns_of(&read([[1.0, 0.0]; 3]).unwrap().notices, "without counts"));
    for counts in [0.5, -1.0, f32::MAX] {
        let error = read([[0.0, 0.0], [1.0, counts], [0.0, 0.0]]).unwrap_err();
        assert_problem(&error, "BinCounts(2, ");
    }
}

#[test]
fn rules_make_the_rings_table() {
    let Some(path) = data_file("listmode/TEST_RING_8x96.lut") else { return };
    let folder = folder();
    let rules = "scanner name: TEST_RING_8x96\nnumber of elements: 768\nnumber of layers: 1\nscanner radius: 190\n\
                 number of rsectors: 12\nnumber of rsectors axial: 1\nnumber of modules axial: 2\nnumber of crystals transaxial: 8\n\
                 number of crystals axial: 4\ncrystals size depth: 20\ncrystals size trans: 12\ncrystals size axial: 12\n\
                 min angle difference: 60\n";
    let crystals = |rules: &str| {
        let table = folder.path().join("a.geom");
        fs::write(&table, rules).unwrap();
        crystals_of(&table)
    };
    let (made, table) = (crystals(rules), crystals_of(&path));
    assert_eq!((made.len(), table.len()), (768, 768));
    for (made, table) in made.iter().zip(&table) {
        assert_same_crystal(made, table, 1e-4);
        assert_eq!(made.size_mm, [20.0, 12.0, 12.0]);
    }
    // Counter-clockwise, all is mirrored; a first angle turns the sectors; every other one is shifted.
    let mirrored = crystals(&format!("{rules}rotation direction: CCW\n"));
    let turned = crystals(&format!("{rules}rsectors first angle: 30\n"));
    let shifted = crystals(&format!("{rules}rsectors nbZShift: 2\nrsectors ZShift: 0, 5\n"));
    let sizes_and_gaps = crystals(
        &rules.replace("size axial: 12", "size axial: 10").replace("190\n", "190\ncrystal gap axial: 2\nmodule gap axial: 4\n"),
    );
    for (index, crystal) in made.iter().enumerate() {
        let [x, y, z] = crystal.centre_mm;
        assert!((mirrored[index].centre_mm[0] + x).abs() < 1e-9 && (mirrored[index].centre_mm[1] - y).abs() < 1e-9);
        let next = index / 96 * 96 + (index % 96 + 8) % 96;
        assert!((0..3).all(|a| (turned[index].centre_mm[a] - made[next].centre_mm[a]).abs() < 1e-9), "{index}");
        let is_odd = index % 96 / 8 % 2 == 1;
        assert!((shifted[index].centre_mm[2] - z - if is_odd { 5.0 } else { 0.0 }).abs() < 1e-9);
        assert!((sizes_and_gaps[index].centre_mm[2] - z - z.signum()).abs() < 1e-9, "{z} {:?}", sizes_and_gaps[index]);
    }
}

/// The crystals of a table, as those who read a list without a scanner of its own get them.
fn crystals_of(table: &Path) -> Vec<Crystal> {
    let folder = folder();
    let list = folder.path().join("a.lmDat");
    fs::write(&list, []).unwrap();
    let options = ListOptions { scanner: Some(table.to_owned()), ..ListOptions::default() };
    open_list_mode(&list, &options).unwrap().facts().detectors.crystals().to_vec()
}

pub(super) fn assert_same_crystal(a: &Crystal, b: &Crystal, tolerance: f64) {
    let off = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off(&a.centre_mm, &b.centre_mm) < tolerance, "{a:?} {b:?}");
    assert!(off(a.axes.as_flattened(), b.axes.as_flattened()) < 1e-6, "{a:?} {b:?}");
}

#[test]
fn two_layers_have_their_own_sizes_and_depths() {
    let folder = folder();
    let rules = "scanner name: TWO\nnumber of elements: 36\nnumber of layers: 2\nscanner radius: 100, 110 # inner faces\n\
                 number of rsectors: 4, 4\nnumber of crystals transaxial: 3, 3\nnumber of crystals axial: 2, 1\n\
                 crystals size depth: 10, 6\ncrystals size trans: 2, 2\ncrystals size axial: 2, 5\nmean depth of interaction: 4, -1\n";
    let table = folder.path().join("TWO.geom");
    fs::write(&table, rules).unwrap();
    let crystals = crystals_of(&table);
    assert_eq!(crystals.len(), 36);
    // The first sector is on +y, and its first crystal the one of the lowest x.
    assert_eq!((crystals[0].centre_mm, crystals[0].size_mm), ([-2.0, 104.0, -1.0], [10.0, 2.0, 2.0]));
    assert_eq!((crystals[24].centre_mm, crystals[24].size_mm), ([-2.0, 113.0, 0.0], [6.0, 2.0, 5.0]));
    assert!((crystals[12].centre_mm[2] - 1.0).abs() < 1e-12, "the second ring follows the whole first one");
    // Clockwise: the second sector is on +x.
    assert!((crystals[4].centre_mm[0] - 104.0).abs() < 1e-9, "{:?}", crystals[4]);
    fs::write(&table, rules.replace("elements: 36", "elements: 40")).unwrap();
    let options = ListOptions { scanner: Some(table.clone()), ..ListOptions::default() };
    let list = folder.path().join("a.lmDat");
    fs::write(&list, []).unwrap();
    assert_brief(&open_list_mode(&list, &options).err().unwrap(), "io.invalid-value TWO.geom number of elements=40");
}

/// A list whose events have every field.
const EVERY_FIELD: &str = "# Scanner name: NONE\nScanner name: ! SQUARE\nData filename: a.Cdf\nNumber of events: 2\nData mode: list-mode\n\
                           Data type: PET\nStart time (s): 0\nDuration (s): 20\nCalibration factor: 4\nAttenuation correction flag: 1\n\
                           Normalization correction flag: 1\nScatter correction flag: 1\nRandom correction flag: 1\n\
                           Coincidence kind flag: 1\nIsotope: F-18\n";

const WITH_TOF: &str = "TOF information flag: 1\nTOF resolution (ps): 400\nList TOF measurement range (ps): 2000\n";

fn every_field(tof: &[f32]) -> Vec<u8> {
    let mut words = Vec::new();
    for (event, [a, b]) in [[0, 2], [3, 1]].into_iter().enumerate() {
        words.extend([Word::U(7 + event as u32), Word::F(2.0), Word::Byte(1), Word::F(0.25), Word::F(3.0), Word::F(5.0)]);
        words.extend(tof.get(event).map(|&ps| Word::F(ps)));
        words.extend([Word::U(a), Word::U(b)]);
    }
    bytes_of_words(&words)
}

#[test]
fn every_field_of_an_event_has_its_place() {
    let folder = folder();
    let list = read_list(&put_castor(folder.path(), EVERY_FIELD, &every_field(&[])), &ListOptions::default()).unwrap();
    let expected = Events {
        pairs: vec![[0, 2], [3, 1]],
        times_ms: vec![7, 8],
        tof_mm: Vec::new(),
        multiplicative: vec![1.0 / 40.0; 2],
        additive: vec![65.0; 2],
    };
    assert_eq!(list.prompts, expected);
    assert_eq!(list.facts.isotope.as_deref(), Some("F-18"));
    assert_eq!(tomoscope::io::files_read(&folder.path().join("a.Cdh")), ["a.Cdh", "a.Cdf"].map(|name| folder.path().join(name)));
    assert_eq!(list.facts.detectors.crystals()[2].size_mm, [2.0, 4.0, 6.0]);
    assert!(list.facts.tof.is_none());
    // The attenuation that its events tell is not to be corrected for again.
    assert_eq!(list.facts.attenuation, Attenuation::InFactors);
    // Without a normalisation file all pairs count 1 / calibration.
    assert_eq!(list.facts.efficiency.as_ref().unwrap().of([0, 2]), 0.25);
    assert!(list.notices.iter().any(|notice| notice.text.contains("normalisation file")), "{:?}", list.notices);
    let path = put_castor(folder.path(), &format!("{EVERY_FIELD}{WITH_TOF}"), &every_field(&[500.0, -200.0]));
    let list = read_list(&path, &ListOptions::default()).unwrap();
    let mm = [500.0, -200.0].map(|ps| tof_mm(ps) as f32);
    assert_eq!(list.prompts.tof_mm, [[mm[0]; 2], [mm[1]; 2]]);
    let additive = 3.0 * 20.0 / tof_mm(2000.0) + 0.25 * 20.0;
    assert!((f64::from(list.prompts.additive[0]) / additive - 1.0).abs() < 1e-6);
    let tof = list.facts.tof.as_ref().unwrap();
    assert_eq!((tof.window_mm, tof.fwhm_mm), ([-tof_mm(1000.0), tof_mm(1000.0)], tof_mm(400.0)));
    assert!(!warns_of(&list.notices, "outside of the range"));
    let path = put_castor(folder.path(), &format!("{EVERY_FIELD}{WITH_TOF}"), &every_field(&[1001.0, -200.0]));
    assert!(warns_of(&read_list(&path, &ListOptions::default()).unwrap().notices, "time of flight of 1 events is outside"));
}

#[test]
fn a_normalisation_file_tells_which_pairs_count() {
    let folder = folder();
    let list = put_castor(folder.path(), EVERY_FIELD, &every_field(&[]));
    let header = "Scanner name: SQUARE\nData filename: norm.Cdf\nNumber of events: 4\nData mode: normalization\nData type: PET\n\
                  Normalization correction flag: 1\nAttenuation correction flag: 1\n";
    let entries = [(2.0, 1.0, 0, 2), (1.0, 0.5, 3, 1), (4.0, 1.0, 0, 1), (4.0, 1.0, 1, 0)];
    let words = entries.into_iter().flat_map(|(a, n, c1, c2)| [Word::F(a), Word::F(n), Word::U(c1), Word::U(c2)]);
    let data = bytes_of_words(&words.collect::<Vec<_>>());
    let path = folder.path().join("norm.Cdh");
    let read = |header: &str, data: &[u8]| {
        fs::write(&path, header).unwrap();
        fs::write(folder.path().join("norm.Cdf"), data).unwrap();
        let options = ListOptions { normalization: Some(path.clone()), ..ListOptions::default() };
        open_list_mode(&list, &options).map(|reader| reader.facts().efficiency.clone().unwrap())
    };
    let efficiency = read(header, &data).unwrap();
    let of = |a, b| (efficiency.of([a, b]), efficiency.of([b, a]));
    assert_eq!((of(0, 2), of(1, 3)), ((0.125, 0.125), (0.5, 0.5)));
    assert_eq!((of(0, 1), of(1, 2), of(2, 3)), ((0.125, 0.125), (0.0, 0.0), (0.0, 0.0)), "one that is there twice, and none");
    assert_event(&read(header, &data[..60]).unwrap_err(), "norm.Cdf", 48, "CutEvent { found: 12, size: 16 }");
    assert_event(&read(header, &data[..48]).unwrap_err(), "norm.Cdf", 48, "NumEvents { found: 3, size: 16, expected: 4 }");
    assert_brief(&read(&header.replace("SQUARE", "OTHER"), &data).unwrap_err(), "io.unsupported.castor norm.Cdh OtherScanner");
    assert_brief(&read(EVERY_FIELD, &data).unwrap_err(), "io.unsupported.castor norm.Cdh NotANormalization");
    let mut zero = data.clone();
    zero[16..20].fill(0);
    assert_event(&read(header, &zero).unwrap_err(), "norm.Cdf", 16, r#"Factor("attenuation", 0.0)"#);
}

#[test]
fn pairs_that_the_scanner_does_not_allow_do_not_count() {
    let Some(ring) = data_file("listmode/TEST_RING_8x96.hscan") else { return };
    let folder = folder();
    let header = EVERY_FIELD.replace("SQUARE", "TEST_RING_8x96") + "Maximum axial difference mm: 24.5\n";
    let path = put_castor(folder.path(), &header, &every_field(&[]));
    let list = read_list(&path, &ListOptions { scanner: Some(ring), ..ListOptions::default() }).unwrap();
    let of = |a, b| list.facts.efficiency.as_ref().unwrap().of([a, b]);
    // Modules 60° apart and nearer, rings two and three apart.
    assert_eq!((of(0, 15), of(0, 16), of(0, 48), of(16, 0)), (0.0, 0.25, 0.25, 0.25));
    assert_eq!((of(0, 2 * 96 + 48), of(0, 3 * 96 + 48)), (0.25, 0.0));
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let folder = folder();
    let good = every_field(&[]);
    let size = good.len() / 2;
    let read = |header: &str, data: &[u8]| read_list(&put_castor(folder.path(), header, data), &ListOptions::default());
    let refusal = |header: &str, data: &[u8]| read(header, data).unwrap_err();
    let changed = |at: usize, bytes: [u8; 4]| {
        let mut data = good.clone();
        data[at..at + 4].copy_from_slice(&bytes);
        data
    };
    assert_event(&refusal(EVERY_FIELD, &good[..size + 5]), "a.Cdf", size, "CutEvent { found: 5, size: 29 }");
    assert_event(&refusal(EVERY_FIELD, &good[..size]), "a.Cdf", size, "NumEvents { found: 1, size: 29, expected: 2 }");
    assert_event(
        &refusal(EVERY_FIELD, &[good.as_slice(), &good[..size]].concat()),
        "a.Cdf",
        3 * size,
        "NumEvents { found: 3, size: 29, expected: 2 }",
    );
    assert_event(&refusal(EVERY_FIELD, &changed(size + 21, 4u32.to_le_bytes())), "a.Cdf", size, "UnknownCrystal(4, 4)");
    assert_event(&refusal(EVERY_FIELD, &changed(25, 0u32.to_le_bytes())), "a.Cdf", 0, "SameCrystal(0)");
    assert_event(&refusal(EVERY_FIELD, &changed(17, 0f32.to_le_bytes())), "a.Cdf", 0, r#"Factor("normalisation", 0.0)"#);
    assert_event(&refusal(EVERY_FIELD, &changed(13, f32::NAN.to_le_bytes())), "a.Cdf", 0, r#"Rate("random", NaN)"#);
    assert_event(&refusal(EVERY_FIELD, &changed(9, (-1f32).to_le_bytes())), "a.Cdf", 0, r#"Rate("scatter", -1.0)"#);
    let with_tof = format!("{EVERY_FIELD}{WITH_TOF}");
    assert_event(&refusal(&with_tof, &every_field(&[f32::INFINITY, 0.0])), "a.Cdf", 0, "TimeOfFlight(inf)");
    for (from, to, expected) in [
        ("Number of events: 2\n", "", "io.missing-key a.Cdh Number of events"),
        ("Data mode: list-mode", "Data mode: other", "io.invalid-value a.Cdh Data mode=other"),
        ("Data type: PET", "Data type: SPECT", "io.invalid-value a.Cdh Data type=SPECT"),
        ("Duration (s): 20", "Duration (s): 0", "io.invalid-value a.Cdh Duration (s)=0"),
        ("Calibration factor: 4", "Calibration factor: -1", "io.invalid-value a.Cdh Calibration factor=-1"),
        ("Random correction flag: 1", "Random correction flag: yes", "io.invalid-value a.Cdh Random correction flag=yes"),
        ("Isotope: F-18", "Maximum number of lines per event: 0", "io.invalid-value a.Cdh Maximum number of lines per event=0"),
        ("Isotope: F-18", "POI capability: 1,1,-1", "io.unsupported.castor a.Cdh DepthOfInteraction"),
        ("Isotope: F-18", "TOF information flag: 1", "io.missing-key a.Cdh TOF resolution (ps)"),
        ("SQUARE", "CIRCLE", "io.unsupported.castor a.Cdh NoTable"),
        ("a.Cdf", "b.Cdf", "io.not-found b.Cdf"),
    ] {
        assert!(EVERY_FIELD.contains(from), "{from}");
        assert_brief(&refusal(&EVERY_FIELD.replace(from, to), &good), expected);
    }
}

#[test]
fn a_table_that_cannot_be_is_refused() {
    let folder = folder();
    let list = put_castor(folder.path(), EVERY_FIELD, &every_field(&[]));
    let refusal = |text: &str, lut: &[u8]| {
        fs::write(folder.path().join("SQUARE.hscan"), text).unwrap();
        fs::write(folder.path().join("SQUARE.lut"), lut).unwrap();
        open_list_mode(&list, &ListOptions::default()).err().unwrap()
    };
    let lut = square_lut();
    assert_problem(&refusal(SQUARE, &lut[..95]), "TableSize { found: 95, num: 4, ");
    assert_brief(
        &refusal(&SQUARE.replace("elements: 4", "elements: 5"), &lut),
        "io.invalid-value SQUARE.hscan number of elements=5",
    );
    let thin = refusal(&SQUARE.replace("depth: 2", "depth: -2"), &lut);
    assert!(
        matches!(&thin, IoError::Detectors(path, DetectorsError::Crystal { crystal: 0, .. }) if path.ends_with("SQUARE.hscan")),
        "{thin:?}"
    );
    let mut pointless = lut.clone();
    pointless[36..48].fill(0);
    let pointless = refusal(SQUARE, &pointless);
    assert!(matches!(&pointless, IoError::Detectors(_, DetectorsError::Crystal { crystal: 1, .. })), "{pointless:?}");
    let many = SQUARE.replace(": 4\n", ": 999999999999\n");
    assert_brief(&refusal(&many, &lut), "io.invalid-value SQUARE.hscan number of elements=999999999999");
}

#[test]
fn a_list_that_grows_is_read_on() {
    let folder = folder();
    let good = every_field(&[]);
    let size = good.len() / 2;
    let path = put_castor(folder.path(), EVERY_FIELD, &good[..size + 3]);
    let mut reader = open_list_mode(&path, &ListOptions::default()).unwrap();
    let mut chunk = EventChunk::default();
    assert!(reader.next(&mut chunk).unwrap());
    assert_eq!(chunk.prompts.pairs, [[0, 2]]);
    assert!(!reader.next(&mut chunk).unwrap() && chunk.prompts.is_empty());
    assert!(reader.check_end().is_err());
    fs::write(folder.path().join("a.Cdf"), &good).unwrap();
    assert!(reader.next(&mut chunk).unwrap());
    assert_eq!((chunk.prompts.pairs.as_slice(), progress(&mut *reader)), (&[[3, 1]][..], [good.len() as u64; 2]));
    reader.check_end().unwrap();
}
