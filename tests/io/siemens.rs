//! Siemens: the mMR's fragment, words that the test makes, sinograms that it writes.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use jiff::civil::date;
use tomoscope::data::{Events, Exam, Michelogram};
use tomoscope::io::list_mode::ListOptions;
use tomoscope::io::{CorrectionFiles, read_projections, read_study, write_projections};
use tomoscope::scanner::{Cylinder, InPlane};

use super::data::data_file;
use super::lists::{Whole, read_list};
use super::{assert_brief, assert_event, folder, warns_of};

const NUM_TANGENTIAL: u64 = 344;
const NUM_VIEWS: u64 = 252;

fn fragment() -> Option<Whole> {
    let path = data_file("listmode/PET_ACQ_small.l.hdr.STIR")?;
    Some(read_list(&path, &ListOptions::default()).unwrap())
}

/// The cylinder of 504 places in 64 rings.
fn cylinder(list: &Whole) -> Cylinder {
    let cylinder = Cylinder::recognise(&list.facts.detectors).unwrap();
    assert_eq!((cylinder.num_rings, cylinder.num_detectors), (64, 504));
    assert!((cylinder.radius_mm - 335.0).abs() < 1e-9 && (cylinder.ring_spacing_mm - 4.0625).abs() < 1e-9);
    assert!(cylinder.offset_deg.abs() < 1e-9);
    cylinder
}

/// First plane of each ring difference in the order 0, −1, +1, ….
fn first_planes() -> HashMap<i64, u64> {
    let mut next = 0;
    let order = std::iter::once(0).chain((1..=60).flat_map(|difference| [-difference, difference]));
    let first = |difference: i64| {
        let this = (difference, next);
        next += 64 - difference.unsigned_abs();
        this
    };
    order.map(first).collect()
}

/// The bins of events, found from their crystals by the program's own cylinder.
fn addresses(cylinder: &Cylinder, events: &Events) -> Vec<u64> {
    let first = first_planes();
    let address = |&pair: &[u32; 2]| {
        let bin = cylinder.bin(pair);
        assert!(!bin.is_swapped);
        let plane = first[&(i64::from(bin.ring2) - i64::from(bin.ring1))] + u64::from(bin.ring1.min(bin.ring2));
        (plane * NUM_VIEWS + bin.view as u64) * NUM_TANGENTIAL + (i64::from(bin.tangential) + 172) as u64
    };
    events.pairs.iter().map(address).collect()
}

#[test]
fn the_fragment_has_the_words_that_were_counted() {
    let Some(list) = fragment() else { return };
    assert_eq!((list.prompts.len(), list.delayeds.len()), (218_881, 35_320));
    let cylinder = cylinder(&list);
    let mut bins = addresses(&cylinder, &list.prompts);
    assert_eq!(bins.iter().sum::<u64>(), 41_918_701_929_556);
    assert_eq!(addresses(&cylinder, &list.delayeds).iter().sum::<u64>(), 6_124_821_712_461);
    assert_eq!(bins.iter().max().unwrap() / NUM_VIEWS / NUM_TANGENTIAL, 4083);
    bins.sort_unstable();
    assert!(bins.windows(3).all(|three| three[0] != three[2]));
    bins.dedup();
    assert_eq!(bins.len(), 218_532);
    let place = |crystal: u32| (crystal % 504, crystal / 504);
    let ends: Vec<_> = list.prompts.pairs[..4].iter().map(|&[a, b]| (place(a), place(b))).collect();
    let expected = [((33, 29), (327, 15)), ((60, 41), (326, 57)), ((104, 28), (394, 55)), ((123, 15), (427, 53))];
    assert_eq!(ends, expected);
}

#[test]
fn the_fragments_events_belong_to_the_tag_before_them() {
    let Some(list) = fragment() else { return };
    let per_100_ms = |events: &Events| {
        let mut counts = [0; 7];
        events.times_ms.iter().for_each(|&ms| counts[ms as usize / 100] += 1);
        counts
    };
    assert_eq!(per_100_ms(&list.prompts), [35_876, 35_761, 35_569, 36_135, 35_372, 35_726, 4442]);
    assert_eq!(per_100_ms(&list.delayeds), [5730, 5934, 5654, 5743, 5691, 5834, 734]);
    let (mut prompts, mut delayeds) = (list.prompts.clone(), list.delayeds.clone());
    prompts.retain_frame(100..600);
    delayeds.retain_frame(100..600);
    assert_eq!((prompts.len(), delayeds.len()), (178_563, 28_856));
    assert_eq!(list.prompts.times_ms.last(), Some(&612));
}

