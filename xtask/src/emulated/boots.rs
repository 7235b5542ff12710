//! Kernels and boot arguments through latlab: the matrix, and boots that go wrong.

use super::event::Bench;
use super::judge;
use super::process::Run;
use crate::paths;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What is booted, and what goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scenario {
    /// Both kernels, with and without an isolated CPU.
    Matrix,
    /// latlab is killed while the board reboots; `latlab restore`, then `latlab resume`.
    Killed,
    /// The target file names a boot configuration that the boot loader does not read.
    OtherFile,
    /// A kernel that hangs, with a method whose choice holds for one boot.
    HungOnce,
    /// A kernel that hangs, with a method that boots it again.
    Hung,
    /// A board that resets as long as the asked arguments are there.
    ResetLoop,
}

impl Scenario {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Matrix => "boots both kernels, isolated and not, and then what it booted before",
            Self::Killed => "its boot choice is put back after SIGKILL of latlab in a reboot",
            Self::OtherFile => "booted, but not the asked thing",
            Self::HungOnce => "a kernel that hangs is not booted, and a power cycle brings the board back",
            Self::Hung => "a kernel that hangs needs a hand where nothing else helps",
            Self::ResetLoop => "a reset loop is recognised and left",
        }
    }

    pub(super) fn is_slow(self, board: &str) -> bool {
        match self {
            // The other boards do the same with longer boots.
            Self::Matrix => board != "emulated-aarch64",
            Self::OtherFile => false,
            // These wait for boards that do not answer; and now and then an emulated CPU does not survive a kexec.
            Self::Killed | Self::HungOnce | Self::Hung | Self::ResetLoop => true,
        }
    }

    /// `[boot]` beside the method.
    fn boot(self) -> &'static str {
        match self {
            Self::Matrix | Self::Killed => "method = \"extlinux\"\nsettle = \"1s\"",
            Self::OtherFile => "method = \"extlinux\"\nsettle = \"1s\"\nfile = \"/boot/other.conf\"",
            Self::HungOnce => "method = \"kexec\"\nsettle = \"1s\"\ntimeout = \"40s\"",
            Self::Hung => "method = \"extlinux\"\nsettle = \"1s\"\ntimeout = \"40s\"",
            Self::ResetLoop => "method = \"extlinux\"\nsettle = \"20s\"",
        }
    }
}

/// A campaign with five boots on a busy machine; this is when something hangs.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(900);

/// Arguments that hang the kernel for good: no first process, and no reset after the panic.
const HANG: &str = "rdinit=/none panic=0";

