//! The algorithms that find the maximum of a penalised likelihood, with their parameters.

use super::setting::{Choice, Setting};
use super::values::Values;
use crate::recon::{
    AlgorithmSpec, AscentMethod, BsremSettings, DrawOrder, Kappa, PenaltySpec, StepSizes, SubsetOrder, SvrgSettings,
};

pub(super) static SVRG_PARAMETERS: &[&Setting] =
    &[&PRIOR, &BETA, &GAMMA, &EPSILON, &DELTA, &KAPPA, &DRAW_ORDER, &STEP_RULE, &STEP_SIZE, &OPTIMALITY];
pub(super) static BSREM_PARAMETERS: &[&Setting] =
    &[&PRIOR, &BETA, &GAMMA, &EPSILON, &DELTA, &KAPPA, &FIRST_STEP, &RELAXATION, &OPTIMALITY];

/// Seed of random orders of subsets.
const SEED: u64 = 1;

/// Parameter of a penalty.
pub static PRIOR: Setting = Setting::choice(
    "prior",
    "Prior",
    || {
        vec![
            Choice { label: "relative diff. (RDP)", ..Choice::named("rdp") },
            Choice::named("quadratic"),
            Choice::named("log-cosh"),
        ]
    },
    "rdp",
)
.help(
    "Penalty on the differences of neighbouring voxels: rdp (relative differences), quadratic or log-cosh",
    "Default: rdp. Without a strength (--beta) there is none.",
)
.in_short_texts();

/// Name of a value that the run finds itself.
pub const AUTO: &str = "auto";

/// Name of κ of an image file, or of the study.
pub const KAPPA_OF_FILE: &str = "file";

/// Parameter of a penalty.
pub static BETA: Setting = Setting::number("beta", "Strength β", "", 0.0, 1e12)
    .with_default(0.0)
    .usual(5e-3)
    .or_found(AUTO)
    .help(
        "Strength of the penalty: larger is smoother; 0 = none; auto = a tenth of the curvature of the likelihood",
        "Images are in counts per mm of line: of relative differences this is the β of software with voxel lengths times the \
              voxel size, mm. auto: with κ and relative differences about 0.5 % of the image values. Default: 0.",
    )
    .in_short_texts();

/// Parameter of relative differences.
pub static GAMMA: Setting = Setting::number("gamma", "Edge factor γ", "", 0.0, 1e6)
    .with_default(PenaltySpec::NONE.gamma)
    .help("Edge preservation of relative differences: the larger, the less a large difference costs", "Default: 2.")
    .needs(&PRIOR, "rdp");

/// Parameter of relative differences.
pub static EPSILON: Setting = Setting::number("epsilon", "Offset ε", "counts/mm", 0.0, 1e12)
    .absent("automatic")
    .usual(1e-3)
    .help(
        "Relative differences: offset of the denominator; the penalty is quadratic where image values are well below it",
        "Default: a thousandth of the start image's maximum.",
    )
    .needs(&PRIOR, "rdp");

/// Parameter of log-cosh.
pub static DELTA: Setting = Setting::number("delta", "Edge height δ", "counts/mm", 1e-30, 1e12)
    .absent("automatic")
    .usual(1e-2)
    .help(
        "log-cosh: differences above it cost in proportion, smaller ones as their square",
        "Default: a hundredth of the start image's maximum.",
    )
    .needs(&PRIOR, "log-cosh");

/// Parameter of a penalty.
pub static KAPPA: Setting = Setting::choice(
    "kappa",
    "Weights κ",
    || {
        // (The form of a study with κ begins with it.)
        let of_file = Choice { label: "of the file", is_for: |_| false, ..Choice::named(KAPPA_OF_FILE) };
        vec![Choice::named(AUTO), Choice::named("none"), of_file]
    },
    AUTO,
)
.help(
    "Weights of the voxels in the penalty: auto (from the data at the start image), none (1), or those of an image file",
    "A pair of neighbours counts κ κ′ times: with κ another β is suitable than without. Default: auto.",
)
.in_short_texts();

