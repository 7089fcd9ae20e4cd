//! Unrolls the loops of WGSL texts that are marked for it. Drivers keep an array in registers only where its indices are constants,
//! and wgpu puts a counter against endless loops into every loop, so that no driver unrolls one.

/// End of the first line of such a loop: `for (var k = 0u; k < COUNT; k++) { // unrolled`.
const MARK: &str = "{ // unrolled";

/// Returns the text with a block for each pass through a marked loop. Its bound is a number or one of the constants.
pub(super) fn unrolled(source: &str, constants: &[(&str, usize)]) -> String {
    let lines: Vec<&str> = source.lines().collect();
    let mut text = String::with_capacity(2 * source.len());
    unroll(&lines, constants, &mut text);
    text
}

fn unroll(lines: &[&str], constants: &[(&str, usize)], text: &mut String) {
    let mut rest = lines;
    while let Some((line, behind)) = rest.split_first() {
        rest = behind;
        let Some((name, count)) = head(line, constants) else {
            text.push_str(line);
            text.push('\n');
            continue;
        };
        let indent = &line[..line.len() - line.trim_start().len()];
        let is_end = |line: &&str| line.strip_prefix(indent) == Some("}");
        let len = rest.iter().position(is_end).unwrap_or(rest.len());
        for pass in 0..count {
            let body: Vec<String> = rest[..len].iter().map(|line| replaced(line, name, &format!("{pass}u"))).collect();
            text.push_str(indent);
            text.push_str("{\n");
            unroll(&body.iter().map(String::as_str).collect::<Vec<_>>(), constants, text);
            text.push_str(indent);
            text.push_str("}\n");
        }
        rest = rest.get(len + 1..).unwrap_or(&[]);
    }
}

/// Returns the variable and the number of passes of a marked loop.
fn head<'a>(line: &'a str, constants: &[(&str, usize)]) -> Option<(&'a str, usize)> {
    let (name, condition) = line.trim().strip_suffix(MARK)?.strip_prefix("for (var ")?.split_once(" = 0u; ")?;
    let bound = condition.strip_prefix(name)?.strip_prefix(" < ")?.split(';').next()?;
    let known = constants.iter().find(|(constant, _)| *constant == bound).map(|(_, value)| *value);
    Some((name, known.or_else(|| bound.trim_end_matches('u').parse().ok())?))
}

/// Replaces a name, where it is a whole word.
fn replaced(line: &str, name: &str, value: &str) -> String {
    let is_of_word = |char: char| char.is_alphanumeric() || char == '_';
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(name) {
        let (before, behind) = (&rest[..at], &rest[at + name.len()..]);
        let is_word = !before.ends_with(is_of_word) && !behind.starts_with(is_of_word) && !before.ends_with('.');
        text.push_str(before);
        text.push_str(if is_word { value } else { name });
        rest = behind;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_loops_become_blocks_and_others_stay() {
        let source = "\
fn f() {
    for (var c = 0u; c < CLASSES; c++) { // unrolled
        for (var r = 0u; r < 2u; r++) { // unrolled
            x[c * 2u + r] += color.r + car[r];
        }
    }
    for (var c = 0u; c < CLASSES; c++) {
        y += c;
    }
}";
        let expected = "\
fn f() {
    {
        {
            x[0u * 2u + 0u] += color.r + car[0u];
        }
        {
            x[0u * 2u + 1u] += color.r + car[1u];
        }
    }
    for (var c = 0u; c < CLASSES; c++) {
        y += c;
    }
}
";
        assert_eq!(unrolled(source, &[("CLASSES", 1)]), expected);
    }
}
