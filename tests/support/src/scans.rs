//! Sweeps in files, as a spectrometer leaves them.

use std::path::Path;

/// Leaves of a saved sweep `NAME.sweep` only the first projections measured, as in a file that was allocated in advance: the
/// directions of all are there, the samples of the others are zero.
pub fn leave_unmeasured(header: &Path, num_projections: usize, num_measured: usize) {
    let data = header.with_extension("f32");
    let mut bytes = std::fs::read(&data).unwrap();
    let record = bytes.len() / num_projections;
    // The samples stand behind the direction and the weight.
    bytes.chunks_mut(record).skip(num_measured).for_each(|record| record[32..].fill(0));
    std::fs::write(&data, &bytes).unwrap();
    let text = std::fs::read_to_string(header).unwrap();
    std::fs::write(header, text.replace("data_checksum", "# data_checksum")).unwrap();
}

/// Writes four complex spectra of 64 samples, the derivatives of a line, turned by 35°, and their reference turned by −60°.
pub fn put_complex(folder: &Path) {
    let line = |j: usize| {
        let u = (j as f64 - 32.0) / 4.0;
        -u * (-0.5 * u * u).exp()
    };
    let write = |name: &str, num_spectra: usize, degrees: f64, rows: &str| {
        let (sin, cos) = f64::to_radians(degrees).sin_cos();
        let samples = (0..64 * num_spectra).flat_map(|k| [line(k % 64) * cos, line(k % 64) * sin]);
        std::fs::write(folder.join(name).with_extension("DTA"), samples.flat_map(f64::to_be_bytes).collect::<Vec<u8>>()).unwrap();
        let head = "#DESC 1.2\nBSEQ BIG\nIKKF CPLX\nXTYP IDX\nIRFMT D\nXPTS 64\nXWID 6.3\nXUNI 'G'\n";
        std::fs::write(folder.join(name).with_extension("DSC"), format!("{head}{rows}")).unwrap();
    };
    let gradients =
        "YTYP IGD\nYPTS 4\n#SPL 1.2\nGRAD 5.0\n#DSL 1.0\n.DVC grdUnit, 1.0\nFirstAlpha 45.0 deg\nImageType 3D\nNrOfAlpha 2\n";
    write("a-proj", 4, 35.0, gradients);
    write("a-h", 1, -60.0, "YTYP NODATA\n");
}
