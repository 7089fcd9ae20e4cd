//! Interfile projection data.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tomoscope::data::{CountsError, ImageChoice, Michelogram, Notice, Study, TofBins, tof_mm};
use tomoscope::io::list_mode::ListOptions;
use tomoscope::io::{
    CorrectionFiles, FileKind, IoError, open_list_mode, read_geometry, read_images, read_projections, read_study,
    write_projections,
};
use tomoscope::scanner::{InPlane, ScanGeometry, find};

use super::data::data_file;
use super::{NUMBERS, assert_brief, assert_problem, assert_says, bytes_of, folder, number_lines, warns_of};

const VIEWS: usize = 6;
const TANGENTIAL: usize = 5;
/// Segments of the hand-made file: ring difference, axial positions.
const SEGMENTS: [(i32, usize); 3] = [(-1, 2), (0, 3), (1, 2)];

/// A value that tells which bin it is in; it fits in a signed byte.
fn value(ring_difference: i32, axial: usize, view: usize, tangential: usize) -> f64 {
    let segment = (ring_difference + 1) as usize;
    (((segment * 3 + axial) * VIEWS + view) * TANGENTIAL + tangential) as f64 % 127.0
}

/// How a hand-made file is laid out.
struct Layout {
    number: &'static str,
    big_endian: bool,
    sinograms: bool,
    segments: [(i32, usize); 3],
}

const PLAIN: Layout = Layout { number: "float 4", big_endian: false, sinograms: false, segments: SEGMENTS };

fn bytes(layout: &Layout) -> Vec<u8> {
    let mut values = Vec::new();
    for &(difference, axials) in &layout.segments {
        let (slow, fast) = if layout.sinograms { (axials, VIEWS) } else { (VIEWS, axials) };
        for i in 0..slow {
            for j in 0..fast {
                let (view, axial) = if layout.sinograms { (j, i) } else { (i, j) };
                values.extend((0..TANGENTIAL).map(|tangential| value(difference, axial, view, tangential)));
            }
        }
    }
    bytes_of(values, layout.number, layout.big_endian)
}

fn header(layout: &Layout) -> String {
    let list = |of: &dyn Fn(&(i32, usize)) -> String| layout.segments.iter().map(of).collect::<Vec<_>>().join(", ");
    let (view, axial) = if layout.sinograms { (2, 3) } else { (3, 2) };
    let differences = list(&|s| s.0.to_string());
    format!(
        "!INTERFILE :=\nname of data file := scan.s\noriginating system := nobody's\n{}number of dimensions := 4\n\
         matrix axis label [4] := segment\n!matrix size [4] := 3\nmatrix axis label [{view}] := view\n!matrix size [{view}] := {VIEWS}\n\
         matrix axis label [{axial}] := axial coordinate\n!matrix size [{axial}] := {{{}}}\n\
         matrix axis label [1] := tangential coordinate\n!matrix size [1] := {TANGENTIAL}\n\
         minimum ring difference per segment := {{{differences}}}\nmaximum ring difference per segment := {{{differences}}}\n\
         applied corrections := {{arc correction}}\nnumber of rings := 3\nnumber of detectors per ring := 12\n\
         inner ring diameter (cm) := 20\naverage depth of interaction (cm) := 0.5\ndistance between rings (cm) := 0.4\n\
         effective central bin size (cm) := 0.6\nview offset (degrees) := 1.5\npatient orientation := head_in\npatient rotation := supine\n\
         !END OF INTERFILE :=\n",
        number_lines(layout.number, layout.big_endian),
        list(&|s| s.1.to_string()),
    )
}

fn put(folder: &Path, header: &str, data: &[u8]) -> PathBuf {
    fs::write(folder.join("scan.s"), data).unwrap();
    let path = folder.join("scan.hs");
    fs::write(&path, header).unwrap();
    path
}

