//! Every algorithm. A further one is an entry here, its file in `recon`, and its case in [`crate::recon::AlgorithmSpec`].

use std::str::FromStr;

use strum::VariantArray as _;

use super::common::{KERNEL, LINES, REPLICATE_SETTINGS};
use super::penalised::{BETA, BSREM_PARAMETERS, GAMMA, PRIOR, SVRG_PARAMETERS, bsrem, svrg};
use super::setting::{Choice, Setting, SettingProblem};
use super::total_variation::{LAMBDA, NUM_ITERATIONS, TV_PARAMETERS, tv_settings};
use super::traits::{DataKind, Traits};
use super::values::Values;
use crate::operator::Interpolation;
use crate::recon::{AlgorithmSpec, AscentTuning, Baseline, FbpSettings, Filter, FilterSettings, PenaltySpec, SubsetOrder};
use crate::scanner::epri::Order;
use crate::text::either;

/// An algorithm that can be chosen.
pub struct AlgorithmEntry {
    /// Its name on the command line and in files.
    pub key: &'static str,
    /// Its name in the window.
    pub label: &'static str,
    /// Its description in one phrase.
    pub help: &'static str,
    /// Data that it reconstructs.
    pub is_for: fn(&Traits) -> bool,
    /// True if an iteration has subsets.
    pub has_subsets: bool,
    /// Lists of its settings. Iterations, subsets, grid, device, projector and accumulation are common to all.
    pub lists: &'static [&'static [&'static Setting]],
    /// Kind of the algorithm, with its specification.
    pub method: Method,
}

/// Kind of an algorithm.
#[derive(Clone, Copy)]
pub enum Method {
    /// A forward model, and steps that iterate.
    Iterative(fn(&Values) -> AlgorithmSpec),
    /// Backprojection of the filtered projections of an EPRI acquisition.
    FilteredBackprojection(FbpMethod),
    /// Least squares of an EPRI acquisition with total variation.
    TotalVariation,
    /// Nothing is computed.
    AsRead,
}

/// Number of stages in which the planes of an EPRI acquisition are backprojected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FbpMethod {
    /// Voxel by voxel.
    Single,
    /// Azimuth by azimuth, then slice by slice, for directions at equal linear angles; others are resampled. On the CPU.
    Two,
}

/// All algorithms; the first that suits the data is the default.
pub static ALGORITHMS: &[AlgorithmEntry] = &[
    AlgorithmEntry {
        key: "osem",
        label: "OSEM",
        help: "MLEM over ordered subsets of the data",
        is_for: |data| matches!(data.kind, DataKind::Projections | DataKind::Events),
        has_subsets: true,
        lists: &[&[&SUBSET_ORDER], REPLICATE_SETTINGS, LINES],
        method: Method::Iterative(|parameters| AlgorithmSpec::Em { subset_order: parameters.choice(&SUBSET_ORDER) }),
    },
    AlgorithmEntry {
        key: "mlem",
        label: "MLEM",
        help: "Maximum-likelihood expectation maximisation: all data in each step",
        is_for: |data| matches!(data.kind, DataKind::Projections | DataKind::Events | DataKind::Pairs),
        has_subsets: false,
        lists: &[REPLICATE_SETTINGS, LINES],
        method: Method::Iterative(|_| AlgorithmSpec::Em { subset_order: SubsetOrder::Sequential }),
    },
    AlgorithmEntry {
        key: "svrg",
        label: "SVRG",
        help: "Maximum of a penalised likelihood by variance-reduced gradients of subsets: converges in a few iterations",
        is_for: |data| matches!(data.kind, DataKind::Projections | DataKind::Events),
        has_subsets: true,
        lists: &[SVRG_PARAMETERS, REPLICATE_SETTINGS, LINES],
        method: Method::Iterative(svrg),
    },
    AlgorithmEntry {
        key: "bsrem",
        label: "BSREM",
        help: "Maximum of a penalised likelihood by relaxed steps over subsets: converges slowly",
        is_for: |data| matches!(data.kind, DataKind::Projections | DataKind::Events),
        has_subsets: true,
        lists: &[BSREM_PARAMETERS, REPLICATE_SETTINGS, LINES],
        method: Method::Iterative(bsrem),
    },
    AlgorithmEntry {
        key: "fbp",
        label: "FBP, one stage",
        help: "Filtered backprojection, voxel by voxel",
        is_for: |data| matches!(data.kind, DataKind::Sweep | DataKind::Oximetry),
        has_subsets: false,
        lists: &[FBP_PARAMETERS],
        method: Method::FilteredBackprojection(FbpMethod::Single),
    },
    AlgorithmEntry {
        key: "fbp-multistage",
        label: "FBP, two stages",
        help: "Filtered backprojection, azimuth by azimuth and then slice by slice; directions that are not at equal linear angles are resampled",
        is_for: |data| matches!(data.kind, DataKind::Sweep | DataKind::Oximetry) && !data.is_slice,
        has_subsets: false,
        lists: &[FBP_PARAMETERS],
        method: Method::FilteredBackprojection(FbpMethod::Two),
    },
    AlgorithmEntry {
        key: "tv",
        label: "Total variation",
        help: "Least squares with total variation: an image in pieces of one value that explains the spectra",
        is_for: |data| matches!(data.kind, DataKind::Sweep | DataKind::Oximetry),
        has_subsets: false,
        lists: &[TV_PARAMETERS],
        method: Method::TotalVariation,
    },
    AlgorithmEntry {
        key: "as-read",
        label: "Image as read",
        help: "Images of another program as they are",
        is_for: |data| data.kind == DataKind::Images,
        has_subsets: false,
        lists: &[],
        method: Method::AsRead,
    },
];

