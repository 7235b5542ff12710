//! `[ssh] destination`: anything `ssh` accepts, and IPv6 addresses that it does not.

use std::fmt;

/// A destination taken apart, safe to put on a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// Login; absent: as the user's ssh configuration says.
    pub user: Option<String>,
    /// Host name, alias of the ssh configuration, or bare address.
    pub host: String,
    /// Port; absent: as the user's ssh configuration says.
    pub port: Option<u16>,
}

/// Why a text is no destination.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no ssh destination: {reason}")]
pub struct BadDestination {
    /// As written.
    pub text: String,
    /// In plain words.
    pub reason: &'static str,
}

impl Destination {
    /// Reads `[user@]host`, `[user@]address` and `ssh://[user@]host[:port]`.
    pub fn parse(text: &str) -> Result<Self, BadDestination> {
        let bad = |reason| BadDestination { text: text.to_owned(), reason };
        let (uri, rest) = match text.strip_prefix("ssh://") {
            Some(rest) => (true, rest.strip_suffix('/').unwrap_or(rest)),
            None => (false, text),
        };
        let (user, host) = match rest.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, rest),
        };
        let (host, port) = match host.strip_prefix('[').map(|inner| inner.split_once(']')) {
            Some(Some((address, ""))) => (address, None),
            Some(Some((address, rest))) => {
                (address, Some(rest.strip_prefix(':').ok_or_else(|| bad("text after `]`"))?))
            }
            Some(None) => return Err(bad("`[` without `]`")),
            // A bare IPv6 address has colons of its own.
            None if uri && host.matches(':').count() == 1 => {
                host.split_once(':').map_or((host, None), |(host, port)| (host, Some(port)))
            }
            None => (host, None),
        };
        let port = match port.map(str::parse::<u16>) {
            Some(Ok(0) | Err(_)) => return Err(bad("the port is no number from 1 to 65535")),
            Some(Ok(port)) => Some(port),
            None => None,
        };
        for (part, empty, dash) in [
            (Some(host), "the host is missing", "a host name cannot begin with `-`"),
            (user, "the user before `@` is missing", "a user name cannot begin with `-`"),
        ] {
            match part {
                Some("") => return Err(bad(empty)),
                Some(part) if part.starts_with('-') => return Err(bad(dash)),
                _ => {}
            }
        }
        let odd = |c: char| c.is_whitespace() || c.is_control() || "\"'`\\$;&|<>(){}*?!#".contains(c);
        if host.contains(odd) || user.is_some_and(|user| user.contains(odd)) {
            return Err(bad("it holds a character that has no place there"));
        }
        Ok(Self { user: user.map(str::to_owned), host: host.to_owned(), port })
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        write!(f, "{}", self.host)?;
        match self.port {
            Some(port) => write!(f, " port {port}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_form() {
        for (text, user, host, port) in [
            ("board", None, "board", None),
            ("root@board.lab", Some("root"), "board.lab", None),
            ("::1", None, "::1", None),
            ("root@fe80::1%eth0", Some("root"), "fe80::1%eth0", None),
            ("root@[::1]", Some("root"), "::1", None),
            ("ssh://root@[::1]:2222", Some("root"), "::1", Some(2222)),
            ("ssh://root@board:22/", Some("root"), "board", Some(22)),
            ("ssh://board", None, "board", None),
            ("ssh://::1", None, "::1", None),
            ("me@domain@board", Some("me@domain"), "board", None),
        ] {
            let expected = Destination { user: user.map(str::to_owned), host: host.to_owned(), port };
            assert_eq!(Destination::parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn refuses_options_and_nonsense() {
        for (text, reason) in [
            ("-oProxyCommand=reboot", "a host name cannot begin with `-`"),
            ("root@-oProxyCommand=x", "a host name cannot begin with `-`"),
            ("-l@board", "a user name cannot begin with `-`"),
            ("", "the host is missing"),
            ("root@", "the host is missing"),
            ("@board", "the user before `@` is missing"),
            ("ssh://board:0", "the port is no number from 1 to 65535"),
            ("ssh://board:66000", "the port is no number from 1 to 65535"),
            ("[::1", "`[` without `]`"),
            ("[::1]x", "text after `]`"),
            ("a b", "it holds a character that has no place there"),
            ("a\nProxyCommand x", "it holds a character that has no place there"),
        ] {
            assert_eq!(Destination::parse(text).map_err(|e| e.reason), Err(reason), "{text}");
        }
    }
}