fn assert_bins(data: &Michelogram, expected: impl Fn(f64) -> f64) {
    let geometry = &data.geometry;
    let planes = geometry.num_planes();
    assert_eq!((geometry.num_views, geometry.num_tangential, planes), (VIEWS, TANGENTIAL, 7));
    for view in 0..VIEWS {
        for tangential in 0..TANGENTIAL {
            let mut plane = 0;
            for (difference, axials) in SEGMENTS {
                for axial in 0..axials {
                    let found = data.counts[(view * TANGENTIAL + tangential) * planes + plane];
                    assert_eq!(f64::from(found), expected(value(difference, axial, view, tangential)));
                    plane += 1;
                }
            }
        }
    }
}

#[test]
fn every_number_type_byte_order_axis_order_and_segment_order_reads_the_same() {
    let [minus, zero, plus] = SEGMENTS;
    for number in NUMBERS {
        for big_endian in [false, true] {
            for sinograms in [false, true] {
                for segments in [[minus, zero, plus], [zero, plus, minus], [plus, zero, minus]] {
                    let folder = folder();
                    let layout = Layout { number, big_endian, sinograms, segments };
                    let path = put(folder.path(), &header(&layout), &bytes(&layout));
                    let (data, notices) = read_projections(&path).unwrap();
                    assert_bins(&data, |value| value);
                    assert!(notices.is_empty(), "{notices:?}");
                }
            }
        }
    }
}

#[test]
fn the_geometry_is_the_headers() {
    let folder = folder();
    let path = put(folder.path(), &header(&PLAIN), &bytes(&PLAIN));
    let (data, _) = read_projections(&path).unwrap();
    let g = data.geometry.as_ref();
    assert_eq!((g.num_rings, g.num_detectors_per_ring, g.scanner.as_str()), (3, 12, "nobody's"));
    assert_eq!((g.ring_spacing_mm, g.inner_radius_mm, g.depth_of_interaction_mm), (4.0, 100.0, 5.0));
    assert_eq!((g.in_plane, g.view_offset_deg), (InPlane::ArcCorrected { bin_mm: 6.0 }, 1.5));
    assert_eq!(g.segments.iter().map(|s| s.min_ring_difference).collect::<Vec<_>>(), [-1, 0, 1]);
    assert_eq!(g.fov_radius_mm, 15.0);
}

#[test]
fn scale_factor_and_data_offset_count() {
    let folder = folder();
    let text = header(&PLAIN).replace("!END", "image scaling factor[1] := 0.25\ndata offset in bytes [1] := 24\n!END");
    let mut data = vec![0xff; 24];
    data.extend(bytes(&PLAIN));
    let (data, notices) = read_projections(&put(folder.path(), &text, &data)).unwrap();
    assert_bins(&data, |value| value * 0.25);
    assert!(notices.is_empty(), "{notices:?}");
}

#[test]
fn keys_may_be_spaced_and_written_in_many_ways() {
    let folder = folder();
    let text = header(&PLAIN)
        .replace("!number format", "; a comment := 3\n  Number_Format")
        .replace("!matrix size [", "MATRIX   SIZE[")
        .replace("number of rings", "! Number of  RINGS  ")
        .replace("\n", "\r\n");
    let (data, notices) = read_projections(&put(folder.path(), &text, &bytes(&PLAIN))).unwrap();
    assert_bins(&data, |value| value);
    assert!(notices.is_empty(), "{notices:?}");
}

fn same_geometry(a: &ScanGeometry, b: &ScanGeometry) {
    let counts = |g: &ScanGeometry| (g.num_rings, g.num_detectors_per_ring, g.num_views, g.num_tangential);
    assert_eq!((counts(a), &a.segments, &a.scanner), (counts(b), &b.segments, &b.scanner));
    let lengths = |g: &ScanGeometry| {
        [g.ring_spacing_mm, g.inner_radius_mm, g.depth_of_interaction_mm, g.view_offset_deg, g.central_bin_mm(), g.fov_radius_mm]
    };
    for (a, b) in lengths(a).into_iter().zip(lengths(b)) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
    assert_eq!(matches!(a.in_plane, InPlane::Detectors), matches!(b.in_plane, InPlane::Detectors));
}

