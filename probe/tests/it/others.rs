//! Other people's threads and processes: changed for the run, and as before however it ends.

use crate::bench::{Bench, kill, long, skipped, spec, turn};
use latprobe::spec::Spec;
use latprobe::status::Stage;
use latprobe::stream::EventKind;
use std::path::Path;
use std::process::{Child, Command};

/// A real-time thread above the sampling one, and a daemon to be halted, both ended with the test.
struct Others {
    competing: Child,
    daemon: Child,
    name: String,
    _dir: tempfile::TempDir,
}

impl Others {
    /// `None`: the machine has no `chrt`.
    fn start() -> Option<Self> {
        let competing = Command::new("chrt").args(["-f", "95", "sleep", "3600"]).spawn().ok()?;
        let dir = tempfile::tempdir().expect("a folder");
        // A name of its own (15 bytes at most), so that nobody else's process is halted.
        let name = format!("napper{}", std::process::id());
        let program = dir.path().join(&name);
        std::fs::copy("/bin/sleep", &program).expect("sleep is there");
        let daemon = Command::new(&program).arg("3600").spawn().expect("it runs");
        let others = Self { competing, daemon, name, _dir: dir };
        while others.state() != "S 95" {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Some(others)
    }

    /// State of the daemon, priority of the thread.
    fn state(&self) -> String {
        let field = |child: &Child, number: usize| {
            let stat = std::fs::read_to_string(Path::new(&format!("/proc/{}/stat", child.id()))).expect("alive");
            let tail = stat.rsplit_once(')').expect("a name").1.to_owned();
            tail.split_whitespace().nth(number - 3).expect("so many fields").to_owned()
        };
        format!("{} {}", field(&self.daemon, 3), field(&self.competing, 40))
    }

    fn spec(&self, id: &str) -> Spec {
        Spec { halt: vec![self.name.clone()], lower_from: Some(90), ..long(spec(id)) }
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for child in [&mut self.competing, &mut self.daemon] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn others_are_as_before_after_a_run_and_after_a_killed_supervisor() {
    let Some(_turn) = turn() else { return };
    let Some(others) = Others::start() else { return skipped("no chrt") };
    let bench = Bench::new(&others.spec("others"));
    bench.start();
    bench.until("measuring", |status| status.stage == Stage::Measuring && others.state() == "T 89");
    crate::bench::ok(bench.command(&["stop"]));
    assert_eq!(others.state(), "S 95");
    let folded = bench.folded(0);
    let of = |kind: EventKind| folded.events.iter().filter(|event| event.kind == kind).count();
    assert_eq!(
        (of(EventKind::SettingApplied), of(EventKind::SettingRestored), of(EventKind::RestoreFailed)),
        (2, 2, 0)
    );

    let bench = Bench::new(&others.spec("others-killed"));
    let pid = bench.start().supervisor_pid.expect("alive");
    bench.until("measuring", |status| status.stage == Stage::Measuring && others.state() == "T 89");
    kill(pid, "-KILL");
    assert_eq!(bench.over().stage, Stage::Dead);
    assert_eq!(others.state(), "S 95");
    bench.expect_gone();
}
