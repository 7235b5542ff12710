//! Programs that tests and boards need: the machine's own where it has them, else unpacked into the cache.

use crate::fetch::{self, Apt, Closure};
use crate::paths;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Programs and the Debian packages that hold them.
pub(crate) struct Set {
    name: &'static str,
    programs: &'static [(&'static str, &'static str)],
}

impl Set {
    pub(crate) const fn new(name: &'static str, programs: &'static [(&'static str, &'static str)]) -> Self {
        Self { name, programs }
    }
}

/// SSH servers and loads: what tests on this machine need.
pub(crate) const LOOPBACK: Set = Set {
    name: "loopback",
    programs: &[
        ("sshd", "openssh-server"),
        ("ssh", "openssh-client"),
        ("ssh-keygen", "openssh-client"),
        ("dropbear", "dropbear-bin"),
        ("dropbearkey", "dropbear-bin"),
        ("dropbearconvert", "dropbear-bin"),
        ("hackbench", "rt-tests"),
        ("cyclictest", "rt-tests"),
        ("busybox", "busybox-static"),
        ("kill", "procps"),
        ("ps", "procps"),
        ("fw_printenv", "libubootenv-tool"),
        ("fw_setenv", "libubootenv-tool"),
        ("mkenvimage", "u-boot-tools"),
        ("dumpimage", "u-boot-tools"),
        ("grub-editenv", "grub-common"),
    ],
};

/// What looks at pages in tests.
pub(crate) const BROWSER: Set = Set { name: "browser", programs: &[("chromium", "chromium")] };

/// What emulated boards need.
pub(crate) const EMULATOR: Set = Set {
    name: "emulator",
    programs: &[
        ("qemu-system-arm", "qemu-system-arm"),
        ("qemu-system-aarch64", "qemu-system-arm"),
        ("qemu-system-x86_64", "qemu-system-x86"),
        ("fdtput", "device-tree-compiler"),
        ("mkfs.ext4", "e2fsprogs"),
    ],
};

/// Where programs are looked for: PATH, and the folders of a root login that a user's PATH may lack.
fn search_path() -> OsString {
    let mut folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    for folder in ["/usr/local/sbin", "/usr/sbin", "/sbin"] {
        if !folders.iter().any(|known| known == Path::new(folder)) {
            folders.push(folder.into());
        }
    }
    std::env::join_paths(folders).unwrap_or_default()
}

/// Where the machine itself has a program.
pub(crate) fn on_machine(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&search_path()).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Wrappers of the unpacked programs.
fn wrappers() -> Result<PathBuf> {
    Ok(paths::cache()?.join("tools/bin"))
}

/// Where a set's packages are unpacked.
pub(crate) fn prefix(set: &Set) -> Result<PathBuf> {
    Ok(fetch::place(&paths::cache()?.join("tools").join(set.name), &missing_packages(set)))
}

/// Packages of the programs that the machine lacks.
fn missing_packages(set: &Set) -> Vec<&'static str> {
    let missing = set.programs.iter().filter(|(program, _)| on_machine(program).is_none());
    let mut packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
    packages.dedup();
    packages
}

/// PATH for children: the unpacked programs come after the machine's own.
pub(crate) fn path() -> Result<OsString> {
    let mut folders: Vec<PathBuf> = std::env::split_paths(&search_path()).collect();
    folders.push(wrappers()?);
    std::env::join_paths(folders).context("PATH holds a colon")
}

/// Where a program is, after `ensure`.
pub(crate) fn program(name: &str) -> Result<PathBuf> {
    if let Some(found) = on_machine(name) {
        return Ok(found);
    }
    let wrapper = wrappers()?.join(name);
    if wrapper.exists() {
        return Ok(wrapper);
    }
    bail!("program {name} is missing")
}

