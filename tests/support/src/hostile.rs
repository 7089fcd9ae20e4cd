//! Damaged files, drawn.

use proptest::prelude::*;

/// One of the good files, with some bytes replaced, some lines exchanged, and its end cut off.
pub fn damaged(good: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let bytes = proptest::collection::vec((0..good.len(), any::<u8>()), 0..4);
    let lines = proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..3);
    (bytes, lines, 0..good.len() * 2).prop_map(move |(bytes, exchanged, keep)| {
        let mut lines: Vec<&str> = good.lines().collect();
        let num_lines = lines.len();
        for (a, b) in exchanged {
            lines.swap(a.index(num_lines), b.index(num_lines));
        }
        let mut text = lines.join("\n").into_bytes();
        for (at, byte) in bytes {
            let at = at % text.len();
            text[at] = byte;
        }
        text.truncate(keep);
        text
    })
}

/// One of the good files, with one value replaced by something wild.
pub fn wild(good: &'static str, mark: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let numbers = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|x| x.to_string()),
        proptest::collection::vec(-5i32..6, 0..6).prop_map(|list| format!("{list:?}").replace('[', "{").replace(']', "}")),
        Just("2147483647".to_owned()),
        Just("-2147483648".to_owned()),
        Just("{-2147483648,0,2147483647}".to_owned()),
        "[ -~]{0,20}",
    ];
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), numbers), 1..4);
    changes.prop_map(move |changes| {
        let mut lines: Vec<String> = good.lines().map(str::to_owned).collect();
        let num_lines = lines.len();
        for (line, value) in changes {
            let line = &mut lines[line.index(num_lines)];
            if let Some((key, _)) = line.clone().split_once(mark) {
                *line = format!("{key}{mark} {value}");
            }
        }
        lines.join("\n").into_bytes()
    })
}
