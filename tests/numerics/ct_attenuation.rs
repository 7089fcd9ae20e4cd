//! CT as attenuation: against exact line integrals of a phantom.

use std::sync::Arc;

use tomoscope::data::{AttenuationMap, Counts, CtSettings, Unit, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::write_volume;
use tomoscope::phantom::{Noise, SimulationOptions, by_name, simulate};
use tomoscope::plan::{Cache, attenuated, read_object_attenuation};
use tomoscope::scanner::find;
use tomoscope::task::Task;

#[test]
fn ct_of_a_cylinder_attenuates_as_its_exact_line_integrals() {
    let geometry = Arc::new(find("small").unwrap().geometry.clone());
    let phantom = by_name("cylinder", &geometry).unwrap();
    let options = SimulationOptions { counts: 1e6, noise: Noise::None, attenuation: true, ..SimulationOptions::default() };
    let study = simulate(&phantom, Arc::clone(&geometry), &options, &Task::new()).unwrap();
    let exact = study.measured.multiplicative.unwrap();
    let field = geometry.default_grid().unwrap();
    // CT of 1 mm, shifted by (13, −8, 5) mm from its position in the scanner; water (0.096 /cm) has 0 HU, air −1000 HU.
    let shift_mm = [13.0, -8.0, 5.0];
    let length = |axis: usize| field.extent_mm(axis)[1] - field.extent_mm(axis)[0];
    let grid = Grid::centred([length(0) as usize, length(1) as usize, length(2) as usize + 8], [1.0; 3]).unwrap();
    let mut ct = phantom.attenuation(&grid, &Task::new()).unwrap();
    ct.as_mut_slice().iter_mut().for_each(|value| *value = (*value / 0.096 - 1.0) * 1000.0);
    let origin_mm = [0, 1, 2].map(|axis| grid.origin_mm[axis] - shift_mm[axis]);
    let mut of_phantom = phantom.attenuation(&grid, &Task::new()).unwrap();
    of_phantom.as_mut_slice().iter_mut().for_each(|value| *value *= 0.1);
    let ct = Volume { unit: Unit::Hounsfield, grid: Grid::new(grid.size, grid.voxel_mm, origin_mm).unwrap(), ..ct };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ct.nii.gz");
    write_volume(&path, &ct).unwrap();
    let settings = CtSettings { kvp: Some(120.0), fwhm_mm: 4.0, shift_mm };
    let (map, notices) = read_object_attenuation(&path, Some(&settings), None, &field).unwrap();
    assert!(notices.iter().any(|notice| notice.text.contains("120 kV, 4 mm, shifted by (13, -8, 5) mm")), "{notices:?}");
    let integrals = |map: AttenuationMap| -> Vec<f64> {
        let counts = Counts::new(study.measured.prompts.clone());
        let factors = attenuated(&Cache::nowhere(), counts, vec![Arc::new(map)], &Task::new()).unwrap().0.multiplicative.unwrap();
        factors.counts.iter().map(|factor| -f64::from(*factor).ln()).collect()
    };
    // The phantom's own map in voxels of 1 mm has the same error of the voxels.
    let of_voxels = integrals(AttenuationMap { file: "mu.nii".into(), per_mm: of_phantom, ct: None });
    let found = integrals(map);
    let exact: Vec<f64> = exact.counts.iter().map(|factor| -f64::from(*factor).ln()).collect();
    let longest = exact.iter().copied().fold(0.0, f64::max);
    // Lines up to 0.87 of the radius from the axis; at the rim the filter spreads the edge.
    let inner = found.iter().zip(&exact).filter(|(_, exact)| **exact > 0.5 * longest);
    let largest = inner.map(|(found, exact)| (found - exact).abs()).fold(0.0, f64::max);
    let [ct, voxels, exact] = [found, of_voxels, exact].map(|integrals| integrals.iter().sum::<f64>());
    println!("sum of the integrals: CT {:.5}, voxels {:.5} of the exact sum", ct / exact, voxels / exact);
    println!("largest deviation {largest:.4} of {longest:.3}");
    // A Gaussian keeps the mass, but lines of detector pairs are denser outside.
    assert!((ct / voxels - 1.0).abs() < 0.005 && (ct / exact - 1.0).abs() < 0.01, "{ct} {voxels} {exact}");
    assert!(largest < 0.02 * longest, "{largest}");
}
