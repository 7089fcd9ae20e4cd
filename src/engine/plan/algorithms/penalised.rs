//! The algorithms that find the maximum of a penalised likelihood, with their parameters.

use super::parameters::{Choice, Kind, Parameter, Parameters};
use crate::recon::{
    AlgorithmSpec, AscentMethod, BsremSettings, DrawOrder, Kappa, PenaltySpec, StepSizes, SubsetOrder, SvrgSettings,
};

pub(super) static SVRG_PARAMETERS: &[&Parameter] =
    &[&PRIOR, &BETA, &GAMMA, &EPSILON, &DELTA, &KAPPA, &DRAW_ORDER, &STEP_RULE, &STEP_SIZE, &OPTIMALITY];
pub(super) static BSREM_PARAMETERS: &[&Parameter] =
    &[&PRIOR, &BETA, &GAMMA, &EPSILON, &DELTA, &KAPPA, &FIRST_STEP, &RELAXATION, &OPTIMALITY];

/// Seed of random orders of subsets.
const SEED: u64 = 1;

/// Parameter of a penalty.
pub static PRIOR: Parameter = Parameter {
    key: "prior",
    label: "Prior",
    help: "Penalty on the differences of neighbouring voxels: rdp (relative differences), quadratic or log-cosh",
    details: "Default: rdp. Without a strength (--beta) there is none.",
    kind: Kind::Choice {
        choices: || {
            vec![
                Choice { label: "relative diff. (RDP)", ..Choice::named("rdp") },
                Choice::named("quadratic"),
                Choice::named("log-cosh"),
            ]
        },
        default: "rdp",
    },
    is_for: |_| true,
    needs: None,
    is_in_short_texts: true,
};

/// Name of a value that the run finds itself.
pub const AUTO: &str = "auto";

/// Name of κ of an image file, or of the study.
pub const KAPPA_OF_FILE: &str = "file";

/// Parameter of a penalty.
pub static BETA: Parameter = Parameter {
    key: "beta",
    label: "Strength β",
    help: "Strength of the penalty: larger is smoother; 0 = none; auto = a tenth of the curvature of the likelihood",
    details: "Images are in counts per mm of line: of relative differences this is the β of software with voxel lengths times the \
              voxel size, mm. auto: with κ and relative differences about 0.5 % of the image values. Default: 0.",
    kind: Kind::Number { min: 0.0, max: 1e12, unit: "", default: Some(0.0), usual: 5e-3, absent: "none", found: Some(AUTO) },
    is_for: |_| true,
    needs: None,
    is_in_short_texts: true,
};

/// Parameter of relative differences.
pub static GAMMA: Parameter = Parameter {
    key: "gamma",
    label: "Edge factor γ",
    help: "Edge preservation of relative differences: the larger, the less a large difference costs",
    details: "Default: 2.",
    kind: Kind::Number {
        min: 0.0,
        max: 1e6,
        unit: "",
        default: Some(PenaltySpec::NONE.gamma),
        usual: PenaltySpec::NONE.gamma,
        absent: "none",
        found: None,
    },
    is_for: |_| true,
    needs: Some((&PRIOR, "rdp")),
    is_in_short_texts: false,
};

/// Parameter of relative differences.
pub static EPSILON: Parameter = Parameter {
    key: "epsilon",
    label: "Offset ε",
    help: "Relative differences: offset of the denominator; the penalty is quadratic where image values are well below it",
    details: "Default: a thousandth of the start image's maximum.",
    kind: Kind::Number { min: 0.0, max: 1e12, unit: "counts/mm", default: None, usual: 1e-3, absent: "automatic", found: None },
    is_for: |_| true,
    needs: Some((&PRIOR, "rdp")),
    is_in_short_texts: false,
};

/// Parameter of log-cosh.
pub static DELTA: Parameter = Parameter {
    key: "delta",
    label: "Edge height δ",
    help: "log-cosh: differences above it cost in proportion, smaller ones as their square",
    details: "Default: a hundredth of the start image's maximum.",
    kind: Kind::Number { min: 1e-30, max: 1e12, unit: "counts/mm", default: None, usual: 1e-2, absent: "automatic", found: None },
    is_for: |_| true,
    needs: Some((&PRIOR, "log-cosh")),
    is_in_short_texts: false,
};

