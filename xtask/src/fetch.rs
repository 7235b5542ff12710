//! Debian packages unpacked into the cache: a private apt state, nothing installed, no root needed.
//! apt checks signatures and sums; the machine's own apt and dpkg state is only read.

use crate::{paths, shell};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// Package lists older than this are fetched again before something new is downloaded.
const LISTS_FRESH: Duration = Duration::from_secs(24 * 3600);
const KEYRING: &str = "usr/share/keyrings/debian-archive-keyring.gpg";

/// One private apt state.
pub(crate) struct Apt {
    directory: PathBuf,
    options: Vec<String>,
}

/// Which packages `unpack` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closure {
    /// Exactly those named.
    Named,
    /// Those named and what the machine lacks of their dependencies.
    Missing,
}

impl Apt {
    /// The machine's own sources and architecture: for tools that run here.
    pub(crate) fn machine() -> Result<Self> {
        Self::new("machine", &[])
    }

    /// Debian 12 for the machine and both ARM kinds, whatever the machine runs: for boards and the cross toolchain.
    pub(crate) fn bookworm() -> Result<Self> {
        let directory = paths::cache()?.join("apt/bookworm");
        paths::make(&directory)?;
        let sources = directory.join("bookworm.list");
        let uri = debian_mirror()?;
        let keyring = debian_keyring()?;
        let line = format!("deb [arch=amd64,arm64,armhf signed-by={}] {uri} bookworm main\n", keyring.display());
        if std::fs::read_to_string(&sources).ok().as_deref() != Some(&line) {
            paths::write(&sources, line)?;
        }
        let status = directory.join("status");
        if !status.exists() {
            paths::write(&status, "")?;
        }
        Self::new(
            "bookworm",
            &[
                "APT::Architecture=amd64".into(),
                "APT::Architectures::=amd64".into(),
                "APT::Architectures::=arm64".into(),
                "APT::Architectures::=armhf".into(),
                format!("Dir::Etc::sourcelist={}", sources.display()),
                "Dir::Etc::sourceparts=-".into(),
                format!("Dir::State::status={}", status.display()),
            ],
        )
    }

    fn new(name: &str, more: &[String]) -> Result<Self> {
        let directory = paths::cache()?.join("apt").join(name);
        for part in ["lists/partial", "cache/archives/partial"] {
            paths::make(&directory.join(part))?;
        }
        let at = |part: &str| directory.join(part).display().to_string();
        let mut options = vec![
            format!("Dir::State::lists={}", at("lists")),
            format!("Dir::State::extended_states={}", at("extended_states")),
            format!("Dir::Cache={}", at("cache")),
            "Debug::NoLocking=true".into(),
            "APT::Sandbox::User=root".into(), // the cache directory need not be open to user _apt
            "APT::Install-Recommends=false".into(),
            "Acquire::Languages=none".into(),
            "Acquire::Retries=3".into(),
            "Acquire::GzipIndexes=true".into(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".into(),
            "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false".into(),
        ];
        options.extend_from_slice(more);
        Ok(Self { directory, options })
    }

    /// One process at a time fetches with this state.
    fn lock(&self) -> Result<std::fs::File> {
        let path = self.directory.join("lock");
        let file = std::fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(file)
    }

    fn apt(&self, tool: &str) -> Command {
        let mut command = Command::new(tool);
        for option in &self.options {
            command.args(["-o", option]);
        }
        command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
        command
    }

    /// Fetches package lists that are missing or a day old.
    fn update(&self) -> Result<()> {
        let stamp = self.directory.join("updated");
        let fresh = std::fs::metadata(&stamp)
            .and_then(|meta| meta.modified())
            .is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age < LISTS_FRESH));
        if fresh {
            return Ok(());
        }
        println!("fetch: package lists -> {}", self.directory.display());
        // One broken third-party source must not stop the others: a missing package is said by name later.
        if let Err(error) = shell::output(self.apt("apt-get").args(["-qq", "update"])) {
            eprintln!("fetch: apt-get update was not complete: {error:#}");
        }
        paths::write(&stamp, "")
    }

    /// The value of `Depends:` lines of a package that begin with `prefix`: the real kernel behind a metapackage.
    pub(crate) fn dependency(&self, package: &str, prefix: &str) -> Result<String> {
        self.update()?;
        let text = shell::output(self.apt("apt-cache").args(["depends", package]))?;
        text.lines()
            .filter_map(|line| line.trim().strip_prefix("Depends: "))
            .find(|name| name.starts_with(prefix))
            .map(|name| name.split(':').next().unwrap_or(name).to_owned())
            .with_context(|| format!("package {package} depends on nothing that begins with {prefix}"))
    }

    /// Downloads packages and unpacks each below `into`, once per set of packages.
    pub(crate) fn unpack(&self, packages: &[&str], closure: Closure, excludes: &[&str], into: &Path) -> Result<()> {
        let _alone = self.lock()?;
        let wanted = format!("{}\n", packages.join(" "));
        let stamp = into.join(".packages");
        if std::fs::read_to_string(&stamp).ok().as_deref() == Some(&wanted) {
            return Ok(());
        }
        let debs = self.download(packages, closure, into)?;
        let fresh = into.with_extension("new");
        paths::remove(&fresh)?;
        paths::make(&fresh)?;
        for deb in &debs {
            unpack_one(deb, excludes, &fresh)?;
        }
        paths::write(&fresh.join(".packages"), wanted)?;
        paths::remove(into)?;
        std::fs::rename(&fresh, into).with_context(|| format!("cannot rename {}", fresh.display()))?;
        for deb in debs {
            std::fs::remove_file(&deb).with_context(|| format!("cannot remove {}", deb.display()))?;
        }
        Ok(())
    }

    /// Downloads packages into the private cache; says what, how big, and where to.
    fn download(&self, packages: &[&str], closure: Closure, purpose: &Path) -> Result<Vec<PathBuf>> {
        self.update()?;
        let verb: &[&str] = match closure {
            Closure::Named => &["download"],
            Closure::Missing => &["install", "--download-only", "-y"],
        };
        let plan = shell::output(self.apt("apt-get").args(["-qq", "--print-uris"]).args(verb).args(packages))?;
        let mut files = Vec::new();
        let mut bytes = 0_u64;
        for line in plan.lines().filter(|line| line.starts_with('\'')) {
            let mut words = line.split_whitespace().skip(1);
            let (Some(file), Some(size)) = (words.next(), words.next()) else { bail!("apt printed `{line}`") };
            files.push(file.to_owned());
            bytes += size.parse::<u64>().with_context(|| format!("apt printed `{line}`"))?;
        }
        println!(
            "fetch: {} packages, {:.1} MB -> {} (unpacked there, nothing is installed): {}",
            files.len(),
            bytes as f64 / 1e6,
            purpose.display(),
            packages.join(" ")
        );
        let archives = self.directory.join("cache/archives");
        shell::output(self.apt("apt-get").arg("-qq").args(verb).args(packages).current_dir(&archives))?;
        files
            .into_iter()
            .map(|file| {
                let path = archives.join(&file);
                if path.exists() { Ok(path) } else { bail!("apt did not deliver {}", path.display()) }
            })
            .collect()
    }
}