#[test]
fn written_data_reads_back_the_same() {
    for name in ["small", "ecat-931", "advance"] {
        let folder = folder();
        let mut geometry = find(name).unwrap().geometry.clone();
        geometry.num_views = 6;
        geometry.num_tangential = 31;
        geometry.fov_radius_mm = 0.5 * 31.0 * geometry.central_bin_mm();
        if let InPlane::Detectors = geometry.in_plane {
            let half_angle = 15.5 * std::f64::consts::PI / geometry.num_detectors_per_ring as f64;
            geometry.fov_radius_mm = geometry.radius_mm() * half_angle.sin();
        }
        let counts = (0..geometry.num_bins()).map(|i| (i as f32 * 0.37).sin().abs()).collect();
        let data = Michelogram::new(Arc::new(geometry), counts).unwrap();
        let path = folder.path().join("a scan.of two.hs");
        write_projections(&path, &data).unwrap();
        write_projections(&path, &data).unwrap();
        let (again, notices) = read_projections(&path).unwrap();
        assert_eq!(data.counts, again.counts);
        same_geometry(&data.geometry, &again.geometry);
        assert!(!notices.iter().any(|n| n.text.contains("contradicts")), "{notices:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "temporary files are left");
    }
}

#[test]
fn written_data_is_viewgrams_of_little_endian_floats() {
    let folder = folder();
    let geometry = find("small").unwrap().geometry.clone();
    let counts = (0..geometry.num_bins()).map(|i| i as f32).collect();
    let data = Michelogram::new(Arc::new(geometry), counts).unwrap();
    let path = folder.path().join("scan.hs");
    write_projections(&path, &data).unwrap();
    let raw = fs::read(folder.path().join("scan.s")).unwrap();
    let g = &data.geometry;
    assert_eq!(raw.len(), 4 * g.num_bins());
    // Segment 4 (ring difference −1 … 1 after −5 … −2 with 3, 4, 5, 6 planes), view 7, axial position 2, bin 11.
    let before = (3 + 4 + 5 + 6) * g.num_views * g.num_tangential;
    let axials = g.segments[4].num_axial_pos;
    assert_eq!((g.segments[4].min_ring_difference, g.segments[4].max_ring_difference, axials), (-1, 1, 15));
    let place = 4 * (before + (7 * axials + 2) * g.num_tangential + 11);
    let found = f32::from_le_bytes(raw[place..place + 4].try_into().unwrap());
    assert_eq!(found as usize, (7 * g.num_tangential + 11) * g.num_planes() + 18 + 2);
}

#[test]
fn a_write_that_fails_leaves_what_was_there() {
    let folder = folder();
    let path = folder.path().join("scan.hs");
    fs::write(&path, "precious").unwrap();
    fs::create_dir(folder.path().join("scan.s")).unwrap();
    let geometry = find("small").unwrap().geometry.clone();
    let num_bins = geometry.num_bins();
    let data = Michelogram::new(Arc::new(geometry), vec![1.0; num_bins]).unwrap();
    let error = write_projections(&path, &data).unwrap_err();
    assert_brief(&error, "io.not-a-file scan.s");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "temporary files are left");
    assert!(write_projections(&folder.path().join("no folder/scan.hs"), &data).is_err());
    assert_brief(&write_projections(&folder.path().join("scan.dat"), &data).unwrap_err(), "io.unknown-ending scan.dat");
}

#[test]
fn the_catalogue_fills_in_and_contradictions_are_told() {
    let folder = folder();
    let named = header(&PLAIN).replace("nobody's", "PRT-1").replace("detectors per ring := 12", "detectors per ring := 384");
    let named = named.replace("number of rings := 3", "number of rings := 16").replace("(cm) := 0.4", "(cm) := 0.675");
    let lacking = |text: &str, key: &str| {
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with(key)).collect();
        lines.join("\n")
    };
    let text = lacking(&lacking(&named, "inner ring"), "view offset");
    let text = text.replace("interaction (cm) := 0.5", "interaction (cm) := 0.9");
    let (data, notices) = read_projections(&put(folder.path(), &text, &bytes(&PLAIN))).unwrap();
    assert_eq!((data.geometry.inner_radius_mm, data.geometry.view_offset_deg), (373.0, -0.46875));
    assert_eq!(data.geometry.depth_of_interaction_mm, 9.0, "the header's own figure decides");
    assert!(notices.iter().any(|n| n.text.contains("missing") && n.text.contains("inner ring diameter")), "{notices:?}");
    assert!(warns_of(&notices, "'average depth of interaction (cm)' is 0.9, the catalogue has 0.7"), "{notices:?}");

    let text = lacking(&header(&PLAIN), "inner ring");
    let error = read_projections(&put(folder.path(), &text, &bytes(&PLAIN))).unwrap_err();
    assert_brief(&error, "io.missing-key scan.hs inner ring diameter (cm)");
}

