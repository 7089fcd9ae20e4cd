//! EPRI sweeps: Bruker BES3T against what other programs read, and hand-made files of every number format.

use std::f64::consts::FRAC_PI_2;
use std::fs;
use std::path::{Path, PathBuf};

use tomoscope::data::{GradientAxis, Notice, Severity, Sweep, SweepKind, SweepSpace};
use tomoscope::io::{IoError, read_reference, read_sweep, read_sweep_at_phase};

use super::data::data_file;
use super::{assert_brief, assert_problem, bytes_of, folder, warns_of};

/// First sample of the first projection, its middle, the last sample of the last one, and the sum of all sizes, as PyEPRI
/// 1.1.1 reads them from the real scan.
const PYEPRI_SAMPLES: [f32; 3] = [-8975.224, -40086.223, 5254.676];
const PYEPRI_SUM: f64 = 11_265_555_188.98;

const FUSILLO: &str = "epri/fusillo-20091002-proj.DSC";

/// A descriptor of 2 × 2 gradients and four samples, and lines that replace its own (by key).
pub fn descriptor(changes: &[&str]) -> String {
    let lines = [
        "#DESC\t1.2 * DESCRIPTOR INFORMATION",
        "BSEQ\tBIG",
        "IKKF\tREAL",
        "XTYP\tIDX",
        "YTYP\tIGD",
        "IRFMT\tD",
        "XPTS\t4",
        "XMIN\t330.0",
        "XWID\t3.0",
        "YPTS\t4",
        "TITL\t'by hand'",
        "XUNI\t'G'",
        "*",
        "#SPL\t1.2 * STANDARD PARAMETER LAYER",
        "AXS2    GRAD",
        "GRAD    5.0",
        "SPTP    0.0025",
        "#DSL\t1.0 * DEVICE SPECIFIC LAYER",
        ".DVC     grdUnit, 1.0",
        "FirstAlpha         45.0 deg",
        "ImageType          3D",
        "NrOfAlpha          2",
        "NrOfPsi            1",
        "TotalTime          -",
    ];
    let key = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    let changed = |line: &&str| changes.iter().find(|change| key(change) == key(line)).copied().unwrap_or(line).to_owned();
    lines.iter().map(changed).filter(|line| line.contains(char::is_whitespace)).collect::<Vec<_>>().join("\n")
}

/// Writes a descriptor beside 4 × 4 samples 0, 1, 2 …
pub fn put(folder: &Path, changes: &[&str], number: &str, big_endian: bool) -> PathBuf {
    fs::write(folder.join("a-proj.DTA"), bytes_of((0..16).map(f64::from), number, big_endian)).unwrap();
    let path = folder.join("a-proj.DSC");
    fs::write(&path, descriptor(changes)).unwrap();
    path
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{a} is not {b}");
}

