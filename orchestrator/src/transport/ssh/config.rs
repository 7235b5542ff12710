//! The configuration file that `ssh -F` gets: what latlab needs, then everything the user has.

use super::sockets::SocketDirectory;
use super::{Destination, LinkError, expand_home};
use latlab_core::target;
use std::fmt::Write;
use std::path::PathBuf;

/// First value wins in ssh: these hold whatever the user's file says. They also reach jump hosts.
const ALWAYS: &str = "\
Host *
  BatchMode yes
  LogLevel INFO
  ServerAliveInterval 15
  ServerAliveCountMax 8
  ClearAllForwardings yes
  ForwardAgent no
  ForwardX11 no
  PermitLocalCommand no
  RemoteCommand none
  RequestTTY no
  VisualHostKey no
";

pub(super) fn write(
    target: &str,
    destination: &Destination,
    settings: &target::Ssh,
    sockets: &SocketDirectory,
) -> Result<(), LinkError> {
    let failed = |e: std::io::Error| LinkError::ControlDirectory { path: sockets.config(), reason: e.to_string() };
    if !settings.host_keys.is_empty() {
        let pins: String = settings.host_keys.iter().map(|key| format!("{} {key}\n", alias(target))).collect();
        std::fs::write(sockets.known_hosts(), pins).map_err(failed)?;
    }
    let text = text(target, destination, settings, &sockets.known_hosts().to_string_lossy(), &user_files());
    std::fs::write(sockets.config(), text).map_err(failed)
}

/// The user's file, or the one that `LATLAB_SSH_CONFIG` names, then the system's.
fn user_files() -> Vec<PathBuf> {
    let user = match std::env::var_os("LATLAB_SSH_CONFIG") {
        Some(path) => Some(PathBuf::from(path)),
        None => std::env::home_dir().map(|home| home.join(".ssh/config")),
    };
    user.into_iter().chain([PathBuf::from("/etc/ssh/ssh_config")]).filter(|path| path.is_file()).collect()
}

fn text(
    target: &str,
    destination: &Destination,
    settings: &target::Ssh,
    known_hosts: &str,
    includes: &[PathBuf],
) -> String {
    let mut text = format!("# Written by latlab for one connection.\nHost \"{}\"\n", destination.host);
    let mut add = |key: &str, value: &str| {
        let _ = writeln!(text, "  {key} {value}");
    };
    if let Some(user) = &destination.user {
        add("User", user);
    }
    if let Some(port) = destination.port {
        add("Port", &port.to_string());
    }
    if let Some(identity) = &settings.identity {
        add("IdentityFile", &quoted(&expand_home(identity).to_string_lossy()));
        add("IdentitiesOnly", "yes");
    }
    if !settings.host_keys.is_empty() {
        add("HostKeyAlias", &alias(target));
        add("UserKnownHostsFile", &quoted(known_hosts));
        add("GlobalKnownHostsFile", "/dev/null");
        add("StrictHostKeyChecking", "yes");
        add("UpdateHostKeys", "no");
        add("VerifyHostKeyDNS", "no");
    }
    text.push_str(ALWAYS);
    for include in includes {
        let _ = writeln!(text, "Include {}", quoted(&include.to_string_lossy()));
    }
    text
}

/// Pins are kept under a name of their own: the same board may be reached by other names and ports.
fn alias(target: &str) -> String {
    format!("latlab-target-{target}")
}

fn quoted(path: &str) -> String {
    format!("\"{path}\"")
}

/// ssh only warns about a missing key, and the login then fails for a reason that nobody sees.
pub(super) fn check_identity(identity: &str) -> Result<(), LinkError> {
    let path = expand_home(identity);
    match std::fs::File::open(&path) {
        Ok(_) => Ok(()),
        Err(source) => Err(LinkError::Identity { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> target::Ssh {
        target::Ssh {
            destination: "root@board".into(),
            port: None,
            identity: None,
            host_keys: vec![],
            r#become: None,
            connect_timeout_ns: 1,
        }
    }

    #[test]
    fn pins_replace_the_users_known_hosts_and_nothing_else() {
        let destination = Destination::parse("root@board").unwrap();
        let plain = text("t", &destination, &settings(), "/k", &["/home/me/.ssh/config".into()]);
        assert!(!plain.contains("KnownHosts") && !plain.contains("StrictHostKeyChecking"), "{plain}");
        assert!(plain.ends_with("Include \"/home/me/.ssh/config\"\n"), "{plain}");
        let pinned = target::Ssh { host_keys: vec!["ssh-ed25519 AAAA".into()], port: Some(23), ..settings() };
        let destination = Destination { port: Some(23), ..destination };
        let pinned = text("t", &destination, &pinned, "/k", &[]);
        let head = pinned.split("Host *").next().unwrap();
        for line in ["User root", "Port 23", "HostKeyAlias latlab-target-t", "StrictHostKeyChecking yes"] {
            assert!(head.contains(&format!("  {line}\n")), "{line} in {pinned}");
        }
    }
}
