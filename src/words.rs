//! Words for people.

/// A count with what is counted: `1 step`, `2 steps`, `0 regions of interest` (the first word takes the s).
pub fn counted(count: usize, what: &str) -> String {
    let (noun, rest) = what.split_at(what.find(' ').unwrap_or(what.len()));
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}{rest}")
}

#[cfg(test)]
mod tests {
    use super::counted;

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
