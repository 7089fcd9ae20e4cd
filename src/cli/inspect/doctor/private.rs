//! Removal of private names from the report: home folder, user and host.

use std::path::Path;

use sysinfo::System;

/// Shortest name that is searched for in texts.
const MIN_LEN: usize = 2;

/// Private texts and their replacements.
#[derive(Default)]
pub struct Private {
    home: Option<String>,
    /// Names of the user and the host, with replacements.
    names: Vec<(String, &'static str)>,
}

impl Private {
    pub fn of_the_user() -> Self {
        let home = std::env::home_dir();
        let of_home = home.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let users = ["USER", "LOGNAME", "USERNAME"].into_iter().filter_map(|name| std::env::var(name).ok()).chain(of_home);
        let hosts = System::host_name().into_iter();
        let names =
            users.map(|name| (name, "USER")).chain(hosts.map(|name| (name, "HOST"))).filter(|(name, _)| name.len() >= MIN_LEN);
        // "/" is the home of services: not private, and a part of every path.
        let home = home.map(|path| path.to_string_lossy().into_owned()).filter(|path| path.len() > 1);
        Self { home, names: names.collect() }
    }

    /// Returns a text with `~` for the home folder, and with `USER` and `HOST` for parts of a path that are these names.
    pub fn removed_from(&self, text: &str) -> String {
        let text = match self.home.as_deref().map(|home| home.trim_end_matches(['/', '\\'])) {
            Some(home) => replaced(text, home, "~", |_, after| !after.is_some_and(is_of_name)),
            None => text.to_owned(),
        };
        let is_part = |before: Option<char>, after: Option<char>| {
            before.is_some_and(is_separator) && after.is_none_or(|c| !is_of_name(c)) || after.is_some_and(|c| c == '@')
        };
        self.names.iter().fold(text, |text, (name, replacement)| replaced(&text, name, replacement, is_part))
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, '/' | '\\' | '@')
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Returns the text with a word replaced where `is_whole` accepts the characters before and after it.
fn replaced(text: &str, word: &str, with: &str, is_whole: impl Fn(Option<char>, Option<char>) -> bool) -> String {
    let (mut result, mut end) = (String::new(), 0);
    for (at, _) in text.match_indices(word) {
        let after = at + word.len();
        if is_whole(text[..at].chars().next_back(), text[after..].chars().next()) {
            result.push_str(&text[end..at]);
            result.push_str(with);
            end = after;
        }
    }
    result + &text[end..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_names_are_removed_from_paths_and_from_nothing_else() {
        let names = [("ann", "USER"), ("pc", "HOST")].map(|(name, with)| (name.to_owned(), with));
        let private = Private { home: Some("/home/ann".into()), names: names.into() };
        for (text, expected) in [
            ("/home/ann/.cache/tomoscope", "~/.cache/tomoscope"),
            ("/home/ann", "~"),
            ("/home/anna/x", "/home/anna/x"),
            ("/scratch/ann/cache: ann@pc", "/scratch/USER/cache: USER@HOST"),
            ("cannot plan the annex", "cannot plan the annex"),
            ("/mnt/pc/ann", "/mnt/HOST/USER"),
            (r"C:\Users\ann\AppData", r"C:\Users\USER\AppData"),
        ] {
            assert_eq!(private.removed_from(text), expected);
        }
        assert_eq!(Private::default().removed_from("/home/ann"), "/home/ann");
    }
}