impl Bench<'_> {
    /// Whether the machine under the emulator stalled.
    pub(super) fn boots(&self, scenario: Scenario) -> Result<bool> {
        if scenario == Scenario::OtherFile {
            self.board.shell("cp /boot/extlinux/extlinux.conf /boot/other.conf")?;
        }
        let before = self.state()?;
        let target = self.target(scenario)?;
        let stalled = match scenario {
            Scenario::Matrix => self.matrix(&target)?,
            Scenario::Killed => self.killed(&target)?,
            Scenario::OtherFile => self.other_file(&target)?,
            Scenario::HungOnce => self.hung_once(&target)?,
            Scenario::Hung => return self.hung(&target),
            Scenario::ResetLoop => self.reset_loop(&target)?,
        };
        let after = self.state()?;
        ensure!(before == after, "before the campaign:\n{before}\nafter it:\n{after}");
        judge::nothing_left(self.board)?;
        Ok(stalled)
    }

    /// What runs, and every file of the boot configuration.
    fn state(&self) -> Result<String> {
        self.board
            .shell("uname -r; cat /proc/cmdline; cd /boot; find . -type f | sort | xargs ls -l; md5sum extlinux/*")
    }

    /// The board's target file with what the scenario needs.
    fn target(&self, scenario: Scenario) -> Result<PathBuf> {
        let shipped = self.board.target_file()?;
        let text = paths::read(&shipped)?;
        let mut text = text.replace("method = \"extlinux\"", scenario.boot());
        // kexec opens the files itself; for the others their label is enough.
        for label in ["rt", "standard"].into_iter().filter(|_| scenario == Scenario::HungOnce) {
            let files = format!("image = \"/boot/{label}/vmlinuz\"\ninitrd = \"/boot/{label}/initramfs\"");
            text = text.replace(&format!("label = \"{label}\""), &format!("label = \"{label}\"\n{files}"));
        }
        text += &format!("\n[power]\ncycle = {:?}\n", self.board.power_cycle()?);
        let file = shipped.with_file_name("boots.toml");
        paths::write(&file, text)?;
        Ok(file)
    }

    fn start(&self, target: &Path, settings: &[&str]) -> Result<Run<'_>> {
        self.start_campaign("xtask/boots.toml", target, settings)
    }

    fn start_campaign(&self, campaign: &str, target: &Path, settings: &[&str]) -> Result<Run<'_>> {
        let mut command = self.command()?;
        command.args(["run", campaign, "--target"]).arg(target);
        for setting in settings {
            command.args(["--set", setting]);
        }
        command.arg("--results").arg(self.results);
        Run::start_for(LIMIT, &mut command, self.interrupt)
    }

    fn verb(&self, arguments: &[&str]) -> Result<i32> {
        let mut command = self.command()?;
        command.args(arguments).arg("--results").arg(self.results);
        Run::start_for(LIMIT, &mut command, self.interrupt)?.end()
    }

    fn matrix(&self, target: &Path) -> Result<bool> {
        let code = self.start(target, &[])?.end()?;
        ensure!(code == 0, "exit code {code}");
        self.every_cell_ran_what_it_asked_for()
    }

    fn killed(&self, target: &Path) -> Result<bool> {
        let mut run = self.start(target, &["boot.kernel=standard"])?;
        run.wait_for("rebooting into standard")?;
        run.kill()?;
        // It boots what the killed latlab chose, and the choice is still there.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
        let target = target.to_str().context("a path in UTF-8")?;
        while self.verb(&["restore", target])? != 0 {
            ensure!(std::time::Instant::now() < deadline, "latlab restore does not succeed");
            std::thread::sleep(std::time::Duration::from_secs(2));
        }
        let line = self.board.shell("uname -r; cat /proc/cmdline; ls /boot/extlinux")?;
        ensure!(line.contains("-rt-") && line.contains("isolcpus=1"), "after the restore it runs {line}");
        ensure!(!line.contains("latlab"), "left beside the boot configuration: {line}");
        let code = self.verb(&["resume"])?;
        ensure!(code == 0, "exit code {code}");
        let runs = self.runs()?;
        ensure!(runs.len() == 2 && runs.iter().all(|run| run.measured), "not every run was measured");
        Ok(false)
    }

    fn other_file(&self, target: &Path) -> Result<bool> {
        let mut run = self.start(target, &["boot.kernel=preempt-rt", "boot.isolcpus=none"])?;
        run.wait_for("booted, but not the asked thing: isolated CPUs: asked for none, found 1")?;
        let code = run.end()?;
        ensure!(code == 6, "exit code {code}");
        let runs = self.runs()?;
        ensure!(runs.len() == 1 && !runs[0].measured, "it was measured all the same");
        ensure!(runs[0].findings.contains("asked for none, found 1"), "the reason is not stored: {}", runs[0].findings);
        ensure!(runs[0].isolated == "1", "the facts of what came up are not stored");
        Ok(false)
    }

    /// The first cell hangs, the second is measured.
    fn hung_once(&self, target: &Path) -> Result<bool> {
        let mut run = self.start_campaign("xtask/boots-hung.toml", target, &[])?;
        run.wait_for("it is back after a power cycle")?;
        let code = run.end()?;
        ensure!(code == 6, "exit code {code}");
        let runs = self.runs()?;
        ensure!(runs.len() == 2, "{} runs", runs.len());
        let (hung, quiet): (Vec<_>, Vec<_>) = runs.iter().partition(|run| run.name.starts_with("hung"));
        ensure!(hung.len() == 1 && !hung[0].measured, "the hung cell has a measurement");
        ensure!(hung[0].findings.contains("no answer within"), "the reason is not stored: {}", hung[0].findings);
        ensure!(
            quiet.len() == 1 && quiet[0].measured && quiet[0].isolated.is_empty(),
            "the other cell was not measured"
        );
        Ok(false)
    }

    fn hung(&self, target: &Path) -> Result<bool> {
        let mut run = self.start(target, &["boot.kernel=preempt-rt", &format!("boot.append={HANG}")])?;
        run.wait_for("emulated-aarch64 needs a hand if a kernel hangs")?; // said before anything is changed
        run.wait_for("needs a hand: a power cycle boots the same again")?;
        let code = run.end()?;
        ensure!(code == 5, "exit code {code}");
        Ok(false)
    }

    fn reset_loop(&self, target: &Path) -> Result<bool> {
        let settings = ["boot.kernel=preempt-rt", "boot.isolcpus=1", "boot.append=unfed-watchdog=12"];
        let mut run = self.start(target, &settings)?;
        run.wait_for("it resets in a loop: 3 boots")?;
        let code = run.end()?;
        ensure!(code == 6, "exit code {code}");
        Ok(false)
    }

    /// The stored facts of each cell say what its name says; whether the machine stalled.
    fn every_cell_ran_what_it_asked_for(&self) -> Result<bool> {
        let runs = self.runs()?;
        ensure!(runs.len() == 4, "{} runs instead of 4", runs.len());
        let mut boots = std::collections::BTreeSet::new();
        for run in &runs {
            println!("{}: {}, isolated `{}`, {}", run.name, run.release, run.isolated, run.validity);
            ensure!(run.name.contains("preempt-rt") == run.release.contains("-rt-"), "it ran {}", run.release);
            let isolated = if run.name.contains("isolcpus=1") { "1" } else { "" };
            ensure!(run.isolated == isolated, "isolated are `{}`", run.isolated);
            ensure!(run.line.contains("isolcpus=1") == (isolated == "1"), "the command line was {}", run.line);
            ensure!(boots.insert(run.boot_id.clone()), "two cells in one boot");
        }
        let stalled = |run: &StoredRun| run.validity == "DEGRADED" && run.findings.contains("hrtimer: interrupt took");
        if let Some(run) = runs.iter().find(|run| run.validity != "VALID" && !stalled(run)) {
            bail!("{} is {} because of {}", run.name, run.validity, run.findings);
        }
        Ok(runs.iter().any(stalled))
    }

    /// Every run of the newest execution, as stored.
    fn runs(&self) -> Result<Vec<StoredRun>> {
        let mut executions = folders(self.results)?;
        let newest = executions.pop().context("no execution is stored")?;
        folders(&newest.join("runs"))?.iter().map(|folder| StoredRun::read(folder)).collect()
    }
}

