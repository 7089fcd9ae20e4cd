//! Quantity of written images: calibration, correction for decay, uptake values; and the facts of their PET scan.
//!
//! The calibration of a scan gives the mean activity concentration during the scan, for a frame divided by its share of the scan's
//! time. The activity at the start of the scan is that mean over the mean decay of the frame ([`mean_decay`]).

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::options::{FactorContent, HalfLife, Injection, Moment, UptakeOptions};
use crate::cli::reconstruct::options::ReconstructOptions;
use crate::cli::shared::error::{CliError, CliResult, Failure};
use crate::cli::shared::notices;
use crate::data::{
    Attenuation, DecayReference, ListMetadata, Notice, Nuclide, PetImage, PetScan, PetValues, ScanFacts, Sourced, Unit,
    ValueScale, mean_decay,
};
use crate::data::{NoSuv, SuvDefinition, check_half_life, plausible, suv_factor};
use crate::io::check_image_unit;
use crate::io::formats::Format;
use crate::plan::Job;

/// Source of a fact that an option sets.
const OPTION: &str = "command line";

/// Source of a fact in the header of list-mode data.
const LIST: &str = "list-mode file";

/// Source of a fact in the header of sinograms.
const SINOGRAMS: &str = "sinogram header";

/// Largest relative difference of an option from the header that is the same number.
const OPTION_TOLERANCE: f64 = 0.01;

/// Moments that differ by less are the same, s.
const SAME_MOMENT_SECS: f64 = 2.0;

/// Calibration and scan of the images of a command.
pub struct Uptake {
    calibration: Option<f64>,
    suv: Option<SuvDefinition>,
    duration_secs: Option<f64>,
    /// Facts of the scan; `None` = nothing is known.
    scan: Option<PetScan>,
}

/// Quantity of an image: scale of its values, and facts of its scan.
pub struct Quantity {
    /// Scale of the values; `None` = the image's own.
    pub scale: Option<ValueScale>,
    /// Facts of the scan.
    pub pet: Option<PetImage>,
    /// Activity concentration of 1 count/mm in this frame, Bq/mL.
    pub bq_per_ml: Option<f64>,
}

impl Uptake {
    /// Returns calibration and scan of the images of a job, and of its frames.
    ///
    /// # Errors
    /// Missing facts, a missing correction for attenuation, an output that cannot contain the image.
    pub fn new(options: &ReconstructOptions, job: &Job) -> CliResult<Self> {
        let uptake = &options.uptake;
        let corrections = corrections(options, job)?;
        let has_attenuation = corrections.iter().any(|code| code == "ATTN");
        let mut all = Self { calibration: options.calibration, suv: uptake.suv, duration_secs: uptake.duration_secs, scan: None };
        // (The duration alone may be that of error bars.)
        let has_facts = uptake.has_facts() || (uptake.duration_secs.is_some() && options.calibration.is_some());
        if has_facts {
            if !has_attenuation {
                return Err(CliError::arguments(
                    "activity and uptake values need a correction for attenuation: set --attenuation or --ct, or declare it with \
                     --multiplicative-includes attenuation",
                ));
            }
            all.scan = Some(scan(options, job, corrections)?);
        } else if !corrections.is_empty() {
            all.scan = Some(PetScan::new(PetValues::Counts, corrections));
        }
        let Quantity { scale, pet, .. } = all.of(job)?;
        let unit = scale.map_or(job.iteration_scheme().unit, |scale| scale.unit);
        check_image_unit(&options.output, unit, pet.as_ref())?;
        let (facts, header) = header_facts(job);
        notices::print(&overridden(uptake, &facts, header));
        if let (true, Some(secs)) = (has_facts, facts.start_secs.filter(|secs| *secs > 0.0)) {
            let text = format!(
                "the data begin {secs} s after the start of the scan ('image relative start time (sec)' of their header)"
            );
            notices::print(&[Notice::info(text)]);
        }
        let has_start = uptake.scan_start.is_some() || facts.exam.start.is_some();
        if has_facts && !has_start && Format::of(&options.output).is_some_and(Format::needs_facts) {
            let text = "the start of the scan is unknown: the DICOM series begins when it is written, and the injection is before \
                        that; set --scan-start";
            notices::print(&[Notice::warning(text)]);
        }
        Ok(all)
    }