#[test]
fn the_fragments_segments_have_their_counts() {
    let Some(list) = fragment() else { return };
    let differences: Vec<i32> = list.prompts.pairs.iter().map(|&[a, b]| (b / 504) as i32 - (a / 504) as i32).collect();
    let within = |max: i32| differences.iter().filter(|difference| difference.abs() <= max).count();
    assert_eq!([within(0), within(1), within(2)], [2740, 8019, 13_243]);
    let mut spanned = [0; 11];
    differences.iter().for_each(|&difference| spanned[((difference + 5).div_euclid(11) + 5) as usize] += 1);
    assert_eq!(spanned, [6169, 14_358, 21_075, 25_486, 28_054, 29_119, 28_007, 25_268, 21_009, 14_136, 6200]);
}

#[test]
fn the_fragments_header_is_told_where_it_lies() {
    let Some(list) = fragment() else { return };
    let facts = &list.facts;
    assert!(warns_of(&list.notices, "331257106 words and 900 s") && warns_of(&list.notices, "has 254816;"), "{:?}", list.notices);
    assert!(warns_of(&list.notices, "%segment table") && warns_of(&list.notices, "837 planes"));
    assert!(list.notices.iter().any(|notice| notice.text.contains("2 tags are not of time")), "{:?}", list.notices);
    assert_eq!(list.notices.len(), 3, "no event was on a gap");
    assert_eq!((facts.duration_ms, facts.num_events, facts.isotope.as_deref()), (None, None, Some("F-18")));
    assert_eq!(facts.half_life_secs, Some(6586.2));
    let exam = Exam {
        start: Some(date(2017, 3, 27).at(17, 0, 35, 0)),
        injection: Some(date(2017, 3, 27).at(16, 7, 0, 0)),
        dose_bq: Some(46.5e6),
        tracer: Some("FDG".into()),
        ..Exam::default()
    };
    assert_eq!(facts.exam, exam);
    let sampling = facts.sampling.unwrap();
    assert_eq!((sampling.num_tangential, sampling.max_ring_difference), (344, 60));
    let efficiency = facts.efficiency.as_ref().unwrap();
    let num_real = (0..504).filter(|&n| efficiency.of([n, 504 + 250 + u32::from(n == 0)]) == 1.0).count();
    assert_eq!(num_real, 448);
    assert_eq!((efficiency.of([9, 300]), efficiency.of([300, 504 + 18]), efficiency.of([10, 300])), (0.0, 0.0, 1.0));
}

const LIST: &str = "!INTERFILE:=\r\n!originating system:=2008\r\nname of data file := a.l\r\nimage duration (sec):=2\r\n\
                    %total listmode word counts:=5\r\n%LM event and tag words format (bits):=32\r\n%axial compression:=1\r\n\
                    %maximum ring difference:=60\r\n%number of TOF time bins:=1\r\n";

fn put_list(folder: &Path, header: &str, words: &[u32], num_more_bytes: usize) -> PathBuf {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).chain(std::iter::repeat_n(0, num_more_bytes)).collect();
    fs::write(folder.join("a.l"), bytes).unwrap();
    let path = folder.join("a.l.hdr");
    fs::write(&path, header).unwrap();
    path
}

/// The bin of a view at the tangential position 0 of the first plane.
fn middle(view: u32) -> u32 {
    view * 344 + 172
}

