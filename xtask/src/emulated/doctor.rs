//! A board in a bad state: `latlab doctor` finds it, `[apply]` mends it for the run, and it is as before afterwards.

use super::event::Bench;
use super::judge;
use super::process::Run;
use crate::shell;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Everything that a tool or a distribution may leave: a real-time thread above the measuring one on its CPU, an interrupt
/// pinned there, a tracer and an event, what looks like a daemon that sets the clock. Throttling, loud console and lockup detectors are the kernel's defaults.
const SPOIL: &str = r#"
cyclictest -q -p 99 -a 1 -i 1000000 -D 1d > /dev/null 2>&1 &
printf '#!/bin/sh\nwhile :; do sleep 60; done\n' > /tmp/chronyd
chmod +x /tmp/chronyd
/tmp/chronyd > /dev/null 2>&1 &
irq=$(grep virtio0 /proc/interrupts | cut -d : -f 1 | tr -d ' ')
echo 1 > /proc/irq/$irq/smp_affinity_list
echo wakeup > /sys/kernel/tracing/current_tracer
echo sched:sched_switch > /sys/kernel/tracing/set_event
tries=0
until grep -q ' 99 1 ' /proc/[0-9]*/task/*/stat && pidof chronyd || [ $tries -ge 300 ]; do tries=$((tries + 1)); usleep 100000; done
[ -d /sys/devices/system/cpu/cpu0/cpufreq ] || echo no frequency scaling
"#;

/// Every setting that the campaign changes.
const STATE: &str = r#"
cd /proc/sys/kernel
echo rt_runtime $(cat sched_rt_runtime_us)
echo printk $(cat printk)
echo watchdog $(cat watchdog)
echo tracer $(cat /sys/kernel/tracing/current_tracer)
echo events $(cat /sys/kernel/tracing/set_event)
echo workqueues $(cat /sys/devices/virtual/workqueue/cpumask)
irq=$(grep virtio0 /proc/interrupts | cut -d : -f 1 | tr -d ' ')
echo irq $(cat /proc/irq/$irq/smp_affinity_list)
echo governor $(cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor 2>/dev/null)
echo threads $(cut -d ' ' -f 40,41 /proc/$(pidof cyclictest)/task/*/stat)
echo daemon $(cut -d ' ' -f 3 /proc/$(pidof chronyd)/stat | tr RD S)
"#;

/// What must not hold in the bad state.
const FOUND: [(&str, &str); 6] = [
    ("rt-throttling", "fail"),
    ("console", "fail"),
    ("competing-threads", "fail"),
    ("tracers", "fail"),
    ("interrupt-affinity", "warn"),
    ("time-sync", "warn"),
];

/// The state while it is measured.
const MENDED: [&str; 8] =
    ["rt_runtime -1", "printk 4 ", "watchdog 0", "tracer nop", "events\n", "irq 0", "threads 0 0 79 1", "daemon T"];

impl Bench<'_> {
    /// Whether the machine under the emulator stalled.
    pub(super) fn doctor(&self) -> Result<bool> {
        println!("{}", self.board.shell(SPOIL)?.trim());
        let before = self.board.shell(STATE)?;
        self.finds()?;
        let mut command = self.command()?;
        command.args(["run", "xtask/doctor.toml", "--target"]).arg(self.board.target_file()?);
        command.arg("--results").arg(self.results);
        let mut run = Run::start(&mut command, self.interrupt)?;
        run.wait_for(" s of ")?;
        let during = self.board.shell(STATE)?;
        for mended in MENDED {
            ensure!(during.contains(mended), "not set for the run: {mended}\nbefore:\n{before}\nduring:\n{during}");
        }
        // The host is gone; the board puts everything back by itself.
        run.kill()?;
        let deadline = Instant::now() + Duration::from_secs(180);
        loop {
            let now = self.board.shell(STATE)?;
            if now == before {
                break;
            }
            ensure!(Instant::now() < deadline, "not put back by the board alone\nbefore:\n{before}\nnow:\n{now}");
            std::thread::sleep(Duration::from_millis(500));
        }
        let mut resume = self.command()?;
        resume.arg("resume").arg("--results").arg(self.results);
        let code = Run::start(&mut resume, self.interrupt)?.end()?;
        let after = self.board.shell(STATE)?;
        ensure!(after == before, "before:\n{before}\nafter:\n{after}");
        let result = judge::stored(self.latlab, self.results)?;
        if judge::host_stalled(&result) {
            return Ok(true);
        }
        judge::whole(code, &result)?;
        judge::nothing_left(self.board)?;
        Ok(false)
    }

    /// `latlab doctor` names everything that is wrong, and how to mend it.
    fn finds(&self) -> Result<()> {
        let mut command = self.command()?;
        command.arg("doctor").arg(self.board.target_file()?).args(["--format", "json"]);
        let output = command.output().context("cannot start latlab")?;
        ensure!(output.status.code() == Some(6), "latlab doctor ended with {}", output.status);
        let report: Value = serde_json::from_slice(&output.stdout).context("latlab doctor printed no JSON")?;
        let checks = report["checks"].as_array().context("no checks")?;
        for (rule, outcome) in FOUND {
            let check =
                checks.iter().find(|check| check["rule"] == rule).with_context(|| format!("no check {rule}"))?;
            println!("{rule}: {}", check["found"]);
            ensure!(check["outcome"] == outcome && check["fix"].is_string(), "{rule} is {check}");
        }
        Ok(())
    }

    /// The published 12-hour recipe with another duration, on a board that poses as the one it was measured on.
    pub(super) fn recipe(&self) -> Result<bool> {
        let mut command = self.command()?;
        command.args(["run", "cyclone-v-12h", "--set", "duration=10s", "--target"]).arg(self.board.target_file()?);
        command.arg("--results").arg(self.results);
        let mut run = Run::start(&mut command, self.interrupt)?;
        for cell in ["cobalt-isolated", "cobalt-shared"] {
            run.wait_for(&format!("not measured: cell {cell}: instrument xenomai-cyclictest is not supported yet"))?;
        }
        let code = run.end()?;
        // Exactly one run: a list of two would be no JSON document.
        let mut show = self.command()?;
        show.args(["show", "--format", "json", "--results"]).arg(self.results);
        let result: Value = serde_json::from_str(&shell::output(&mut show)?).context("latlab show printed no run")?;
        ensure!(result["identity"]["cell"] == "native-isolated", "it measured {}", result["identity"]);
        ensure!(result["published"][0]["run"][0]["max_ns"] == 117_000, "no published figure beside it");
        if judge::host_stalled(&result) {
            return Ok(true);
        }
        ensure!(result["validity"] == "VALID", "{} because of {}", result["validity"], judge::broken_rules(&result));
        // An emulated board breaks the limit of real hardware, or keeps it; the campaign is not measured as a whole.
        ensure!(code == 3 || code == 6, "exit code {code}");
        judge::nothing_left(self.board)?;
        Ok(false)
    }
}