#[test]
fn a_descriptor_written_by_hand_is_understood() {
    let folder = folder();
    let sweep = read_sweep(&put(folder.path(), &[], "float 8", true), None).unwrap();
    assert_eq!((sweep.measured.num_complete(), sweep.measured.num_expected, sweep.measured.num_points), (4, Some(4), 4));
    // 1 G = 0.1 mT between samples, 5 G/cm = 0.05 mT/mm.
    near(sweep.measured.step_mm, 2.0);
    near(sweep.measured.centre, 2.0);
    let SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm, reference: None } = sweep.measured.kind else { panic!() };
    near(step_mt, 0.1);
    near(gradient_mt_per_mm, 0.05);
    assert!(warns_of(&sweep.notices, "No reference spectrum"));
    // Azimuths 45°, 135° first, then the polar angle; t runs against the gradient.
    let half = 0.5;
    let expected = [[half, half, 0.5f64.sqrt()], [-half, half, 0.5f64.sqrt()], [half, half, -(0.5f64.sqrt())]];
    for (projection, gradient) in sweep.measured.projections.iter().zip(expected) {
        (0..3).for_each(|a| near(projection.direction[a], -gradient[a]));
    }
    near(sweep.measured.total_weight(), std::f64::consts::TAU);
    // Editors of Windows begin a text with a byte order mark, or write it in UTF-16.
    let text = descriptor(&[]);
    let path = folder.path().join("a-proj.DSC");
    for bytes in [
        format!("\u{feff}{text}").into_bytes(),
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect(),
    ] {
        fs::write(&path, bytes).unwrap();
        assert_eq!(read_sweep(&path, None).unwrap().measured, sweep.measured);
    }
    // Four samples of 2.5 ms each; or what the spectrometer tells of all four spectra.
    near(sweep.measured.secs_per_projection.unwrap(), 0.01);
    for (text, secs) in [("TotalTime  392.5 min", 5887.5), ("TotalTime  8 s", 2.0), ("TotalTime  4 parsec", 0.01)] {
        let told = read_sweep(&put(folder.path(), &[text], "float 8", true), None).unwrap();
        near(told.measured.secs_per_projection.unwrap(), secs);
    }
    let silent = read_sweep(&put(folder.path(), &["SPTP  -1"], "float 8", true), None).unwrap();
    assert_eq!(silent.measured.secs_per_projection, None);
    assert_eq!(&sweep.measured.projections[2].values[..], [8.0, 9.0, 10.0, 11.0]);
}

#[test]
fn the_planned_field_of_view_is_told() {
    let folder = folder();
    for (value, mm) in [("20.00 mm", Some(20.0)), ("2.5 cm", Some(25.0)), ("-1 mm", None), ("20", None), ("2 G", None)] {
        let line = format!("FieldOfView        {value}");
        let path = put(folder.path(), &[], "float 8", true);
        fs::write(&path, descriptor(&[]) + "\n" + &line).unwrap();
        assert_eq!(read_sweep(&path, None).unwrap().measured.facts.field_of_view_mm, mm, "{value}");
    }
}

#[test]
fn every_number_format_is_read_in_both_byte_orders() {
    let folder = folder();
    let formats =
        [("C", "signed integer 1"), ("S", "signed integer 2"), ("I", "signed integer 4"), ("F", "float 4"), ("D", "float 8")];
    for (letter, number) in formats {
        for (order, big_endian) in [("BIG", true), ("LIT", false)] {
            let changes = [format!("BSEQ\t{order}"), format!("IRFMT {letter}")];
            let path = put(folder.path(), &changes.each_ref().map(String::as_str), number, big_endian);
            let sweep = read_sweep(&path, None).unwrap();
            let values: Vec<f32> = sweep.measured.projections.iter().flat_map(|p| p.values.to_vec()).collect();
            assert_eq!(values, (0..16).map(|v| v as f32).collect::<Vec<_>>(), "{order} {letter}");
        }
    }
}

#[test]
fn the_data_file_may_be_named_instead_and_the_reference_lies_beside_it() {
    let folder = folder();
    let path = put(folder.path(), &[], "float 8", true);
    let reference = ["YTYP\tNODATA", "GRAD", "YPTS"];
    fs::write(folder.path().join("a-h.DSC"), descriptor(&reference)).unwrap();
    fs::write(folder.path().join("a-h.DTA"), bytes_of([0.0, 1.0, -1.0, 0.0], "float 8", true)).unwrap();
    let sweep = read_sweep(&path.with_extension("DTA"), None).unwrap();
    let SweepKind::ContinuousWave { reference: Some(spectrum), .. } = &sweep.measured.kind else { panic!("{sweep:?}") };
    assert_eq!(&spectrum.values[..], [0.0, 1.0, -1.0, 0.0]);
    let of_reference = sweep.notices.iter().filter(|notice| notice.text.contains("a-h.DSC"));
    assert!(
        of_reference.clone().count() == 1 && of_reference.clone().all(|notice| notice.severity == Severity::Info),
        "{:?}",
        sweep.notices
    );
    // One that cannot be used is a notice when it was found, an error when it was asked for.
    fs::write(folder.path().join("a-h.DTA"), [0; 3]).unwrap();
    let sweep = read_sweep(&path, None).unwrap();
    assert!(warns_of(&sweep.notices, "a-h.DTA is too short"), "{:?}", sweep.notices);
    let error = read_sweep(&path, Some(&folder.path().join("a-h.DSC"))).unwrap_err();
    assert_brief(&error, "io.truncated a-h.DTA 3/32");
    assert_problem(&read_sweep(&path, Some(&path)).unwrap_err(), "SeveralSpectra(4)");
    assert_brief(&read_sweep(&folder.path().join("a-h.DSC"), None).unwrap_err(), "io.unsupported.bes3t a-h.DSC SingleSpectrum");
}

