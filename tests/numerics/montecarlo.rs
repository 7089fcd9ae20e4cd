//! The Monte Carlo's physics against closed forms: what its histories must be on average.

use rayon::prelude::*;
use tomoscope::geometry::dot;
use tomoscope::montecarlo::{
    AnnihilationPhysics, Assignment, CrystalArray, CrystalHead, Detection, ELECTRON_KEV, HeadError, Isotope, Material, Photon,
    Readout, ReadoutError, isotropic, materials, scatter,
};
use tomoscope::random::stream;

/// Measures energies exactly and keeps all of them.
const PERFECT: Readout = Readout { energy_resolution: 0.0, window_kev: [0.0, 1e4], assignment: Assignment::LargestDeposit };

/// A head of one crystal.
fn block(material: &str, width_mm: f64, depth_mm: f64, readout: Readout) -> CrystalHead {
    let (num, pitch_mm, crystal_mm) = ([1, 1], [width_mm; 2], [width_mm, width_mm, depth_mm]);
    CrystalHead::new(CrystalArray { num, pitch_mm, crystal_mm, material: Material::find(material).unwrap() }, readout).unwrap()
}

/// A head of small crystals with gaps, wider axially.
fn small_crystals() -> CrystalArray {
    let material = Material::find("LYSO").unwrap();
    CrystalArray { num: [9, 7], pitch_mm: [1.6, 2.0], crystal_mm: [1.5, 1.8, 10.0], material }
}

/// A photon that hits the front face upright in a point.
fn upright(tangential_mm: f64, axial_mm: f64, energy_kev: f64) -> Photon {
    Photon { position_mm: [tangential_mm, axial_mm, -20.0], direction: [0.0, 0.0, 1.0], energy_kev }
}

/// A photon from a point 30 mm in front of the small crystals, somewhere onto their face: oblique.
fn oblique(history: u64) -> Photon {
    let position_mm = [3.0, -2.0, -30.0];
    let towards = [(history % 131) as f64 / 10.0 - 6.5, (history % 127) as f64 / 10.0 - 6.3, 0.0];
    let way: [f64; 3] = std::array::from_fn(|axis| towards[axis] - position_mm[axis]);
    let length = dot(way, way).sqrt();
    Photon { position_mm, direction: way.map(|x| x / length), energy_kev: ELECTRON_KEV }
}

/// Kolmogorov's √n · D of numbers against a distribution function: above 1.95 once in a thousand.
fn kolmogorov(mut numbers: Vec<f64>, distribution: impl Fn(f64) -> f64) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let num = numbers.len() as f64;
    let distance = |(i, &x): (usize, &f64)| {
        let expected = distribution(x);
        (expected - i as f64 / num).abs().max((expected - (i + 1) as f64 / num).abs())
    };
    numbers.iter().enumerate().map(distance).fold(0.0, f64::max) * num.sqrt()
}

/// Fails where so many successes of `num` tries are not to be expected of this probability (four standard deviations).
fn assert_share(count: usize, num: usize, probability: f64, what: &str) {
    let sigma = (num as f64 * probability * (1.0 - probability)).sqrt();
    let expected = num as f64 * probability;
    assert!((count as f64 - expected).abs() < 4.0 * sigma, "{what}: {count} instead of {expected:.0} ± {sigma:.0}");
}

/// Klein and Nishina's dσ/dΩ over r².
fn klein_nishina(energy_kev: f64, cosine: f64) -> f64 {
    let eta = 1.0 + energy_kev / ELECTRON_KEV * (1.0 - cosine);
    (eta + 1.0 / eta - (1.0 - cosine * cosine)) / (2.0 * eta * eta)
}

/// Its integral over all directions, over r².
fn total_klein_nishina(energy_kev: f64) -> f64 {
    let a = energy_kev / ELECTRON_KEV;
    let most = 1.0 + 2.0 * a;
    let first = (1.0 + a) / (a * a) * (2.0 * (1.0 + a) / most - most.ln() / a);
    std::f64::consts::TAU * (first + most.ln() / (2.0 * a) - (1.0 + 3.0 * a) / (most * most))
}