    /// Returns the quantity of the image of a job, which may be a frame of the scan.
    ///
    /// # Errors
    /// An unknown duration, missing facts for uptake values.
    pub fn of(&self, job: &Job) -> CliResult<Quantity> {
        let bq_per_ml = self.calibration.map(|bq_per_ml| Ok::<_, CliError>(bq_per_ml / share_of_scan(job)?)).transpose()?;
        let limits = limits_secs(job, self.duration_secs);
        let Some(mut scan) = self.scan.clone() else {
            return Ok(Quantity { scale: bq_per_ml.map(ValueScale::calibrated), pet: None, bq_per_ml });
        };
        let (mut factor, mut decay_factors) = (bq_per_ml, Vec::new());
        if scan.decay_reference == DecayReference::Start {
            let half_life = scan.half_life_secs.as_ref().map_or(f64::INFINITY, |fact| fact.value);
            let limits = limits.ok_or_else(|| missing("the duration of the scan", "--duration-secs"))?;
            let num_half_lives = limits[1] / half_life;
            if num_half_lives > plausible::MAX_HALF_LIVES {
                let text = format!(
                    "the data end {} s after the start of the scan, {num_half_lives:.0} half-lives of {half_life} s; expected at most {}: check \
                     times, durations (s) and half-life in the header and the options",
                    limits[1],
                    plausible::MAX_HALF_LIVES
                );
                return Err(CliError::failed(Failure::Input, text));
            }
            let decay = 1.0 / mean_decay(half_life, limits);
            factor = factor.map(|factor| factor * decay);
            decay_factors.push(decay);
        }
        let mut scale = factor.map(ValueScale::calibrated);
        if let Some(definition) = self.suv {
            scan.values = PetValues::BqPerMl;
            let of_activity = suv_factor(&scan, definition).map_err(no_suv)?;
            scale = factor.map(|factor| ValueScale { unit: definition.unit(), factor: factor * of_activity });
        }
        let unit = scale.map_or(Unit::CountsPerMm, |scale| scale.unit);
        scan.values = PetValues::of_unit(unit).unwrap_or(PetValues::Counts);
        let start_secs = limits.map(|[start, _]| start);
        let duration_secs = limits.map(|[start, end]| end - start);
        Ok(Quantity { scale, pet: Some(PetImage { scan, start_secs, duration_secs, decay_factors }), bq_per_ml })
    }
}

fn missing(fact: &str, option: &str) -> CliError {
    CliError::arguments(format!("{fact} is missing; set {option}"))
}

/// Returns the error of an image without uptake values.
fn no_suv(problem: NoSuv) -> CliError {
    let text = match problem {
        NoSuv::Missing(fact, _) => {
            format!("{fact} is missing; set --dose-mbq, --injected, --weight-kg, and for lean mass --height-cm and --sex")
        }
        other => other.to_string(),
    };
    CliError::failed(Failure::Input, format!("no uptake values: {text}"))
}

/// Returns the share of the scan's time that the image of a job is of.
fn share_of_scan(job: &Job) -> CliResult<f64> {
    let share = job.share_of_scan().ok_or_else(|| {
        let text =
            "--calibration is for the whole scan, whose duration is unknown: reconstruct it without --frame, --frames, --follow";
        CliError::arguments(text)
    })?;
    if share > 0.0 { Ok(share) } else { Err(CliError::arguments("the frame lies outside the scan, so that it has no activity")) }
}

