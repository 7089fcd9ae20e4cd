//! Sweeps in the program's own form and as NumPy arrays.

use std::f64::consts::{PI, TAU};
use std::fs;
use std::path::{Path, PathBuf};

use tomoscope::data::{GradientAxis, Projection, ReferenceSpectrum, Study, Sweep, SweepKind, SweepMetadata, SweepSpace};
use tomoscope::io::{IoError, follow_sweep, radical_spectra, read_reference, read_sweep, write_sweep};
use tomoscope::scanner::epri::{Scheme, WeightedDirection, Weighting};

use super::data::data_file;
use super::{assert_brief, assert_problem, bytes_of, folder, warns_of};

/// Samples of a projection of a sweep: index, place along t in mm.
fn sweep(
    scheme: Scheme,
    weighting: Weighting,
    num_points: usize,
    step_mm: f64,
    value: impl Fn(usize, f64) -> f64,
) -> Study<Sweep> {
    let centre = (num_points / 2) as f64;
    let projection = |(index, direction): (usize, WeightedDirection)| {
        let values = (0..num_points).map(|k| value(index, (k as f64 - centre) * step_mm) as f32).collect();
        Projection { direction: direction.unit, weight: direction.weight, values }
    };
    let projections: Vec<Projection> = scheme.directions(weighting).into_iter().enumerate().map(projection).collect();
    let sweep = Sweep {
        kind: SweepKind::Pulse,
        space: if scheme.is_slice() { SweepSpace::Slice([GradientAxis::X, GradientAxis::Y]) } else { SweepSpace::Volume },
        num_points,
        step_mm,
        centre,
        num_expected: Some(projections.len()),
        secs_per_projection: None,
        facts: SweepMetadata::default(),
        projections,
    };
    Study::new("ball", sweep)
}

/// A pulse sweep of a ball of radius 10 mm along 30 or so directions, with what looks like noise of 10 %.
pub fn ball() -> Study<Sweep> {
    let value = |index: usize, t: f64| {
        let noise = (((index * 131) as f64 + t * 7.0 + 0.5) * 12.9898).sin() * 43758.5453;
        PI * (100.0 - t * t).max(0.0) + 30.0 * (noise.fract() - 0.5)
    };
    sweep(Scheme::with_at_least(30).unwrap(), Weighting::default(), 32, 1.0, value)
}

/// Everything that a file keeps.
fn assert_same(a: &Study<Sweep>, b: &Study<Sweep>) {
    assert_eq!(a.title, b.title);
    let (a, b) = (&a.measured, &b.measured);
    assert_eq!((&a.kind, a.num_points), (&b.kind, b.num_points));
    assert_eq!((a.step_mm, a.centre, a.num_expected), (b.step_mm, b.centre, b.num_expected));
    assert_eq!((&a.projections, a.secs_per_projection), (&b.projections, b.secs_per_projection));
}

#[test]
fn a_saved_sweep_reads_back_the_same() {
    let folder = folder();
    let path = folder.path().join("a.sweep");
    let mut sweep = ball();
    write_sweep(&path, &sweep).unwrap();
    assert_same(&read_sweep(&path, None).unwrap(), &sweep);
    // Unfinished, continuous wave, with a reference, an unknown total and a title to be quoted.
    sweep.measured.projections.truncate(7);
    sweep.measured.num_expected = None;
    sweep.measured.secs_per_projection = Some(1.25);
    sweep.title = "half a \"ball\"\n".into();
    let reference = Some(ReferenceSpectrum { values: [0.1, -0.3, 1e-7].into(), step_mt: 0.1 });
    sweep.measured.kind = SweepKind::ContinuousWave { step_mt: 0.03, gradient_mt_per_mm: 0.03, reference };
    write_sweep(&path, &sweep).unwrap();
    let again = read_sweep(&path, None).unwrap();
    assert_same(&again, &sweep);
    assert!(!warns_of(&again.notices, "No reference"), "{:?}", again.notices);
    assert_brief(&write_sweep(&folder.path().join("a.npy"), &sweep).unwrap_err(), "io.unknown-ending a.npy");
}