/// Parameter of algorithms with subsets.
pub static SUBSET_ORDER: Setting =
    Setting::choice("subset_order", "Subset order", || ["spaced", "sequential"].map(Choice::named).into(), "spaced")
        .help(
            "Order of the subsets: spaced (maximum angle to the previous ones) or sequential",
            "Default: spaced; list-mode data: sequential.",
        )
        .is_for(|data| matches!(data.kind, DataKind::Projections | DataKind::Events));

static FBP_PARAMETERS: &[&Setting] = &[&FILTER, &CUTOFF, &BASELINE, &INTERPOLATION, &ORDER, &BLOCK, &EXPLAIN, &KERNEL];

/// Parameter of filtered backprojection.
pub static FILTER: Setting = Setting::choice("filter", "Filter", filters, "three-point").help(
    "Filter: second-difference, three-point, five-point, rectangular, sinc, hamming or two-ramp",
    "Default: three-point; continuous-wave data: rectangular.",
);

/// Returns the filters; for a slice the two-ramp filter equals the rectangular one.
fn filters() -> Vec<Choice> {
    let choice = |filter: &Filter| match filter {
        Filter::TwoRamp => Choice { is_for: |data| !data.is_slice, ..Choice::named(filter.name()) },
        _ => Choice::named(filter.name()),
    };
    Filter::VARIANTS.iter().map(choice).collect()
}

/// Parameter of filtered backprojection.
pub static CUTOFF: Setting = Setting::number("cutoff", "Cut-off", "", 0.001, 1.0).usual(0.5).help(
    "Cut-off as a fraction of the Nyquist frequency, 0 to 1",
    "sinc and hamming end at the cut-off; the others are truncated. Default: 1; continuous-wave data: where the signal \
              is as large as the noise.",
);

/// Parameter of filtered backprojection.
pub static BASELINE: Setting = Setting::choice(
    "baseline",
    "Baseline",
    || {
        let choice = |baseline: &Baseline| Choice { label: baseline.title(), ..Choice::named(baseline.name()) };
        Baseline::VARIANTS.iter().map(choice).collect()
    },
    "none",
)
.help(
    "Order of the polynomial baseline of continuous-wave projections: 0, 1, 2, 3 or none",
    "It is fitted to the outer 5 % at each end and subtracted before the deconvolution. Default: 1; pulse data: none.",
)
.is_for(|data| data.is_continuous_wave);

/// Parameter of filtered backprojection.
pub static INTERPOLATION: Setting = Setting::choice(
    "interpolation",
    "Interpolation",
    || Interpolation::VARIANTS.iter().map(|kind| Choice::named(kind.name())).collect(),
    "linear",
)
.help("Interpolation between the samples of a filtered projection: nearest, linear or cubic", "Default: linear.");