fn folders(path: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))? {
        found.extend(Some(entry?.path()).filter(|path| path.is_dir()));
    }
    found.sort();
    Ok(found)
}

/// A stored run, as far as these tests look at it.
struct StoredRun {
    name: String,
    release: String,
    line: String,
    isolated: String,
    boot_id: String,
    validity: String,
    /// What counts against it.
    findings: String,
    measured: bool,
}

impl StoredRun {
    fn read(folder: &Path) -> Result<Self> {
        let facts = std::fs::read_to_string(folder.join("facts-before/captures.jsonl")).unwrap_or_default();
        let captures: Vec<Value> = facts.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let fact = |path: &str| {
            let found = captures.iter().find(|capture| capture["path"] == path);
            found.and_then(|capture| capture["text"].as_str()).unwrap_or_default().trim().to_owned()
        };
        let verdict: Value = serde_json::from_str(&paths::read(&folder.join("verdict.json"))?)?;
        Ok(Self {
            name: folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            release: fact("/proc/sys/kernel/osrelease"),
            line: fact("/proc/cmdline"),
            isolated: fact("/sys/devices/system/cpu/isolated"),
            boot_id: fact("/proc/sys/kernel/random/boot_id"),
            validity: verdict["validity"].as_str().unwrap_or_default().to_owned(),
            findings: judge::broken_rules(&verdict),
            measured: folder.join("stream-0").exists(),
        })
    }
}
