//! What the link does wrong, and what latlab says about it.

use crate::support::sshd::{Options, Sshd, free_port, keygen};
use crate::support::{Workplace, can_run, which};
use std::fs;

const OPENSSH: [&str; 3] = ["sshd", "ssh", "ssh-keygen"];

#[test]
fn nobody_listens() {
    if !can_run(&OPENSSH[1..]) {
        return;
    }
    let place = Workplace::new();
    place.target("board", &format!("[ssh]\ndestination = \"root@127.0.0.1\"\nport = {}\n", free_port()));
    place.run(&["run", "short"]).expect(5, "board: root@127.0.0.1 port ");
    place.run(&["run", "short"]).expect(5, "cannot be reached: connect to host 127.0.0.1 port ");
}

#[test]
fn no_such_name() {
    if !can_run(&OPENSSH[1..]) {
        return;
    }
    let place = Workplace::new();
    place.target("board", "[ssh]\ndestination = \"root@board.invalid\"\n");
    place.run(&["run", "short"]).expect(5, "board: the host name of root@board.invalid cannot be resolved");
}

#[test]
fn a_host_name_that_is_an_option() {
    let place = Workplace::new();
    place.target("board", "[ssh]\ndestination = \"-oProxyCommand=reboot\"\n");
    let said = place.run(&["run", "short"]);
    said.expect(4, "`-`");
}

#[test]
fn a_key_that_is_not_accepted() {
    if !can_run(&OPENSSH) {
        return;
    }
    let place = Workplace::new();
    let sshd = Sshd::start(&place);
    keygen(&place.path().join("other"));
    let target = sshd.target().replace(&format!("{:?}", sshd.identity()), &format!("{:?}", place.path().join("other")));
    place.target("board", &target);
    place.run(&["run", "short"]).expect(5, "refused the login: root@127.0.0.1: Permission denied (publickey)");
    let missing = sshd.target().replace("/id\"", "/none\"");
    place.target("board", &missing);
    place.run(&["run", "short"]).expect(5, "/none: No such file or directory (os error 2); correct `identity`");
}

#[test]
fn a_pinned_host_key_that_has_changed() {
    if !can_run(&OPENSSH) {
        return;
    }
    let place = Workplace::new();
    let sshd = Sshd::start(&place);
    keygen(&place.path().join("other"));
    let other = fs::read_to_string(place.path().join("other.pub")).unwrap();
    let pin = other.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    place.target("board", &sshd.target_to("127.0.0.1", &[&pin]));
    let said = place.run(&["run", "short"]);
    said.expect(5, "the host key of root@127.0.0.1 port ");
    said.expect(5, " has changed (known from ");
    assert!(!said.stderr.contains("@@@"), "{said:#?}");
    // Several pins, one for each root file system of the board.
    place.target("board", &sshd.target_to("127.0.0.1", &[&pin, &sshd.host_key()]));
    place.run(&["run", "short"]).expect(0, "");
}

#[test]
fn the_users_own_ssh_configuration_counts() {
    if !can_run(&OPENSSH) {
        return;
    }
    let place = Workplace::new();
    let sshd = Sshd::start(&place);
    let known = place.path().join("home/known");
    let config = |more: &str| {
        let (port, id) = (sshd.port, sshd.identity());
        format!(
            "Host lab-board\n  HostName 127.0.0.1\n  User root\n  Port {port}\n  IdentityFile {id:?}\n  \
             UserKnownHostsFile {known:?}\n  {more}\nHost *\n  RemoteCommand echo wrong\n  RequestTTY force\n  LocalForward 1 x:1\n"
        )
    };
    place.target("board", "[ssh]\ndestination = \"lab-board\"\n");
    // As ssh itself would ask, and nobody is there to answer.
    place.write("home/.ssh/config", &config(""));
    place.run(&["run", "short"]).expect(5, "the host key of lab-board is not known; connect once with `ssh lab-board`");
    place.write("home/.ssh/config", &config("StrictHostKeyChecking accept-new"));
    place.run(&["run", "short"]).expect(0, "");
    // Checks turned off: a changed key is refused all the same.
    keygen(&place.path().join("other"));
    let other = fs::read_to_string(place.path().join("other.pub")).unwrap();
    fs::write(&known, format!("[127.0.0.1]:{} {other}", sshd.port)).unwrap();
    place.write("home/.ssh/config", &config("StrictHostKeyChecking no"));
    place.run(&["run", "short"]).expect(5, "the host key of lab-board has changed (known from ");
    place.write("home/.ssh/config", "Nonsense yes\n");
    place.run(&["run", "short"]).expect(5, "ssh refuses its configuration: ");
}

