//! Just enough of Rust's lexical rules to see which paths a source file names.

/// Names and punctuation (`::` in one piece) of a source, without comments and without what stands in literals.
pub fn tokens(source: &str) -> Vec<String> {
    let chars: Vec<char> = source.chars().collect();
    let mut tokens = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let rest = &chars[i..];
        let skipped = ignored_length(rest);
        let length = if skipped > 0 { skipped } else { token_length(rest) };
        if skipped == 0 && !rest[0].is_whitespace() {
            tokens.push(rest[..length].iter().collect());
        }
        i += length;
    }
    tokens
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn token_length(rest: &[char]) -> usize {
    match rest {
        [':', ':', ..] => 2,
        [c, ..] if is_name(*c) => rest.iter().take_while(|c| is_name(**c)).count(),
        _ => 1,
    }
}

/// Length of the comment or literal that starts here; 0 where none does.
fn ignored_length(rest: &[char]) -> usize {
    match rest {
        ['/', '/', ..] => rest.iter().position(|&c| c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => block_comment_length(rest),
        ['"', ..] => string_length(rest),
        ['r', '"' | '#', ..] => raw_string_length(&rest[1..]).map_or(0, |length| length + 1),
        ['b', 'r', '"' | '#', ..] => raw_string_length(&rest[2..]).map_or(0, |length| length + 2),
        ['\'', '\\', _, tail @ ..] => 4 + tail.iter().position(|&c| c == '\'').unwrap_or(tail.len()),
        ['\'', _, '\'', ..] => 3,
        _ => 0,
    }
}

/// `/* … */`, which may hold others.
fn block_comment_length(rest: &[char]) -> usize {
    let (mut depth, mut i) = (0, 0);
    loop {
        match &rest[i..] {
            ['/', '*', ..] => (depth, i) = (depth + 1, i + 2),
            ['*', '/', ..] => (depth, i) = (depth - 1, i + 2),
            [_, ..] => i += 1,
            [] => return i,
        }
        if depth == 0 {
            return i;
        }
    }
}

/// `"…"`.
fn string_length(rest: &[char]) -> usize {
    let mut i = 1;
    while i < rest.len() {
        match rest[i] {
            '\\' => i += 2,
            '"' => return i + 1,
            _ => i += 1,
        }
    }
    rest.len()
}

/// `"…"` or `#"…"#` with any number of `#`; `None` if this is not one (a raw name).
fn raw_string_length(rest: &[char]) -> Option<usize> {
    let num_hashes = rest.iter().take_while(|&&c| c == '#').count();
    if rest.get(num_hashes) != Some(&'"') {
        return None;
    }
    let body = num_hashes + 1;
    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', num_hashes)).collect();
    let length = rest[body..].windows(end.len()).position(|window| window == end);
    Some(length.map_or(rest.len(), |length| body + length + end.len()))
}
