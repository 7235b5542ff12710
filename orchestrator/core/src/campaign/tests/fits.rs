//! Campaigns against targets.

use super::{file, good};
use crate::campaign::{MisfitKind, fit};
use crate::diagnostic::Diagnostics;
use crate::diagnostic::testing::lines;
use crate::target;

fn misfits(campaign: &str, target_text: &str) -> Vec<(MisfitKind, String, String)> {
    let campaign = good(&file(campaign));
    let target = target::load("t.toml", target_text).unwrap();
    let one = |d| lines(&[d].into_iter().collect::<Diagnostics>()).remove(0);
    fit(&campaign, &target).into_iter().map(|m| (m.kind, m.cells.join(" "), one(m.diagnostic))).collect()
}

#[test]
fn what_a_target_cannot_do_is_said_before_it_is_contacted() {
    use MisfitKind::{Unsupported, Wrong};
    let two = "name = \"b\"\ncpu_count = 2\n";
    let kernels = "name = \"b\"\n[kernel.standard]\n[kernel.preempt-rt]\n[kernel.dual]\ncobalt = true\n";
    for (campaign, target, expected) in [
        (
            "measure.cpus = \"1-3\"",
            two,
            vec![(Wrong, "default", "3:16 \"1-3\" | b has no CPU 2-3 | it has CPUs 0 to 1 ~ 2:13 so says the target")],
        ),
        (
            "measure.cpus = \"1\"",
            "name = \"b\"\ncpu_count = 1\n",
            vec![(Wrong, "default", "3:16 \"1\" | b has no CPU 1 | it has only CPU 0 ~ 2:13 so says the target")],
        ),
        ("measure.cpus = \"0-1\"", two, vec![]),
        ("measure.cpus = \"7\"", "name = \"b\"\n", vec![]),
        (
            "matrix.boot.isolcpus = [\"0\", \"none\"]",
            "name = \"b\"\ncpu_count = 1\n",
            vec![(
                Wrong,
                "isolcpus=0",
                "3:25 \"0\" | b has one CPU: none can be isolated ~ 2:13 so says the target | `isolcpus = \"none\"`, or leave it out",
            )],
        ),
        (
            "boot.isolcpus = \"0-1\"",
            two,
            vec![(
                Wrong,
                "default",
                "3:17 \"0-1\" | this isolates every CPU of b | all 2 of them | at least one CPU must be left for the system, the loads and ssh",
            )],
        ),
        (
            "boot.isolcpus = \"2\"",
            two,
            vec![(Wrong, "default", "3:17 \"2\" | b has no CPU 2 | it has CPUs 0 to 1 ~ 2:13 so says the target")],
        ),
        (
            "load = \"a\"\nloads.a.dd.cpus = \"5\"",
            two,
            vec![(Wrong, "default", "4:19 \"5\" | b has no CPU 5 | it has CPUs 0 to 1 ~ 2:13 so says the target")],
        ),
        (
            "boot.kernel = \"preempt_rt\"",
            kernels,
            vec![(
                Wrong,
                "default",
                "3:15 \"preempt_rt\" | b has no kernel variant `preempt_rt` | did you mean `preempt-rt`? | b has: `dual`, `preempt-rt`, `standard`",
            )],
        ),
        (
            "boot.kernel = \"standard\"",
            two,
            vec![(
                Wrong,
                "default",
                "3:15 \"standard\" | b has no kernel variant `standard` ~ 1:8 this target describes no kernel variant | describe it in the target file: `[kernel.standard]` with what `uname -r` must match",
            )],
        ),
        ("boot.kernel = \"standard\"", kernels, vec![]),
        (
            "boot.kernel = \"dual\"",
            kernels,
            vec![(
                Wrong,
                "default",
                "3:15 \"dual\" | latprobe on `dual` would measure Linux, not Cobalt | a co-kernel variant | set `measure.instrument` of this cell to \"xenomai-cyclictest\" or \"xenomai-latency\"",
            )],
        ),
        (
            "boot.kernel = \"standard\"\nmeasure.instrument = \"xenomai-latency\"",
            kernels,
            vec![
                (
                    Wrong,
                    "default",
                    "4:22 \"xenomai-latency\" | xenomai-latency needs a Cobalt kernel | `standard` of b is none | set `cobalt = true` under `[kernel.standard]` of the target if it is one",
                ),
                (
                    Unsupported,
                    "default",
                    "4:22 \"xenomai-latency\" | instrument xenomai-latency is not supported yet | supported: latprobe, latprobe-hunt, latprobe-noise",
                ),
            ],
        ),
        (
            "measure.instrument = \"timerlat\"\nmatrix.interval = [\"1ms\", \"2ms\"]",
            two,
            vec![(
                Unsupported,
                "interval=1ms interval=2ms",
                "3:22 \"timerlat\" | instrument timerlat is not supported yet | supported: latprobe, latprobe-hunt, latprobe-noise",
            )],
        ),
        (
            "boot.isolcpus = \"1\"",
            "name = \"b\"\ncpu_count = 2\nboot.method = \"grub\"\n",
            vec![(
                Wrong,
                "",
                "3:15 \"grub\" | b needs a hand if a kernel hangs | method `grub` | nothing can cut its power; name a command with `power.cycle`",
            )],
        ),
        (
            "boot.isolcpus = \"1\"",
            "name = \"b\"\ncpu_count = 2\nboot.method = \"extlinux\"\npower.cycle = [\"x\"]",
            vec![(
                Wrong,
                "",
                "3:15 \"extlinux\" | b needs a hand if a kernel hangs | method `extlinux` | a kernel that hangs would be booted again after a power cycle; name a way out with `boot.fallback` (a console command, TFTP) or `boot.bootcount`",
            )],
        ),
        ("boot.isolcpus = \"1\"", "name = \"b\"\ncpu_count = 2\nboot.method = \"grub\"\npower.cycle = [\"x\"]", vec![]),
        (
            "boot.kernel = \"rt\"",
            "name = \"b\"\nboot.method = \"grub\"\npower.cycle = [\"x\"]\n[kernel.rt]\nrelease = \"6*\"",
            vec![(
                Wrong,
                "default",
                "3:15 \"rt\" | b cannot boot this: kernel variant `rt` has no `label`, which method `grub` needs | refused unless it runs already ~ 2:15 so says the target | add `label` under `[kernel.rt]` of the target file",
            )],
        ),
        ("", "name = \"b\"\nboot.method = \"grub\"\n", vec![]),
    ] {
        let found = misfits(campaign, target);
        let found: Vec<_> = found.iter().map(|(kind, cells, line)| (*kind, cells.as_str(), line.as_str())).collect();
        assert_eq!(found, expected, "{campaign}");
    }
}