#[test]
fn applied_corrections_tell_arc_correction() {
    let folder = folder();
    let text = header(&PLAIN).replace("{arc correction}", "{None}");
    let (data, notices) = read_projections(&put(folder.path(), &text, &bytes(&PLAIN))).unwrap();
    assert_eq!(data.geometry.in_plane, InPlane::Detectors);
    assert!(warns_of(&notices, "effective central bin size"), "the detectors' bins are far wider: {notices:?}");
    let text = header(&PLAIN).replace("applied corrections := {arc correction}\n", "");
    let (data, notices) = read_projections(&put(folder.path(), &text, &bytes(&PLAIN))).unwrap();
    assert_eq!(data.geometry.in_plane, InPlane::ArcCorrected { bin_mm: 6.0 });
    assert!(warns_of(&notices, "applied corrections"), "{notices:?}");
}

#[test]
fn odd_data_is_read_and_told() {
    let folder = folder();
    let mut long = bytes(&PLAIN);
    long.extend([0; 10]);
    let (_, notices) = read_projections(&put(folder.path(), &header(&PLAIN), &long)).unwrap();
    assert!(warns_of(&notices, "10 more than"), "{notices:?}");

    // In the file: segment −1 (2 axial positions), view 1, axial position 1, bin 3.
    for bad in [-1.0f32, f32::NAN, f32::INFINITY] {
        let mut data = bytes(&PLAIN);
        let place = 4 * ((2 + 1) * TANGENTIAL + 3);
        data[place..place + 4].copy_from_slice(&bad.to_le_bytes());
        let (_, notices) = read_projections(&put(folder.path(), &header(&PLAIN), &data)).unwrap();
        assert!(warns_of(&notices, "view 1, tangential position 3, plane 1)"), "{notices:?}");
    }
    let text = header(&PLAIN).replace("supine", "prone");
    let (_, notices) = read_projections(&put(folder.path(), &text, &bytes(&PLAIN))).unwrap();
    assert!(warns_of(&notices, "head in, prone"), "{notices:?}");
}