/// Returns warnings about numbers of options that differ from those of the header.
fn overridden(uptake: &UptakeOptions, facts: &ScanFacts, header: &str) -> Vec<Notice> {
    let ScanFacts { exam, duration_secs, .. } = facts;
    let both = [
        ("--duration-secs", "s", uptake.duration_secs, *duration_secs),
        ("--dose-mbq", "MBq", uptake.dose_mbq, exam.dose_bq.map(|bq| 1e-6 * bq)),
        ("--weight-kg", "kg", uptake.weight_kg, exam.weight_kg),
        ("--height-cm", "cm", uptake.height_cm, exam.height_m.map(|m| 100.0 * m)),
    ];
    let numbers = both.into_iter().filter_map(|(option, unit, given, found)| Some((option, unit, given?, found?)));
    let different = numbers.filter(|(.., given, found)| (given - found).abs() > OPTION_TOLERANCE * found);
    let text = |(option, unit, given, found): (_, _, f64, f64)| {
        Notice::warning(format!("{option} is {given} {unit}, but the {header} has {found} {unit}; the option counts"))
    };
    let of_sex = uptake.sex.zip(exam.sex).filter(|(given, found)| given != found);
    let of_half_life =
        uptake.half_life.zip(facts.half_life_secs).filter(|(given, found)| (given.secs - found).abs() > OPTION_TOLERANCE * found);
    // In the time zone of the header, if both have one or neither has.
    let moment = |moment: Moment| match moment.offset {
        Some(offset) if !exam.is_local => moment.local.checked_sub(SignedDuration::from_secs(i64::from(offset.seconds()))).ok(),
        None if exam.is_local => Some(moment.local),
        _ => None,
    };
    let start = uptake.scan_start.and_then(moment);
    let injected = match uptake.injected {
        Some(Injection::At(at)) => moment(at),
        Some(Injection::Before(duration)) => start.or(exam.start).and_then(|start| start.checked_sub(duration).ok()),
        None => None,
    };
    let (of_start, of_injection) = (start.zip(exam.start), injected.zip(exam.injection));
    let is_other = |(given, found): &(DateTime, DateTime)| given.duration_since(*found).as_secs_f64().abs() > SAME_MOMENT_SECS;
    let others = [
        of_sex.map(|(given, found)| ("--sex", format!("{given:?}").to_lowercase(), format!("{found:?}").to_lowercase())),
        of_half_life.map(|(given, found)| ("--half-life", format!("{} s", given.secs), format!("{found} s"))),
        of_start.filter(is_other).map(|(given, found)| ("--scan-start", given.to_string(), found.to_string())),
        of_injection.filter(is_other).map(|(given, found)| ("--injected", given.to_string(), found.to_string())),
    ];
    let others = others.into_iter().flatten().map(|(option, given, found)| {
        Notice::warning(format!("{option} is {given}, but the {header} has {found}; the option counts"))
    });
    different.map(text).chain(others).collect()
}

/// Returns start and end of the image of a job after the start of the scan, s.
fn limits_secs(job: &Job, duration_secs: Option<f64>) -> Option<[f64; 2]> {
    let Some(list) = job.data().events() else {
        let (facts, _) = header_facts(job);
        let start_secs = facts.start_secs.unwrap_or(0.0);
        return duration_secs.or(facts.duration_secs).map(|secs| [start_secs, start_secs + secs]);
    };
    let frame = job.frame_time();
    let whole = duration_secs.filter(|_| frame.is_none()).map(|secs| [0.0, secs]);
    whole.or_else(|| list.time.limits_secs(frame.as_ref(), &list.facts))
}

/// Returns the end of the scan after its start, s.
fn end_secs(job: &Job, duration_secs: Option<f64>) -> Option<f64> {
    let Some(list) = job.data().events() else { return limits_secs(job, duration_secs).map(|[_, end]| end) };
    duration_secs.or_else(|| list.time.limits_secs(None, &list.facts).map(|[_, end]| end))
}