/// Parameter of SVRG.
pub static DRAW_ORDER: Setting =
    Setting::choice("draw_order", "Subset order", || ["random", "cofactor"].map(Choice::named).into(), "random").help(
        "SVRG: order of the subsets: random, or cofactor (equal strides, others in each iteration)",
        "Default: random, the same in every run.",
    );

/// Parameter of SVRG.
pub static STEP_RULE: Setting = Setting::choice(
    "step_rule",
    "Step rule",
    || vec![Choice::named("table"), Choice { label: "Barzilai–Borwein", ..Choice::named(BARZILAI_BORWEIN) }],
    "table",
)
.help(
    "SVRG: step sizes by a table, or barzilai-borwein (from the curvature between two full gradients)",
    "Default: table. barzilai-borwein begins with 1.5 or --step-size, which is its largest size.",
);

/// Key of a step rule.
const BARZILAI_BORWEIN: &str = "barzilai-borwein";

/// Parameter of SVRG.
pub static STEP_SIZE: Setting =
    Setting::number("step_size", "Step size τ", "", 1e-6, 1e3).absent("by the table").usual(1.0).help(
        "SVRG: step size of all steps; below 2 they contract for every subset",
        "Default: 1.5, after 1000 steps 1. Steps that lower the objective are undone and halved.",
    );

/// Parameter of BSREM.
pub static FIRST_STEP: Setting = Setting::number("first_step", "First step size α₀", "", 1e-6, 1e3)
    .with_default(1.0)
    .help("BSREM: step size α₀ / (1 + η k) after k iterations", "Default: 1.");

/// Parameter of BSREM.
pub static RELAXATION: Setting = Setting::number("relaxation", "Relaxation η", "", 0.0, 1e3)
    .with_default(0.05)
    .help("BSREM: the larger, the faster its steps shrink; step size α₀ / (1 + η k) after k iterations", "Default: 0.05.");

/// Common to the tolerances of algorithms, which are one option.
pub(super) const TOLERANCE_HELP: &str =
    "Tolerance at which a run ends: svrg and bsrem, the optimality residual; tv, the change of the image by a step";

/// Parameter of algorithms that climb.
pub static OPTIMALITY: Setting = Setting::number("tolerance", "Tolerance", "", 0.0, 1.0).absent("all iterations").usual(1e-4).help(TOLERANCE_HELP, "svrg, bsrem: the optimality residual is the longest step of a voxel by the curvature of its data, a part of the largest value, \
              known every second or fourth iteration. A run that does not reach the tolerance ends with exit code 3. Default: none. \
              tv: a part of the norm of the image; 0 = never. Default: 0.00001.");

fn penalty(parameters: &Values) -> PenaltySpec {
    PenaltySpec {
        prior: parameters.choice(&PRIOR),
        strength: if parameters.is(&BETA, AUTO) { None } else { parameters.number(&BETA) },
        gamma: parameters.number(&GAMMA).unwrap_or_default(),
        epsilon: parameters.number(&EPSILON),
        delta: parameters.number(&DELTA),
        kappa: parameters.choice::<Kappa>(&KAPPA),
    }
}

/// SVRG with these parameters.
pub(super) fn svrg(parameters: &Values) -> AlgorithmSpec {
    let size = parameters.number(&STEP_SIZE);
    let step_sizes = match parameters.choice::<String>(&STEP_RULE).as_str() {
        BARZILAI_BORWEIN => StepSizes::BarzilaiBorwein { first: size.unwrap_or(StepSizes::FIRST) },
        _ => size.map_or(StepSizes::Table, StepSizes::Constant),
    };
    let settings = SvrgSettings {
        step_sizes,
        order: parameters.choice::<DrawOrder>(&DRAW_ORDER),
        seed: SEED,
        stores_gradients: true,
        tolerance: parameters.number(&OPTIMALITY),
    };
    AlgorithmSpec::Ascent { method: AscentMethod::Svrg(settings), penalty: penalty(parameters) }
}

