//! The catalogue of scanners against the figures that are published for them.

use tomoscope::scanner::{InPlane, ScanGeometry, catalogue, find, find_by_originating_system};

fn geometry(name: &str) -> &'static ScanGeometry {
    &find(name).unwrap_or_else(|| panic!("{name} is not in the catalogue")).geometry
}

/// Detector rings that have one axial position each give (rings − |d|) direct lines of ring difference d.
fn num_planes_of_differences(num_rings: usize, differences: std::ops::RangeInclusive<usize>) -> usize {
    differences.map(|d| if d == 0 { num_rings } else { 2 * (num_rings - d) }).sum()
}

#[test]
fn the_discovery_ste_is_the_papers() {
    // Belzunce et al. 2012: 553 sinograms of 280 × 329 bins; field of view 700 mm across and 156.96 mm long.
    for name in ["discovery-ste", "discovery-ste-detectors"] {
        let g = geometry(name);
        assert_eq!((g.num_planes(), g.num_views, g.num_tangential), (553, 280, 329), "{name}");
        assert_eq!(g.num_bins(), 50_942_360, "{name}");
        assert_eq!(g.fov_radius_mm, 350.0, "{name}");
        assert!((g.axial_length_mm() - 156.96).abs() < 1e-9, "{name}");
        assert!((g.radius_mm() - 451.5).abs() < 1e-9, "{name}");
        // Segment 0 has 24 direct and 23 cross planes; each of ±2 … ±23 has 24 − |d|.
        let direct = g.segments.iter().find(|s| s.mean_ring_difference() == 0.0).unwrap();
        assert_eq!((direct.min_ring_difference, direct.max_ring_difference, direct.num_axial_pos), (-1, 1, 47), "{name}");
        let oblique: usize = g.segments.iter().filter(|s| s.mean_ring_difference() != 0.0).map(|s| s.num_axial_pos).sum();
        assert_eq!(oblique, 506, "{name}");
        assert_eq!(oblique, num_planes_of_differences(24, 2..=23), "{name}");
    }
    let papers = geometry("discovery-ste");
    assert_eq!(papers.in_plane, InPlane::ArcCorrected { bin_mm: 700.0 / 329.0 });
    assert_eq!(papers.view_offset_deg, 0.0);
    let detectors = geometry("discovery-ste-detectors");
    assert_eq!((detectors.in_plane, detectors.num_detectors_per_ring), (InPlane::Detectors, 560));
    assert_eq!(detectors.view_offset_deg, -4.549);
    // The outermost LOR: 164 steps of half a crystal angle, R sin(164 π / 560).
    assert!((detectors.s_mm(0) + 451.5 * (164.0 * std::f64::consts::PI / 560.0).sin()).abs() < 1e-9);
}

#[test]
fn the_advance_is_as_published() {
    // DeGrado et al. 1994: 18 rings of 672 detectors, 265 sinograms of 336 × 281 bins, 55 cm across, 15.2 cm long.
    let g = geometry("advance");
    assert_eq!((g.num_rings, g.num_detectors_per_ring, g.num_planes()), (18, 672, 265));
    assert_eq!((g.num_views, g.num_tangential), (336, 281));
    assert_eq!(g.num_planes(), 35 + num_planes_of_differences(18, 2..=11));
    assert!((g.axial_length_mm() - 153.0).abs() < 1.0);
    let reach = g.s_mm(g.num_tangential - 1);
    assert!((g.fov_radius_mm - reach).abs() < 2.0 * g.central_bin_mm(), "{reach}");
}

#[test]
fn the_cti_scanners_are_as_their_headers() {
    let prt = geometry("prt-1");
    assert_eq!((prt.num_rings, prt.num_detectors_per_ring, prt.num_views, prt.num_tangential), (16, 384, 96, 128));
    assert_eq!(prt.num_planes(), num_planes_of_differences(16, 0..=4));
    assert_eq!(prt.in_plane, InPlane::ArcCorrected { bin_mm: 3.1088 });
    assert!((prt.radius_mm() - 380.0).abs() < 1e-9);
    // The tilt undoes the shift of adding two views: the first view is upright.
    assert!(prt.phi_rad(0).abs() < 1e-12);
    let ecat = geometry("ecat-931");
    assert_eq!((ecat.num_rings, ecat.num_detectors_per_ring, ecat.num_views, ecat.num_tangential), (8, 512, 64, 192));
    assert_eq!((ecat.in_plane, ecat.segments.len(), ecat.num_planes()), (InPlane::Detectors, 15, 64));
    assert!((ecat.radius_mm() - 517.0).abs() < 1e-9);
    assert_eq!(ecat.ring_spacing_mm, 13.5);
}