/// Parameter of a penalty.
pub static KAPPA: Parameter = Parameter {
    key: "kappa",
    label: "Weights κ",
    help: "Weights of the voxels in the penalty: auto (from the data at the start image), none (1), or those of an image file",
    details: "A pair of neighbours counts κ κ′ times: with κ another β is suitable than without. Default: auto.",
    kind: Kind::Choice {
        choices: || {
            // (The form of a study with κ begins with it.)
            let of_file = Choice { label: "of the file", is_for: |_| false, ..Choice::named(KAPPA_OF_FILE) };
            vec![Choice::named(AUTO), Choice::named("none"), of_file]
        },
        default: AUTO,
    },
    is_for: |_| true,
    needs: None,
    is_in_short_texts: true,
};

/// Parameter of SVRG.
pub static DRAW_ORDER: Parameter = Parameter {
    key: "draw_order",
    label: "Subset order",
    help: "SVRG: order of the subsets: random, or cofactor (equal strides, others in each iteration)",
    details: "Default: random, the same in every run.",
    kind: Kind::Choice { choices: || ["random", "cofactor"].map(Choice::named).into(), default: "random" },
    is_for: |_| true,
    needs: None,
    is_in_short_texts: false,
};

/// Parameter of SVRG.
pub static STEP_RULE: Parameter = Parameter {
    key: "step_rule",
    label: "Step rule",
    help: "SVRG: step sizes by a table, or barzilai-borwein (from the curvature between two full gradients)",
    details: "Default: table. barzilai-borwein begins with 1.5 or --step-size, which is its largest size.",
    kind: Kind::Choice {
        choices: || vec![Choice::named("table"), Choice { label: "Barzilai–Borwein", ..Choice::named(BARZILAI_BORWEIN) }],
        default: "table",
    },
    is_for: |_| true,
    needs: None,
    is_in_short_texts: false,
};

/// Key of a step rule.
const BARZILAI_BORWEIN: &str = "barzilai-borwein";

/// Parameter of SVRG.
pub static STEP_SIZE: Parameter = Parameter {
    key: "step_size",
    label: "Step size τ",
    help: "SVRG: step size of all steps; below 2 they contract for every subset",
    details: "Default: 1.5, after 1000 steps 1. Steps that lower the objective are undone and halved.",
    kind: Kind::Number { min: 1e-6, max: 1e3, unit: "", default: None, usual: 1.0, absent: "by the table", found: None },
    is_for: |_| true,
    needs: None,
    is_in_short_texts: false,
};

/// Parameter of BSREM.
pub static FIRST_STEP: Parameter = Parameter {
    key: "first_step",
    label: "First step size α₀",
    help: "BSREM: step size α₀ / (1 + η k) after k iterations",
    details: "Default: 1.",
    kind: Kind::Number { min: 1e-6, max: 1e3, unit: "", default: Some(1.0), usual: 1.0, absent: "none", found: None },
    is_for: |_| true,
    needs: None,
    is_in_short_texts: false,
};

/// Parameter of BSREM.
pub static RELAXATION: Parameter = Parameter {
    key: "relaxation",
    label: "Relaxation η",
    help: "BSREM: the larger, the faster its steps shrink; step size α₀ / (1 + η k) after k iterations",
    details: "Default: 0.05.",
    kind: Kind::Number { min: 0.0, max: 1e3, unit: "", default: Some(0.05), usual: 0.05, absent: "none", found: None },
    is_for: |_| true,
    needs: None,
    is_in_short_texts: false,
};

/// Common to the tolerances of algorithms, which are one option.
pub(super) const TOLERANCE_HELP: &str =
    "Tolerance at which a run ends: svrg and bsrem, the optimality residual; tv, the change of the image by a step";