/// Share of Klein and Nishina's photons with a cosine up to each of `num` even steps from −1 to 1, the first being 0.
fn klein_nishina_distribution(energy_kev: f64, num: usize) -> Vec<f64> {
    let step = 2.0 / num as f64;
    let ring = |i: usize| {
        // Simpson's rule.
        let [low, middle, high] = [0.0, 0.5, 1.0].map(|part| klein_nishina(energy_kev, -1.0 + (i as f64 + part) * step));
        std::f64::consts::TAU * step * (low + 4.0 * middle + high) / 6.0 / total_klein_nishina(energy_kev)
    };
    let sum = |sum: &mut f64, i| {
        *sum += ring(i);
        Some(*sum)
    };
    std::iter::once(0.0).chain((0..num).scan(0.0, sum)).collect()
}

#[test]
fn compton_angles_are_klein_and_nishinas() {
    const NUM: usize = 400_000;
    const BINS: usize = 50;
    for energy_kev in [511.0, 200.0, 100.0, 15.0] {
        let distribution = klein_nishina_distribution(energy_kev, BINS * 20);
        assert!((distribution[BINS * 20] - 1.0).abs() < 1e-9, "the differential cross-section adds up to the total one");
        let mut random = stream(21, energy_kev as u64);
        let mut counts = [0.0; BINS];
        for _ in 0..NUM {
            let scattered = scatter(energy_kev, &mut random);
            let kinematic_kev = energy_kev / (1.0 + energy_kev / ELECTRON_KEV * (1.0 - scattered.cosine));
            assert!((scattered.energy_kev / kinematic_kev - 1.0).abs() < 1e-9 && scattered.cosine.abs() <= 1.0 + 1e-12);
            counts[(((scattered.cosine + 1.0) * 0.5 * BINS as f64) as usize).min(BINS - 1)] += 1.0;
        }
        let chi_square: f64 = (0..BINS)
            .map(|bin| {
                let expected = NUM as f64 * (distribution[(bin + 1) * 20] - distribution[bin * 20]);
                (counts[bin] - expected).powi(2) / expected
            })
            .sum();
        println!("Klein–Nishina at {energy_kev} keV: χ² {chi_square:.1} of 49 degrees of freedom");
        assert!((20.0..86.0).contains(&chi_square), "χ² of 49 degrees of freedom at {energy_kev} keV: {chi_square}");
    }
}

/// Where binding no longer matters, electrons per mm³ times Klein and Nishina's total cross-section.
#[test]
fn incoherent_coefficients_are_those_of_free_electrons() {
    let electrons_and_mass = [
        ("LSO", 196.0, 458.02),
        ("LYSO", 189.6, 440.80),
        ("BGO", 524.0, 1245.83),
        ("GSO", 182.0, 422.58),
        ("NaI", 64.0, 149.894),
        ("water", 10.0, 18.015),
    ];
    assert_eq!(materials().len(), electrons_and_mass.len());
    for (name, electrons, grams_per_mol) in electrons_and_mass {
        let material = Material::find(name).unwrap();
        let per_mm3 = material.density_g_per_cm3 / 1e3 * 6.022_140_76e23 * electrons / grams_per_mol;
        let free_per_mm = per_mm3 * 2.817_940_3e-12f64.powi(2) * total_klein_nishina(511.0);
        let ratio = material.attenuation(511.0).incoherent_per_mm / free_per_mm;
        assert!((0.97..1.002).contains(&ratio), "{name}: {ratio} of the free electrons'");
    }
}

#[test]
fn behind_a_depth_the_attenuations_share_is_left() {
    const NUM: usize = 100_000;
    for (material, energy_kev, depth_mm) in
        [("LSO", 511.0, 10.0), ("LYSO", 511.0, 20.0), ("BGO", 120.0, 0.5), ("water", 140.0, 50.0)]
    {
        let head = block(material, 100.0, depth_mm, PERFECT);
        let passed =
            |history: &u64| head.track(upright(1.0, 2.0, energy_kev), false, &mut stream(22, *history)).num_interactions == 0;
        let num_passed = (0..NUM as u64).into_par_iter().filter(passed).count();
        let per_mm = head.array.material.attenuation(energy_kev).total_per_mm();
        assert_share(num_passed, NUM, (-per_mm * depth_mm).exp(), &format!("{material} of {depth_mm} mm at {energy_kev} keV"));
    }
}

