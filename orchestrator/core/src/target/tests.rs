use super::*;
use crate::diagnostic::testing::lines;

/// A key that ssh-keygen made for this test.
const ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINHUkHZw43wjuOweFm4ZVB1XKPAGGPnskN1sli3iAVtW";

fn good(text: &str) -> Target {
    load("t.toml", text).unwrap_or_else(|found| panic!("{:#?}", lines(&found))).target
}

fn bad(text: &str) -> Vec<String> {
    lines(&load("t.toml", text).expect_err("the file is wrong"))
}

fn ssh(lines: &str) -> Ssh {
    match good(&format!("name = \"b\"\n[ssh]\n{lines}\n")).transport {
        Transport::Ssh(ssh) => ssh,
        Transport::Local { .. } => panic!(),
    }
}

#[test]
fn a_name_is_enough() {
    let target = good("name = \"cyclone-v\"");
    assert_eq!(target.work_dirs, ["/var/lib/latlab", "/var/tmp", "/tmp"]);
    assert_eq!((target.boot_method, target.emulated, target.cpu_count), (BootMethod::AsBooted, false, None));
    let Transport::Ssh(ssh) = target.transport else { panic!() };
    assert_eq!((ssh.destination.as_str(), ssh.port, ssh.connect_timeout_ns), ("cyclone-v", None, 15_000_000_000));
}

