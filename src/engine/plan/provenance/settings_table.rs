//! Settings of an image as names and values, to compare several runs.

use super::algorithm::AlgorithmRecord;
use super::{Progress, Provenance};

impl Provenance {
    /// Returns the settings by their names in the window. They exclude progress and times.
    pub fn settings_table(&self) -> Vec<(&'static str, String)> {
        let mut rows = self.algorithm.as_ref().map_or_else(Vec::new, AlgorithmRecord::settings_table);
        if let Some(Progress::Iterations { iterations_requested, .. }) = self.progress {
            rows.push(("Iterations", iterations_requested.to_string()));
        }
        rows.extend(self.data.experiments_text().map(|text| ("Acquisitions", text)));
        if let Some(projector) = &self.projector {
            let [tangential, axial] = projector.rays_per_bin;
            rows.extend(projector.psf.as_ref().map(|psf| ("Resolution model", psf.to_string())));
            rows.extend(projector.tof.map(|tof| ("Time of flight", tof.bins.text())));
            rows.extend([
                ("Projector", projector.name.clone()),
                ("Rays per LOR", format!("{tangential} × {axial}")),
                ("Field of view", format!("{} mm", projector.fov_radius_mm)),
                ("Accumulation", projector.accumulation_text()),
            ]);
        }
        if let Some(matrix) = &self.matrix {
            rows.extend([("Basis", matrix.basis.kind.to_string()), ("Elements", matrix.elements.to_string())]);
        }
        if let Some(corrections) = &self.corrections {
            let file_text = |file: &Option<String>| file.clone().unwrap_or_else(|| "none".to_owned());
            rows.push(("Multiplicative", file_text(&corrections.factors_text())));
            rows.push(("Additive", file_text(&corrections.additive)));
            rows.extend(
                corrections.attenuation.iter().chain(&corrections.added_attenuation).map(|file| ("Attenuation", file.clone())),
            );
            rows.extend(corrections.ct.map(|ct| ("CT", ct.text())));
        }
        let ([x, y, z], [dx, dy, dz]) = (self.image.size, self.image.voxel_mm);
        rows.extend([
            ("Voxels", format!("{x} × {y} × {z}")),
            ("Voxel", format!("{dx} × {dy} × {dz} mm")),
            ("Device", self.device.name.clone()),
            ("Threads", self.device.threads.to_string()),
        ]);
        rows
    }
}
