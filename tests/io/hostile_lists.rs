//! Lists of events that are broken, cut off, random or malicious.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tomoscope::data::EventChunk;
use tomoscope::io::list_mode::castor::{Histogram, HistogramBin};
use tomoscope::io::list_mode::{ListOptions, YrtFields};
use tomoscope::io::{IoError, list_mode, open_list_mode, read_projections};

use super::folder;
use tomoscope_support::hostile::{damaged, wild};

use super::hostile::{PROMPT, cases};
use super::lists::{SQUARE, progress, put_square, square_lut};

const LIST: &str = "Scanner name: SQUARE\nData filename: a.Cdf\nNumber of events: 8\nData mode: list-mode\nData type: PET\n\
                    Start time (s): 0\nDuration (s): 20\nCalibration factor: 4\nAttenuation correction flag: 1\n\
                    Normalization correction flag: 1\nRandom correction flag: 1\nTOF information flag: 1\nTOF resolution (ps): 400\n\
                    List TOF measurement range (ps): 2000\nMaximum axial difference mm: 5\n";

const HISTOGRAM: &str = "Scanner name: SQUARE\nData filename: a.Cdf\nNumber of events: 4\nData mode: histogram\nData type: PET\n\
                         Start time (s): 0\nDuration (s): 20\nMaximum number of lines per event: 2\nScatter correction flag: 1\n\
                         Random correction flag: 1\nTOF information flag: 1\nTOF resolution (ps): 400\nHisto TOF number of bins: 3\n\
                         Histo TOF bin size (ps): 300\n";

/// Bins of one pair.
const SINGLE_PAIRS: &str = "Scanner name: SQUARE\nData filename: a.Cdf\nNumber of events: 4\nData mode: histogram\nData type: PET\n\
                            Start time (s): 0\nDuration (s): 20\nRandom correction flag: 1\n";

const NORMALIZATION: &str = "Scanner name: SQUARE\nData filename: norm.Cdf\nNumber of events: 6\nData mode: normalization\n\
                             Data type: PET\nNormalization correction flag: 1\n";

const RULES: &str = "scanner name: SQUARE\nnumber of elements: 16\nnumber of layers: 1\nscanner radius: 100\nnumber of rsectors: 4\n\
                     number of modules axial: 2\nnumber of crystals transaxial: 2\nnumber of crystals axial: 1\n\
                     crystals size depth: 10\ncrystals size trans: 2\ncrystals size axial: 2\nmodule gap axial: 1\n\
                     rsectors nbZShift: 2\nrsectors ZShift: 0,1\nrotation direction: CCW\n";

const SIEMENS_LIST: &str = "!INTERFILE:=\n!originating system:=2008\nname of data file := a.l\nimage duration (sec):=2\n\
                            %total listmode word counts:=5\n%LM event and tag words format (bits):=32\n%axial compression:=1\n\
                            %maximum ring difference:=60\n%segment table:={64,63,63}\n%number of TOF time bins:=1\n";

const SINOGRAMS: &str = "!INTERFILE:=\n!originating system:=2008\n!name of data file:=a.s\n%compression:=off\n\
                         number format:=signed integer\n!number of bytes per pixel:=2\nmatrix size[1]:=344\nmatrix size[2]:=252\n\
                         matrix size[3]:=190\n%axial compression:=1\n%maximum ring difference:=1\n%segment table:={64,63,63}\n\
                         number of scan data types:=2\nscan data type description[1]:=prompts\n\
                         scan data type description[2]:=randoms\ndata offset in bytes[1]:=0\ndata offset in bytes[2]:=32941440\n";

/// Reads what there is of a list; all that comes is of the scanner and a number.
fn read(path: &Path, options: &ListOptions) {
    let start = std::time::Instant::now();
    if let Ok(mut reader) = open_list_mode(path, options) {
        let num_crystals = reader.facts().detectors.crystals().len();
        let (mut chunk, mut num) = (EventChunk::default(), 0);
        while let Ok(true) = reader.next(&mut chunk) {
            for events in [&chunk.prompts, &chunk.delayeds] {
                num += events.len() as u64;
                assert!(events.pairs.iter().flatten().all(|&crystal| (crystal as usize) < num_crystals));
                assert!(events.multiplicative.iter().chain(&events.additive).all(|value| *value >= 0.0 && value.is_finite()));
                assert!(events.tof_mm.as_flattened().iter().all(|mm| mm.is_finite()));
                let sizes = [events.tof_mm.len(), events.multiplicative.len(), events.additive.len()];
                assert!(events.times_ms.len() == events.len() && sizes.iter().all(|&size| size == 0 || size == events.len()));
                if let (Some(&pair), Some(efficiency)) = (events.pairs.first(), &reader.facts().efficiency) {
                    assert!(efficiency.of(pair) >= 0.0);
                }
            }
        }
        let [read, size] = progress(&mut *reader);
        assert!(read <= size && 4 * num <= size, "{num} events in {size} bytes");
        let _ = (reader.check_end(), reader.notices());
    }
    assert!(start.elapsed() < PROMPT, "{} took {:?}", path.display(), start.elapsed());
}

