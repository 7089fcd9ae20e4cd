//! Words for people.

/// Returns a count with its noun: `1 step`, `2 steps`, `0 regions of interest` (the first word takes the s).
pub fn counted(count: usize, what: &str) -> String {
    let (noun, rest) = what.split_at(what.find(' ').unwrap_or(what.len()));
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}{rest}")
}

/// Returns a number with this many decimals; one that rounds to 0 has no sign.
pub fn decimals(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match text.strip_prefix('-') {
        Some(size) if size.bytes().all(|byte| matches!(byte, b'0' | b'.')) => size.to_owned(),
        _ => text,
    }
}

/// Returns a size in memory, fine enough to distinguish a need from smaller free memory: `5.0 MiB`, `9.00 GiB`.
pub fn bytes(num: u64) -> String {
    let mib = num as f64 / f64::from(1 << 20);
    if mib >= 1024.0 { format!("{:.2} GiB", mib / 1024.0) } else { format!("{mib:.1} MiB") }
}

/// Returns choices as text: `a`, `a or b`, `a, b or c`.
pub fn either<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match &names[..] {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

/// Parses a whole number of at least 1, with an exponent (2e7) or without (20000000).
///
/// # Errors
/// The text is no such number.
pub fn count<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = whole(text).filter(|number| *number >= 1).ok_or("expected a whole number of at least 1")?;
    T::try_from(number).map_err(|_| format!("expected a whole number below 2^{}", 8 * size_of::<T>()))
}

/// Parses a whole number that is not negative, also with an exponent.
pub fn whole(text: &str) -> Option<u64> {
    // Up to here every whole number is one of 64-bit floats.
    const LARGEST: f64 = (1u64 << 53) as f64;
    let with_exponent = || text.parse().ok().filter(|number: &f64| number.fract() == 0.0 && (0.0..=LARGEST).contains(number));
    text.parse().ok().or_else(|| with_exponent().map(|number| number as u64))
}

/// Returns at most 60 characters of a text of a file, without control characters, for messages.
pub fn shortened(text: &str) -> String {
    let mut short: String = text.chars().filter(|c| !c.is_control()).take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_has_no_sign() {
        let found = [(-0.0, 2), (-0.04, 1), (-0.06, 1), (0.04, 1)].map(|(value, digits)| decimals(value, digits));
        assert_eq!(found, ["0.00", "0.0", "-0.1", "0.0"]);
    }

    #[test]
    fn sizes_change_their_unit_at_a_gib() {
        assert_eq!(
            [0, 5 << 20, (1 << 30) - 1, 1 << 30, 9 << 30].map(bytes),
            ["0.0 MiB", "5.0 MiB", "1024.0 MiB", "1.00 GiB", "9.00 GiB"]
        );
    }

    #[test]
    fn the_last_choice_comes_after_or() {
        assert_eq!([either::<&str>(&[]), either(&["a"]), either(&["a", "b", "c"])], ["", "a", "a, b or c"]);
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!(counted(1, "step"), "1 step");
        assert_eq!([counted(0, "step"), counted(2, "step")], ["0 steps", "2 steps"]);
        assert_eq!(
            [counted(1, "region of interest"), counted(3, "region of interest")],
            ["1 region of interest", "3 regions of interest"]
        );
    }
}
