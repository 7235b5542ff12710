//! `report` and `plot`, without a browser: what is written, whatever the board said.

use super::browser::HOSTILE;
use super::compared::{Board, latlab, night_in, text};
use super::support::synthetic::Synthetic;
use std::path::Path;

/// The pages and pictures that `args` write, as text.
fn written(results: &Path, args: &[&str]) -> String {
    let path = results.join("written");
    let path_text = path.display().to_string();
    let output = latlab(results, &[args, &["-o", &path_text]].concat());
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    std::fs::read_to_string(&path).expect("a page in UTF-8")
}

/// Reads all of it as XML does.
fn well_formed(xml: &str) -> Result<usize, quick_xml::Error> {
    let mut reader = quick_xml::Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    let mut elements = 0;
    loop {
        match reader.read_event()? {
            quick_xml::events::Event::Eof => return Ok(elements),
            quick_xml::events::Event::Start(_) | quick_xml::events::Event::Empty(_) => elements += 1,
            _ => {}
        }
    }
}

#[test]
fn a_page_is_one_file_that_asks_for_nothing_and_stays_the_same() {
    let results = tempfile::tempdir().expect("a temporary directory");
    Synthetic { minutes: 3, said: HOSTILE.into(), ..Synthetic::default() }.store(results.path());
    let page = written(results.path(), &["report"]);
    assert_eq!(written(results.path(), &["report", "synthetic"]), page, "found by the campaign's name, the same bytes");
    assert!(page.contains("default-src 'none'"), "nothing may be fetched");
    // Whatever the board said is text: no element of the page comes from it, and nothing is hidden in it.
    let (head, rest) = page.split_once("<main").expect("a page");
    let (main, _) = rest.split_once("</main>").expect("a page");
    for forbidden in ["<script", "<img", "<iframe", "<link", "onerror=\"", "\u{202e}", "\u{7}", "\u{1b}"] {
        assert!(!main.contains(forbidden), "{forbidden:?}");
        assert!(forbidden == "<script" || !head.contains(forbidden), "{forbidden:?} in the head");
    }
    for shown in ["&#60;/script&#62;&#60;script&#62;alert(1)", "\\u{202e}desrever\\u{7}\\u{1b}[31m", "&#34;quoted&#34;"]
    {
        assert!(main.contains(shown), "lacks {shown}");
    }
    let (_, data) = page.split_once("id=\"figures\">").expect("figures");
    let (data, _) = data.split_once("</script>").expect("figures end");
    let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
    let said = data["over-time"].to_string();
    assert!(said.contains("exit 1: </script><script>alert(1)") && said.contains("\\\\u{202e}desrever"), "{said}");
    // The library is the published one, whole.
    let library = include_str!("../../assets/echarts/echarts.min.js");
    assert!(page.contains(library));
}

#[test]
fn every_figure_is_a_valid_picture() {
    let results = tempfile::tempdir().expect("a temporary directory");
    Synthetic { minutes: 3, cpus: 6, said: HOSTILE.into(), ..Synthetic::default() }.store(results.path());
    for figure in ["histogram", "over-time", "heat-map", "exceedance", "by-cpu"] {
        let svg = written(results.path(), &["plot", "default-board-1", figure]);
        assert!(svg.starts_with("<svg ") && svg.contains("<title>"), "{figure}");
        match well_formed(&svg) {
            Ok(elements) => assert!(elements > 20, "{figure}: {elements} elements"),
            Err(error) => panic!("{figure}: {error}"),
        }
        assert!(!svg.contains("<script") && !svg.contains('\u{202e}') && !svg.contains('\u{1b}'), "{figure}");
        assert_eq!(written(results.path(), &["plot", "default-board-1", figure]), svg, "{figure}: the same bytes");
    }
    let output = latlab(results.path(), &["plot", "default-board-1", "histogram", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!((&json["id"], &json["panels"][0]["y"]["scale"]), (&"histogram".into(), &"log".into()));
}

#[test]
fn sides_are_drawn_over_each_other() {
    let results = tempfile::tempdir().expect("a temporary directory");
    night_in(results.path(), "20260101-000000-isolation-0001", 2, |run, board: &mut Board| {
        board.boot = u64::from(run);
        board.spoilt = run == 2;
    });
    let sides = ["20260101/isolcpus=none", "published:imx93-standard"];
    let svg = written(results.path(), &["plot", sides[0], "histogram", "--against", sides[1]]);
    assert!(svg.contains("A: 20260101/isolcpus=none") && well_formed(&svg).is_ok());
    let page = written(results.path(), &["report", "isolation"]);
    for words in ["6 runs: 5 VALID, 0 DEGRADED, 1 INVALID", "isolcpus=1-board-2: cycles", "INVALID"] {
        assert!(page.contains(words), "lacks {words}");
    }
    // A side without a measured run, an INVALID one, a run that is not there, a figure that is not there.
    for (args, code, said) in [
        (&["report", "20260101/isolcpus=1", "20260101/isolcpus=none"][..], 6, "INVALID: "),
        (&["report", "nothing"], 2, "no run `nothing`"),
        (&["report", "a", "b", "c"], 2, "unexpected value"),
        (&["report", "--nightly", "nobody"], 2, "no finished run on target `nobody`; targets: board"),
        (&["plot", "isolcpus=1-board-1", "by-cpu"], 2, "no figure `by-cpu` of this; there are: histogram,"),
        (&["plot", "20260101"], 2, "isolcpus=1-board-1"),
    ] {
        let output = latlab(results.path(), &[args, &["-o", "/dev/null"]].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(said), "{args:?}: {}", text(&output.stderr));
    }
    let output = latlab(results.path(), &["report", "-o", "/proc/no/such/folder.html"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot write /proc/no"), "{}", text(&output.stderr));
}

#[test]
fn a_terminal_shows_the_run_in_eighty_columns() {
    let results = tempfile::tempdir().expect("a temporary directory");
    Synthetic::default().store(results.path());
    let output = latlab(results.path(), &["show"]);
    let shown = text(&output.stdout);
    assert!(shown.lines().all(|line| line.chars().count() <= 80 || line.starts_with("stored in")), "{shown}");
    assert!(!shown.contains('\u{1b}'), "no colour where it is piped");
    for words in [
        "histogram, from [us] (bar: logarithm of the cycles)",
        " p50",
        "max\n",
        "largest latency of each ",
        "█",
        "0 ",
        "recipe: ",
    ] {
        assert!(shown.contains(words), "lacks {words:?}:\n{shown}");
    }
}