/// Parameter of algorithms that climb.
pub static OPTIMALITY: Parameter = Parameter {
    key: "tolerance",
    label: "Tolerance",
    help: TOLERANCE_HELP,
    details: "svrg, bsrem: the optimality residual is the longest step of a voxel by the curvature of its data, a part of the largest value, \
              known every second or fourth iteration. A run that does not reach the tolerance ends with exit code 3. Default: none. \
              tv: a part of the norm of the image; 0 = never. Default: 0.00001.",
    kind: Kind::Number { min: 0.0, max: 1.0, unit: "", default: None, usual: 1e-4, absent: "all iterations", found: None },
    is_for: |_| true,
    needs: None,
    is_in_short_texts: false,
};

fn penalty(parameters: &Parameters) -> PenaltySpec {
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
pub(super) fn svrg(parameters: &Parameters) -> AlgorithmSpec {
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
pub(super) fn bsrem(parameters: &Parameters) -> AlgorithmSpec {
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
    use super::super::parameters::Value;
    use super::*;

    #[test]
    fn fields_begin_with_a_possible_value() {
        for parameter in SVRG_PARAMETERS.iter().chain(BSREM_PARAMETERS) {
            if let Kind::Number { min, max, default, usual, .. } = parameter.kind {
                assert!([Some(usual), default].into_iter().flatten().all(|value| (min..=max).contains(&value)), "{parameter:?}");
            }
        }
        let log_cosh = Parameters::default().with_choice(&PRIOR, "log-cosh");
        let used = |parameters: &Parameters| [&GAMMA, &EPSILON, &DELTA, &BETA].map(|parameter| parameter.is_used(parameters));
        assert_eq!((used(&Parameters::default()), used(&log_cosh)), ([true, true, false, true], [false, false, true, true]));
    }

    #[test]
    fn a_strength_is_a_number_or_found_by_the_run() {
        assert_eq!(BETA.parse("auto"), Ok(Value::Name("auto".into())));
        assert_eq!(BETA.parse("0.5"), Ok(Value::Number(0.5)));
        let refused = BETA.parse("strong").unwrap_err().to_string();
        assert!(refused.contains("or auto"), "{refused}");
        assert!(GAMMA.parse("auto").is_err());
        let parameters = Parameters::default().with_choice(&BETA, AUTO);
        assert_eq!(parameters.check(SVRG_PARAMETERS, |_| false), Ok(()));
        let AlgorithmSpec::Ascent { penalty, .. } = svrg(&parameters) else { panic!("no ascent") };
        assert_eq!(penalty, PenaltySpec { strength: None, ..PenaltySpec::NONE });
    }

    #[test]
    fn without_values_there_is_no_penalty_and_the_published_step_sizes() {
        let AlgorithmSpec::Ascent { method, penalty } = svrg(&Parameters::default()) else { panic!("no ascent") };
        assert_eq!(penalty, PenaltySpec::NONE);
        let expected = SvrgSettings {
            step_sizes: StepSizes::Table,
            order: DrawOrder::Random,
            seed: SEED,
            stores_gradients: true,
            tolerance: None,
        };
        assert_eq!(method, AscentMethod::Svrg(expected));
        let parameters = Parameters::default().with_choice(&STEP_RULE, BARZILAI_BORWEIN);
        for (size, first) in [(None, 1.5), (Some(0.5), 0.5)] {
            let AlgorithmSpec::Ascent { method, .. } = svrg(&parameters.clone().with_number(&STEP_SIZE, size)) else {
                panic!("no ascent")
            };
            assert_eq!(method, AscentMethod::Svrg(SvrgSettings { step_sizes: StepSizes::BarzilaiBorwein { first }, ..expected }));
        }
        let parameters = Parameters::default().with_choice(&PRIOR, "log-cosh").with_number(&BETA, Some(0.3));
        for spec in [svrg(&parameters), bsrem(&parameters)] {
            let AlgorithmSpec::Ascent { penalty, .. } = spec else { panic!("no ascent") };
            assert_eq!(penalty, PenaltySpec { prior: crate::recon::Prior::LogCosh, strength: Some(0.3), ..PenaltySpec::NONE });
        }
    }
}
