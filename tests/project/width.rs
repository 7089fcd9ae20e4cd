//! Width of features: which files name a setting, an option, a measurement or a tool besides its declaration and the code that computes with it.

use std::fs;

use super::{files_below, in_repository};

/// A feature, by a word that only it has.
struct Feature {
    word: &'static str,
    /// The file of its declaration, and those that compute with its value.
    own: &'static [&'static str],
    /// Number of files that may only hand it on.
    max_others: usize,
}

const SETTINGS: &[Feature] = &[
    Feature { word: "EXPLAIN", own: &["engine/plan/algorithms/registry.rs"], max_others: 0 },
    Feature {
        word: "LAMBDA_SPECTRAL",
        own: &["engine/plan/algorithms/total_variation.rs", "cli/shared/setting_options.rs"],
        max_others: 0,
    },
    Feature {
        word: "REPLICATE_SEED",
        own: &["engine/plan/algorithms/common.rs", "engine/plan/job/replicates.rs"],
        max_others: 0,
    },
];

const OPTIONS: &[Feature] = &[
    Feature { word: "add_attenuation", own: &["cli/reconstruct/options.rs"], max_others: 0 },
    Feature { word: "yrt_randoms", own: &["cli/shared/list_options.rs"], max_others: 0 },
    Feature { word: "corrections_of_another_scan", own: &["cli/reconstruct/options.rs"], max_others: 0 },
];

/// (The line of the table of measurements hands on. `hostile.rs` is the test of all messages.)
const MEASUREMENTS: &[Feature] = &[
    Feature {
        word: "RecoveryQuery",
        own: &[
            "app/session/measurements/recovery.rs",
            "app/ui/tools/recovery/state.rs",
            "app/remote/hostile.rs",
            "cli/earl/options.rs",
            "cli/earl/run.rs",
        ],
        max_others: 1,
    },
    Feature { word: "RecoveryFound", own: &["app/session/measurements/recovery.rs"], max_others: 1 },
    Feature { word: "PeaksFound", own: &["app/session/measurements/peaks.rs", "app/ui/run/curves.rs"], max_others: 1 },
];

/// (The line of the list of tools hands on.)
const TOOLS: &[Feature] = &[
    Feature { word: "lesions::Lesions", own: &[], max_others: 1 },
    Feature { word: "model::Model", own: &["app/ui/mod.rs"], max_others: 1 },
    Feature { word: "spectrum::Spectrum", own: &[], max_others: 1 },
    // The part of a session.
    Feature {
        word: "SavedLesions",
        own: &["app/ui/tools/lesions/mod.rs", "app/ui/tools/lesions/saved.rs", "app/ui/tools/lesions/state.rs"],
        max_others: 0,
    },
];

/// Returns the files of `src` that contain a word.
fn files_with(word: &str) -> Vec<String> {
    let src = in_repository("src");
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let has_word = |text: &str| {
        text.match_indices(word).any(|(start, _)| {
            let [before, after] = [text[..start].chars().next_back(), text[start + word.len()..].chars().next()];
            ![before, after].into_iter().flatten().any(is_part)
        })
    };
    let files = files_below(&src, "rs").into_iter().filter(|file| has_word(&fs::read_to_string(file).unwrap()));
    files.map(|file| file.strip_prefix(&src).unwrap().to_string_lossy().replace('\\', "/")).collect()
}

#[test]
fn features_are_named_where_they_are_declared_and_computed() {
    for Feature { word, own, max_others } in SETTINGS.iter().chain(OPTIONS).chain(MEASUREMENTS).chain(TOOLS) {
        let found = files_with(word);
        assert!(own.iter().all(|file| found.iter().any(|other| other == file)), "{word}: {found:?}");
        let others: Vec<_> = found.iter().filter(|file| !own.contains(&file.as_str())).collect();
        assert!(others.len() <= *max_others, "{word}: {others:?}");
    }
}
