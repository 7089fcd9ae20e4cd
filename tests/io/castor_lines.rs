//! CASToR: entries that may have several pairs of crystals.

use std::fs;
use std::path::{Path, PathBuf};

use tomoscope::io::list_mode::ListOptions;
use tomoscope::io::open_list_mode;

use super::data::data_file;
use super::lists::{Whole, Word, bytes_of_words, put_castor, read_list};
use super::{assert_event, folder};

const LIST: &str = "Scanner name: SQUARE\nData filename: a.Cdf\nNumber of events: 2\nData mode: list-mode\nData type: PET\n\
                    Start time (s): 0\nDuration (s): 20\nMaximum number of lines per event: 3\n";

/// An event of a list, with whatever in its place for three pairs that is left.
fn event(ms: u32, lines: &[[u32; 2]]) -> Vec<u8> {
    let mut bytes = ms.to_le_bytes().to_vec();
    bytes.extend(entry(lines));
    bytes
}

fn entry(lines: &[[u32; 2]]) -> Vec<u8> {
    let mut bytes = (lines.len() as u16).to_le_bytes().to_vec();
    let garbage = [[u32::MAX, 77], [3, 3], [u32::MAX; 2]];
    let words = lines.iter().chain(&garbage[lines.len().min(3)..]).flatten();
    bytes.extend(words.flat_map(|number| number.to_le_bytes()));
    bytes
}

fn read(folder: &Path, events: &[Vec<u8>], options: &ListOptions) -> Whole {
    read_list(&put_castor(folder, LIST, &events.concat()), options).unwrap()
}

#[test]
fn events_that_use_one_of_the_declared_pairs_are_ordinary_ones() {
    let folder = folder();
    let list = read(folder.path(), &[event(7, &[[0, 2]]), event(8, &[[3, 1]])], &ListOptions::default());
    assert_eq!((list.prompts.pairs.as_slice(), list.prompts.times_ms.as_slice()), (&[[0, 2], [3, 1]][..], &[7, 8][..]));
    assert_eq!(list.facts.detectors.crystals().len(), 4);
    assert!(!list.notices.iter().any(|notice| notice.text.contains("several pairs")));
}

#[test]
fn several_pairs_are_one_line_between_the_means_of_their_crystals() {
    let folder = folder();
    // The crystals are at +x, +y, −x and −y, 10 mm from the axis.
    let events = [event(7, &[[0, 2], [1, 3]]), event(8, &[[3, 1], [3, 2], [3, 1]])];
    let list = read(folder.path(), &events, &ListOptions::default());
    let line = |event: usize| list.facts.detectors.line(list.prompts.pairs[event]);
    assert_eq!((line(0).start, line(0).end), ([5.0, 5.0, 0.0], [-5.0, -5.0, 0.0]));
    let third = 10.0 / 3.0;
    let [start, end] = [line(1).start, line(1).end];
    assert!(start == [0.0, -10.0, 0.0] && (end[0] + third).abs() < 1e-12 && (end[1] - 2.0 * third).abs() < 1e-12, "{end:?}");
    assert_eq!(list.facts.detectors.crystals().len(), 4 + 3);
    assert!(list.notices.iter().any(|notice| notice.text.contains("2 entries have several pairs")), "{:?}", list.notices);
    // Pairs of the scanner are those of its crystals.
    let efficiency = list.facts.efficiency.as_ref().unwrap();
    assert_eq!((efficiency.of([0, 2]), efficiency.of([4, 5]), efficiency.of([0, 6])), (1.0, 0.0, 0.0));
}