#[test]
fn words_are_events_and_tags() {
    let folder = folder();
    // A prompt before any tag, a tag of 700 ms, a delayed one, another tag, a prompt on the gap of detector 9.
    let words = [1 << 30 | middle(1), 1 << 31 | 700, middle(2), 0b111 << 29 | 1, 1 << 30 | middle(9)];
    let list = read_list(&put_list(folder.path(), LIST, &words, 0), &ListOptions::default()).unwrap();
    assert_eq!((list.prompts.pairs.as_slice(), list.prompts.times_ms.as_slice()), (&[[1, 253]][..], &[0][..]));
    assert_eq!((list.delayeds.pairs.as_slice(), list.delayeds.times_ms.as_slice()), (&[[2, 254]][..], &[700][..]));
    assert_eq!((list.facts.duration_ms, list.notices.len()), (Some(2000), 2));
    assert!(warns_of(&list.notices, "1 events were left out"), "{:?}", list.notices);
    let refusal = |header: &str, words: &[u32], num_more| {
        read_list(&put_list(folder.path(), header, words, num_more), &ListOptions::default()).unwrap_err()
    };
    assert_event(&refusal(LIST, &words, 3), "a.l", 20, "CutEvent { found: 3, size: 4 }");
    let backwards = [1 << 31 | 612, 1 << 30 | middle(1), 1 << 31 | 5, 1 << 30 | middle(2)];
    assert_event(&refusal(LIST, &backwards, 0), "a.l", 8, "Backwards { time_ms: 5, before_ms: 612 }");
    let beyond = 4084 * 344 * 252;
    assert_event(&refusal(LIST, &[words[0], beyond], 0), "a.l", 4, "Plane { bin: 354033792, plane: 4084, num_planes: 4084 }");
    // The last plane is one.
    assert_brief(&refusal(LIST, &[beyond - 1 - 172], 1), "io.truncated a.l 4 CutEvent");
    for (from, to, expected) in [
        ("bits):=32", "bits):=64", "io.unsupported.siemens a.l.hdr WordBits"),
        ("compression:=1", "compression:=11", "io.unsupported.siemens a.l.hdr RingPairs"),
        ("compression:=1", "compression:=2", "io.invalid-value a.l.hdr %axial compression=2"),
        ("difference:=60", "difference:=64", "io.invalid-value a.l.hdr %maximum ring difference=64"),
        ("TOF time bins:=1", "TOF time bins:=13", "io.unsupported.siemens a.l.hdr TofBins"),
        ("system:=2008", "system:=1104", "io.invalid-value a.l.hdr originating system=1104"),
        ("%maximum ring difference:=60", "number of rings:=48", "io.invalid-value a.l.hdr number of rings=48"),
        ("a.l\r\n", "b.l\r\n", "io.not-found b.l"),
    ] {
        assert!(LIST.contains(from), "{from}");
        assert_brief(&refusal(&LIST.replace(from, to), &words, 0), expected);
    }
}

/// A header of sinograms of so many planes.
fn sinogram_header(span: usize, largest: usize, table: &str, num_planes: u64) -> String {
    format!(
        "!INTERFILE:=\n%comment:=SMS-MI sinogram subheader\n!originating system:=2008\n!name of data file:=a.s\n\
         image data byte order:=LITTLEENDIAN\n%patient orientation:=HFS\n!PET data type:=emission\ndata format:=sinogram\n\
         %compression:=off\nnumber format:=signed integer\n!number of bytes per pixel:=2\nnumber of dimensions:=3\n\
         matrix axis label[1]:=sinogram projections\nmatrix axis label[2]:=sinogram views\nmatrix axis label[3]:=number of sinograms\n\
         matrix size[1]:=344\nmatrix size[2]:=252\nmatrix size[3]:={num_planes}\nscale factor (mm/pixel) [1]:=2.0445\n\
         %axial compression:={span}\n%maximum ring difference:={largest}\nnumber of rings:=64\n%number of TOF time bins:=1\n\
         %segment table:={{{table}}}\nnumber of scan data types:=2\nscan data type description[1]:=prompts\n\
         scan data type description[2]:=randoms\ndata offset in bytes[1]:=0\ndata offset in bytes[2]:={}\n",
        num_planes * NUM_VIEWS * NUM_TANGENTIAL * 2
    )
}

/// A file of zeros but for these: (data type, plane, view, tangential position, value).
fn put_sinograms(folder: &Path, header: &str, num_planes: u64, values: &[(u64, u64, u64, u64, i16)]) -> PathBuf {
    let mut data = File::create(folder.join("a.s")).unwrap();
    data.set_len(2 * num_planes * NUM_VIEWS * NUM_TANGENTIAL * 2).unwrap();
    for &(kind, plane, view, tangential, value) in values {
        let bin = ((kind * num_planes + plane) * NUM_VIEWS + view) * NUM_TANGENTIAL + tangential;
        data.seek(SeekFrom::Start(2 * bin)).unwrap();
        data.write_all(&value.to_le_bytes()).unwrap();
    }
    let path = folder.join("a.s.hdr");
    fs::write(&path, header).unwrap();
    path
}