/// Parameter of filtered backprojection.
pub static ORDER: Setting = Setting::choice(
    "order",
    "Order",
    || vec![Choice { label: "as acquired", ..Choice::named("as-acquired") }, Choice::named("spaced")],
    "as-acquired",
)
.help("Order of the projections: as-acquired, or spaced (maximum angle to the previous ones)", "Default: as-acquired.");

/// Parameter of filtered backprojection.
pub static BLOCK: Setting = Setting::count("block", "Projections a step", "", 1, 10_000)
    .with_default(16.0)
    .help("Greatest number of projections per step", "Default: 16.");

/// Parameter of filtered backprojection.
pub static EXPLAIN: Setting =
    Setting::choice("explain", "Compared with the image", || ["sample", ALL_PROJECTIONS].map(Choice::named).into(), "sample")
        .help("Projections that the explained signal is of: a sample that takes little time, or full (all)", "Default: sample.");
/// A choice of [`EXPLAIN`].
const ALL_PROJECTIONS: &str = "full";

/// An algorithm of the registry.
#[derive(Clone, Copy)]
pub struct AlgorithmChoice(&'static AlgorithmEntry);

impl AlgorithmChoice {
    /// MLEM over ordered subsets.
    pub const OSEM: Self = Self(&ALGORITHMS[0]);
    /// Maximum-likelihood expectation maximisation.
    pub const MLEM: Self = Self(&ALGORITHMS[1]);
    /// Filtered backprojection in one stage.
    pub const FBP: Self = Self(&ALGORITHMS[4]);
    /// Filtered backprojection in two stages.
    pub const FBP_MULTISTAGE: Self = Self(&ALGORITHMS[5]);
    /// Images of another program as they are.
    pub const AS_READ: Self = Self(&ALGORITHMS[7]);
    /// Least squares with total variation.
    pub const TV: Self = Self(&ALGORITHMS[6]);
    /// Stochastic variance-reduced gradients.
    pub const SVRG: Self = Self(&ALGORITHMS[2]);
    /// Block-sequential regularised expectation maximisation.
    pub const BSREM: Self = Self(&ALGORITHMS[3]);

    /// Returns all.
    pub fn all() -> impl Iterator<Item = Self> {
        ALGORITHMS.iter().map(Self)
    }

    /// Returns those for data with these traits, the default first.
    pub fn all_for(data: Traits) -> impl Iterator<Item = Self> {
        Self::all().filter(move |choice| (choice.0.is_for)(&data))
    }

    /// Returns every setting once, in the order of the registry.
    pub fn all_settings() -> Vec<&'static Setting> {
        let mut all: Vec<&'static Setting> = Vec::new();
        for setting in Self::all().flat_map(Self::settings) {
            if all.iter().all(|other| other.key != setting.key) {
                all.push(setting);
            }
        }
        all
    }

    /// Returns its entry.
    pub fn entry(self) -> &'static AlgorithmEntry {
        self.0
    }

    /// Returns its settings.
    pub fn settings(self) -> Vec<&'static Setting> {
        self.0.lists.concat()
    }

    /// Returns its key.
    pub fn key(self) -> &'static str {
        self.0.key
    }

    /// Returns penalty and step size at the begin of a run with these parameters; `None` of an algorithm that does not climb, and
    /// where the run finds the strength.
    pub fn tuning(self, parameters: &Values) -> Option<AscentTuning> {
        let spec = match self.0.method {
            Method::Iterative(spec) => spec,
            Method::TotalVariation => {
                let settings = tv_settings(parameters);
                let strength = settings.strength.or((!settings.is_by_noise()).then_some(1.0))?;
                return Some(AscentTuning { strength, gamma: 0.0, step_factor: 1.0 });
            }
            Method::FilteredBackprojection(_) | Method::AsRead => return None,
        };
        match spec(parameters) {
            AlgorithmSpec::Em { .. } => None,
            AlgorithmSpec::Ascent { penalty: PenaltySpec { strength, gamma, .. }, .. } => {
                Some(AscentTuning { strength: strength?, gamma, step_factor: 1.0 })
            }
        }
    }

    /// Returns its parameters that can change during a run, with these values.
    pub fn parameters_of(self, tuning: AscentTuning) -> Values {
        let AscentTuning { strength, gamma, .. } = tuning;
        match self.0.method {
            Method::TotalVariation => Values::default().with_number(&LAMBDA, Some(strength)),
            Method::Iterative(_) if self.has_penalty() => {
                Values::default().with_number(&BETA, Some(strength)).with_number(&GAMMA, Some(gamma))
            }
            Method::Iterative(_) | Method::FilteredBackprojection(_) | Method::AsRead => Values::default(),
        }
    }

    /// Returns true if it climbs to the maximum of a penalised likelihood.
    pub fn has_penalty(self) -> bool {
        self.settings().iter().any(|setting| setting.key == PRIOR.key)
    }

    /// Returns true if it is least squares of the projections of an EPRI acquisition, which iterates.
    pub fn is_least_squares(self) -> bool {
        matches!(self.0.method, Method::TotalVariation)
    }

    /// Returns true if it carries replicates along for error bars.
    pub fn has_replicates(self) -> bool {
        matches!(self.0.method, Method::Iterative(_))
    }

    /// Returns the default number of iterations; `None` where it follows from the subsets.
    pub fn default_iterations(self) -> Option<usize> {
        self.is_least_squares().then_some(NUM_ITERATIONS)
    }

    /// Returns the number of its stages, of filtered backprojection.
    pub fn stages(self) -> Option<FbpMethod> {
        match self.0.method {
            Method::FilteredBackprojection(stages) => Some(stages),
            Method::Iterative(_) | Method::TotalVariation | Method::AsRead => None,
        }
    }

    /// Refuses values that its parameters cannot have, and parameters that no algorithm has; those of other algorithms have no effect.
    ///
    /// # Errors
    /// A parameter that is not known, a value that is not possible.
    pub fn check(self, parameters: &Values) -> Result<(), SettingProblem> {
        parameters.check(&self.settings(), |key| Self::all_settings().iter().any(|known| known.key == key))
    }
}