#[test]
fn everything_a_target_may_say() {
    let text = format!(
        "name = \"b\"\ndescription = \"d\"\narch = \"armv7\"\ncpu_count = 2\nwork_dirs = [\"/data\"]\nemulated = true\n\
         [ssh]\ndestination = \"root@b.lab\"\nport = 2222\nidentity = \"~/.ssh/lab\"\nhost_keys = [\"{ED25519} b.lab\"]\n\
         become = \"sudo -n\"\nconnect_timeout = \"30s\"\n[boot]\nmethod = \"boot-script\"\n\
         [kernel.rt]\nlabel = \"rt\"\nappend = 'threadirqs a=\"b c\"'\nrelease = \"5.0.14-rt8*\"\npreemption = \"preempt-rt\"\n\
         [kernel.dual]\ncobalt = true\n[power]\ncycle = [\"pdu\", \"3\"]\n"
    );
    let target = good(&text);
    assert_eq!((target.arch, target.cpu_count, target.emulated), (Some(Arch::Armv7), Some(2), true));
    assert_eq!(target.boot_method, BootMethod::BootScript);
    assert_eq!(target.power_cycle.unwrap(), ["pdu", "3"]);
    let rt = &target.kernels["rt"];
    assert_eq!(rt.append, ["threadirqs", "a=\"b c\""]);
    assert_eq!(rt.release.as_deref(), Some("5.0.14-rt8*"));
    assert!(target.kernels["dual"].cobalt);
    let Transport::Ssh(ssh) = target.transport else { panic!() };
    assert_eq!(ssh.host_keys, [ED25519]);
    assert_eq!(ssh.r#become.unwrap(), ["sudo", "-n"]);
    assert_eq!((ssh.port, ssh.connect_timeout_ns), (Some(2222), 30_000_000_000));
}

#[test]
fn this_machine() {
    let target = good("name = \"local\"\ntransport = \"local\"\nbecome = \"sudo -n -u 'a b'\"\n");
    let words = ["sudo", "-n", "-u", "a b"].map(str::to_owned).to_vec();
    assert_eq!(target.transport, Transport::Local { r#become: Some(words) });
}

#[test]
fn destinations_as_ssh_takes_them() {
    for (written, host, port) in [
        ("socfpga", "socfpga", None),
        ("root@socfpga.lab", "root@socfpga.lab", None),
        ("root@10.0.0.7", "root@10.0.0.7", None),
        ("root@::1", "root@::1", None),
        ("fe80::1%eth0", "fe80::1%eth0", None),
        ("root@[::1]", "root@::1", None),
        ("ssh://root@[::1]:2222", "root@::1", Some(2222)),
        ("ssh://board:2222/", "board", Some(2222)),
        ("ssh://board", "board", None),
        ("user@realm@board", "user@realm@board", None),
    ] {
        let ssh = ssh(&format!("destination = \"{written}\""));
        assert_eq!((ssh.destination.as_str(), ssh.port), (host, port), "{written}");
    }
}

#[test]
fn destinations_that_are_refused() {
    let forms = "allowed: \"host\", \"user@host\", an IPv4 or IPv6 address, \"ssh://user@host:port\", or a `Host` of your ssh configuration";
    for (written, label, help) in [
        ("-oProxyCommand=reboot", "begins with `-`: ssh would take it for an option", forms),
        ("root@-x", "begins with `-`: ssh would take it for an option", forms),
        ("-l@host", "begins with `-`: ssh would take it for an option", forms),
        ("ssh://-x", "begins with `-`: ssh would take it for an option", forms),
        ("board:2222", "ssh takes no port here", "write `port = 2222` under `[ssh]`"),
        ("board:home", "no host name, address or port", forms),
        ("board:0", "no host name, address or port", forms),
        ("[::1", "`[` is not closed", forms),
        ("[board]", "no IPv6 address in the brackets", forms),
        ("[::1]x", "text after `]`", forms),
        ("[::1]:22", "ssh takes no port here", "write `port = 22` under `[ssh]`"),
        ("::g", "no host name, address or port", forms),
        ("root@", "no host", forms),
        ("@board", "no user before `@`", forms),
        ("root@board reboot", "holds a blank", forms),
        ("http://board", "holds a `/`", forms),
    ] {
        let expected = format!("3:15 \"{written}\" | `ssh.destination` is no ssh destination | {label} | {help}");
        assert_eq!(bad(&format!("name = \"b\"\n[ssh]\ndestination = \"{written}\"")), [expected]);
    }
}

#[test]
fn host_keys_are_checked_as_far_as_text_can() {
    let help = "write type and key as `ssh-keyscan HOST` prints them, without the host name: \"ssh-ed25519 AAAA...\"";
    for (written, label) in [
        ("AAAAC3Nz", "a type and a key are needed"),
        ("ssh-ed25519", "a type and a key are needed"),
        ("ssh-ed25518 AAAAC3Nz", "did you mean `ssh-ed25519`?"),
        ("rot13 AAAAC3Nz", "`rot13` is no type of key"),
        (&format!("board.lab {ED25519}"), "remove the host name `board.lab`"),
        (&ED25519.replace("AAAA", "AAA*"), "the key is not valid base64"),
        (&ED25519[..ED25519.len() - 1], "the key is not valid base64"),
        (&ED25519[..ED25519.len() - 8], "this is not a key of type ssh-ed25519, or it is cut off"),
        (&ED25519.replace("ssh-ed25519", "ssh-rsa"), "this is not a key of type ssh-rsa, or it is cut off"),
        ("ssh-rsa AAAA", "this is not a key of type ssh-rsa, or it is cut off"),
    ] {
        let expected = format!("3:14 \"{written}\" | `ssh.host_keys` holds no host key | {label} | {help}");
        assert_eq!(bad(&format!("name = \"b\"\n[ssh]\nhost_keys = [\"{written}\"]")), [expected]);
    }
}

#[test]
fn one_mistake_gives_one_message() {
    for (line, expected) in [
        ("cpu_count = 0", "2:13 0 | `cpu_count` is out of range | allowed: a whole number from 1 to 8192"),
        (
            "arch = \"armv8\"",
            "2:8 \"armv8\" | `arch` cannot be \"armv8\" | did you mean \"armv7\"? | allowed: \"armv7\", \"aarch64\", \"x86_64\"",
        ),
        (
            "cpus = 2",
            "2:1 cpus | unknown key `cpus` | allowed here: `arch`, `become`, `boot`, `cpu_count`, `description`, `emulated`, `kernel`, `name`, `power`, `ssh`, `transport`, `work_dirs`",
        ),
        ("transport = \"serial\"", "2:13 \"serial\" | `transport` cannot be \"serial\" | allowed: \"local\", \"ssh\""),
        (
            "transport = \"local\"\n[ssh]",
            "3:2 ssh | `[ssh]` on a target that is this machine | never used | remove it, or remove `transport = \"local\"`",
        ),
        (
            "become = \"sudo\"",
            "2:1 become | `become` of a target that is reached by ssh stands in `[ssh]` | move it there: `[ssh]` `become = \"sudo -n\"`",
        ),
        (
            "[ssh]\nbecome = [\"sudo\", \"-n\"]",
            "3:10 [\"sudo\", \"-n\"] | `ssh.become` is text | this is a list | write it as one text: \"sudo -n\"",
        ),
        ("[ssh]\nbecome = \"sudo 'x\"", "3:10 \"sudo 'x\" | `ssh.become` has an unclosed quote | close it"),
        ("[ssh]\nport = 65536", "3:8 65536 | `ssh.port` is out of range | allowed: a whole number from 1 to 65535"),
        (
            "[ssh]\nport = 22\ndestination = \"ssh://b:22\"",
            "3:1 port | `ssh.port` is given twice | the destination names a port too | remove one of them",
        ),
        (
            "[ssh]\nconnect_timeout = 30",
            "3:19 30 | `ssh.connect_timeout` has no unit | a duration needs one | write the number with its unit, in quotes: \"30s\"",
        ),
        (
            "[ssh]\npassword = \"x\"",
            "3:1 password | unknown key `password` | allowed in `ssh`: `become`, `connect_timeout`, `destination`, `host_keys`, `identity`, `port`",
        ),
        (
            "work_dirs = [\"tmp\"]",
            "2:14 \"tmp\" | `work_dirs` holds directories of the board | not an absolute path | begin it with `/`",
        ),
        (
            "work_dirs = [\"/tmp/../etc\"]",
            "2:14 \"/tmp/../etc\" | `work_dirs` cannot hold this | not a directory for latlab's files",
        ),
        ("work_dirs = []", "2:13 [] | `work_dirs` is empty | name a directory of the board, or leave the key out"),
        (
            "[boot]\nmethod = \"extlinx\"",
            "3:10 \"extlinx\" | `boot.method` cannot be \"extlinx\" | did you mean \"extlinux\"? | allowed: \"as-booted\", \"extlinux\", \"boot-script\", \"pxe\", \"uenv\", \"uboot-env\", \"grub\", \"raspberrypi\", \"kexec\", \"command\"",
        ),
        (
            "[boot]\nmethod = \"kexec\"\nfile = \"/boot/x\"",
            "4:1 file | boot method `kexec` does not use `boot.file` | remove it, or change `method`",
        ),
        (
            "[boot]\nmethod = \"command\"",
            "2:1 [boot] | `boot.command` is missing | program and arguments that make the next boot what is asked for; `{kernel}`, `{label}` and `{arguments}` are filled in",
        ),
        (
            "[boot]\nmethod = \"uenv\"\nfile = \"uEnv.txt\"",
            "4:8 \"uEnv.txt\" | `boot.file` is the path of a file | not an absolute path | begin it with `/`",
        ),
        (
            "transport = \"local\"\n[boot]\nmethod = \"extlinux\"",
            "3:2 boot | this machine is never rebooted: latlab would end with it | remove `[boot]`, or reach the board by ssh from another machine",
        ),
        (
            "[power]\non = [\"x\"]",
            "2:1 [power] | `power.off` is missing | `on` and `off` belong together; `cycle` alone is enough",
        ),
        (
            "[kernel.\"a b\"]\ncobalt = true",
            "2:9 \"a b\" | `a b` is no usable name of a kernel variant | names become file names: up to 64 letters, digits, `.`, `_` and `-`, beginning with a letter or digit",
        ),
        (
            "[kernel.rt]\nappend = [\"threadirqs\"]",
            "3:10 [\"threadirqs\"] | `kernel.rt.append` is text | this is a list | write it in quotes",
        ),
        (
            "[kernel.rt]\nrelase = \"5*\"",
            "3:1 relase | unknown key `relase` | did you mean `release`? | allowed in `kernel.rt`: `append`, `build`, `cobalt`, `device_tree`, `host_keys`, `image`, `initrd`, `install`, `label`, `preemption`, `release`, `set`",
        ),
        (
            "[power]\ncycle = \"pdu 3\"",
            "3:9 \"pdu 3\" | `power.cycle` is a list | this is text | write it in brackets: [\"pdu 3\"]",
        ),
        (
            "emulated = 1",
            "2:12 1 | `emulated` is true or false | this is a whole number | write `true` or `false`, without quotes",
        ),
    ] {
        assert_eq!(bad(&format!("name = \"b\"\n{line}\n")), [expected], "{line}");
    }
    assert_eq!(bad(""), ["1:1  | empty file: no target in it | a target has at least `name`; see docs/target.md"]);
    assert_eq!(
        bad("cpu_count = 2"),
        [
            "1:1  | `name` is missing | a short name for the board: campaigns name it in `targets`, such as `name = \"cyclone-v\"`"
        ]
    );
}

#[test]
fn all_mistakes_at_once() {
    let found = bad("name = \"-b\"\ncpu_count = \"2\"\nemulated = True\n[ssh]\ndestination = \"-x\"\nport = 0\n");
    let starts: Vec<&str> = found.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(starts, ["1:8", "2:13", "3:12", "5:15", "6:8"]);
}

#[test]
fn a_variant_that_is_any_kernel_is_a_warning() {
    let loaded = load("t.toml", "name = \"b\"\n[kernel.rt]\nlabel = \"rt\"\n[kernel.std]\npreemption = \"not-preempt-rt\"\n[kernel.x]\ncobalt = true\n").unwrap();
    assert_eq!(
        lines(&loaded.warnings),
        [
            "2:9 rt | nothing tells the variant `rt` from another kernel | every kernel is taken for it | say what it must be: `release = \"*-rt*\"`, `preemption = \"preempt-rt\"` or `preemption = \"not-preempt-rt\"`"
        ]
    );
    let std = &loaded.target.kernels["std"];
    assert_eq!((std.preemption, std.not_preempt_rt), (None, true));
}
