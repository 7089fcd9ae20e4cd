//! `tomoscope --connect`: a window here, its solver on another machine, through the user's own `ssh` or any other program.

use std::ffi::OsString;
use std::path::Path;

use crate::cli::serve::LINGER_SECS;
use crate::cli::shared::error::CliResult;
use crate::remote::{Connection, Dialer};
use crate::session::Trace;
use crate::ui::{self, StartError, show_error};

/// Options of a window with its solver on a remote host.
#[derive(clap::Args)]
pub struct ConnectOptions {
    /// Reconstruct on a remote host over ssh: ssh://HOST/PATH or ssh://USER@HOST:PORT/PATH.
    ///
    /// PATH is the path of the scan on the remote host; /~/PATH is relative to the home folder. The remote host needs the
    /// same version of tomoscope.
    #[arg(long, value_name = "URL", conflicts_with_all = ["study", "follow"])]
    connect: Option<String>,
    /// Reconstruct on a remote host through another command that starts 'tomoscope serve --stdio'.
    ///
    /// The command must pass standard input and output on; STUDY is the path of the scan on the remote host. The text is
    /// split into words like in a shell; no other shell syntax is supported.
    #[arg(long, value_name = "COMMAND", requires = "study", conflicts_with_all = ["connect", "follow"])]
    connect_command: Option<String>,
    /// Path of the program on the remote host, if tomoscope is not in its PATH.
    #[arg(long, value_name = "PATH")]
    remote_program: Option<String>,
    /// Time to keep a remote run without a connection, seconds.
    ///
    /// Default: 600.
    #[arg(long, value_name = "SECS")]
    linger: Option<u64>,
}

impl ConnectOptions {
    /// Returns the connection and the path of the scan on the server; `None` for a local window.
    ///
    /// # Errors
    /// A URL or a command that makes no sense, as a sentence.
    pub fn target(&self, study: Option<&Path>) -> Result<Option<Target>, String> {
        if let Some(url) = &self.connect {
            let url = SshUrl::parse(url).map_err(|reason| format!("--connect {url}: {reason}"))?;
            let words = url.words(self.remote_program.as_deref().unwrap_or("tomoscope"), self.linger.unwrap_or(LINGER_SECS));
            return Ok(Some(Target { host: url.host, path: url.path, words }));
        }
        if self.remote_program.is_some() || self.linger.is_some() {
            return Err("--remote-program and --linger go with --connect; in --connect-command write them out".into());
        }
        let Some(command) = &self.connect_command else { return Ok(None) };
        let words = shell_words::split(command).map_err(|error| format!("--connect-command '{command}': {error}"))?;
        let host = words.first().cloned().ok_or("--connect-command is empty; name the program that starts the connection")?;
        let path = study.and_then(Path::to_str).ok_or("the path on the remote host must be text")?.to_owned();
        Ok(Some(Target { host, path, words: words.into_iter().map(OsString::from).collect() }))
    }
}

/// Where the solver of a window is.
pub struct Target {
    host: String,
    path: String,
    words: Vec<OsString>,
}

impl Target {
    pub fn open_window(self, trace: Trace) -> CliResult {
        let Target { host, path, words } = self;
        let dialer: Dialer = Box::new(move || Connection::through(&words));
        shown(ui::run_remote(host, dialer, path, trace))
    }
}

/// The parts of `ssh://[USER@]HOST[:PORT]/PATH`.
#[derive(Debug, PartialEq, Eq)]
struct SshUrl {
    user: Option<String>,
    host: String,
    port: Option<u16>,
    path: String,
}