/// Counts of a bin of the segment of these ring differences.
fn bin(data: &Michelogram, least: i32, axial: usize, view: usize, tangential: usize) -> f32 {
    let g = &data.geometry;
    let segment = g.segments.iter().position(|s| s.min_ring_difference == least).unwrap();
    let before: usize = g.segments[..segment].iter().map(|s| s.num_axial_pos).sum();
    data.counts[(view * g.num_tangential + tangential) * g.num_planes() + before + axial]
}

#[test]
fn sinograms_are_prompts_with_their_randoms_as_background() {
    let folder = folder();
    let (num_planes, header) = (64 + 63 * 2, sinogram_header(1, 1, "64,63,63", 64 + 63 * 2));
    let values = [(0, 3, 10, 172, 7), (0, 64 + 5, 251, 0, 9), (0, 64 + 63 + 62, 0, 343, 11), (1, 64 + 5, 251, 0, 2)];
    let header = format!(
        "{header}%study date (yyyy:mm:dd):=2017:03:27\n%study time (hh:mm:ss GMT+00:00):=17:00:35\n!image duration (sec):=900\n"
    );
    let path = put_sinograms(folder.path(), &header, num_planes, &values);
    let study = read_study(&path, CorrectionFiles::default()).unwrap();
    let facts = &study.measured.facts;
    assert_eq!(facts.exam.start.map(|start| start.to_string()).as_deref(), Some("2017-03-27T17:00:35"));
    assert_eq!((facts.duration_secs, facts.exam.is_local), (Some(900.0), false));
    let (prompts, randoms) = (&study.measured.prompts, study.measured.additive.as_ref().unwrap());
    assert!(
        study.notices.len() == 1 && study.notices[0].text.contains("randoms are taken as the background"),
        "{:?}",
        study.notices
    );
    let g = prompts.geometry.as_ref();
    assert_eq!(
        (g.num_rings, g.num_detectors_per_ring, g.num_views, g.num_tangential, g.in_plane),
        (64, 504, 252, 344, InPlane::Detectors)
    );
    assert_eq!((g.radius_mm(), g.ring_spacing_mm, g.phi_rad(0)), (335.0, 4.0625, 0.0));
    assert!((g.central_bin_mm() - 2.0882).abs() < 1e-3, "{}", g.central_bin_mm());
    // In the file segment −1 comes before +1.
    assert_eq!((bin(prompts, 0, 3, 10, 172), bin(prompts, -1, 5, 251, 0), bin(prompts, 1, 62, 0, 343)), (7.0, 9.0, 11.0));
    assert_eq!((prompts.total(), randoms.total(), bin(randoms, -1, 5, 251, 0)), (27.0, 2.0, 2.0));
    assert_eq!(read_projections(&path).unwrap().0, *prompts);
    // As STIR has them, they are read back from our own file too; a background that is given takes the place of the randoms.
    let ours = folder.path().join("ours.hs");
    write_projections(&ours, prompts).unwrap();
    let study = read_study(&path, CorrectionFiles { additive: Some(&ours), ..CorrectionFiles::default() }).unwrap();
    assert_eq!(study.measured.additive.unwrap().counts, prompts.counts);
    assert!(study.notices.iter().any(|notice| notice.text.contains("randoms are not used")));
}

