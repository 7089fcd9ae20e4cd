//! The settings behind an image as names and values, so that those of several runs can be put beside each other.

use super::algorithm::AlgorithmRecord;
use super::{Progress, Provenance};

impl Provenance {
    /// What was chosen, by the names that the window has for it. Not how far the reconstruction was, nor when.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = self.algorithm.as_ref().map_or_else(Vec::new, AlgorithmRecord::facts);
        if let Some(Progress::Iterations { iterations_asked, .. }) = self.progress {
            facts.push(("Iterations", iterations_asked.to_string()));
        }
        if let Some(projector) = &self.projector {
            let [tangential, axial] = projector.rays_per_bin;
            facts.extend([
                ("Projector", projector.name.clone()),
                ("Lines per bin", format!("{tangential} × {axial}")),
                ("Field of view", format!("{} mm", projector.fov_radius_mm)),
                ("Accumulation", projector.accumulation_words()),
            ]);
        }
        if let Some(matrix) = &self.matrix {
            facts.extend([("Basis", matrix.basis.kind.to_string()), ("Elements", matrix.elements.to_string())]);
        }
        if let Some(corrections) = &self.corrections {
            let words = |file: &Option<String>| file.clone().unwrap_or_else(|| "none".to_owned());
            facts.push(("Multiplicative", words(&corrections.multiplicative)));
            facts.push(("Additive", words(&corrections.additive)));
            facts.extend(corrections.attenuation.clone().map(|file| ("Attenuation", file)));
        }
        let ([x, y, z], [dx, dy, dz]) = (self.image.size, self.image.voxel_mm);
        facts.extend([
            ("Voxels", format!("{x} × {y} × {z}")),
            ("Voxel", format!("{dx} × {dy} × {dz} mm")),
            ("Device", self.device.name.clone()),
            ("Threads", self.device.threads.to_string()),
        ]);
        facts
    }
}