/// The walk from crystal to crystal against points every micrometre of the same line.
#[test]
fn the_length_in_crystals_is_that_of_points_on_the_line() {
    const STEP_MM: f64 = 1e-3;
    let array = small_crystals();
    let head = CrystalHead::new(array.clone(), PERFECT).unwrap();
    let in_crystal = |point: [f64; 3]| {
        (0.0..array.crystal_mm[2]).contains(&point[2])
            && (0..2).all(|axis| {
                let half_mm = 0.5 * array.num[axis] as f64 * array.pitch_mm[axis];
                let from_edge_mm = point[axis] + half_mm;
                let from_centre_mm = from_edge_mm.rem_euclid(array.pitch_mm[axis]) - 0.5 * array.pitch_mm[axis];
                from_edge_mm.abs() <= 2.0 * half_mm
                    && (0.0..2.0 * half_mm).contains(&from_edge_mm)
                    && from_centre_mm.abs() < 0.5 * array.crystal_mm[axis]
            })
    };
    let mut random = stream(23, 0);
    let mut num_hits = 0;
    for line in 0..300 {
        // From outside through all faces, from inside, and along the axes.
        let mut direction = isotropic(&mut random);
        if line % 10 == 0 {
            direction = std::array::from_fn(|axis| if axis == line / 10 % 3 { 1f64.copysign(direction[axis]) } else { 0.0 });
        }
        let near = isotropic(&mut random);
        let back_mm = if line % 4 == 1 { 0.0 } else { 40.0 };
        let position_mm: [f64; 3] =
            std::array::from_fn(|axis| [0.0, 0.0, 5.0][axis] + 4.9 * near[axis] - back_mm * direction[axis]);
        let num = (80.0 / STEP_MM) as usize;
        let point = |step: usize| std::array::from_fn(|axis| position_mm[axis] + (step as f64 + 0.5) * STEP_MM * direction[axis]);
        let counted_mm = (0..num).filter(|&step| in_crystal(point(step))).count() as f64 * STEP_MM;
        let length_mm = head.length_in_crystals_mm(position_mm, direction);
        assert!((length_mm - counted_mm).abs() < 0.02, "line {line}: {length_mm} mm instead of {counted_mm} mm");
        num_hits += usize::from(counted_mm > 0.0);
    }
    assert!(num_hits > 200, "{num_hits}");
}

#[test]
fn photons_find_the_crystal_they_are_aimed_at_and_pass_between_crystals() {
    let head = CrystalHead::new(small_crystals(), PERFECT).unwrap();
    for i in 0..9 {
        for k in 0..7 {
            let [tangential, axial, _] = head.crystal_centre_mm([i, k]);
            // 20 keV: absorbed within micrometres.
            let detection = head.detect(upright(tangential, axial, 20.0), false, &mut stream(24, 0)).unwrap();
            assert_eq!((detection.crystal, detection.weight), ([i, k], 1.0));
            let gap = head.track(upright(tangential + 0.79, axial, 20.0), true, &mut stream(24, 0));
            assert_eq!((gap.num_interactions, gap.weight, gap.escaped_kev), (0, 0.0, 20.0));
        }
    }
    let from_the_side = Photon { position_mm: [-50.0, 0.0, 4.0], direction: [1.0, 0.0, 0.0], energy_kev: 20.0 };
    assert_eq!(head.detect(from_the_side, true, &mut stream(24, 1)).unwrap().crystal, [0, 3]);
    let past = Photon { direction: [0.0, 0.0, -1.0], ..upright(0.0, 0.0, 511.0) };
    assert_eq!(head.detect(past, true, &mut stream(24, 1)), None);
}