#[test]
fn what_is_not_read_is_refused() {
    let folder = folder();
    let plain = header(&PLAIN);
    let cases: [(&str, &str, &str); 17] = [
        ("number of dimensions := 4", "number of dimensions := 5", "io.invalid-value scan.hs matrix axis label [5]="),
        ("number of dimensions := 4", "number of dimensions := 3", "io.unsupported.interfile scan.hs ImageDimensions"),
        ("number of dimensions := 4", "PET data type := Image", "io.unsupported.interfile scan.hs Image"),
        (
            "!END",
            "Scanner geometry (BlocksOnCylindrical/Cylindrical/Generic) := Generic\n!END",
            "io.unsupported.interfile scan.hs ScannerGeometry",
        ),
        ("!END", "number of time frames := 3\n!END", "io.unsupported.interfile scan.hs SeveralParts"),
        ("!END", "image scaling factor[1] := {1,2,1}\n!END", "io.unsupported.interfile scan.hs DifferentFactors"),
        ("size [4] := 3", "size [4] := 2", "io.invalid-value scan.hs matrix size [2]=a list of 3"),
        ("segment := {-1, 0, 1}", "segment := {-1, 1, 1}", "io.unsupported.interfile scan.hs SameSegments"),
        ("segment := {-1, 0, 1}", "segment := {1, 2, 3}", "io.unsupported.interfile scan.hs NoDirectSegment"),
        ("segment := {-1, 0, 1}", "segment := {-1, 0, x}", "io.invalid-value scan.hs minimum ring difference per segment=x"),
        ("size [3] := 6", "size [3] := 0", "io.invalid-value scan.hs matrix size [3]=0"),
        ("size [3] := 6", "size [3] := -6", "io.invalid-value scan.hs matrix size [3]=-6"),
        ("number format := float", "number format := ascii", "io.invalid-value scan.hs number format=ascii"),
        ("bytes per pixel := 4", "bytes per pixel := 3", "io.invalid-value scan.hs number of bytes per pixel=3"),
        ("LITTLEENDIAN", "MIDDLEENDIAN", "io.invalid-value scan.hs imagedata byte order=middleendian"),
        ("size [1] := 5", "size [1] := 500", "io.geometry scan.hs OutsideRing"),
        (
            "tangential coordinate",
            "bin",
            "io.invalid-value scan.hs matrix axis label [1..4]=bin, axial coordinate, view, segment",
        ),
    ];
    for (from, to, expected) in cases {
        assert!(plain.contains(from), "{from}");
        let text = plain.replace(from, to);
        let error = read_projections(&put(folder.path(), &text, &bytes(&PLAIN))).unwrap_err();
        assert_brief(&error, expected);
    }
    let even = plain.replace("size [4] := 3", "size [4] := 2").replace("{2, 3, 2}", "{3, 2}").replace("{-1, 0, 1}", "{0, 1}");
    let error = read_projections(&put(folder.path(), &even, &bytes(&PLAIN))).unwrap_err();
    assert_problem(&error, "EvenSegments(2)");
}

#[test]
fn missing_and_short_data_name_the_files_and_sizes() {
    let folder = folder();
    let data = bytes(&PLAIN);
    let path = put(folder.path(), &header(&PLAIN), &data[..data.len() - 1]);
    let expected = VIEWS * TANGENTIAL * 7 * 4;
    let error = read_projections(&path).unwrap_err();
    assert_brief(&error, &format!("io.truncated scan.s {}/{expected}", expected - 1));
    fs::remove_file(folder.path().join("scan.s")).unwrap();
    let error = read_projections(&path).unwrap_err();
    let tried = folder.path().join("scan.s");
    assert!(matches!(&error, IoError::DataFileMissing { named, data, .. } if named == "scan.s" && *data == tried), "{error:?}");
    assert_brief(&read_projections(&tried).unwrap_err(), "io.unknown-ending scan.s");
    assert_brief(&read_projections(&folder.path().join("none.hs")).unwrap_err(), "io.not-found none.hs");
    let error = read_projections(folder.path()).unwrap_err();
    assert!(matches!(error, IoError::Extension { .. }), "{error:?}");
}

#[test]
fn a_background_without_time_of_flight_is_the_sum_of_the_bins_or_that_of_the_window() {
    let folder = folder();
    let geometry = Arc::new(find("small").unwrap().geometry.clone());
    let [scan, add] = ["scan.hs", "add.hs"].map(|name| folder.path().join(name));
    // 4 bins of 200 ps.
    let bins = TofBins { num: 4, width_mm: tof_mm(200.0), fwhm_mm: tof_mm(300.0) };
    let prompts = Michelogram::with_tof(geometry.clone(), bins, vec![1.0; 4 * geometry.num_bins()]).unwrap();
    write_projections(&scan, &prompts).unwrap();
    write_projections(&add, &Michelogram::new(geometry.clone(), vec![3.0; geometry.num_bins()]).unwrap()).unwrap();
    let read = || {
        let study = read_study(&scan, CorrectionFiles { additive: Some(&add), ..CorrectionFiles::default() }).unwrap();
        let record = study.measured.tof_background().map(|background| background.to_string());
        let text: Vec<String> = study.notices.iter().map(|notice| notice.text.clone()).collect();
        (study.measured.additive.unwrap().counts[17], record.unwrap(), text.join(""))
    };
    let (value, record, text) = read();
    assert_eq!((value, record.as_str()), (3.0, "sum of the bins"));
    assert!(text.contains("in equal parts (sum of the bins)"), "{text}");
    // 800 of 4000 ps.
    let header = fs::read_to_string(&scan).unwrap();
    let with_window = header.replace("!END OF INTERFILE", "%coincidence window width (ns) := 4\n!END OF INTERFILE");
    fs::write(&scan, with_window).unwrap();
    let (value, record, text) = read();
    assert!((value - 0.6).abs() < 1e-6 && record == "20.0 % of the coincidence window", "{value}, {record}");
    assert!(text.contains("they contain 20.0 % of the coincidence window"), "{text}");
    // A background by time of flight, and one without where there is nothing to divide, stay as they are.
    write_projections(&add, &prompts).unwrap();
    assert_eq!(
        read_study(&scan, CorrectionFiles { additive: Some(&add), ..CorrectionFiles::default() })
            .unwrap()
            .measured
            .additive
            .unwrap()
            .counts[17],
        4.0
    );
}

