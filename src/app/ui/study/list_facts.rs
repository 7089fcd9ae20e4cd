//! Facts of list-mode data.

use std::path::Path;
use std::sync::Arc;

use super::open::open_kind::OpenKind;
use super::open::open_list::OpenList;
use crate::data::{Attenuation, AttenuationMap};
use crate::operator::Accumulation;
use crate::session::Feed;
use crate::ui::widgets::format;

impl OpenKind for OpenList {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let list = &self.list;
        let facts = &list.facts;
        let tof = facts.tof.as_ref().map_or("none".to_owned(), |tof| format!("FWHM {:.1} mm", tof.fwhm_mm));
        let mut rows = vec![
            ("List", facts.format.clone()),
            ("Scanner", facts.detectors.name().to_owned()),
            ("Crystals", format!("{}: {}", facts.detectors.crystals().len(), self.arrangement)),
            ("Prompts", format::count(self.counted.num_prompts as f64)),
            ("Delayeds", format::count(self.counted.num_delayeds as f64)),
            ("Time of flight", tof),
            ("Corrections", corrections(self)),
        ];
        if let Some(isotope) = &facts.isotope {
            rows.push(("Isotope", isotope.clone()));
        }
        rows
    }

    fn measured_file(&self) -> Option<&Path> {
        Some(&self.files.list)
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        Accumulation::OF_LINES
    }

    fn made_at_start(&self) -> &'static str {
        "the sensitivity"
    }

    fn num_received(&self) -> Option<usize> {
        // It changes at each doubling.
        self.following.is_some().then(|| self.counted.num_prompts.next_power_of_two())
    }

    fn feed(&self) -> Option<&Feed> {
        self.following.as_ref().map(|following| &following.feed)
    }

    fn has_used_all(&self, [_, num_events]: [Option<usize>; 2]) -> bool {
        self.following.is_some() && num_events == Some(self.counted.num_prompts)
    }
}

fn corrections(open: &OpenList) -> String {
    let list = &open.list;
    let numbers = list.numbers();
    let attenuation = match &list.facts.attenuation {
        Attenuation::Untold => None,
        Attenuation::InFactors => Some("attenuation: the list's own".to_owned()),
        Attenuation::Maps(maps) => {
            let name = |map: &Arc<AttenuationMap>| map.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Some(format!("attenuation: {}", maps.iter().map(name).collect::<Vec<_>>().join(" and ")))
        }
    };
    let named = |exists: bool, name: &str| exists.then(|| name.to_owned());
    join_corrections([named(numbers.has_factors, "efficiencies"), named(numbers.has_background, "randoms"), attenuation])
}

pub fn join_corrections<const N: usize>(names: [Option<String>; N]) -> String {
    let names: Vec<String> = names.into_iter().flatten().collect();
    if names.is_empty() { "none".to_owned() } else { names.join("; ") }
}