/// Fetches the programs of a set that the machine lacks.
pub(crate) fn ensure(set: &Set) -> Result<()> {
    let packages = missing_packages(set);
    if packages.is_empty() {
        return Ok(());
    }
    if on_machine("apt-get").is_none() || on_machine("dpkg-deb").is_none() {
        bail!("install {} first (this machine has no apt to fetch them with)", packages.join(" "));
    }
    let prefix = prefix(set)?;
    Apt::machine()?
        .unpack(&packages, Closure::Missing, &[], &prefix)
        .with_context(|| format!("cannot fetch; install by hand: apt-get install {}", packages.join(" ")))?;
    let libraries = libraries(&prefix);
    for (program, package) in set.programs.iter().filter(|(program, _)| on_machine(program).is_none()) {
        // Debian's /usr/bin/chromium is a script that knows absolute paths only.
        let file = ["usr/lib/chromium", "usr/sbin", "usr/bin", "sbin", "bin"]
            .iter()
            .map(|folder| prefix.join(folder).join(program))
            .find(|file| file.is_file())
            .with_context(|| format!("package {package} holds no {program}"))?;
        if *program == "busybox" {
            link(&wrappers()?.join(program), &file)?; // static, and looks at the name it is called by
            continue;
        }
        let prelude = match *program {
            "sshd" => sshd_prelude(&prefix)?,
            "chromium" => chromium_prelude(&prefix)?,
            _ => String::new(),
        };
        wrap(&wrappers()?.join(program), &prelude, &file, &libraries)?;
    }
    Ok(())
}

/// Folders with shared libraries below a prefix, as LD_LIBRARY_PATH has them.
fn libraries(prefix: &Path) -> String {
    let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
    let folders = ["usr/lib", "lib"].map(|base| prefix.join(base).join(&triple));
    folders.map(|folder| folder.display().to_string()).join(":")
}

/// PulseAudio keeps a library where only an installed one looks; a machine without fonts reads those that came along.
fn chromium_prelude(prefix: &Path) -> Result<String> {
    let pulse = format!("usr/lib/{}-linux-gnu/pulseaudio", std::env::consts::ARCH);
    let mut prelude = format!("LD_LIBRARY_PATH='{}'\n", prefix.join(pulse).display());
    let fonts = prefix.join("usr/share/fonts");
    if fonts.is_dir() {
        let file = prefix.join("fonts.conf");
        let text = format!(
            "<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">\n<fontconfig>\n<dir>/usr/share/fonts</dir>\n\
             <dir>{}</dir>\n<cachedir prefix=\"xdg\">fontconfig</cachedir>\n</fontconfig>\n",
            fonts.display()
        );
        paths::write(&file, text)?;
        prelude += &format!("FONTCONFIG_FILE='{}'\nexport FONTCONFIG_FILE\n", file.display());
    }
    Ok(prelude)
}

/// As root, sshd wants a user `sshd` and /run/sshd. The machine's user list is not ours to change: the server sees a
/// longer copy, in a mount namespace of its own.
fn sshd_prelude(prefix: &Path) -> Result<String> {
    let copy = prefix.join("passwd");
    let users = paths::read(Path::new("/etc/passwd"))?;
    paths::write(&copy, format!("{users}sshd:x:74:65534::/run/sshd:/usr/sbin/nologin\n"))?;
    Ok(format!(
        "if [ \"$(id -u)\" = 0 ]; then\n    mkdir -p /run/sshd\n    grep -q ^sshd: /etc/passwd ||\n        \
         exec unshare --mount sh -c 'mount --bind {} /etc/passwd && exec \"$0\" \"$@\"' \"$0\" \"$@\"\nfi\n",
        copy.display()
    ))
}

/// Makes a symbolic link, or makes it anew.
fn link(from: &Path, to: &Path) -> Result<()> {
    paths::make(from.parent().context("a link has a folder")?)?;
    let _ = std::fs::remove_file(from);
    std::os::unix::fs::symlink(to, from).with_context(|| format!("cannot make {}", from.display()))
}

/// Writes a script that runs an unpacked program with its own libraries; `prelude` is run before.
pub(crate) fn wrap(wrapper: &Path, prelude: &str, program: &Path, libraries: &str) -> Result<()> {
    let script = format!(
        "#!/bin/sh\n{prelude}LD_LIBRARY_PATH='{libraries}'${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\nexport LD_LIBRARY_PATH\nexec '{}' \"$@\"\n",
        program.display()
    );
    if std::fs::read_to_string(wrapper).is_ok_and(|old| old == script) {
        return Ok(());
    }
    paths::make(wrapper.parent().context("a wrapper has a folder")?)?;
    paths::write(wrapper, script)?;
    paths::set_mode(wrapper, 0o755)
}