/// Headers of the projections and of the reference that differ in one setting each.
#[test]
fn settings_in_the_headers_are_compared() {
    let folder = folder();
    let notices = |of_projections: &str, of_reference: &str, first: &str| {
        let more = |lines: &str| format!("SPTP    0.0025\nMWPW    0.02{lines}");
        let path = put(folder.path(), &[&more(of_projections)], "float 8", true);
        let reference = more(of_reference);
        let changes = [&reference, first, "YTYP\tNODATA", "GRAD", "YPTS"];
        fs::write(folder.path().join("a-h.DSC"), descriptor(&changes)).unwrap();
        fs::write(folder.path().join("a-h.DTA"), bytes_of([0.0, 1.0, -1.0, 0.0], "float 8", true)).unwrap();
        read_sweep(&path, None).unwrap().notices
    };
    let same = "XMIN\t330.0";
    let all = "\nMWFQ 9.7e9\nRCTC 0.01\nSTMP 300\nAVGS 4\n.DVC     recorder, 1.0\nNbScansDone 4";
    let none = notices(all, all, same);
    let is_doubt = |notice: &Notice| notice.severity == Severity::Warning && notice.text.contains("reference spectrum");
    assert!(!none.iter().any(is_doubt), "{none:?}");
    for (of_reference, expected) in [
        (all.replace("0.01", "0.04"), "another time constant than the projections, 0.04 and 0.01 s"),
        (all.replace("300", "100"), "another temperature than the projections, 100 and 300 K"),
        (all.replace("NbScansDone 4", "NbScansDone 2"), "a part of the planned scans, 2 of 4"),
        (all.replace("NbScansDone 4", "NbScansDone 2"), "is multiplied by 2"),
        // 5 MHz are 0.178 mT.
        (all.replace("9.7e9", "9.705e9"), "0.1784 mT from those of the projections"),
    ] {
        let found = notices(all, &of_reference, same);
        assert!(found.iter().any(|notice| notice.text.contains(expected)), "{expected}: {found:?}");
    }
    // The field that belongs to 5 MHz is no shift; at the same frequency it is one.
    let moved = "XMIN\t331.784";
    let found = notices(all, &all.replace("9.7e9", "9.705e9"), moved);
    assert!(!warns_of(&found, "from those of the projections"), "{found:?}");
    assert!(warns_of(&notices(all, all, moved), "auto, or 0.1784)"));
}