/// BSREM with these parameters.
pub(super) fn bsrem(parameters: &Values) -> AlgorithmSpec {
    let settings = BsremSettings {
        step_size: parameters.number(&FIRST_STEP).unwrap_or_default(),
        relaxation: parameters.number(&RELAXATION).unwrap_or_default(),
        subset_order: SubsetOrder::Spaced,
        tolerance: parameters.number(&OPTIMALITY),
    };
    AlgorithmSpec::Ascent { method: AscentMethod::Bsrem(settings), penalty: penalty(parameters) }
}

#[cfg(test)]
mod tests {
    use super::super::setting::Kind;
    use super::super::value::Value;
    use super::*;

    #[test]
    fn fields_begin_with_a_possible_value() {
        for setting in SVRG_PARAMETERS.iter().chain(BSREM_PARAMETERS) {
            if let Kind::Number { min, max, default, usual, .. } = setting.kind {
                assert!([Some(usual), default].into_iter().flatten().all(|value| (min..=max).contains(&value)), "{setting:?}");
            }
        }
        let log_cosh = Values::default().with_choice(&PRIOR, "log-cosh");
        let used = |parameters: &Values| [&GAMMA, &EPSILON, &DELTA, &BETA].map(|setting| parameters.uses(setting));
        assert_eq!((used(&Values::default()), used(&log_cosh)), ([true, true, false, true], [false, false, true, true]));
    }

    #[test]
    fn a_strength_is_a_number_or_found_by_the_run() {
        assert_eq!(BETA.parse("auto"), Ok(Value::Name("auto".into())));
        assert_eq!(BETA.parse("0.5"), Ok(Value::Number(0.5)));
        let refused = BETA.parse("strong").unwrap_err().to_string();
        assert!(refused.contains("or auto"), "{refused}");
        assert!(GAMMA.parse("auto").is_err());
        let parameters = Values::default().with_choice(&BETA, AUTO);
        assert_eq!(parameters.check(SVRG_PARAMETERS, |_| false), Ok(()));
        let AlgorithmSpec::Ascent { penalty, .. } = svrg(&parameters) else { panic!("no ascent") };
        assert_eq!(penalty, PenaltySpec { strength: None, ..PenaltySpec::NONE });
    }

    #[test]
    fn without_values_there_is_no_penalty_and_the_published_step_sizes() {
        let AlgorithmSpec::Ascent { method, penalty } = svrg(&Values::default()) else { panic!("no ascent") };
        assert_eq!(penalty, PenaltySpec::NONE);
        let expected = SvrgSettings {
            step_sizes: StepSizes::Table,
            order: DrawOrder::Random,
            seed: SEED,
            stores_gradients: true,
            tolerance: None,
        };
        assert_eq!(method, AscentMethod::Svrg(expected));
        let parameters = Values::default().with_choice(&STEP_RULE, BARZILAI_BORWEIN);
        for (size, first) in [(None, 1.5), (Some(0.5), 0.5)] {
            let AlgorithmSpec::Ascent { method, .. } = svrg(&parameters.clone().with_number(&STEP_SIZE, size)) else {
                panic!("no ascent")
            };
            assert_eq!(method, AscentMethod::Svrg(SvrgSettings { step_sizes: StepSizes::BarzilaiBorwein { first }, ..expected }));
        }
        let parameters = Values::default().with_choice(&PRIOR, "log-cosh").with_number(&BETA, Some(0.3));
        for spec in [svrg(&parameters), bsrem(&parameters)] {
            let AlgorithmSpec::Ascent { penalty, .. } = spec else { panic!("no ascent") };
            assert_eq!(penalty, PenaltySpec { prior: crate::recon::Prior::LogCosh, strength: Some(0.3), ..PenaltySpec::NONE });
        }
    }
}