/// First interactions in a thin crystal: the photo peak's share, then electrons up to the Compton edge.
#[test]
fn the_spectrum_has_its_photo_peak_and_its_compton_edge() {
    const NUM: usize = 400_000;
    let head = block("LSO", 50.0, 1e-4, PERFECT);
    let track = |history| head.track(upright(0.0, 0.0, ELECTRON_KEV), true, &mut stream(25, history));
    let tracks: Vec<_> = (0..NUM as u64).into_par_iter().map(track).collect();
    let num_absorbed = tracks.iter().filter(|track| track.num_interactions == 1 && track.escaped_kev == 0.0).count();
    let attenuation = head.array.material.attenuation(ELECTRON_KEV);
    assert_share(num_absorbed, NUM, attenuation.photoelectric_per_mm / attenuation.total_per_mm(), "photo-electric");

    let compton = |track: &&_| -> bool {
        let track: &tomoscope::montecarlo::Track = track;
        track.num_interactions == 1 && track.escaped_kev > 0.0 && track.deposited_kev > 0.0
    };
    let electrons_kev: Vec<f64> = tracks.iter().filter(compton).map(|track| track.deposited_kev).collect();
    let edge_kev = electrons_kev.iter().copied().fold(0.0, f64::max);
    println!("Compton edge: {edge_kev:.2} keV");
    assert!((340.0..340.67).contains(&edge_kev), "{edge_kev}");
    let distribution = klein_nishina_distribution(ELECTRON_KEV, 20_000);
    let share_below = |electron_kev: f64| {
        let cosine = 1.0 - electron_kev / (ELECTRON_KEV - electron_kev);
        1.0 - distribution[((cosine + 1.0) * 10_000.0).round().clamp(0.0, 20_000.0) as usize]
    };
    let distance = kolmogorov(electrons_kev, share_below);
    assert!(distance < 1.95, "Kolmogorov {distance}");
}

#[test]
fn energy_is_kept_and_the_ways_to_end_add_up() {
    const NUM: u64 = 100_000;
    let head = CrystalHead::new(small_crystals(), PERFECT).unwrap();
    let (mut absorbed, mut escaped, mut passed) = (0, 0, 0);
    for history in 0..NUM {
        let photon = oblique(history);
        let track = head.track(photon, false, &mut stream(26, history));
        assert!((track.deposited_kev + track.escaped_kev - photon.energy_kev).abs() < 1e-9);
        let of_crystals: f64 = track.deposits().iter().map(|deposit| deposit.energy_kev).sum();
        assert!((of_crystals - track.deposited_kev).abs() < 1e-9);
        match (track.num_interactions, track.escaped_kev == 0.0) {
            (0, false) => passed += 1,
            (1.., true) => absorbed += 1,
            (1.., false) => escaped += 1,
            (0, true) => panic!("absorbed without an interaction"),
        }
    }
    assert_eq!(absorbed + escaped + passed, NUM as usize);
    let expected: f64 = (0..NUM).map(|h| head.track(oblique(h), true, &mut stream(27, h)).weight).sum::<f64>() / NUM as f64;
    assert_share(absorbed + escaped, NUM as usize, expected, "photons that interact");
    println!("absorbed {absorbed}, escaped {escaped}, passed {passed}");
    assert!(absorbed > 10_000 && escaped > 10_000 && passed > 10_000);
}

#[test]
fn a_forced_first_interaction_changes_no_mean() {
    const NUM: u64 = 1_000_000;
    let readout = Readout { energy_resolution: 0.165, window_kev: [100.0, 700.0], assignment: Assignment::LargestDeposit };
    let head = CrystalHead::new(small_crystals(), readout).unwrap();
    // Sums of weights and of their squares: of every crystal, and of every 25 keV.
    let tally = |forced: bool, seed: u64| {
        let mut sums = vec![[0.0; 2]; 63 + 25];
        for history in 0..NUM {
            let detection = head.detect(oblique(history), forced, &mut stream(seed, history));
            if let Some(Detection { crystal: [i, k], energy_kev, weight }) = detection {
                for bin in [7 * i + k, 63 + ((energy_kev - 100.0) / 25.0) as usize] {
                    sums[bin][0] += weight;
                    sums[bin][1] += weight * weight;
                }
            }
        }
        sums
    };
    let (analog, forced) = rayon::join(|| tally(false, 28), || tally(true, 29));
    let used: Vec<_> = analog.iter().zip(&forced).filter(|(a, _)| a[0] >= 20.0).collect();
    let chi_square: f64 = used.iter().map(|(a, f)| (a[0] - f[0]).powi(2) / (a[1] + f[1])).sum();
    let num = used.len() as f64;
    let total = |sums: &[[f64; 2]]| sums[..63].iter().fold([0.0; 2], |sum, bin| [sum[0] + bin[0], sum[1] + bin[1]]);
    println!("forced against analog: χ² {chi_square:.1} of {num} bins; totals {:?} {:?}", total(&analog), total(&forced));
    assert!(num > 80.0 && (chi_square - num).abs() < 4.0 * (2.0 * num).sqrt(), "χ² {chi_square} of {num} bins");
    let ([a, a_square], [f, f_square]) = (total(&analog), total(&forced));
    assert!((a - f).abs() < 4.0 * (a_square + f_square).sqrt(), "{a} {f}");
    assert!(f_square / (f * f) < 0.7 * a_square / (a * a), "forcing must pay: {f_square} / {f}², {a_square} / {a}²");
}

