//! Stable codes of errors: what `--json` prints where a command fails.

use std::fs;

use serde_json::Value;

use super::{done, tomoscope};

#[test]
fn an_error_has_its_code_on_standard_output_and_its_text_on_both() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["simulate", "cylinder", "--scanner", "small", "--counts", "1e5", "-o", "scan.hs"]);
    let data = fs::read(folder.join("scan.s")).unwrap();
    fs::write(folder.join("cut.s"), &data[..data.len() / 2]).unwrap();
    let header = fs::read_to_string(folder.join("scan.hs")).unwrap();
    let without_checksum = |line: &&str| !line.to_lowercase().contains("checksum");
    let of = |name: &str| header.replace("scan.s", name).lines().filter(without_checksum).collect::<Vec<_>>().join("\n");
    fs::write(folder.join("cut.hs"), of("cut.s")).unwrap();
    fs::write(folder.join("lost.hs"), of("lost.s")).unwrap();
    fs::write(folder.join("empty.hs"), "").unwrap();
    fs::write(folder.join("other.hs"), "name := value\n").unwrap();
    fs::write(folder.join("name.xyz"), "?").unwrap();
    let cases: [(&[&str], i32, &str); 9] = [
        (&["info", "missing.hs", "--json"], 1, "io.not-found"),
        (&["info", "cut.hs", "--json"], 1, "io.truncated"),
        (&["info", "lost.hs", "--json"], 1, "io.data-file-missing"),
        (&["info", "empty.hs", "--json"], 1, "io.unsupported.interfile"),
        (&["info", "other.hs", "--json"], 1, "io.not-interfile"),
        (&["reconstruct", "cut.hs", "-o", "a.nii", "--json"], 1, "io.truncated"),
        (&["reconstruct", "scan.hs", "-o", "a.xyz", "--json"], 2, "arguments"),
        (&["reconstruct", "scan.hs", "-o", "a.nii", "--json", "--subsets", "0"], 2, "arguments"),
        (&["info", "--json", "--unknown"], 2, "arguments"),
    ];
    for (arguments, exit_code, code) in cases {
        let output = tomoscope(folder, arguments);
        let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        assert_eq!(output.status.code(), Some(exit_code), "{arguments:?}: {err}");
        let printed: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {out}"));
        let error = &printed["error"];
        assert_eq!((error["code"].as_str(), error["exit_code"].as_i64()), (Some(code), Some(exit_code.into())), "{arguments:?}");
        let message = error["message"].as_str().unwrap();
        assert!(!message.is_empty() && err.contains(message.lines().next().unwrap()), "{arguments:?}: {message} | {err}");
        // Without --json nothing is printed where a result would be.
        let plain: Vec<&str> = arguments.iter().copied().filter(|argument| *argument != "--json").collect();
        let output = tomoscope(folder, &plain);
        assert!(output.stdout.is_empty() && output.status.code() == Some(exit_code), "{plain:?}");
    }
}