#[test]
fn through_a_jump_host() {
    if !can_run(&OPENSSH) {
        return;
    }
    let place = Workplace::new();
    let jump = Sshd::with(&place, "jump", &Options { config: "AllowTcpForwarding yes\n", ..Options::default() });
    let board = Sshd::start(&place);
    // Only the target file pins the board's key; the jump host's comes from the user's configuration.
    let known = place.path().join("home/known");
    fs::write(&known, format!("[127.0.0.1]:{} {}\n", jump.port, jump.host_key())).unwrap();
    let config = format!(
        "Host gate\n  HostName 127.0.0.1\n  User root\n  Port {}\n  IdentityFile {:?}\n  UserKnownHostsFile {known:?}\n\
         Host behind\n  HostName 127.0.0.1\n  ProxyJump gate\n",
        jump.port,
        jump.identity()
    );
    place.write("home/.ssh/config", &config);
    place.target("board", &board.target_to("behind", &[&board.host_key()]));
    place.run(&["run", "short"]).expect(0, "board: default-board-1: VALID");
    assert!(jump.log().contains("Accepted publickey for root"), "{}", jump.log());
    place.assert_clean(&place.work());
}

#[test]
fn an_ipv6_address() {
    if !can_run(&OPENSSH) {
        return;
    }
    if fs::read_to_string("/proc/net/if_inet6").unwrap_or_default().is_empty() {
        return crate::support::skip("no IPv6 on this machine");
    }
    let place = Workplace::new();
    let sshd = Sshd::start(&place);
    for host in ["::1", "[::1]"] {
        place.target("board", &sshd.target_to(host, &[&sshd.host_key()]));
        place.run(&["run", "short"]).expect(0, "");
    }
}

#[test]
fn a_directory_for_sockets_that_is_too_long() {
    let Some(_) = which("ssh") else { return crate::support::skip("no ssh") };
    let place = Workplace::new();
    place.target("board", "[ssh]\ndestination = \"root@127.0.0.1\"\n");
    let long = place.path().join("r".repeat(80));
    fs::create_dir(&long).unwrap();
    let said = place.latlab(&["run", "short"]).env("XDG_RUNTIME_DIR", &long).output().unwrap();
    let stderr = String::from_utf8_lossy(&said.stderr);
    assert!(stderr.contains("bytes too long for a socket; set XDG_RUNTIME_DIR"), "{stderr}");
}

#[test]
fn boards_that_answer_nonsense() {
    if !can_run(&OPENSSH) {
        return;
    }
    let place = Workplace::new();
    // Answers the first question so that the connection stands, and the given thing after that.
    let shell = |rest: &str| {
        format!("ForceCommand case \"$SSH_ORIGINAL_COMMAND\" in *latlab:*) echo latlab:0;; *) {rest};; esac\n")
    };
    for (number, (config, expected)) in [
        (
            "ForceCommand echo hello\n".to_owned(),
            "board: the board answered `id -u` with something else than expected: `hello`",
        ),
        ("ForceCommand cat /dev/zero\n".to_owned(), "board: the board's answer is longer than"),
        ("ForceCommand exit 3\n".to_owned(), "commands do not run: exit code 3"),
        (shell("head -c 300 /dev/urandom"), "board: the board answered `uname -m` with something else than expected"),
        // Exit codes that ssh's own ends share, and a command that is killed.
        (shell("exit 255"), "board: the board answered `uname -m` with something else than expected: nothing"),
        (shell("exit 127"), "board: the board answered `uname -m` with something else than expected: nothing"),
        (shell("kill -KILL $$"), "board: `uname -m` was ended by a signal"),
        (shell("yes"), "board: the board's answer is longer than"),
        (shell("echo mips64"), "there is no latprobe for `mips64` machines"),
        (shell("echo armv7l"), ", the board is armv7"),
    ]
    .into_iter()
    .enumerate()
    {
        let sshd = Sshd::with(&place, &format!("sshd{number}"), &Options { config: &config, ..Options::default() });
        place.target("board", &sshd.target());
        // A probe that this host lacks is no fault of the board.
        let code = if expected == ", the board is armv7" { 4 } else { 5 };
        place.run(&["run", "short"]).expect(code, expected);
    }
}
