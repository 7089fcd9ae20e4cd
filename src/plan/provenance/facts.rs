//! The settings behind an image as names and values, so that those of several runs can be put beside each other.

use super::{AlgorithmRecord, EmRecord, Progress, Provenance};

impl EmRecord {
    /// The number of subsets, with the reason where it is a default that few counts or views lower.
    fn subsets_in_words(&self) -> String {
        let rule = self.subset_rule.as_ref().filter(|rule| rule.default_subsets == self.subsets);
        let reason = rule.and_then(|rule| rule.reason.as_deref());
        reason.map_or_else(|| self.subsets.to_string(), |reason| format!("{} ({reason})", self.subsets))
    }
}

impl Provenance {
    /// What was chosen, by the names that the window has for it. Not how far the reconstruction was, nor when.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        match &self.algorithm {
            Some(AlgorithmRecord::Mlem(em) | AlgorithmRecord::Osem(em)) => {
                let name = if matches!(self.algorithm, Some(AlgorithmRecord::Mlem(_))) { "MLEM" } else { "OSEM" };
                facts.extend([
                    ("Algorithm", name.to_owned()),
                    ("Subsets", em.subsets_in_words()),
                    ("Subset order", em.subset_order.to_string()),
                    ("Start image", em.start_image.clone()),
                ]);
                if em.racy_sensitivity {
                    facts.push(("Sensitivity image", "non-atomic, too".to_owned()));
                }
            }
            Some(AlgorithmRecord::Fbp(fbp) | AlgorithmRecord::FbpMultistage(fbp)) => {
                let cutoff = fbp.filter.cutoff.map_or_else(|| "none".to_owned(), |cutoff| cutoff.to_string());
                facts.extend([
                    ("Algorithm", fbp.program.clone()),
                    ("Kernel", fbp.kernel.to_string()),
                    ("Filter", fbp.filter.filter.to_string()),
                    ("Cut-off", cutoff),
                    ("Baseline", fbp.filter.baseline.to_string()),
                    ("Interpolation", fbp.filter.interpolation.to_string()),
                    ("Order", fbp.order.to_string()),
                ]);
            }
            None => {}
        }
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