/// Words of small numbers, some of them damaged, and the end cut off.
fn data(num_words: usize) -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![3 => 0u32..4, 2 => (1u32..50).prop_map(|n| (n as f32).to_bits()), 1 => any::<u32>()];
    (proptest::collection::vec(word, num_words), 0usize..12).prop_map(|(words, cut)| {
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        bytes.truncate(bytes.len() - cut.saturating_sub(8));
        bytes
    })
}

/// Events that can be, of the given number of words in which the last two are crystals.
fn whole(num_events: usize, num_words: usize) -> Vec<u8> {
    let event = |event: usize| {
        (0..num_words).map(move |word| if word + 2 < num_words { 1.0f32.to_bits() } else { ((word + event) % 4) as u32 })
    };
    (0..num_events).flat_map(event).flat_map(u32::to_le_bytes).collect()
}

/// A header, damaged or not.
fn header(good: &'static str, mark: &'static str) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![2 => Just(good.into()), 1 => damaged(good), 2 => wild(good, mark)]
}

#[test]
fn the_good_ones_are_read() {
    let folder = folder();
    put_square(folder.path());
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.Cdh"), LIST).unwrap();
    fs::write(at("a.Cdf"), whole(8, 7)).unwrap();
    fs::write(at("norm.Cdh"), NORMALIZATION).unwrap();
    fs::write(at("norm.Cdf"), whole(6, 3)).unwrap();
    fs::write(at("SQUARE.geom"), RULES).unwrap();
    let options = ListOptions { normalization: Some(at("norm.Cdh")), ..ListOptions::default() };
    assert_eq!(super::lists::read_list(&at("a.Cdh"), &options).unwrap().prompts.len(), 8);
    let options = ListOptions { scanner: Some(at("SQUARE.geom")), ..options };
    assert_eq!(super::lists::read_list(&at("a.Cdh"), &options).unwrap().facts.detectors.crystals().len(), 16);
    fs::write(at("h.Cdh"), HISTOGRAM.replace("a.Cdf", "h.Cdf")).unwrap();
    fs::write(at("h.Cdf"), vec![0; 4 * (4 + 4 + 24 + 2 + 16)]).unwrap();
    assert_eq!(Histogram::open(&at("h.Cdh"), &ListOptions::default()).unwrap().num_bins(), 4);
    fs::write(at("a.l.hdr"), SIEMENS_LIST).unwrap();
    fs::write(at("a.l"), [0; 20]).unwrap();
    assert!(open_list_mode(&at("a.l.hdr"), &ListOptions::default()).is_ok());
    fs::write(at("a.s.hdr"), SINOGRAMS).unwrap();
    fs::write(at("a.s"), []).unwrap();
    let error = read_projections(&at("a.s.hdr")).unwrap_err();
    assert!(matches!(error, IoError::TooShort { .. }), "{error:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_damaged_castor_list_panics(
        list in header(LIST, ":"),
        normalization in header(NORMALIZATION, ":"),
        table in prop_oneof![3 => Just(SQUARE.into()), 1 => damaged(SQUARE), 1 => wild(SQUARE, ":")],
        events in prop_oneof![Just(whole(8, 7)), data(56)],
        pairs in prop_oneof![Just(whole(6, 3)), data(18)],
        changes in proptest::collection::vec((0usize..96, any::<u8>()), 0..2),
        has_normalization in any::<bool>(),
    ) {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        let mut lut = square_lut();
        changes.iter().for_each(|&(at, byte)| lut[at] = byte);
        for (name, bytes) in [
            ("a.Cdh", &list), ("a.Cdf", &events), ("norm.Cdh", &normalization), ("norm.Cdf", &pairs), ("SQUARE.hscan", &table),
            ("SQUARE.lut", &lut),
        ] {
            fs::write(at(name), bytes).unwrap();
        }
        let normalization = has_normalization.then(|| at("norm.Cdh"));
        read(&at("a.Cdh"), &ListOptions { normalization, ..ListOptions::default() });
    }

    #[test]
    fn no_damaged_castor_histogram_panics(histogram in prop_oneof![header(HISTOGRAM, ":"), header(SINGLE_PAIRS, ":")], bins in prop_oneof![Just(vec![0; 200]), data(50)]) {
        let folder = folder();
        put_square(folder.path());
        fs::write(folder.path().join("a.Cdf"), bins).unwrap();
        let path = folder.path().join("a.Cdh");
        fs::write(&path, histogram).unwrap();
        if let Ok(mut histogram) = Histogram::open(&path, &ListOptions::default()) {
            let (mut bin, mut num) = (HistogramBin::default(), 0);
            while let Ok(true) = histogram.next(&mut bin) {
                num += 1;
                assert!(bin.counts.len() == bin.additive.len() && bin.lines.iter().flatten().all(|&crystal| crystal < 4));
            }
            assert!(num <= histogram.num_bins());
        }
        if let Ok(mut list) = open_list_mode(&path, &ListOptions::default()) {
            let mut chunk = EventChunk::default();
            for _ in 0..100 {
                let Ok(true) = list.next(&mut chunk) else { break };
                let events = &chunk.prompts;
                assert!(events.len() <= list_mode::EVENTS_AT_ONCE && events.pairs.iter().flatten().all(|&crystal| crystal < 4));
                let sizes = [events.tof_mm.len(), events.additive.len()];
                assert!(sizes.iter().all(|&size| size == 0 || size == events.len()) && events.times_ms.len() == events.len());
            }
            let _ = (list.check_end(), list.notices());
        }
    }

    #[test]
    fn no_damaged_rules_panic(rules in prop_oneof![damaged(RULES), wild(RULES, ":")]) {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.geom"), rules).unwrap();
        fs::write(at("a.lmDat"), whole(3, 3)).unwrap();
        read(&at("a.lmDat"), &ListOptions { scanner: Some(at("a.geom")), ..ListOptions::default() });
    }

    #[test]
    fn no_damaged_yrt_list_panics(
        events in prop_oneof![Just(whole(5, 3)), data(20)],
        tof_ps in prop_oneof![2 => Just(None), 1 => any::<[f64; 2]>().prop_map(Some), 1 => Just(Some([300.0, 0.0]))],
        has_randoms in any::<bool>(),
    ) {
        let folder = folder();
        put_square(folder.path());
        let path = folder.path().join("a.lmDat");
        fs::write(&path, events).unwrap();
        let scanner = Some(folder.path().join("SQUARE.lut"));
        read(&path, &ListOptions { scanner, yrt: YrtFields { tof_ps, has_randoms, ..YrtFields::default() }, ..ListOptions::default() });
    }

    #[test]
    fn no_damaged_siemens_list_panics(list in header(SIEMENS_LIST, ":="), words in data(40)) {
        let folder = folder();
        fs::write(folder.path().join("a.l"), words).unwrap();
        let path = folder.path().join("a.l.hdr");
        fs::write(&path, list).unwrap();
        read(&path, &ListOptions::default());
    }

    #[test]
    fn no_damaged_siemens_sinogram_panics(header in prop_oneof![damaged(SINOGRAMS), wild(SINOGRAMS, ":=")], size in 0usize..4096) {
        let folder = folder();
        fs::write(folder.path().join("a.s"), vec![1; size]).unwrap();
        let path = folder.path().join("a.s.hdr");
        fs::write(&path, header).unwrap();
        let _ = read_projections(&path);
    }

    #[test]
    fn no_random_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let folder = folder();
        put_square(folder.path());
        for name in ["a.Cdh", "a.lmDat", "a.l.hdr", "a.s.hdr", "b.geom", "b.lut"] {
            let path = folder.path().join(name);
            fs::write(&path, &bytes).unwrap();
            let scanner = name.starts_with('b').then_some(path);
            read(&folder.path().join(if scanner.is_some() { "a.lmDat" } else { name }), &ListOptions { scanner, ..ListOptions::default() });
        }
        let _ = read_projections(&folder.path().join("a.s.hdr"));
    }
}