#[test]
fn a_saved_sweep_that_cannot_be_is_refused() {
    let folder = folder();
    let path = folder.path().join("a.sweep");
    let sweep = ball();
    write_sweep(&path, &sweep).unwrap();
    let good = fs::read_to_string(&path).unwrap();
    for (from, to, expected) in [
        ("version = 2", "version = 9", "io.unsupported.tomoscope a.sweep Version"),
        ("version = 2", "version = 9\nunknown = 3", "io.unsupported.tomoscope a.sweep Version"),
        ("version = 2", "", "io.unsupported.tomoscope a.sweep Syntax"),
        ("num_points = 32", "num_points = 0", "io.unsupported.tomoscope a.sweep NumPoints"),
        ("num_points = 32", "num_points = 33", "io.unfinished a.f32 4960/5084"),
        ("num_points = 32", "num_points = 16000000", "io.unfinished a.f32 4960/1984000992"),
        ("step_mm = 1.0", "step_mm = nan", "io.unsupported.tomoscope a.sweep NotPositive"),
        ("centre = 16.0", "centre = inf", "io.unsupported.tomoscope a.sweep Centre"),
        ("centre = 16.0", "centre = 32.0", "io.unsupported.tomoscope a.sweep Centre"),
        ("num_expected = ", "num_expected = 1 #", "io.unsupported.tomoscope a.sweep ManyProjections"),
        ("num_projections = ", "num_projections = 9999999999 #", "io.unsupported.tomoscope a.sweep ManyProjections"),
        ("data_checksum = \"crc32 ", "data_checksum = \"crc32 f", "io.mismatched-pair a.sweep a.f32"),
        ("\"a.f32\"", "\"../a.f32\"", "io.unsupported.tomoscope a.sweep Form"),
        ("\"a.f32\"", "\"/dev/zero\"", "io.unsupported.tomoscope a.sweep Form"),
        ("\"a.f32\"", "\"none.f32\"", "io.not-found none.f32"),
        ("\"pulse\"", "\"continuous-wave\"", "io.unsupported.tomoscope a.sweep NoWave"),
        ("\"pulse\"", "\"magic\"", "io.unsupported.tomoscope a.sweep Syntax"),
        ("title", "projections = [[1.0, 0.0, 0.0, 1.0]]\ntitle", "io.unsupported.tomoscope a.sweep ListOfProjections"),
        ("title", "unknown = 3\ntitle", "io.unsupported.tomoscope a.sweep Syntax"),
    ] {
        assert!(good.contains(from), "{from}");
        fs::write(&path, good.replacen(from, to, 1)).unwrap();
        assert_brief(&read_sweep(&path, None).unwrap_err(), expected);
    }
    let unchecked = good.replacen("data_checksum", "# data_checksum", 1);
    fs::write(&path, unchecked).unwrap();
    let data = path.with_extension("f32");
    let mut bytes = fs::read(&data).unwrap();
    bytes[160 + 32 + 4..][..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
    fs::write(&data, &bytes).unwrap();
    assert_problem(&read_sweep(&path, None).unwrap_err(), r#"NotFinite(2, "projection 2", inf)"#);
    bytes.truncate(bytes.len() - 1);
    fs::write(&data, &bytes).unwrap();
    let error = read_sweep(&path, None).unwrap_err();
    assert!(matches!(error, IoError::Unfinished { num_points: 32, .. }), "{error:?}");
}

/// A NumPy file as NumPy writes it.
pub fn npy(
    folder: &Path,
    name: &str,
    dtype: &str,
    is_fortran: bool,
    shape: &str,
    values: impl IntoIterator<Item = f64>,
) -> PathBuf {
    let order = if is_fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    let number = match dtype.get(1..).unwrap() {
        "f4" => "float 4",
        "f8" => "float 8",
        "i2" => "signed integer 2",
        other => panic!("{other}"),
    };
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(bytes_of(values, number, dtype.starts_with('>')));
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// Three gradients along x, y, z and a service trace between them, with four samples each.
fn put_wave(folder: &Path, is_fortran: bool) -> PathBuf {
    let gradients = [[14.0, 0.0, 0.0], [0.0, 14.0, 0.0], [0.0; 3], [0.0, 0.0, -14.0]];
    let by_axis: Vec<f64> = (0..3).flat_map(|a| gradients.map(|g| g[a])).collect();
    let by_projection: Vec<f64> = gradients.concat();
    npy(folder, "a-fgrad.npy", "<f4", is_fortran, "(3, 4)", if is_fortran { by_projection } else { by_axis });
    npy(folder, "a-B.npy", ">f8", false, "(4,)", [330.0, 330.5, 331.0, 331.5]);
    let samples = |i: usize| if is_fortran { (i % 4 * 4 + i / 4) as f64 } else { i as f64 };
    npy(folder, "a-proj.npy", "<i2", is_fortran, "(4, 4)", (0..16).map(samples))
}

#[test]
fn numpy_sets_are_read_in_both_index_orders() {
    for is_fortran in [false, true] {
        let folder = folder();
        let path = put_wave(folder.path(), is_fortran);
        let sweep = read_sweep(&path, None).unwrap();
        let SweepKind::ContinuousWave { step_mt, gradient_mt_per_mm, reference: None } = sweep.measured.kind else { panic!() };
        assert!((step_mt - 0.05).abs() < 1e-12 && (gradient_mt_per_mm - 0.14).abs() < 1e-12);
        assert_eq!((sweep.measured.num_complete(), sweep.measured.centre), (3, 2.0));
        assert_eq!(sweep.measured.projections[1].direction, [0.0, -1.0, 0.0]);
        assert_eq!(sweep.measured.projections[2].direction, [0.0, 0.0, 1.0]);
        assert_eq!(&sweep.measured.projections[2].values[..], [12.0, 13.0, 14.0, 15.0]);
        assert!(sweep.notices.iter().any(|n| n.text.contains("1 of 4 projections") && n.text.contains("service")));
        assert!(
            sweep.measured.projections.iter().all(|p| (p.weight / (TAU / 3.0) - 1.0).abs() < 0.02),
            "{:?}",
            sweep.measured.projections
        );
        // A reference beside it, and weights of its own.
        let reference = npy(folder.path(), "a-h.npy", "<f4", false, "(4,)", [0.0, 1.0, -1.0, 0.0]);
        npy(folder.path(), "a-weights.npy", "<f8", false, "(4,)", [1.0, 2.0, 3.0, 4.0]);
        let sweep = read_sweep(&path, None).unwrap();
        let SweepKind::ContinuousWave { reference: Some(spectrum), .. } = &sweep.measured.kind else { panic!() };
        assert_eq!(spectrum, &read_reference(&reference).unwrap().0);
        let column = npy(folder.path(), "a-h.npy", "<f4", false, "(4, 1)", [0.0, 1.0, -1.0, 0.0]);
        assert_eq!(spectrum, &read_reference(&column).unwrap().0);
        assert_eq!(sweep.measured.projections.iter().map(|p| p.weight).collect::<Vec<_>>(), [1.0, 2.0, 4.0]);
    }
}

#[test]
fn spectra_of_radicals_are_found_with_the_projections() {
    let folder = folder();
    let path = put_wave(folder.path(), false);
    let put = |name: &str| npy(folder.path(), name, "<f4", false, "(4,)", [0.0, 1.0, -1.0, 0.0]);
    // Of another set, of no radical, and of another kind.
    ["b-htam.npy", "a-h2-B.npy", "a-htam-old.npy"].iter().for_each(|name| _ = put(name));
    fs::write(folder.path().join("a-htam.txt"), "").unwrap();
    let tempo = put("a-htempo.npy");
    assert!(radical_spectra(&path).is_empty(), "one spectrum is not that of several radicals");
    assert!(warns_of(&read_sweep(&path, None).unwrap().notices, "No reference spectrum found"));
    let tam = put("a-htam.npy");
    assert_eq!(radical_spectra(&path), [("tam".to_owned(), tam.clone()), ("tempo".to_owned(), tempo.clone())]);
    let notices = read_sweep(&path, None).unwrap().notices;
    let option = format!("--radicals tam={},tempo={}", tam.display(), tempo.display());
    assert!(notices.iter().any(|notice| notice.text.contains(&option)), "{notices:?}");
    assert!(!warns_of(&notices, "No reference"), "{notices:?}");
    // With a reference spectrum there is nothing to choose.
    put("a-h.npy");
    let notices = read_sweep(&path, None).unwrap().notices;
    assert!(!notices.iter().any(|notice| notice.text.contains("--radicals")), "{notices:?}");
    assert_eq!(radical_spectra(&path).len(), 2);
}

#[test]
fn gradients_of_several_sizes_are_shorter_directions() {
    let folder = folder();
    let path = put_wave(folder.path(), false);
    npy(folder.path(), "a-fgrad.npy", "<f4", true, "(3, 4)", [14.0, 0.0, 0.0, 0.0, 7.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -3.5]);
    let sweep = read_sweep(&path, None).unwrap();
    let directions: Vec<[f64; 3]> = sweep.measured.projections.iter().map(|projection| projection.direction).collect();
    assert_eq!(directions, [[-1.0, -0.0, -0.0], [-0.0, -0.5, -0.0], [-0.0, -0.0, -0.0], [-0.0, -0.0, 0.25]]);
    assert_eq!(sweep.measured.num_gradient_sizes(), 4);
    assert!(sweep.notices.iter().any(|notice| notice.text.contains("--spectral-samples")), "{:?}", sweep.notices);
    // They are read back, with the projection without a gradient.
    let saved = folder.path().join("a.sweep");
    write_sweep(&saved, &sweep).unwrap();
    assert_same(&read_sweep(&saved, None).unwrap(), &sweep);
}

/// Four gradients of 14 G/cm at these angles between two axes, and four samples of each.
fn put_plane(folder: &Path, degrees: [f64; 4], [first, second]: [[f64; 3]; 2]) -> PathBuf {
    let path = put_wave(folder, false);
    let along = |degrees: f64, a: usize| 14.0 * (degrees.to_radians().cos() * first[a] + degrees.to_radians().sin() * second[a]);
    let values = (0..3).flat_map(|a| degrees.map(|degrees| along(degrees, a)));
    npy(folder, "a-fgrad.npy", "<f8", false, "(3, 4)", values);
    path
}

#[test]
fn directions_in_one_plane_through_two_axes_make_a_slice() {
    const X: [f64; 3] = [1.0, 0.0, 0.0];
    const Y: [f64; 3] = [0.0, 1.0, 0.0];
    const Z: [f64; 3] = [0.0, 0.0, 1.0];
    let quarters = [22.5, 67.5, 112.5, 157.5];
    use GradientAxis as Axis;
    for (axes, expected) in [([X, Y], [Axis::X, Axis::Y]), ([Y, Z], [Axis::Y, Axis::Z]), ([X, Z], [Axis::X, Axis::Z])] {
        let folder = folder();
        let sweep = read_sweep(&put_plane(folder.path(), quarters, axes), None).unwrap();
        assert_eq!(sweep.measured.space, SweepSpace::Slice(expected));
        for (projection, degrees) in sweep.measured.projections.iter().zip(quarters) {
            // Against the gradient (read as 32-bit floats); a quarter of the half circle each.
            let expected = [-degrees.to_radians().cos(), -degrees.to_radians().sin(), 0.0];
            assert!((0..3).all(|a| (projection.direction[a] - expected[a]).abs() < 1e-7), "{projection:?}");
            assert!((projection.weight - PI / 4.0).abs() < 1e-6);
        }
        assert!(sweep.notices.iter().any(|notice| notice.text.contains("slice (2D, axes ")), "{:?}", sweep.notices);
    }
    // Two rows: no third axis at all.
    let folder = folder();
    let path = put_plane(folder.path(), quarters, [X, Y]);
    let both = quarters.map(|degrees| 14.0 * degrees.to_radians().cos());
    let both = both.into_iter().chain(quarters.map(|degrees| 14.0 * degrees.to_radians().sin()));
    npy(folder.path(), "a-fgrad.npy", "<f8", false, "(2, 4)", both);
    let sweep = read_sweep(&path, None).unwrap();
    assert_eq!(sweep.measured.space, SweepSpace::Slice([Axis::X, Axis::Y]));
    assert!((sweep.measured.total_weight() - PI).abs() < 1e-9);
    // An oblique plane is refused; two different directions show none.
    let oblique = put_plane(folder.path(), quarters, [[0.6, 0.0, 0.8], Y]);
    assert_brief(&read_sweep(&oblique, None).unwrap_err(), "io.unsupported.epri a-fgrad.npy ObliqueSlice");
    let few = put_plane(folder.path(), [0.0, 90.0, 180.0, 270.0], [X, Y]);
    let sweep = read_sweep(&few, None).unwrap();
    assert!(sweep.measured.space == SweepSpace::Volume && warns_of(&sweep.notices, "Too few"), "{:?}", sweep.notices);
}

#[test]
fn a_saved_slice_reads_back_the_same() {
    let folder = folder();
    let path = folder.path().join("a.sweep");
    let scheme = Scheme::HalfCircle { num_angles: 12 };
    let mut sweep = sweep(scheme, Weighting::default(), 32, 1.0, |index, t| (36.0 - t * t).max(0.0).sqrt() + index as f64);
    sweep.measured.space = SweepSpace::Slice([GradientAxis::Z, GradientAxis::Y]);
    write_sweep(&path, &sweep).unwrap();
    let again = read_sweep(&path, None).unwrap();
    assert_same(&again, &sweep);
    assert_eq!(again.measured.space, sweep.measured.space);
    // Without the key it is still one, of the axes that its directions lie along, if all are listed.
    let good = fs::read_to_string(&path).unwrap();
    let without = good.replace("slice_axes = [\"z\", \"y\"]\n", "");
    assert_ne!(good, without);
    fs::write(&path, &without).unwrap();
    let again = read_sweep(&path, None).unwrap();
    assert_eq!(again.measured.space, SweepSpace::Slice([GradientAxis::X, GradientAxis::Y]));
    assert!((again.measured.total_weight() - PI).abs() < 1e-9);
    // One that goes on may yet leave the plane.
    fs::write(&path, without.replace("num_expected = 12", "num_expected = 13")).unwrap();
    assert_eq!(follow_sweep(&path, None).unwrap().0.measured.space, SweepSpace::Volume);
    fs::write(&path, good.replace("[\"z\", \"y\"]", "[\"y\", \"y\"]")).unwrap();
    assert_brief(&read_sweep(&path, None).unwrap_err(), "io.unsupported.tomoscope a.sweep SliceAxes");
    sweep.measured.projections[4].direction = [0.6, 0.0, 0.8];
    write_sweep(&path, &sweep).unwrap();
    assert_problem(&read_sweep(&path, None).unwrap_err(), "OutOfSlice(5)");
}

#[test]
fn a_pulse_set_gives_the_sweep_that_it_was_made_of() {
    let (folder, sweep) = (folder(), ball());
    let num = sweep.measured.num_complete();
    let values = sweep.measured.projections.iter().flat_map(|p| p.values.iter().map(|&v| f64::from(v)));
    let path = npy(folder.path(), "a-proj.npy", "<f4", false, &format!("({num}, 32)"), values);
    let directions = sweep.measured.projections.iter().flat_map(|p| p.direction);
    npy(folder.path(), "a-dir.npy", "<f8", false, &format!("({num}, 3)"), directions);
    npy(folder.path(), "a-t.npy", "<f8", false, "(32,)", (0..32).map(|k| f64::from(k) - 16.0));
    let again = read_sweep(&path, None).unwrap();
    assert!(!warns_of(&again.notices, "more bytes"), "{:?}", again.notices);
    fs::write(&path, [fs::read(&path).unwrap(), vec![0; 70]].concat()).unwrap();
    assert!(warns_of(&read_sweep(&path, None).unwrap().notices, "70 more bytes than its header describes"));
    assert_eq!((&again.measured.kind, again.measured.step_mm, again.measured.centre), (&SweepKind::Pulse, 1.0, 16.0));
    assert!((again.measured.total_weight() - TAU).abs() < 1e-9);
    for (a, b) in again.measured.projections.iter().zip(&sweep.measured.projections) {
        assert_eq!(a.values, b.values);
        assert!((0..3).all(|i| (a.direction[i] - b.direction[i]).abs() < 1e-6));
        // Solid angles nearest to a direction are not quite those of its share of a band.
        assert!((a.weight / b.weight - 1.0).abs() < 0.3, "{} {}", a.weight, b.weight);
    }
}

#[test]
fn a_numpy_set_that_cannot_be_is_refused() {
    type Spoil = fn(&Path);
    let cases: [(Spoil, &str); 15] = [
        (|f| fs::remove_file(f.join("a-fgrad.npy")).unwrap(), "io.unsupported.numpy a-proj.npy NoDirections"),
        (|f| fs::remove_file(f.join("a-B.npy")).unwrap(), "io.not-found a-B.npy"),
        (|f| drop(npy(f, "a-B.npy", "<f8", false, "(3,)", [1.0, 2.0, 3.0])), "io.unsupported.numpy a-B.npy AxisLength"),
        (|f| drop(npy(f, "a-B.npy", "<f8", false, "(4,)", [1.0, 2.0, 4.0, 5.0])), "io.unsupported.numpy a-B.npy UnevenAxis"),
        (|f| drop(npy(f, "a-B.npy", "<f8", false, "(4,)", [1.0; 4])), "io.unsupported.numpy a-B.npy UnevenAxis"),
        (|f| drop(npy(f, "a-fgrad.npy", "<f8", false, "(3, 3)", [1.0; 9])), "io.unsupported.numpy a-fgrad.npy VectorShape"),
        (|f| drop(npy(f, "a-fgrad.npy", "<f8", false, "(3, 4)", [0.0; 12])), "io.unsupported.numpy a-fgrad.npy NoGradient"),
        (|f| drop(npy(f, "a-fgrad.npy", "<f8", false, "(3, 4)", [f64::NAN; 12])), "io.unsupported.epri a-fgrad.npy NotFinite"),
        (|f| drop(npy(f, "a-proj.npy", "<f4", false, "(4, 5)", [0.0; 19])), "io.truncated a-proj.npy 204/208"),
        (
            |f| drop(npy(f, "a-proj.npy", "<f4", false, "(400000000, 500000000)", [])),
            "io.truncated a-proj.npy 128/800000000000000128",
        ),
        (
            |f| drop(npy(f, "a-proj.npy", "<f4", false, "(18446744073709551615, 2)", [])),
            "io.unsupported.numpy a-proj.npy TooLarge",
        ),
        (|f| drop(npy(f, "a-proj.npy", "<f4", false, "(2, 2, 2)", [0.0; 8])), "io.unsupported.numpy a-proj.npy Shape"),
        (
            |f| drop(npy(f, "a-weights.npy", "<f4", false, "(4,)", [1.0, 1.0, 1.0, -1.0])),
            "io.unsupported.numpy a-weights.npy NegativeWeight",
        ),
        // (The third projection has no gradient.)
        (
            |f| drop(npy(f, "a-weights.npy", "<f4", false, "(4,)", [0.0, 0.0, 1.0, 0.0])),
            "io.unsupported.numpy a-weights.npy NoWeight",
        ),
        (|f| fs::write(f.join("a-proj.npy"), "no array").unwrap(), "io.unsupported.numpy a-proj.npy NotNumpy"),
    ];
    for (spoil, expected) in cases {
        let folder = folder();
        let path = put_wave(folder.path(), false);
        spoil(folder.path());
        assert_brief(&read_sweep(&path, None).unwrap_err(), expected);
    }
    let folder = folder();
    let path = put_wave(folder.path(), false);
    assert_brief(&read_sweep(&folder.path().join("a-B.npy"), None).unwrap_err(), "io.unsupported.numpy a-B.npy NotOfASet");
    let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
    assert!(text.contains("i2"));
    let bytes = fs::read(&path).unwrap();
    for (from, to, problem) in [(b"<i2", b"<c8", "Complex"), (b"<i2", b"|O8", "Type")] {
        let at = bytes.windows(3).position(|window| window == from).unwrap();
        let mut changed = bytes.clone();
        changed[at..at + 3].copy_from_slice(to);
        fs::write(&path, changed).unwrap();
        assert_brief(&read_sweep(&path, None).unwrap_err(), &format!("io.unsupported.numpy a-proj.npy {problem}"));
    }
}

#[test]
fn a_real_scan_is_the_same_as_numpy_arrays() {
    let Some(path) = data_file("epri/fusillo-20091002-proj.DSC") else { return };
    let sweep = read_sweep(&path, None).unwrap();
    let folder = folder();
    for name in ["fgrad", "B"] {
        let file = format!("fusillo-20091002-{name}.npy");
        fs::copy(path.with_file_name(&file), folder.path().join(&file)).unwrap();
    }
    let values = sweep.measured.projections.iter().flat_map(|p| p.values.iter().map(|&v| f64::from(v)));
    let set = npy(folder.path(), "fusillo-20091002-proj.npy", "<f4", false, "(961, 500)", values);
    let again = read_sweep(&set, None).unwrap();
    assert!((again.measured.step_mm / sweep.measured.step_mm - 1.0).abs() < 1e-5);
    assert_eq!((again.measured.centre, again.measured.num_complete()), (sweep.measured.centre, 961));
    let mut deviation = 0.0;
    for (a, b) in again.measured.projections.iter().zip(&sweep.measured.projections) {
        assert_eq!(a.values, b.values);
        assert!((0..3).all(|i| (a.direction[i] - b.direction[i]).abs() < 1e-6));
        deviation += (a.weight - b.weight).abs() / TAU;
    }
    // The angles of the descriptor (2.903° in place of 90°/31) do not close quite evenly.
    assert!(deviation < 0.06, "{deviation}");
}

#[test]
fn the_papers_weights_are_kept_in_a_file() {
    let folder = folder();
    let scheme = Scheme::EqualSolidAngle { num_bands: 6 };
    let sweep = sweep(scheme, Weighting::Paper, 16, 2.0, |index, t| (64.0 - t * t).max(0.0) + index as f64);
    let path = folder.path().join("tubes.sweep");
    write_sweep(&path, &sweep).unwrap();
    assert_same(&read_sweep(&path, None).unwrap(), &sweep);
    assert!((sweep.measured.total_weight() - TAU).abs() > 1e-3);
}