impl PartialEq for AlgorithmChoice {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for AlgorithmChoice {}

impl std::fmt::Debug for AlgorithmChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.key())
    }
}

impl FromStr for AlgorithmChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::all().find(|choice| choice.key() == text).ok_or_else(|| {
            let keys: Vec<&str> = Self::all().map(Self::key).collect();
            format!("'{text}' is not an algorithm; use {}", either(&keys))
        })
    }
}

impl serde::Serialize for AlgorithmChoice {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

impl<'de> serde::Deserialize<'de> for AlgorithmChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Returns the settings of a filtered backprojection with these parameters.
pub fn fbp_settings(parameters: &Values) -> FbpSettings {
    FbpSettings {
        filter: filter_settings(parameters),
        order: parameters.choice::<Order>(&ORDER),
        block: parameters.count(&BLOCK),
        explains_all: parameters.is(&EXPLAIN, ALL_PROJECTIONS),
        equal_angles: None,
    }
}

/// Returns how these parameters filter projections.
pub fn filter_settings(parameters: &Values) -> FilterSettings {
    FilterSettings {
        filter: parameters.choice(&FILTER),
        cutoff: parameters.number(&CUTOFF),
        baseline: parameters.choice(&BASELINE),
        interpolation: parameters.choice(&INTERPOLATION),
    }
}

/// Returns the parameters that filter projections in this way.
pub fn filter_parameters(settings: &FilterSettings) -> Values {
    Values::default()
        .with_choice(&FILTER, settings.filter)
        .with_number(&CUTOFF, settings.cutoff)
        .with_choice(&BASELINE, settings.baseline)
        .with_choice(&INTERPOLATION, settings.interpolation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::algorithms::setting::Kind;
    use crate::plan::algorithms::value::Value;

    #[test]
    fn entries_and_their_parameters_are_consistent() {
        for (index, choice) in AlgorithmChoice::all().enumerate() {
            let entry = choice.entry();
            assert_eq!(ALGORITHMS.iter().position(|other| other.key == entry.key), Some(index), "{}", entry.key);
            for setting in choice.settings() {
                let default = setting.default();
                assert!(default.is_none_or(|value| setting.parse(&value.to_string()).is_ok()), "{}", setting.key);
                assert_eq!(choice.settings().iter().filter(|other| other.key == setting.key).count(), 1, "{}", setting.key);
            }
        }
        type Choice = AlgorithmChoice;
        let constants =
            [Choice::OSEM, Choice::MLEM, Choice::FBP, Choice::FBP_MULTISTAGE, Choice::AS_READ, Choice::SVRG, Choice::BSREM];
        assert_eq!(constants.map(AlgorithmChoice::key), ["osem", "mlem", "fbp", "fbp-multistage", "as-read", "svrg", "bsrem"]);
    }

    #[test]
    fn every_choice_is_a_value_of_its_enum() {
        fn check<T: FromStr + Default + PartialEq + std::fmt::Debug>(setting: &Setting, all: &[T]) {
            let Kind::Choice { choices, .. } = setting.kind else { panic!("{} is no choice", setting.key) };
            let values = choices().into_iter().map(|choice| Values::default().with_choice(setting, choice.key).choice(setting));
            assert_eq!(values.collect::<Vec<T>>(), all);
        }
        check(&FILTER, Filter::VARIANTS);
        check(&BASELINE, Baseline::VARIANTS);
        check(&INTERPOLATION, Interpolation::VARIANTS);
        check(&ORDER, &[Order::AsAcquired, Order::Spaced]);
        check(&SUBSET_ORDER, &[SubsetOrder::Spaced, SubsetOrder::Sequential]);
    }

    #[test]
    fn without_values_parameters_are_those_of_default_settings() {
        assert_eq!(filter_settings(&Values::default()), FilterSettings::default());
        assert_eq!(fbp_settings(&Values::default()), FbpSettings::default());
        let settings =
            FilterSettings { filter: Filter::Sinc, cutoff: Some(0.25), baseline: Baseline::Line, ..Default::default() };
        assert_eq!(filter_settings(&filter_parameters(&settings)), settings);
    }

    #[test]
    fn values_are_read_as_they_were_written() {
        let settings = FilterSettings { cutoff: Some(0.1), baseline: Baseline::Line, ..Default::default() };
        let mut parameters = filter_parameters(&settings);
        parameters.set(&BLOCK, Some(Value::Number(5.0)));
        let json = serde_json::to_string(&parameters).unwrap();
        assert!(
            json.contains(r#""cutoff":0.1"#) && json.contains(r#""baseline":"1""#) && json.contains(r#""block":5"#),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<Values>(&json).unwrap(), parameters);
        assert_eq!(toml::from_str::<Values>(&toml::to_string(&parameters).unwrap()).unwrap(), parameters);
        let bytes = postcard::to_allocvec(&parameters).unwrap();
        assert_eq!(postcard::from_bytes::<Values>(&bytes).unwrap(), parameters);
        assert_eq!(serde_json::from_str::<Values>(r#"{"cutoff": null}"#).unwrap(), Values::default());
    }

    #[test]
    fn values_and_parameters_that_are_not_possible_are_refused() {
        for (setting, text) in
            [(&CUTOFF, "0"), (&CUTOFF, "1.1"), (&CUTOFF, "NaN"), (&BLOCK, "0"), (&BLOCK, "2.5"), (&FILTER, "x")]
        {
            let problem = setting.parse(text).unwrap_err();
            assert!(problem.to_string().contains(setting.key), "{problem}");
        }
        let filter = Values::default().with_choice(&FILTER, Filter::Sinc);
        assert_eq!(AlgorithmChoice::FBP.check(&filter), Ok(()));
        // Of another algorithm it has no effect; of none it is a mistake.
        assert_eq!(AlgorithmChoice::OSEM.check(&filter), Ok(()));
        let unknown: Values = serde_json::from_str(r#"{"filtre": "sinc"}"#).unwrap();
        assert_eq!(AlgorithmChoice::FBP.check(&unknown), Err(SettingProblem::Unknown("filtre".into())));
        let wrong = Values::default().with_number(&CUTOFF, Some(7.0));
        assert!(matches!(AlgorithmChoice::FBP.check(&wrong), Err(SettingProblem::Value { key: "cutoff", .. })));
        let mut kept = wrong;
        kept.keep(FBP_PARAMETERS);
        assert_eq!(kept, Values::default());
    }
}
