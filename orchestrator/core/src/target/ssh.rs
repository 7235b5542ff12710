//! `[ssh]` of a target.

use super::Ssh;
use crate::diagnostic::nearest;
use crate::document::reader::{Parsed, Problem, Reader};
use crate::document::values::{duration, integer, list, non_empty};
use crate::document::{Node, Value};
use crate::units::{MINUTE, SECOND};
use std::net::Ipv6Addr;

/// A board that boots in seconds answers in seconds; a loaded one may need longer.
const CONNECT_TIMEOUT_NS: u64 = 15 * SECOND;

pub(super) fn read(root: &mut Reader<'_>, target_name: &str) -> Ssh {
    let mut ssh = Ssh {
        destination: target_name.to_owned(),
        port: None,
        identity: None,
        host_keys: Vec::new(),
        r#become: None,
        connect_timeout_ns: CONNECT_TIMEOUT_NS,
    };
    let Some(mut table) = root.table("ssh") else { return ssh };
    let destination = table.field("destination", destination);
    let port = table.field("port", integer(1..=u16::MAX));
    if let (Some(entry), Some(Destination { port: Some(_), .. })) = (table.entry("port"), &destination) {
        table.sink().push(
            crate::diagnostic::Diagnostic::error(entry.key_span.clone(), "`ssh.port` is given twice")
                .label("the destination names a port too")
                .help("remove one of them"),
        );
    }
    if let Some(found) = destination {
        ssh.destination = found.host;
        ssh.port = found.port;
    }
    ssh.port = port.or(ssh.port);
    ssh.identity = table.field("identity", non_empty);
    ssh.host_keys = table.field("host_keys", list(host_key)).unwrap_or_default();
    ssh.r#become = table.field("become", command_prefix);
    if let Some(ns) = table.field("connect_timeout", duration(SECOND..=10 * MINUTE, "s")) {
        ssh.connect_timeout_ns = ns;
    }
    table.finish();
    ssh
}

/// A destination, taken apart as far as `ssh` wants it.
#[derive(Debug, PartialEq, Eq)]
struct Destination {
    /// `host` or `user@host`; an IPv6 address without brackets.
    host: String,
    port: Option<u16>,
}

fn destination(node: &Node) -> Parsed<Destination> {
    let text = non_empty(node)?;
    split(&text).map_err(|(label, help)| vec![Problem::new("`{}` is no ssh destination", label, help)])
}

const FORMS: &str = "allowed: \"host\", \"user@host\", an IPv4 or IPv6 address, \"ssh://user@host:port\", or a `Host` of your ssh configuration";

fn split(text: &str) -> Result<Destination, (String, String)> {
    let bad = |label: &str| Err((label.to_owned(), FORMS.to_owned()));
    let (url, rest) = match text.strip_prefix("ssh://") {
        Some(rest) => (true, rest.strip_suffix('/').unwrap_or(rest)),
        None => (false, text),
    };
    if rest.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return bad("holds a blank");
    }
    if !url && rest.contains('/') {
        return bad("holds a `/`");
    }
    let (user, host) = match rest.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, rest),
    };
    if host.starts_with('-') || user.is_some_and(|user| user.starts_with('-')) {
        return bad("begins with `-`: ssh would take it for an option");
    }
    if user == Some("") {
        return bad("no user before `@`");
    }
    let (host, port) = host_and_port(host, url)?;
    if host.is_empty() {
        return bad("no host");
    }
    let host = user.map_or_else(|| host.to_owned(), |user| format!("{user}@{host}"));
    Ok(Destination { host, port })
}

fn host_and_port(host: &str, url: bool) -> Result<(&str, Option<u16>), (String, String)> {
    let bad = |label: &str, help: &str| Err((label.to_owned(), help.to_owned()));
    let is_ipv6 = |host: &str| host.split('%').next().unwrap_or(host).parse::<Ipv6Addr>().is_ok();
    if is_ipv6(host) {
        return Ok((host, None));
    }
    let (name, port) = if let Some(rest) = host.strip_prefix('[') {
        let Some((address, after)) = rest.split_once(']') else {
            return bad("`[` is not closed", FORMS);
        };
        if !is_ipv6(address) {
            return bad("no IPv6 address in the brackets", FORMS);
        }
        match after.strip_prefix(':') {
            Some(port) => (address, Some(port)),
            None if after.is_empty() => (address, None),
            None => return bad("text after `]`", FORMS),
        }
    } else {
        match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        }
    };
    match port {
        None => Ok((name, None)),
        Some(port) => match port.parse::<u16>() {
            Ok(number) if url && number > 0 => Ok((name, Some(number))),
            Ok(number) if number > 0 => {
                bad("ssh takes no port here", &format!("write `port = {number}` under `[ssh]`"))
            }
            _ => bad("no host name, address or port", FORMS),
        },
    }
}

const KEY_TYPES: &[&str] = &[
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
];

/// A public key as in `known_hosts`, without host names; a comment is dropped.
pub(super) fn host_key(node: &Node) -> Parsed<String> {
    let text = non_empty(node)?;
    let refuse = |label: String| {
        let help =
            "write type and key as `ssh-keyscan HOST` prints them, without the host name: \"ssh-ed25519 AAAA...\"";
        Err(vec![Problem::new("`{}` holds no host key", label, help)])
    };
    let mut words = text.split_whitespace();
    let (Some(kind), Some(key)) = (words.next(), words.next()) else {
        return refuse("a type and a key are needed".to_owned());
    };
    if !KEY_TYPES.contains(&kind) {
        if KEY_TYPES.contains(&key) {
            return refuse(format!("remove the host name `{kind}`"));
        }
        return refuse(match nearest(kind, KEY_TYPES.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("`{kind}` is no type of key"),
        });
    }
    // The key begins with its own type, so a truncated or exchanged one is found.
    match base64(key) {
        Some(bytes) if names_type(&bytes, kind) => Ok(format!("{kind} {key}")),
        Some(_) => refuse(format!("this is not a key of type {kind}, or it is cut off")),
        None => refuse("the key is not valid base64".to_owned()),
    }
}

fn names_type(bytes: &[u8], kind: &str) -> bool {
    // A list of fields, each with its length in front.
    let mut rest = bytes;
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let Some((length, after)) = rest.split_first_chunk::<4>() else { return false };
        let Some((field, after)) =
            usize::try_from(u32::from_be_bytes(*length)).ok().and_then(|length| after.split_at_checked(length))
        else {
            return false;
        };
        fields.push(field);
        rest = after;
    }
    fields.len() >= 2 && fields[0] == kind.as_bytes()
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if text.len() - digits.len() > 2 || !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0u32);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

/// `sudo -n`: words as a shell splits them.
pub(super) fn command_prefix(node: &Node) -> Parsed<Vec<String>> {
    if matches!(node.value, Value::Array(_)) {
        let help = "write it as one text: \"sudo -n\"";
        return Err(vec![Problem::new("`{}` is text", "this is a list", help)]);
    }
    let text = non_empty(node)?;
    match shlex::split(&text) {
        Some(words) if !words.is_empty() => Ok(words),
        _ => Err(vec![Problem::new("`{}` has an unclosed quote", "", "close it")]),
    }
}