/// Where photons that are absorbed at once were absorbed: the path's density is the attenuation's, cut at the crystal's end.
#[test]
fn a_forced_first_interaction_lies_where_an_analog_one_would() {
    let head = block("LSO", 100.0, 10.0, PERFECT);
    // Along the direction (0.6, 0, 0.8) the path is the tangential way over 0.6.
    let photon = Photon { position_mm: [-15.0, 0.0, -20.0], direction: [0.6, 0.0, 0.8], energy_kev: ELECTRON_KEV };
    let per_mm = head.array.material.attenuation(ELECTRON_KEV).total_per_mm();
    let probability = 1.0 - (-per_mm * 12.5).exp();
    let mut paths_mm = Vec::new();
    for history in 0..200_000 {
        let track = head.track(photon, true, &mut stream(37, history));
        assert!((track.weight / probability - 1.0).abs() < 1e-9 && track.num_interactions > 0);
        if track.num_interactions == 1 && track.escaped_kev == 0.0 {
            paths_mm.push(track.moment_kev_mm[0] / track.deposited_kev / 0.6);
        }
    }
    assert!(paths_mm.len() > 50_000);
    let distance = kolmogorov(paths_mm, |path_mm| (1.0 - (-per_mm * path_mm).exp()) / probability);
    assert!(distance < 1.95, "Kolmogorov {distance}");
}

#[test]
fn the_measured_energy_has_its_width() {
    const NUM: u64 = 50_000;
    let readout = Readout { energy_resolution: 0.2, ..PERFECT };
    let head = block("BGO", 1000.0, 1000.0, readout);
    for energy_kev in [511.0, 150.0] {
        // From the block's middle nothing escapes.
        let inside = Photon { position_mm: [0.0, 0.0, 500.0], direction: [0.0, 0.0, 1.0], energy_kev };
        let measured = |history| head.detect(inside, false, &mut stream(30, history)).unwrap().energy_kev;
        let energies: Vec<f64> = (0..NUM).into_par_iter().map(measured).collect();
        let mean = energies.iter().sum::<f64>() / NUM as f64;
        let variance = energies.iter().map(|energy| (energy - mean).powi(2)).sum::<f64>() / NUM as f64;
        let fwhm = (8.0 * 2f64.ln() * variance).sqrt();
        let expected = 0.2 * (energy_kev * ELECTRON_KEV).sqrt();
        println!("{energy_kev} keV: mean {mean:.2}, FWHM {fwhm:.2}, expected {expected:.2}");
        assert!((mean - energy_kev).abs() < 4.0 * expected / 2.35 / (NUM as f64).sqrt(), "{mean}");
        assert!((fwhm / expected - 1.0).abs() < 4.0 / (2.0 * NUM as f64).sqrt(), "{fwhm} {expected}");
    }
    let window = Readout { window_kev: [450.0, 550.0], ..readout };
    let head = block("BGO", 1000.0, 1000.0, window);
    let inside = Photon { position_mm: [0.0, 0.0, 500.0], direction: [0.0, 0.0, 1.0], energy_kev: 511.0 };
    let kept: Vec<_> = (0..NUM).filter_map(|history| head.detect(inside, false, &mut stream(31, history))).collect();
    assert!(kept.iter().all(|detection| (450.0..=550.0).contains(&detection.energy_kev)));
    // Φ((550 − 511) / σ) − Φ((450 − 511) / σ) for σ = 43.4 keV.
    assert_share(kept.len(), NUM as usize, 0.8156 - 0.0799, "in the window");
}