/// Returns the facts in the header of the data, and their source.
fn header_facts(job: &Job) -> (ScanFacts, &'static str) {
    if let Some(list) = job.data().events() {
        let ListMetadata { exam, isotope, half_life_secs, duration_ms, .. } = &*list.facts;
        let (exam, isotope, duration_secs) = (exam.clone(), isotope.clone(), duration_ms.map(|ms| ms as f64 / 1e3));
        return (ScanFacts { exam, isotope, half_life_secs: *half_life_secs, duration_secs, ..ScanFacts::default() }, LIST);
    }
    (job.data().counts().map(|counts| counts.facts.clone()).unwrap_or_default(), SINOGRAMS)
}

/// Returns the codes of the corrections that the images contain.
fn corrections(options: &ReconstructOptions, job: &Job) -> CliResult<Vec<String>> {
    let UptakeOptions { multiplicative_includes, additive_includes, .. } = &options.uptake;
    let includes_attenuation = multiplicative_includes.contains(&FactorContent::Attenuation);
    let mut codes: Vec<&str> = Vec::new();
    let (mut has_factors, mut has_background) = (false, false);
    if let Some(counts) = job.data().counts() {
        let origin = &job.study.origin;
        let has_own = origin.multiplicative.is_some() || origin.attenuation.is_none();
        (has_factors, has_background) = (counts.multiplicative.is_some() && has_own, counts.additive.is_some());
        if origin.attenuation.is_some() {
            if includes_attenuation {
                return Err(attenuated_twice());
            }
            codes.push("ATTN");
        }
    }
    if let Some(list) = job.data().events() {
        let numbers = list.numbers();
        (has_factors, has_background) = (numbers.has_factors, numbers.has_background || numbers.num_delayeds > 0);
        match &list.facts.attenuation {
            Attenuation::Untold => {}
            Attenuation::Maps(_) if includes_attenuation => return Err(attenuated_twice()),
            Attenuation::Maps(_) | Attenuation::InFactors => codes.push("ATTN"),
        }
        if list.facts.efficiency.as_ref().is_some_and(|efficiency| efficiency.is_normalization()) {
            codes.push("NORM");
        }
        if numbers.num_delayeds > 0 {
            codes.push("RAN");
        }
    }
    for (is_set, is_there, option, what) in [
        (!multiplicative_includes.is_empty(), has_factors, "--multiplicative-includes", "factors"),
        (!additive_includes.is_empty(), has_background, "--additive-includes", "background"),
    ] {
        if is_set && !is_there {
            return Err(CliError::arguments(format!("{option}: the data have no {what}")));
        }
    }
    codes.extend(multiplicative_includes.iter().map(<&str>::from));
    codes.extend(additive_includes.iter().map(<&str>::from));
    let mut unique: Vec<String> = Vec::new();
    for code in codes {
        if !unique.iter().any(|other| other == code) {
            unique.push(code.to_owned());
        }
    }
    Ok(unique)
}

/// Returns the error of attenuation that is corrected twice.
fn attenuated_twice() -> CliError {
    CliError::arguments("the attenuation is corrected twice, by a map or CT and by factors that include it; omit one")
}