#[test]
fn an_event_of_the_list_is_counted_in_its_bin_of_the_sinogram() {
    let Some(list) = fragment() else { return };
    let folder = folder();
    let (num_planes, header) = (127 + 115 * 2, sinogram_header(11, 16, "127,115,115", 127 + 115 * 2));
    let path = put_sinograms(folder.path(), &header, num_planes, &[(0, 127 + 4, 33, 100, 5), (0, 127 + 115 + 4, 33, 100, 6)]);
    let (prompts, _) = read_projections(&path).unwrap();
    let g = prompts.geometry.as_ref();
    assert_eq!(
        g.segments.iter().map(|s| (s.min_ring_difference, s.num_axial_pos)).collect::<Vec<_>>(),
        [(-16, 115), (-5, 127), (6, 115)]
    );
    assert_eq!((bin(&prompts, -16, 4, 33, 100), bin(&prompts, 6, 4, 33, 100)), (5.0, 6.0));
    // An event of the ring difference −11 runs as the bin of segment −1 does, up to the turns that neighbouring positions take.
    let detectors = &list.facts.detectors;
    let pair = list.prompts.pairs.iter().find(|[a, b]| (b / 504) as i32 - (a / 504) as i32 == -11).copied().unwrap();
    let (event, place) = (detectors.line(pair), cylinder(&list).bin(pair));
    let axial = (pair[0] / 504 + pair[1] / 504 - 6) as usize;
    let lor = g.transaxial_lor(place.view, (place.tangential + 172) as usize, 0, 1);
    let line = g.lor(lor, g.planes()[axial]);
    // Detector 1 is the line's end.
    let off = |a: [f64; 3], b: [f64; 3]| (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt();
    assert!(off(event.start, line.end) < 2.2 && off(event.end, line.start) < 2.2, "{event:?} {line:?}");
    assert!((event.start[2] - line.end[2]).abs() < 1e-9 && (event.end[2] - line.start[2]).abs() < 1e-9, "{event:?} {line:?}");
}

#[test]
fn sinograms_that_are_not_read_are_refused() {
    let folder = folder();
    let good = sinogram_header(11, 5, "127", 127);
    let read = |header: &str| read_projections(&put_sinograms(folder.path(), header, 127, &[])).map(drop);
    read(&good).unwrap();
    for (from, to, expected) in [
        ("%compression:=off", "%compression:=on", "io.unsupported.siemens a.s.hdr Compressed"),
        ("TOF time bins:=1", "TOF time bins:=13", "io.unsupported.siemens a.s.hdr TofBins"),
        ("{127}", "{64,63}", "io.invalid-value a.s.hdr %segment table=64,63"),
        ("matrix size[3]:=127", "matrix size[3]:=128", "io.invalid-value a.s.hdr matrix size [3]=128"),
        ("matrix size[1]:=344", "matrix size[1]:=400", "io.invalid-value a.s.hdr matrix size [1]=400"),
        (
            "description[1]:=prompts",
            "description[1]:=net trues",
            "io.invalid-value a.s.hdr scan data type description [1]=net trues",
        ),
        ("description[2]:=randoms", "description[2]:=prompts", "io.unsupported.siemens a.s.hdr Twice"),
        ("data offset in bytes[2]:=22018752", "data offset in bytes[2]:=4", "io.unsupported.siemens a.s.hdr Overlap"),
        ("data offset in bytes[2]:=22018752", "data offset in bytes[2]:=22018754", "io.truncated a.s 44037504/44037506"),
        ("byte order:=LITTLEENDIAN", "byte order:=MIDDLE", "io.invalid-value a.s.hdr image data byte order=middle"),
        ("%axial compression:=11\n", "", "io.missing-key a.s.hdr %axial compression"),
        ("system:=2008", "system:=1104", "io.invalid-value a.s.hdr originating system=1104"),
    ] {
        assert!(good.contains(from), "{from}");
        assert_brief(&read(&good.replace(from, to)).unwrap_err(), expected);
    }
    let one = good.replace("types:=2", "types:=1");
    let study = read_study(&put_sinograms(folder.path(), &one, 127, &[]), CorrectionFiles::default()).unwrap();
    assert!(study.measured.additive.is_none());
    let corrected = good
        .replace("%compression", "applied corrections:={radial arc-correction}\n%compression")
        .replace("[1]:=2.0445", "[1]:=1.5");
    let (data, _) = read_projections(&put_sinograms(folder.path(), &corrected, 127, &[])).unwrap();
    assert_eq!(data.geometry.in_plane, InPlane::ArcCorrected { bin_mm: 1.5 });
    // (So many bins of the usual size reach beyond the ring.)
    let wide = corrected.replace("[1]:=1.5", "[1]:=2.0445");
    assert_brief(&read(&wide).unwrap_err(), "io.geometry a.s.hdr OutsideRing");
}