impl SshUrl {
    fn parse(url: &str) -> Result<Self, String> {
        let form = || "the form is ssh://[USER@]HOST[:PORT]/PATH".to_owned();
        let (place, path) = url.strip_prefix("ssh://").and_then(|rest| rest.split_once('/')).ok_or_else(form)?;
        let (user, place) = place.rsplit_once('@').map_or((None, place), |(user, place)| (Some(user), place));
        // An IPv6 address contains colons and is in brackets.
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, after)) => (address, after.strip_prefix(':')),
            None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        let is_name = |name: &str| {
            let is_known = |c: char| c.is_alphanumeric() || "-._:%".contains(c);
            !name.is_empty() && !name.starts_with('-') && name.chars().all(is_known)
        };
        if !is_name(host) {
            return Err(format!("'{host}' is not the name of a machine"));
        }
        if let Some(user) = user.filter(|user| !is_name(user)) {
            return Err(format!("'{user}' is not the name of a user"));
        }
        let number = |port: &str| port.parse().map_err(|_| format!("'{port}' is not the number of a port"));
        let port = port.map(number).transpose()?;
        let path = path.strip_prefix("~/").map_or_else(|| format!("/{path}"), str::to_owned);
        if path.is_empty() || path == "/" {
            return Err(format!("the path of a scan is missing; {}", form()));
        }
        Ok(Self { user: user.map(str::to_owned), host: host.to_owned(), port, path })
    }

    /// The words of the command: what ssh starts there has no part of the path in it, which is a message.
    fn words(&self, program: &str, linger: u64) -> Vec<OsString> {
        let place = self.user.as_ref().map_or_else(|| self.host.clone(), |user| format!("{user}@{}", self.host));
        let port = self.port.iter().flat_map(|port| ["-p".to_owned(), port.to_string()]);
        // ssh hands its words to a shell as one line.
        let there = format!("{} serve --stdio --linger {linger}", shell_words::quote(program));
        let words = ["ssh".to_owned(), "-T".to_owned()].into_iter().chain(port).chain(["--".to_owned(), place, there]);
        words.map(OsString::from).collect()
    }
}

/// Shows the error of a window that failed to open in a message box, too: a program started by a double click has no terminal.
pub(super) fn shown(result: Result<(), StartError>) -> CliResult {
    result.inspect_err(show_error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(url: &str, program: &str) -> Vec<String> {
        let words = SshUrl::parse(url).unwrap().words(program, 60);
        words.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn a_url_becomes_the_words_of_a_command_without_its_path() {
        let url = SshUrl::parse("ssh://eve@pet-1:2222/data/a b;rm.hs").unwrap();
        let (user, host, path) = (Some("eve".to_owned()), "pet-1".to_owned(), "/data/a b;rm.hs".to_owned());
        assert_eq!(url, SshUrl { user, host, port: Some(2222), path });
        let there = "tomoscope serve --stdio --linger 60";
        assert_eq!(words("ssh://eve@pet-1:2222/d/x.hs", "tomoscope"), ["ssh", "-T", "-p", "2222", "--", "eve@pet-1", there]);
        let there = "'/opt/my tools/tomoscope' serve --stdio --linger 60";
        assert_eq!(words("ssh://[fe80::1%eth0]/x", "/opt/my tools/tomoscope"), ["ssh", "-T", "--", "fe80::1%eth0", there]);
        assert_eq!(SshUrl::parse("ssh://h/~/scans/x.hs").unwrap().path, "scans/x.hs");
    }

    #[test]
    fn what_could_be_taken_for_an_option_or_a_command_is_refused() {
        let refused = [
            ("ssh://-oProxyCommand=x/y", "not the name of a machine"),
            ("ssh://-l@h/y", "not the name of a user"),
            ("ssh://a b/y", "not the name of a machine"),
            ("ssh://$(x)/y", "not the name of a machine"),
            ("ssh://h:22x/y", "not the number of a port"),
            ("ssh:///y", "not the name of a machine"),
            ("ssh://h/", "path of a scan is missing"),
            ("ssh://h", "the form is ssh://"),
            ("http://h/x", "the form is ssh://"),
        ];
        for (url, expected) in refused {
            let reason = SshUrl::parse(url).unwrap_err();
            assert!(reason.contains(expected), "{url}: {reason}");
        }
    }
}
