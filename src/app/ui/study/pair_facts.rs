//! Facts of crystal-pair histograms.

use std::path::Path;

use strum::VariantArray as _;

use super::open::open_kind::OpenKind;
use super::open::open_pairs::OpenPairs;
use crate::operator::Accumulation;
use crate::ui::widgets::format;

impl OpenKind for OpenPairs {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let ring = &self.pairs.ring;
        let [across, along] = ring.num;
        let crystals =
            format!("{}: {} modules, {} layers of {across} × {along}", ring.num_crystals(), ring.num_modules, ring.num_layers());
        let from = self.file.as_ref().and_then(|path| path.file_name());
        let from = from.map_or_else(|| "Monte Carlo simulation".to_owned(), |name| name.to_string_lossy().into_owned());
        vec![
            ("Ring", ring.title.clone()),
            ("Crystals", crystals),
            ("Pairs", format!("{}, {} symmetries", format::count(ring.num_lors() as f64), ring.num_symmetries())),
            ("Counts", format::count(self.total)),
            ("From", from),
        ]
    }

    fn measured_file(&self) -> Option<&Path> {
        None
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::VARIANTS
    }

    fn made_at_start(&self) -> &'static str {
        "the matrix"
    }
}