#[test]
fn a_normalisation_file_may_have_several_pairs_too() {
    let folder = folder();
    let header = "Scanner name: SQUARE\nData filename: norm.Cdf\nNumber of events: 2\nData mode: normalization\nData type: PET\n\
                  Maximum number of lines per event: 3\nNormalization correction flag: 1\n";
    let factor = |norm: f32, lines: &[[u32; 2]]| [norm.to_le_bytes().to_vec(), entry(lines)].concat();
    let path = folder.path().join("norm.Cdh");
    fs::write(&path, header).unwrap();
    fs::write(folder.path().join("norm.Cdf"), [factor(0.25, &[[0, 2], [1, 3]]), factor(0.5, &[[1, 2]])].concat()).unwrap();
    let options = ListOptions { normalization: Some(path), ..ListOptions::default() };
    let list = read(folder.path(), &[event(7, &[[1, 3], [0, 2]]), event(8, &[[1, 2]])], &options);
    let efficiency = list.facts.efficiency.as_ref().unwrap();
    assert_eq!(
        [efficiency.of(list.prompts.pairs[0]), efficiency.of(list.prompts.pairs[1]), efficiency.of([0, 2])],
        [4.0, 2.0, 0.0]
    );
    let num = list.facts.detectors.crystals().len() as u32;
    let mut all = Vec::new();
    efficiency.for_each_pair(0..num, num, &mut |pair, value| all.push((pair, value)));
    assert_eq!(all, [([1, 2], 2.0), (list.prompts.pairs[0], 4.0)]);
}

#[test]
fn pairs_that_cannot_be_one_line_are_refused_with_their_place() {
    let folder = folder();
    let refusal = |events: &[Vec<u8>]| {
        let path = put_castor(folder.path(), LIST, &events.concat());
        open_list_mode(&path, &ListOptions::default()).err().unwrap()
    };
    let good = event(7, &[[0, 2]]);
    let size = good.len();
    assert_event(&refusal(&[good.clone(), event(8, &[[0, 2], [2, 1]])]), "a.Cdf", size, "ReversedPair(2)");
    assert_event(&refusal(&[good.clone(), event(8, &[])]), "a.Cdf", size, "NumPairs(Excess { found: 0, max: 3 })");
    assert_event(&refusal(&[event(8, &[[0, 2], [0, 4]]), good]), "a.Cdf", 0, "UnknownCrystal(4, 4)");
}

/// The ring's histogram, which has 9625 bins of one pair and 8350 of two.
#[test]
fn the_rings_histogram_with_its_cross_planes_is_a_list() {
    let Some(path) = data_file("listmode/ring_hist.Cdh") else { return };
    let list = read_list(&path, &ListOptions::default()).unwrap();
    assert_eq!(list.prompts.len(), 12_239);
    assert!(list.notices.iter().any(|notice| notice.text.contains("8350 entries have several pairs")), "{:?}", list.notices);
    let (crystals, num) = (list.facts.detectors.crystals(), list.facts.detectors.crystals().len() as u32);
    let (mut pairs, mut off) = (0, 0.0f64);
    list.facts.efficiency.as_ref().unwrap().for_each_pair(0..num, num, &mut |pair, value| {
        pairs += 1;
        assert!(value > 0.0);
        // Rings are 12 mm apart: the mean of a cross plane's ends lies between two, and its line is level.
        let [a, b] = pair.map(|crystal| crystals[crystal as usize].centre_mm[2]);
        off = off.max(if pair[0] >= 768 { (a - b).abs() } else { 0.0 });
    });
    assert!(pairs == 17_975 && off < 1e-3, "{pairs} {off}");
}

/// The bytes of a list and its pairs are those of the same list without a maximum.
#[test]
fn a_maximum_of_one_needs_no_number_of_pairs() {
    let folder = folder();
    let header = LIST.replace("event: 3", "event: 1");
    let words = [Word::U(7), Word::U(0), Word::U(2), Word::U(8), Word::U(3), Word::U(1)];
    let path: PathBuf = put_castor(folder.path(), &header, &bytes_of_words(&words));
    assert_eq!(read_list(&path, &ListOptions::default()).unwrap().prompts.pairs, [[0, 2], [3, 1]]);
}