#[test]
fn what_cannot_be_read_is_refused() {
    let folder = folder();
    let cases: [(&[&str], &str); 31] = [
        (&["BSEQ\tMIDDLE"], "io.invalid-value a-proj.DSC BSEQ=MIDDLE"),
        (&["IKKF\tCPLX"], "io.unfinished a-proj.DTA 128/256"),
        (&["IKKF\tREAL,REAL"], "io.invalid-value a-proj.DSC IKKF=REAL,REAL"),
        (&["IKKF\tREAL,REAL", "IRFMT\tD,D"], "io.invalid-value a-proj.DSC IKKF=REAL,REAL"),
        (&["IKKF\tCPLX,CPLX"], "io.invalid-value a-proj.DSC IKKF=CPLX,CPLX"),
        (&["IKKF\tQUATERNION"], "io.invalid-value a-proj.DSC IKKF=QUATERNION"),
        (&["IRFMT"], "io.missing-key a-proj.DSC IRFMT"),
        (&["IRFMT\tA"], "io.invalid-value a-proj.DSC IRFMT=A"),
        (&["XPTS\t0"], "io.invalid-value a-proj.DSC XPTS=0"),
        (&["XPTS\t-5"], "io.invalid-value a-proj.DSC XPTS=-5"),
        (&["XPTS\t2"], "io.invalid-value a-proj.DSC XPTS=2"),
        (&["XPTS\t18446744073709551615"], "io.invalid-value a-proj.DSC XPTS=18446744073709551615"),
        (&["XPTS\t16000000"], "io.unfinished a-proj.DTA 128/512000000"),
        (&["XTYP\tIGD"], "io.invalid-value a-proj.DSC XTYP=IGD"),
        (&["XUNI\t'GHz'"], "io.invalid-value a-proj.DSC XUNI=GHz"),
        (&["XWID\tNaN"], "io.invalid-value a-proj.DSC XWID=NaN"),
        (&["XWID\t-1"], "io.invalid-value a-proj.DSC XWID=-1"),
        (&["YPTS\t5"], "io.invalid-value a-proj.DSC YPTS=5"),
        (&["GRAD    0.0"], "io.invalid-value a-proj.DSC GRAD=0"),
        // (Quoted as far as 60 characters go.)
        (&["GRAD    1e-320"], "io.invalid-value a-proj.DSC GRAD=0.0000000000000000000000000000000000000000000000000000000000"),
        (&["GRAD"], "io.missing-key a-proj.DSC GRAD"),
        (&["GRAD    5.0 mT/cm"], "io.invalid-value a-proj.DSC GRAD=5.0 mT/cm"),
        (&["FirstAlpha  0.8 rad"], "io.invalid-value a-proj.DSC FirstAlpha=0.8 rad"),
        (&["FirstAlpha  0.0 deg"], "io.invalid-value a-proj.DSC FirstAlpha=0"),
        (&["NrOfAlpha 1000000000"], "io.invalid-value a-proj.DSC NrOfAlpha=1000000000"),
        (&["ImageType 4D"], "io.invalid-value a-proj.DSC ImageType=4D"),
        (&["ImageType 2D"], "io.invalid-value a-proj.DSC YPTS=4"),
        (&["#DESC"], "io.unsupported.bes3t a-proj.DSC NotBes3t"),
        (&["NrOfPsi 8"], "io.unsupported.bes3t a-proj.DSC SpectralSpatial"),
        (&["AXS2    MWPW"], "io.unsupported.bes3t a-proj.DSC SecondAxis"),
        (&["AXS2    MWPW", "GRAD"], "io.unsupported.bes3t a-proj.DSC SecondAxis"),
    ];
    for (changes, expected) in cases {
        assert_brief(&read_sweep(&put(folder.path(), changes, "float 8", true), None).unwrap_err(), expected);
    }
    let path = put(folder.path(), &[], "float 8", true);
    fs::write(path.with_extension("DTA"), [0; 127]).unwrap();
    let error = read_sweep(&path, None).unwrap_err();
    assert!(matches!(error, IoError::Unfinished { num_planned: 4, num_points: 4, expected: 128, found: 127, .. }), "{error:?}");
    let mut samples: Vec<f64> = (0..16).map(f64::from).collect();
    samples[6] = f64::NAN;
    fs::write(path.with_extension("DTA"), bytes_of(samples, "float 8", true)).unwrap();
    assert_problem(&read_sweep(&path, None).unwrap_err(), r#"NotFinite(3, "projection 2", NaN)"#);
    fs::remove_file(path.with_extension("DTA")).unwrap();
    assert!(matches!(read_sweep(&path, None), Err(IoError::Open(..))));
}

#[test]
fn spectra_along_another_axis_than_gradients_are_refused_by_name() {
    let folder = folder();
    let powers = ["TITL\t'saturation'\nYNAM\t'Microwave Power'\nYUNI\t'mW'", "GRAD    5.0\nAXS2    MWPW"];
    let path = put(folder.path(), &powers, "float 8", true);
    for error in [read_sweep(&path, None).unwrap_err(), read_sweep(&put_other(folder.path()), Some(&path)).unwrap_err()] {
        assert!(error.to_string().contains("below saturation"), "{error}");
        assert_problem(&error, r#"SecondAxis("Microwave Power", 4)"#);
    }
    // Without a name the axis has that of its device; the gradients' own are read.
    let path = put(folder.path(), &["GRAD    5.0\nAXS2    TEMP"], "float 8", true);
    assert_problem(&read_sweep(&path, None).unwrap_err(), r#"SecondAxis("TEMP", 4)"#);
    assert!(read_sweep(&put(folder.path(), &["GRAD    5.0\nAXS2    GRAD"], "float 8", true), None).is_ok());
}

/// Writes a sweep under another name.
fn put_other(folder: &Path) -> PathBuf {
    fs::write(folder.join("b-proj.DTA"), bytes_of((0..16).map(f64::from), "float 8", true)).unwrap();
    let path = folder.join("b-proj.DSC");
    fs::write(&path, descriptor(&[])).unwrap();
    path
}

#[test]
fn leftovers_and_two_dimensions_are_said() {
    let folder = folder();
    let path = put(folder.path(), &["ImageType 2D", "YPTS 2"], "float 8", true);
    let sweep = read_sweep(&path, None).unwrap();
    assert!(warns_of(&sweep.notices, "64 more bytes") && warns_of(&sweep.notices, "ImageOrient"), "{:?}", sweep.notices);
    assert_eq!(sweep.measured.space, SweepSpace::Slice([GradientAxis::X, GradientAxis::Y]));
    near(sweep.measured.projections[1].direction[0], 0.5f64.sqrt());
    near(sweep.measured.projections[1].direction[2], 0.0);
    assert!(sweep.measured.projections.iter().all(|projection| (projection.weight - FRAC_PI_2).abs() < 1e-12));
    let named = put(folder.path(), &["ImageType 2D", "YPTS 2", "TotalTime -\nImageOrient ZY"], "float 8", true);
    let sweep = read_sweep(&named, None).unwrap();
    assert_eq!(sweep.measured.space.to_string(), "2D, axes z and y");
    assert!(!warns_of(&sweep.notices, "ImageOrient"));
}

#[test]
fn projections_that_were_not_measured_yet_are_left_out_and_counted() {
    let folder = folder();
    let path = put(folder.path(), &[], "float 8", true);
    let write = |samples: [f64; 16]| fs::write(path.with_extension("DTA"), bytes_of(samples, "float 8", true)).unwrap();
    // The first one is zero too: it was left out by the spectrometer.
    write(std::array::from_fn(|k| if (4..8).contains(&k) { 1.0 } else { 0.0 }));
    let sweep = read_sweep(&path, None).unwrap();
    assert_eq!((sweep.measured.num_complete(), sweep.measured.num_expected), (1, Some(4)));
    assert!(sweep.measured.projections.iter().all(|projection| projection.values[..] == [1.0; 4]));
    assert!(warns_of(&sweep.notices, "The last 2 of 4 projections are zero"), "{:?}", sweep.notices);
    assert!(warns_of(&sweep.notices, "1 of 2 projections contain zeros only (number 1)"), "{:?}", sweep.notices);
    write([0.0; 16]);
    assert_problem(&read_sweep(&path, None).unwrap_err(), "AllZero(4)");
}

/// Sample j of 64 of spectrum k: the derivative of a line whose place and size depend on k.
pub fn line(k: usize, j: usize) -> f64 {
    let u = (j as f64 - 26.0 - 3.0 * k as f64) / 4.0;
    -(1.0 + k as f64) * u * (-0.5 * u * u).exp()
}

/// Writes spectra as complex numbers, turned by an angle, with an imaginary part of their own.
pub fn put_complex(folder: &Path, name: &str, changes: &[&str], num_spectra: usize, degrees: f64, imaginary: f64) -> PathBuf {
    let (sin, cos) = f64::to_radians(degrees).sin_cos();
    let turned = |k: usize, j: usize| {
        let (re, im) = (line(k, j), imaginary * (-0.5 * ((j as f64 - 40.0) / 4.0).powi(2)).exp());
        [re * cos - im * sin, re * sin + im * cos]
    };
    let samples = (0..num_spectra).flat_map(|k| (0..64).flat_map(move |j| turned(k, j)));
    fs::write(folder.join(name).with_extension("DTA"), bytes_of(samples, "float 8", true)).unwrap();
    let path = folder.join(name).with_extension("DSC");
    let complex = descriptor(&[&["IKKF\tCPLX", "XPTS\t64"], changes].concat());
    fs::write(&path, complex).unwrap();
    path
}

fn assert_lines(sweep: &Sweep, factor: f64) {
    for (k, projection) in sweep.projections.iter().enumerate() {
        for (j, value) in projection.values.iter().enumerate() {
            assert!((f64::from(*value) - factor * line(k, j)).abs() < 1e-3, "{k}, {j}: {value}");
        }
    }
}

#[test]
fn complex_spectra_are_turned_back_by_their_phase() {
    let folder = folder();
    for degrees in [-160.0, -20.0, 35.0, 100.0] {
        let path = put_complex(folder.path(), "a-proj", &[], 4, degrees, 0.0);
        let sweep = read_sweep(&path, None).unwrap();
        assert_eq!((sweep.measured.num_complete(), sweep.measured.num_points), (4, 64));
        let phase = sweep.measured.facts.phase.unwrap();
        assert!((phase.degrees - degrees).abs() < 1e-3 && phase.is_automatic && phase.remainder < 1e-6, "{phase:?}");
        assert_lines(&sweep.measured, 1.0);
        let told = sweep.notices.iter().find(|notice| notice.text.contains("imaginary part")).unwrap();
        assert!(told.severity == Severity::Info && told.text.contains(&format!("turned by {degrees:.2}°")), "{told:?}");
    }
    // By a phase that was asked for: what it leaves in the imaginary part is told.
    let path = put_complex(folder.path(), "a-proj", &[], 4, 35.0, 0.0);
    let sweep = read_sweep_at_phase(&path, None, Some(35.0 + 180.0)).unwrap();
    assert_lines(&sweep.measured, -1.0);
    let sweep = read_sweep_at_phase(&path, None, Some(95.0)).unwrap();
    assert_lines(&sweep.measured, 0.5);
    assert!((sweep.measured.facts.phase.unwrap().remainder - 0.75).abs() < 1e-6, "{:?}", sweep.measured.facts.phase);
    assert!(warns_of(&sweep.notices, "turned by 95.00°, as asked for; 75.00 % of the energy is left"), "{:?}", sweep.notices);
    // Real values have no phase.
    let real = put(folder.path(), &[], "float 8", true);
    assert_problem(&read_sweep_at_phase(&real, None, Some(5.0)).unwrap_err(), "NotComplex(5.0)");
}

#[test]
fn a_complex_reference_has_a_phase_of_its_own() {
    let folder = folder();
    let path = put_complex(folder.path(), "a-proj", &[], 4, 35.0, 0.0);
    put_complex(folder.path(), "a-h", &["YTYP\tNODATA", "GRAD", "YPTS"], 1, -110.0, 0.0);
    let sweep = read_sweep_at_phase(&path, None, Some(35.0)).unwrap();
    let SweepKind::ContinuousWave { reference: Some(reference), .. } = &sweep.measured.kind else { panic!() };
    assert_eq!(reference.values.len(), 64);
    assert!(reference.values.iter().enumerate().all(|(j, value)| (f64::from(*value) - line(0, j)).abs() < 1e-3));
    assert!(sweep.notices.iter().any(|n| n.text.contains("reference spectrum are turned by -110.00°")), "{:?}", sweep.notices);
}

#[test]
fn complex_files_that_cannot_be_are_refused() {
    let folder = folder();
    let path = put_complex(folder.path(), "a-proj", &["IIFMT\tF"], 4, 35.0, 0.0);
    fs::write(&path, fs::read_to_string(&path).unwrap() + "\n#DESC\nIIFMT\tF").unwrap();
    assert_brief(&read_sweep(&path, None).unwrap_err(), "io.invalid-value a-proj.DSC IIFMT=F");
    let path = put_complex(folder.path(), "a-proj", &[], 4, 35.0, 0.0);
    let data = path.with_extension("DTA");
    let bytes = fs::read(&data).unwrap();
    assert_eq!(bytes.len(), 4 * 64 * 16);
    // Cut within the last number: as many bytes as real values would need are not enough.
    for len in [bytes.len() - 1, bytes.len() / 2, 0] {
        fs::write(&data, &bytes[..len]).unwrap();
        assert_brief(&read_sweep(&path, None).unwrap_err(), &format!("io.unfinished a-proj.DTA {len}/4096"));
    }
    let mut broken = bytes.clone();
    // The imaginary part of sample 3 of the second one.
    broken[16 * (64 + 2) + 8..][..8].copy_from_slice(&f64::NAN.to_be_bytes());
    fs::write(&data, &broken).unwrap();
    assert_problem(&read_sweep(&path, None).unwrap_err(), r#"NotFinite(3, "projection 2", NaN)"#);
}

/// Little-endian floats after the header of a `.npy` file.
fn npy_floats(path: &Path) -> Vec<f32> {
    let bytes = fs::read(path).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[start..].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn fusillo() -> Option<(Sweep, PathBuf)> {
    let path = data_file(FUSILLO)?;
    Some((read_sweep(&path, None).unwrap().measured, path))
}

#[test]
fn the_gradients_of_a_real_scan_are_those_that_another_program_computes() {
    let Some((sweep, path)) = fusillo() else { return };
    // Three rows (x, y, z) of 961 in Fortran order: one gradient after the other.
    let table = npy_floats(&path.with_file_name("fusillo-20091002-fgrad.npy"));
    assert_eq!((sweep.num_complete(), table.len()), (961, 3 * 961));
    let SweepKind::ContinuousWave { gradient_mt_per_mm, .. } = sweep.kind else { panic!() };
    let mut worst = 0.0f64;
    for (projection, g) in sweep.projections.iter().zip(table.as_chunks::<3>().0) {
        for (n, g) in projection.direction.iter().zip(g) {
            worst = worst.max((-n * gradient_mt_per_mm * 100.0 - f64::from(*g)).abs());
        }
    }
    assert!(worst < 14.0 * 1e-6, "{worst} G/cm");
}

#[test]
fn the_field_axis_and_the_reference_of_a_real_scan_are_found() {
    let Some((sweep, path)) = fusillo() else { return };
    let axis = npy_floats(&path.with_file_name("fusillo-20091002-B.npy"));
    let SweepKind::ContinuousWave { step_mt, reference: Some(reference), .. } = &sweep.kind else { panic!() };
    assert_eq!((axis.len(), sweep.num_points, reference.values.len()), (500, 500, 500));
    for (k, field) in axis.iter().enumerate() {
        let g = f64::from(axis[0]) + 10.0 * step_mt * k as f64;
        assert!((g - f64::from(*field)).abs() < 1e-4, "{k}: {g} {field}");
    }
    near(reference.step_mt, *step_mt);
    assert!((sweep.step_mm - 0.265 / 1.4).abs() < 1e-6);
    let [first, last] = [0, 960].map(|k| &sweep.projections[k].values);
    assert_eq!([first[0], first[250], last[499]], PYEPRI_SAMPLES, "{} {} {}", first[0], first[250], last[499]);
    let sum: f64 = sweep.projections.iter().flat_map(|p| p.values.iter()).map(|&v| f64::from(v).abs()).sum();
    assert!((sum / PYEPRI_SUM - 1.0).abs() < 1e-6, "{sum}");
    assert_eq!(reference.values[249], read_reference(&path.with_file_name("fusillo-20091002-h.DTA")).unwrap().0.values[249]);
}