#[test]
fn events_go_to_the_crystal_of_the_rule() {
    let of_rule = |assignment| CrystalHead::new(small_crystals(), Readout { assignment, ..PERFECT }).unwrap();
    let [largest, centroid] = [Assignment::LargestDeposit, Assignment::Centroid].map(of_rule);
    let mut num_different = 0;
    for history in 0..20_000 {
        let track = largest.track(oblique(history), false, &mut stream(32, history));
        let [by_largest, by_centroid] =
            [&largest, &centroid].map(|h| h.detect(oblique(history), false, &mut stream(32, history)));
        let (Some(by_largest), Some(by_centroid)) = (by_largest, by_centroid) else {
            assert_eq!(track.deposited_kev, 0.0);
            continue;
        };
        let of = |crystal| track.deposits().iter().find(|deposit| deposit.crystal == crystal);
        let most_kev = track.deposits().iter().map(|deposit| deposit.energy_kev).fold(0.0, f64::max);
        assert_eq!(of(by_largest.crystal).unwrap().energy_kev, most_kev);
        let centre_mm = centroid.crystal_centre_mm(by_centroid.crystal);
        for ((moment, centre_mm), pitch_mm) in track.moment_kev_mm.iter().zip(centre_mm).zip(small_crystals().pitch_mm) {
            assert!((moment / track.deposited_kev - centre_mm).abs() <= 0.5 * pitch_mm + 1e-9);
        }
        num_different += usize::from(by_largest.crystal != by_centroid.crystal);
    }
    assert!(num_different > 500, "{num_different}");
}

#[test]
fn a_seed_means_the_same_on_any_number_of_threads() {
    let readout = Readout { energy_resolution: 0.165, ..PERFECT };
    let head = CrystalHead::new(small_crystals(), readout).unwrap();
    let bits = |detection: Option<Detection>| detection.map(|d| (d.crystal, d.energy_kev.to_bits(), d.weight.to_bits()));
    let of_seed = |seed: u64| -> Vec<_> {
        let histories = (0..20_000u64).into_par_iter();
        histories.map(|history| bits(head.detect(oblique(history), true, &mut stream(seed, history)))).collect()
    };
    let alone: Vec<_> = (0..20_000u64).rev().map(|h| bits(head.detect(oblique(h), true, &mut stream(33, h)))).collect();
    assert!(of_seed(33).into_iter().eq(alone.into_iter().rev()));
    assert_ne!(of_seed(33), of_seed(34));
}

/// The fits of Levin and Hoffman: share of the short component and both slopes; the last two are stretched.
const PROFILES: [(Isotope, f64, [f64; 2]); 6] = [
    (Isotope::F18, 0.516, [37.9, 3.10]),
    (Isotope::C11, 0.488, [23.8, 1.8]),
    (Isotope::N13, 0.426, [20.2, 1.4]),
    (Isotope::O15, 0.379, [18.1, 0.90]),
    (Isotope::Ga68, 0.379, [18.1 * 3.0 / 3.5, 0.90 * 3.0 / 3.5]),
    (Isotope::I124, 0.379, [18.1 * 3.0 / 3.6, 0.90 * 3.0 / 3.6]),
];