#[test]
fn a_study_takes_an_additive_that_was_added_inside() {
    let folder = folder();
    let geometry = Arc::new(find("small").unwrap().geometry.clone());
    let write = |name: &str, value: f32| {
        let path = folder.path().join(name);
        let data = Michelogram::new(geometry.clone(), vec![value; geometry.num_bins()]).unwrap();
        write_projections(&path, &data).unwrap();
        path
    };
    let (scan, mult, add) = (write("scan.hs", 8.0), write("mult.hs", 0.5), write("add.hs", 3.0));
    let both = CorrectionFiles { multiplicative: Some(&mult), additive: Some(&add), ..CorrectionFiles::default() };
    let additive = |additive_inside| {
        let files = CorrectionFiles { additive_inside, ..both };
        read_study(&scan, files).unwrap().measured.additive.unwrap().counts[17]
    };
    assert_eq!((additive(false), additive(true)), (3.0, 1.5));
    let alone =
        read_study(&scan, CorrectionFiles { additive: Some(&add), additive_inside: true, ..CorrectionFiles::default() }).unwrap();
    assert_eq!((alone.measured.additive.unwrap().counts[0], alone.title.as_str()), (3.0, "scan"));
    let other = folder.path().join("other.hs");
    let path = put(folder.path(), &header(&PLAIN), &bytes(&PLAIN));
    fs::rename(path, &other).unwrap();
    let error = read_study(&other, CorrectionFiles { multiplicative: Some(&mult), ..CorrectionFiles::default() }).unwrap_err();
    assert!(matches!(error, IoError::Counts(CountsError::Sampling { which: "multiplicative", .. })), "{error:?}");
}

#[test]
fn correction_factors_are_the_inverse_of_factors() {
    let folder = folder();
    let geometry = Arc::new(find("small").unwrap().geometry.clone());
    let write = |name: &str, value: f32| {
        let path = folder.path().join(name);
        let mut values = vec![value; geometry.num_bins()];
        values[5] = 0.0;
        write_projections(&path, &Michelogram::new(geometry.clone(), values).unwrap()).unwrap();
        path
    };
    let scan = write("scan.hs", 8.0);
    let read = |value, multiplicative_inverse| {
        let factors = write("factors.hs", value);
        let files = CorrectionFiles { multiplicative: Some(&factors), multiplicative_inverse, ..CorrectionFiles::default() };
        let Study { measured, notices, origin, .. } = read_study(&scan, files).unwrap();
        assert_eq!(origin.multiplicative_inverse, multiplicative_inverse);
        let factors = measured.multiplicative.unwrap().counts;
        // The value of a bin, of the one with 0, and whether this is more than all photon pairs.
        (factors[17], factors[5], warns_of(&notices, "more than all photon pairs"), notices)
    };
    for (value, is_inverse, factor, is_reported) in [
        (0.5, false, 0.5, false),
        (1.0, false, 1.0, false),
        (2.0, false, 2.0, true),
        (4.0, true, 0.25, false),
        (0.25, true, 4.0, true),
    ] {
        let (found, of_zero, warns, notices) = read(value, is_inverse);
        assert_eq!((found, of_zero, warns), (factor, 0.0, is_reported), "{value}: {notices:?}");
        let counts_zeros = notices.iter().any(|notice| notice.text.contains("1 bin with a correction factor of 0"));
        assert_eq!(counts_zeros, is_inverse, "{notices:?}");
    }
}