/// A folder for exactly this set of packages: checkouts of different age, or with different programs in reach, then do
/// not pull the folder from under each other.
pub(crate) fn place(base: &Path, packages: &[&str]) -> PathBuf {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    packages.hash(&mut hasher);
    let mut name = base.as_os_str().to_owned();
    name.push(format!("-{:08x}", hasher.finish() >> 32));
    name.into()
}

/// Unpacks one package without the files that match `excludes`.
fn unpack_one(deb: &Path, excludes: &[&str], into: &Path) -> Result<()> {
    let mut archive = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(deb)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start dpkg-deb")?;
    let stream = archive.stdout.take().context("dpkg-deb has no output")?;
    let mut tar = Command::new("tar");
    tar.args(["-x", "--no-same-owner", "-C"]).arg(into);
    tar.args(excludes.iter().map(|pattern| format!("--exclude={pattern}")));
    shell::run(tar.stdin(stream))?;
    if !archive.wait().context("dpkg-deb is gone")?.success() {
        bail!("dpkg-deb cannot read {}", deb.display());
    }
    Ok(())
}

/// The Debian mirror the machine uses, or Debian's own.
fn debian_mirror() -> Result<String> {
    let plain = shell::output(Command::new("apt-get").args([
        "indextargets",
        "--format",
        "$(COMPONENT) $(REPO_URI)",
        "Created-By: Packages",
    ]))?;
    let mirror = plain
        .lines()
        .filter_map(|line| line.strip_prefix("main "))
        .find(|uri| uri.trim_end_matches('/').ends_with("/debian"))
        .unwrap_or("http://deb.debian.org/debian/");
    Ok(mirror.to_owned())
}

/// Debian's archive keys: the machine's, or (Ubuntu) those from its signed package.
fn debian_keyring() -> Result<PathBuf> {
    let own = Path::new("/").join(KEYRING);
    if own.exists() {
        return Ok(own);
    }
    let fetched = paths::cache()?.join("debian-keyring");
    Apt::machine()?.unpack(&["debian-archive-keyring"], Closure::Named, &[], &fetched)?;
    Ok(fetched.join(KEYRING))
}