/// Returns the facts of a scan that is corrected for decay to its start: those of the options, else of the header.
fn scan(options: &ReconstructOptions, job: &Job, mut corrections: Vec<String>) -> CliResult<PetScan> {
    let uptake = &options.uptake;
    let (ScanFacts { exam, isotope, half_life_secs, .. }, header) = header_facts(job);
    let (half_life, nuclide) = half_life(uptake.half_life, (half_life_secs, isotope), header)?;
    let moment = |local: DateTime| Moment { local, offset: (!exam.is_local).then_some(Offset::UTC) };
    let (known_start, source) = match uptake.scan_start {
        Some(start) => (Some(start), OPTION),
        None => (exam.start.map(moment), header),
    };
    let scan_start = match known_start {
        Some(start) => Sourced::new(start.local, source),
        None => Sourced::new(Timestamp::now().to_zoned(TimeZone::UTC).datetime(), "time of writing (the start is unknown)"),
    };
    let (injected, source) = match uptake.injected {
        Some(injected) => (Some(injected), OPTION),
        None => (exam.injection.map(|local| Injection::At(moment(local))), header),
    };
    let injection = injected.map(|injected| injection(injected, scan_start.value, known_start)).transpose()?;
    let number = |option: Option<f64>, factor: f64, of_header: Option<f64>| {
        let option = option.map(|value| Sourced::new(factor * value, OPTION));
        option.or_else(|| of_header.map(|value| Sourced::new(value, header)))
    };
    let sex = uptake.sex.map(|sex| Sourced::new(sex, OPTION));
    let duration = end_secs(job, uptake.duration_secs).and_then(|secs| SignedDuration::try_from_secs_f64(secs).ok());
    let scan_end = duration.and_then(|duration| scan_start.value.checked_add(duration).ok());
    corrections.push("DECY".to_owned());
    Ok(PetScan {
        decay_reference: DecayReference::Start,
        scan_start: Some(scan_start),
        scan_end,
        injection: injection.map(|injection| Sourced::new(injection, source)),
        dose_bq: number(uptake.dose_mbq, 1e6, exam.dose_bq),
        half_life_secs: Some(half_life),
        tracer: exam.tracer,
        nuclide,
        weight_kg: number(uptake.weight_kg, 1.0, exam.weight_kg),
        height_m: number(uptake.height_cm, 0.01, exam.height_m),
        sex: sex.or_else(|| exam.sex.map(|sex| Sourced::new(sex, header))),
        ..PetScan::new(PetValues::BqPerMl, corrections)
    })
}

/// Returns half-life and nuclide: of the option, or of the header.
fn half_life(
    option: Option<HalfLife>,
    (half_life_secs, isotope): (Option<f64>, Option<String>),
    header: &str,
) -> CliResult<(Sourced<f64>, Option<String>)> {
    let of_header = isotope.as_deref().and_then(Nuclide::find);
    let known = half_life_secs.or_else(|| of_header.map(|nuclide| nuclide.half_life_secs));
    let (secs, nuclide, source) = match option {
        None => (known.ok_or_else(|| missing("the half-life", "--half-life"))?, isotope, header),
        Some(HalfLife { secs, nuclide }) => {
            if let Some(known) = known.filter(|known| !plausible::is_same_half_life(secs, *known)) {
                let of = isotope.map(|isotope| format!(" of {isotope}")).unwrap_or_default();
                let text =
                    format!("--half-life is {secs} s, but the {header} has {known} s{of}; omit the option, or mend the header");
                return Err(CliError::arguments(text));
            }
            (secs, nuclide.map(str::to_owned).or(isotope), OPTION)
        }
    };
    check_half_life(secs, nuclide.as_deref()).map_err(|problem| CliError::arguments(problem.to_string()))?;
    Ok((Sourced::new(secs, source), nuclide))
}

/// Returns the moment of an injection in the time zone of the scan.
fn injection(injected: Injection, start: DateTime, scan_start: Option<Moment>) -> CliResult<DateTime> {
    let out_of_range = || CliError::arguments("--injected is out of the range of dates");
    let at = match injected {
        Injection::Before(duration) => return start.checked_sub(duration).map_err(|_| out_of_range()),
        Injection::At(at) => at,
    };
    let Some(scan) = scan_start else { return Err(missing("the start of the scan", "--scan-start, or --injected -60min")) };
    match (at.offset, scan.offset) {
        (None, None) => Ok(at.local),
        (Some(own), Some(of_scan)) => {
            let shift = SignedDuration::from_secs(i64::from(of_scan.seconds() - own.seconds()));
            at.local.checked_add(shift).map_err(|_| out_of_range())
        }
        _ => Err(CliError::arguments(
            "injection and start of the scan need an offset from UTC both, or neither: set --injected and --scan-start",
        )),
    }
}