#[test]
fn a_misspelt_key_is_named_with_the_known_one() {
    let folder = folder();
    let named = header(&PLAIN).replace("nobody's", "PRT-1").replace("detectors per ring := 12", "detectors per ring := 384");
    let named = named.replace("number of rings := 3", "number of rngs := 16").replace("(cm) := 0.4", "(cm) := 0.675");
    let read = |text: &str| read_projections(&put(folder.path(), text, &bytes(&PLAIN)));
    let understood = |notices: &[Notice]| notices.iter().find(|n| n.text.contains("not understood")).map(|n| n.text.clone());
    let one = "1 key is not understood: 'number of rngs' (did you mean 'number of rings'?)";
    let (data, notices) = read(&named).unwrap();
    assert_eq!(data.geometry.num_rings, 16);
    assert!(understood(&notices).is_some_and(|text| text.ends_with(one)), "{notices:?}");
    let (_, notices) = read_geometry(&folder.path().join("scan.hs")).unwrap();
    assert!(understood(&notices).is_some_and(|text| text.ends_with(one)), "{notices:?}");
    let (_, notices) = read(&named.replace("patient rotation", "pateint rotation")).unwrap();
    assert!(understood(&notices).is_some_and(|text| text.contains("2 keys are not") && text.contains("'patient rotation'?")));
    // Times in another unit are not read.
    let times = "image duration (min)[1] := 10\nimage relative start time (min)[1] := 3\n!END OF";
    let (_, notices) = read(&header(&PLAIN).replace("!END OF", times)).unwrap();
    assert!(understood(&notices).is_some_and(|text| text.contains("'image relative start time (sec)'?")), "{notices:?}");
    // A required key: the refusal names the line.
    let refused = read(&header(&PLAIN).replace("number of rings", "!Number of rngs")).unwrap_err();
    assert_brief(&refused, "io.missing-key scan.hs number of rings");
    assert_says(&refused, &["'!Number of rngs := 3'"]);
    let refused = read(&header(&PLAIN).replace("minimum ring difference per", "smallest ring difference per")).unwrap_err();
    assert!(!refused.to_string().contains("correct the line"), "{refused}");
    // Keys of other programs, and of a later version, are near none.
    let further = "study date := 2020:01:01\n%sms-mi version number := 3.4\nnumber of energy windows := 1\nrings := 3\n!END OF";
    let (_, notices) = read(&header(&PLAIN).replace("!END OF", further)).unwrap();
    assert!(notices.is_empty(), "{notices:?}");
}

#[test]
fn no_key_of_a_real_header_counts_as_misspelt() {
    let Some(root) = data_file("") else { return };
    let (mut folders, mut num_read) = (vec![root], 0);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
                continue;
            }
            let notices = match FileKind::of(&path) {
                Some(FileKind::InterfileProjections | FileKind::SiemensSinograms) => {
                    let whole = read_projections(&path).map(|(_, notices)| notices);
                    whole.or_else(|_| read_geometry(&path).map(|(_, notices)| notices))
                }
                Some(FileKind::InterfileImage) => read_images(&path, ImageChoice::Only).map(|(_, notices)| notices),
                Some(FileKind::SiemensList) => open_list_mode(&path, &ListOptions::default()).map(|mut reader| reader.notices()),
                _ => continue,
            };
            match notices {
                Ok(notices) => {
                    num_read += 1;
                    assert!(!notices.iter().any(|n| n.text.contains("not understood")), "{}: {notices:?}", path.display());
                }
                Err(error) => assert!(!error.to_string().contains("correct the line"), "{error}"),
            }
        }
    }
    assert!(num_read > 0);
}