#[test]
fn a_file_that_only_names_its_scanner_finds_it() {
    for (system, name) in
        [("PRT-1", "prt-1"), ("ECAT 931", "ecat-931"), ("GE Discovery STE", "discovery-ste-detectors"), ("GE Advance", "advance")]
    {
        assert_eq!(find_by_originating_system(system).map(|s| s.name.as_str()), Some(name));
    }
}

#[test]
fn headers_of_another_program_give_the_catalogues_lines() {
    for (file, name) in
        [("stir/utahgeom_synth600k.hs", "prt-1"), ("stir/fwd_test5.hs", "prt-1"), ("stir/ecat931/fwd931.hs", "ecat-931")]
    {
        let Some(path) = super::data::data_file(file) else { continue };
        let (michelogram, _) = tomoscope::io::read_projections(&path).unwrap();
        let (read, known) = (michelogram.geometry.as_ref(), geometry(name));
        assert_eq!((read.num_views, read.num_tangential), (known.num_views, known.num_tangential), "{file}");
        for (a, b) in read.planes().iter().zip(known.planes()) {
            assert!((a.z_start_mm - b.z_start_mm).abs() < 1e-3 && (a.z_end_mm - b.z_end_mm).abs() < 1e-3, "{file}");
        }
        assert_eq!(read.num_planes(), known.num_planes(), "{file}");
        for (view, tangential_pos) in [(0, 0), (1, 60), (known.num_views - 1, known.num_tangential - 1)] {
            let [a, b] = [read, known].map(|g| g.transaxial_lor(view, tangential_pos, 0, 1));
            let distance = [a.start[0] - b.start[0], a.start[1] - b.start[1], a.end[0] - b.end[0], a.end[1] - b.end[1]];
            assert!(distance.iter().all(|d| d.abs() < 1e-3), "{file}, view {view}, tangential position {tangential_pos}");
        }
    }
}

#[test]
fn every_scanner_is_sound() {
    for scanner in catalogue() {
        let (g, name) = (&scanner.geometry, &scanner.name);
        assert!(g.fov_radius_mm < g.inner_radius_mm, "{name}");
        assert!(g.s_mm(0).abs() <= g.radius_mm() && g.s_mm(g.num_tangential - 1) <= g.radius_mm(), "{name}");
        assert!(!scanner.source.is_empty(), "{name}");
        assert!(["checked", "provisional"].contains(&scanner.status.as_str()), "{name}");
        // For every segment there is its mirror image, with as many planes.
        for s in &g.segments {
            let mirror = |t: &&tomoscope::scanner::Segment| t.mean_ring_difference() == -s.mean_ring_difference();
            assert_eq!(g.segments.iter().find(mirror).map(|t| t.num_axial_pos), Some(s.num_axial_pos), "{name}");
        }
        // No plane leaves the scanner.
        let half = 0.5 * g.axial_length_mm();
        assert!(g.planes().iter().all(|p| p.z_start_mm.abs() < half && p.z_end_mm.abs() < half), "{name}");
    }
}

#[test]
fn the_vrpet_is_the_papers() {
    // Herraiz et al. 2011: 117 × 190 × 30 × 30 bins, field of view 86.6 mm across and 45.6 mm long, 117 × 117 × 59 voxels.
    let g = geometry("vrpet");
    assert_eq!((g.num_tangential, g.num_views, g.num_planes()), (117, 190, 900));
    assert!((2.0 * g.fov_radius_mm - 86.6).abs() < 1e-9 && (g.axial_length_mm() - 45.6).abs() < 1e-9);
    let grid = g.default_grid().unwrap();
    assert_eq!(grid.size, [117, 117, 59]);
    assert!((grid.voxel_mm[0] - 0.740).abs() < 5e-4 && (grid.voxel_mm[2] - 0.76).abs() < 1e-12, "{:?}", grid.voxel_mm);
    assert!((g.phi_rad(1) - std::f64::consts::PI / 190.0).abs() < 1e-12 && g.phi_rad(0) == 0.0);
    // The lines of a view end on two planes.
    for tangential_pos in [0, 58, 116] {
        let lor = g.transaxial_lor(0, tangential_pos, 0, 1);
        assert!((lor.start[1] - g.radius_mm()).abs() < 1e-9 && (lor.end[1] + g.radius_mm()).abs() < 1e-9, "{lor:?}");
        assert!((lor.start[0] - g.s_mm(tangential_pos)).abs() < 1e-9, "{lor:?}");
    }
    // Herraiz et al. 2010: 175 × 130 × 30 × 30 bins, 175 × 175 × 59 voxels.
    let g = geometry("vrpet-2010");
    assert_eq!((g.num_tangential, g.num_views, g.num_planes()), (175, 130, 900));
    assert_eq!(g.default_grid().unwrap().size, [175, 175, 59]);
    for name in ["vrpet", "vrpet-2010"] {
        assert_eq!(find(name).unwrap().status, "provisional");
    }
}