#[test]
fn positron_ranges_have_their_radial_distribution_and_published_projection() {
    const NUM: usize = 200_000;
    for (isotope, share, [short, long]) in PROFILES {
        let physics = AnnihilationPhysics { noncollinearity_fwhm_deg: 0.0, ..AnnihilationPhysics::of(isotope) };
        let mut random = stream(35, isotope as u64);
        let points: Vec<_> = (0..NUM).map(|_| physics.annihilation_mm([1.0, -2.0, 3.0], &mut random)).collect();
        let away = |p: &[f64; 3]| [p[0] - 1.0, p[1] + 2.0, p[2] - 3.0];
        let radii: Vec<f64> = points.iter().map(away).map(|p| dot(p, p).sqrt()).collect();
        let weights = [share / short, (1.0 - share) / long].map(|area| area / (share / short + (1.0 - share) / long));
        let gamma = |x: f64| 1.0 - (1.0 + x) * (-x).exp();
        let radial = kolmogorov(radii.clone(), |r| weights[0] * gamma(short * r) + weights[1] * gamma(long * r));
        let laplace = |x: f64| if x < 0.0 { 0.5 * x.exp() } else { 1.0 - 0.5 * (-x).exp() };
        let projected_on = |axis: usize| {
            let numbers = points.iter().map(|p| away(p)[axis]).collect();
            kolmogorov(numbers, |x| weights[0] * laplace(short * x) + weights[1] * laplace(long * x))
        };
        let projected = [0, 1, 2].map(projected_on);
        let mean_mm = radii.iter().sum::<f64>() / NUM as f64;
        println!("{isotope:?}: mean range {mean_mm:.3} mm, Kolmogorov {radial:.2} of the radius, {projected:.2?} of the axes");
        assert!(radial < 1.95 && projected.iter().all(|&distance| distance < 1.95), "{isotope:?}: {radial} {projected:?}");
    }
}

#[test]
fn photons_deviate_from_opposite_by_their_angle() {
    const NUM: usize = 100_000;
    let physics = AnnihilationPhysics { range_of: None, noncollinearity_fwhm_deg: 0.5 };
    let first = [0.48, -0.6, 0.64];
    // Two directions upright on it.
    let across = [[0.8, 0.6 * 0.0, -0.6], [0.36, 0.8, 0.48]];
    across.iter().for_each(|side| assert!(dot(*side, first).abs() < 1e-12));
    let mut random = stream(36, 0);
    let mut projected_deg = [Vec::new(), Vec::new()];
    for _ in 0..NUM {
        assert_eq!(physics.annihilation_mm([0.0; 3], &mut random), [0.0; 3]);
        let second = physics.opposite(first, &mut random);
        assert!((dot(second, second) - 1.0).abs() < 1e-12);
        for (angles, side) in projected_deg.iter_mut().zip(across) {
            angles.push((dot(second, side) / -dot(second, first)).atan().to_degrees());
        }
    }
    for angles in projected_deg {
        let fwhm = (8.0 * 2f64.ln() * angles.iter().map(|angle| angle * angle).sum::<f64>() / NUM as f64).sqrt();
        assert!((fwhm / 0.5 - 1.0).abs() < 4.0 / (2.0 * NUM as f64).sqrt(), "{fwhm}");
    }
    let ideal = AnnihilationPhysics::IDEAL;
    assert_eq!(ideal.annihilation_mm([1.0, 2.0, 3.0], &mut random), [1.0, 2.0, 3.0]);
    assert_eq!(ideal.opposite(first, &mut random), first.map(|x| -x));
}

#[test]
fn heads_that_cannot_be_are_refused_with_a_sentence() {
    let refused = |array, readout| CrystalHead::new(array, readout).unwrap_err();
    let of_array = |change: fn(&mut CrystalArray)| {
        let mut array = small_crystals();
        change(&mut array);
        refused(array, PERFECT)
    };
    assert_eq!(of_array(|array| array.num = [0, 7]), HeadError::Number(0, 7));
    assert!(matches!(of_array(|array| array.crystal_mm[2] = f64::NAN), HeadError::Length { what: "crystals' depth", .. }));
    assert_eq!(of_array(|array| array.crystal_mm[0] = 1.7), HeadError::Overlap { crystal_mm: 1.7, pitch_mm: 1.6 });
    let window = refused(small_crystals(), Readout { window_kev: [650.0, 350.0], ..PERFECT });
    assert_eq!(window, HeadError::Readout(ReadoutError::Window(650.0, 350.0)));
    assert_eq!(window.to_string(), "an energy window goes from 0 keV or more up to a higher energy, not from 650 to 350 keV");
    let resolution = refused(small_crystals(), Readout { energy_resolution: -0.1, ..PERFECT });
    assert_eq!(resolution, HeadError::Readout(ReadoutError::Resolution(-0.1)));
}
