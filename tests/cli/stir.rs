//! The program against an image that STIR reconstructed from the same sinogram.

use tomoscope::data::Volume;
use tomoscope::io::read_volume;

use super::data::data_file;
use super::done;

/// Scale that fits `ours` to `theirs` best and the relative norm of what remains, over voxels within a radius.
fn fit(ours: &Volume, theirs: &Volume, radius_mm: f64) -> (f64, f64) {
    let [nx, ny, _] = ours.grid.size;
    let (mut aa, mut ab, mut bb) = (0.0, 0.0, 0.0);
    for (index, (a, b)) in ours.as_slice().iter().zip(theirs.as_slice()).enumerate() {
        let [x, y, _] = ours.grid.mm_from_voxel([(index % nx) as f64, (index / nx % ny) as f64, 0.0]);
        if x.hypot(y) <= radius_mm {
            let (a, b) = (f64::from(*a), f64::from(*b));
            aa += a * a;
            ab += a * b;
            bb += b * b;
        }
    }
    let scale = ab / aa;
    (scale, ((bb - scale * ab).max(0.0) / bb).sqrt())
}

#[test]
fn one_iteration_of_mlem_is_the_one_of_stir() {
    let (Some(input), Some(stir)) = (data_file("stir/utahgeom_synth600k.hs"), data_file("stir/mlem_1.hv")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let [input, like] = [&input, &stir].map(|path| path.to_string_lossy().into_owned());
    let mlem = ["--algorithm", "mlem", "--iterations", "1", "--rays", "1,2"];
    let arguments: Vec<&str> = ["reconstruct", &input, "-o", "out.hv", "--like", &like].into_iter().chain(mlem).collect();
    println!("{}", done(folder.path(), &arguments));
    let (ours, _) = read_volume(&folder.path().join("out.hv")).unwrap();
    let (theirs, _) = read_volume(&stir).unwrap();
    assert!(ours.grid.same_as(&theirs.grid));
    let voxel_mm = theirs.grid.voxel_mm[0];
    let (scale, residual) = fit(&ours, &theirs, theirs.grid.inscribed_radius_mm() - 2.0 * voxel_mm);
    println!("scale {scale}, of {voxel_mm} expected; relative norm of the difference {residual:.2e}");
    assert!((scale / voxel_mm - 1.0).abs() < 0.02, "scale {scale}");
    assert!(residual <= 0.02, "relative norm {residual}");
}
