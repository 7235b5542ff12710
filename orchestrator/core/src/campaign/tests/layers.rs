//! Layers: file → cell → matrix → --set → duplicates dropped → --only.

use super::{bad, file, good, good_with, names};
use crate::campaign::model::{Cpus, Instrument, LoadKind, Order};
use crate::campaign::{MOST_CELLS, Overrides, load};
use crate::diagnostic::testing::lines;
use crate::units::{HOUR, MS, SECOND, US};
use latprobe::spec::{Length, Policy};
use proptest::prelude::*;

#[test]
fn defaults_of_a_two_line_campaign() {
    let loaded = good(&file(""));
    assert!(loaded.warnings.is_empty());
    assert_eq!(names(&loaded), ["default"]);
    let settings = &loaded.campaign.cells[0].settings;
    assert_eq!(settings.length, Length::DurationNs(10 * SECOND));
    assert_eq!(settings.measure.interval_ns, MS);
    assert_eq!((settings.measure.bin_width_ns, settings.measure.bins), (US, 1000));
    assert_eq!(settings.measure.cpus, Cpus::All);
    assert_eq!((settings.measure.policy, settings.measure.priority), (Policy::Fifo, 80));
    assert!(settings.measure.mlock && settings.loads.is_empty() && loaded.campaign.targets.is_empty());
}

#[test]
fn the_twelve_hour_recipe() {
    let loaded = good(include_str!("../../../../../campaigns/cyclone-v-12h.toml"));
    assert_eq!(names(&loaded), ["native-isolated", "cobalt-isolated", "cobalt-shared"]);
    assert_eq!(loaded.campaign.targets, ["cyclone-v"]);
    let cells = &loaded.campaign.cells;
    for cell in cells {
        let settings = &cell.settings;
        assert_eq!(settings.length, Length::DurationNs(12 * HOUR));
        let measure = &settings.measure;
        assert_eq!((measure.interval_ns, measure.priority, measure.bins), (MS, 98, 200));
        assert_eq!(measure.cpus, Cpus::List("1".parse().unwrap()));
        let loads: Vec<(&str, u64)> = settings.loads.iter().map(|load| (load.name.as_str(), load.pause_ns)).collect();
        assert_eq!(loads, [("hackbench-40", SECOND), ("dd-32M", 0)]);
        let LoadKind::Hackbench { groups, loops, .. } = settings.loads[0].kind else { panic!() };
        assert_eq!((groups, loops), (40, 30_000));
    }
    let isolated = |text: &str| Some(text.parse().unwrap());
    let boots: Vec<_> =
        cells.iter().map(|c| (c.settings.boot.kernel.as_deref(), c.settings.boot.isolcpus.clone())).collect();
    assert_eq!(
        boots,
        [
            (Some("preempt-rt"), isolated("1")),
            (Some("xenomai-cobalt"), isolated("1")),
            (Some("xenomai-cobalt"), isolated(""))
        ]
    );
    assert_eq!(cells[0].settings.measure.instrument, Instrument::Latprobe);
    assert_eq!(cells[2].settings.measure.instrument, Instrument::XenomaiCyclictest);
}

#[test]
fn axes_multiply_in_the_order_of_the_file() {
    let loaded = good(&file(
        "[matrix]\nload = [\"idle\", [\"a\", \"b\"]]\nboot.kernel = [\"x\", \"y\"]\n[loads]\na.dd = {}\nb.cat = {}",
    ));
    assert_eq!(names(&loaded), ["load=idle,kernel=x", "load=idle,kernel=y", "load=a+b,kernel=x", "load=a+b,kernel=y"]);
    assert_eq!(loaded.campaign.cells[2].axes["boot.kernel"], "x");
    assert_eq!(loaded.campaign.cells[2].settings.loads.len(), 2);
}

#[test]
fn cells_times_axes() {
    let loaded = good(&file(
        "[matrix]\ninterval = [\"1ms\", \"100us\"]\n[[cell]]\nname = \"a\"\n[[cell]]\nname = \"b\"\nmeasure.priority = 20",
    ));
    assert_eq!(names(&loaded), ["a,interval=1ms", "a,interval=100us", "b,interval=1ms", "b,interval=100us"]);
    let priorities: Vec<u32> = loaded.campaign.cells.iter().map(|cell| cell.settings.measure.priority).collect();
    assert_eq!(priorities, [80, 80, 20, 20]);
}

#[test]
fn axes_with_the_same_last_key_keep_their_whole_key() {
    let loaded = good(&file(
        "[matrix]\nboot.append = [\"\", \"quiet\"]\nloads.a.dd.block = [\"1M\"]\n[loads.b]\ndd.block = \"2M\"\n[matrix.loads.b]\ndd.block = [\"1M\"]",
    ));
    assert_eq!(names(&loaded)[0], "append=none,loads.a.dd.block=1M,loads.b.dd.block=1M");
}

#[test]
fn names_are_fit_for_files_and_unique() {
    let loaded = good(&file("[matrix]\nboot.append = [\"a/b\", \"a:b\", \"äb\"]"));
    assert_eq!(names(&loaded), ["append=a_b", "append=a_b~2", "append=_b"]);
}

#[test]
fn tables_are_merged_and_lists_replaced() {
    let loaded = good(&file(
        "load = [\"a\"]\nmeasure = { priority = 10, worst = 5 }\n[loads]\na.dd = {}\nb.dd = {}\n[[cell]]\nname = \"c\"\nmeasure.priority = 20\nload = [\"b\"]\n[[cell]]\nname = \"d\"",
    ));
    let cell = &loaded.campaign.cells[0].settings;
    assert_eq!((cell.measure.priority, cell.measure.worst), (20, 5));
    assert_eq!(cell.loads.iter().map(|load| load.name.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_later_layer_replaces_an_alternative() {
    let text = file(
        "measure = { priority = 98, cpus = \"1\" }\n[[cell]]\nname = \"cycles\"\ncycles = 7\n[[cell]]\nname = \"other\"\nmeasure = { policy = \"other\", threads = 3 }",
    );
    let loaded = good(&text);
    assert_eq!(loaded.campaign.cells[0].settings.length, Length::Cycles(7));
    let other = &loaded.campaign.cells[1].settings.measure;
    assert_eq!((other.policy, other.priority, &other.cpus), (Policy::Other, 0, &Cpus::Unpinned(3)));
    let set = good_with(&text, &[("duration", "60s")], &[("cell", "cycles")]);
    assert_eq!(set.campaign.cells[0].settings.length, Length::DurationNs(60 * SECOND));
}

#[test]
fn a_layer_is_not_judged_by_the_defaults_of_another() {
    let loaded = good("name = \"t\"\ninterval = \"10us\"\n[[cell]]\nname = \"a\"\ncycles = 60000000000\n");
    assert_eq!(loaded.campaign.cells[0].settings.length, Length::Cycles(60_000_000_000));
}

#[test]
fn set_tries_text_before_toml() {
    let loaded = good_with(
        &file(""),
        &[
            ("duration", "60s"),
            ("measure.priority", "20"),
            ("measure.mlock", "false"),
            ("measure.histogram", "{ width = \"100ns\", bins = 5 }"),
            ("measure.cpus", "1"),
            ("gate.quantile.\"0.99\"", "80us"),
            ("gate.exceed.100us", "1e-6"),
            ("loads.x.dd.block", "4k"),
            ("load", "x"),
            ("plan.repeat", "3"),
            ("plan.order", "interleaved"),
            ("targets", "[\"a\", \"b\"]"),
            ("name", "7"),
        ],
        &[],
    );
    let campaign = &loaded.campaign;
    let settings = &campaign.cells[0].settings;
    assert_eq!(settings.length, Length::DurationNs(60 * SECOND));
    assert_eq!((settings.measure.priority, settings.measure.mlock), (20, false));
    assert_eq!((settings.measure.bin_width_ns, settings.measure.bins), (100, 5));
    assert_eq!(settings.measure.cpus, Cpus::List("1".parse().unwrap()));
    assert_eq!(settings.gate.quantile_ns["0.99"], 80 * US);
    assert_eq!(settings.gate.exceed, [(100 * US, 1e-6)]);
    assert_eq!(settings.loads.len(), 1);
    assert_eq!((campaign.plan.repeat, campaign.plan.order), (3, Order::Interleaved));
    assert_eq!((campaign.name.as_str(), campaign.targets.len()), ("7", 2));
}

#[test]
fn set_replaces_an_axis() {
    let text =
        file("[matrix]\nboot.isolcpus = [\"1\", \"none\"]\ninterval = [\"1ms\", \"2ms\"]\nduration = [\"5s\", \"6s\"]");
    let loaded = good_with(&text, &[("boot.isolcpus", "0"), ("cycles", "9")], &[]);
    assert_eq!(names(&loaded), ["interval=1ms", "interval=2ms"]);
    assert_eq!(loaded.campaign.cells[0].settings.boot.isolcpus, Some("0".parse().unwrap()));
    // A table around the axis replaces it, too.
    assert_eq!(names(&good_with(&text, &[("boot", "{ isolcpus = \"0\" }")], &[])).len(), 4);
}

#[test]
fn equal_cells_are_measured_once_and_said_so() {
    let text = file("[[cell]]\nname = \"a\"\nboot.isolcpus = \"1\"\n[[cell]]\nname = \"b\"\nboot.isolcpus = \"none\"");
    let loaded = good_with(&text, &[("boot.isolcpus", "1")], &[]);
    assert_eq!(names(&loaded), ["a"]);
    assert_eq!(
        lines(&loaded.warnings),
        ["7:8 \"b\" | cell `b` is the same as `a`, and is measured once ~ 4:8 the same"]
    );
    let twice = good(&file("matrix.interval = [\"1ms\", \"1000us\"]"));
    assert_eq!(names(&twice), ["interval=1ms"]);
    assert_eq!(twice.warnings.len(), 1);
}

#[test]
fn only_chooses_by_cell_axis_or_setting() {
    let text = file(
        "[matrix]\nboot.isolcpus = [\"1\", \"0,1\", \"none\"]\n[[cell]]\nname = \"a\"\nboot.kernel = \"x\"\n[[cell]]\nname = \"b\"\nboot.kernel = \"y\"",
    );
    let chosen = |only: &[(&str, &str)]| names(&good_with(&text, &[], only)).join(" ");
    assert_eq!(chosen(&[("cell", "a")]), "a,isolcpus=1 a,isolcpus=0_1 a,isolcpus=none".replace("0_1", "0,1"));
    assert_eq!(chosen(&[("boot.kernel", "y"), ("isolcpus", "1,none")]), "b,isolcpus=1 b,isolcpus=none");
    assert_eq!(chosen(&[("boot.isolcpus", "0,1")]), "a,isolcpus=0,1 b,isolcpus=0,1");
    assert_eq!(chosen(&[("cell", "b,isolcpus=0,1"), ("cell", "a,isolcpus=1")]), "a,isolcpus=1 b,isolcpus=0,1");
}

#[test]
fn a_target_option_replaces_the_files_targets() {
    let overrides = Overrides { targets: vec!["x".to_owned()], ..Overrides::default() };
    let loaded = load("c.toml", &file("targets = [\"a\", \"b\"]"), &overrides).unwrap();
    assert_eq!(loaded.campaign.targets, ["x"]);
    assert_eq!(loaded.target_spans[0].source.name, "--target");
}

#[test]
fn an_unused_load_is_a_warning() {
    let loaded = good(&file("load = [\"a\"]\n[loads]\na.dd = {}\nb.dd = {}"));
    assert_eq!(lines(&loaded.warnings), ["6:1 b | load `b` is never used | name it in `load = [\"b\"]`, or remove it"]);
}

#[test]
fn too_many_cells_are_refused_before_they_are_made() {
    let axis = |key: &str| {
        format!("{key} = [{}]\n", (0..1000).map(|n| format!("\"{}us\"", n + 10)).collect::<Vec<_>>().join(","))
    };
    let text = file(&format!("[matrix]\n{}measure.{}measure.{}", axis("interval"), axis("distance"), axis("offset")));
    assert_eq!(
        bad(&text),
        [
            "4:1 interval | the campaign has 1000000000 cells, more than 10000 | each value of an axis multiplies the number of cells"
        ]
    );
    let text = file(&format!("[matrix]\n{}measure.worst = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]", axis("interval")));
    assert_eq!(good(&text).campaign.cells.len(), MOST_CELLS);
}

#[test]
fn an_error_in_a_matrix_value_points_at_that_value() {
    let found =
        bad(&file("measure.instrument = \"latprobe\"\n[matrix]\nboot.kernel = [\"standard\", \"xenomai-cobalt\"]"));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("5:28 \"xenomai-cobalt\" | latprobe on `xenomai-cobalt` would measure Linux"),
        "{found:?}"
    );
}

type Write = fn(u32) -> String;

/// Keys of different kinds and depths, with how a number is written in each.
const KEYS: [(&str, Write); 6] = [
    ("measure.priority", |n| n.to_string()),
    ("measure.worst", |n| n.to_string()),
    ("interval", |n| format!("\"{n}ms\"")),
    ("boot.kernel", |n| format!("\"k{n}\"")),
    ("measure.histogram.bins", |n| n.to_string()),
    ("gate.missed", |n| n.to_string()),
];

/// What a cell holds under [`KEYS`], written as there.
fn values(settings: &crate::campaign::model::Settings) -> [Option<String>; 6] {
    let measure = &settings.measure;
    [
        Some(measure.priority.to_string()),
        Some(measure.worst.to_string()),
        Some(format!("\"{}ms\"", measure.interval_ns / MS)),
        settings.boot.kernel.as_ref().map(|kernel| format!("\"{kernel}\"")),
        Some(measure.bins.to_string()),
        settings.gate.missed.map(|missed| missed.to_string()),
    ]
}

proptest! {
    /// Whatever layers give a key, the topmost one wins, whatever the others do.
    #[test]
    fn the_topmost_layer_wins(given in prop::collection::vec(prop::collection::vec(prop::option::of(1u32..99), 6), 4)) {
        let layer = |layer: usize, list: bool| {
            let keys = KEYS.iter().zip(&given[layer]);
            let given = keys.filter_map(|((key, write), n)| Some((key, write((*n)?))));
            given.map(|(key, value)| if list { format!("{key} = [{value}]\n") } else { format!("{key} = {value}\n") }).collect::<String>()
        };
        let text = format!("name = \"t\"\nduration = \"1s\"\n{}[matrix]\n{}[[cell]]\nname = \"c\"\n{}", layer(0, false), layer(2, true), layer(1, false));
        let keys = KEYS.iter().zip(&given[3]);
        let set: Vec<(String, String)> = keys.filter_map(|((key, write), n)| Some(((*key).to_owned(), write((*n)?)))).collect();
        let overrides = Overrides { set, ..Overrides::default() };
        let loaded = load("c.toml", &text, &overrides).unwrap_or_else(|found| panic!("{:#?}\n{text}", lines(&found)));
        let default = values(&good(&file("")).campaign.cells[0].settings);
        let expected: Vec<Option<String>> = (0..KEYS.len())
            .map(|key| given.iter().rev().find_map(|layer| layer[key]).map(KEYS[key].1).or_else(|| default[key].clone()))
            .collect();
        prop_assert_eq!(values(&loaded.campaign.cells[0].settings).to_vec(), expected);
        // What is stored in `plan.json` reads back.
        let stored = serde_json::to_string(&loaded.campaign).unwrap();
        prop_assert_eq!(serde_json::from_str::<crate::campaign::model::Campaign>(&stored).unwrap(), loaded.campaign);
    }

    /// `--only` keeps a part of the cells in their order.
    #[test]
    fn only_keeps_the_order(intervals in prop::collection::vec(1u32..9, 1..5), priorities in prop::collection::vec(1u32..9, 1..5), which in any::<prop::sample::Index>()) {
        let list = |numbers: &[u32], unit: &str| numbers.iter().map(|n| if unit.is_empty() { n.to_string() } else { format!("\"{n}{unit}\"") }).collect::<Vec<_>>().join(",");
        let text = file(&format!("[matrix]\ninterval = [{}]\nmeasure.priority = [{}]", list(&intervals, "ms"), list(&priorities, "")));
        let all = good(&text);
        let chosen = priorities[which.index(priorities.len())];
        let only = good_with(&text, &[], &[("priority", &chosen.to_string())]);
        let expected: Vec<&str> = names(&all).into_iter().filter(|name| name.split('~').next().unwrap().ends_with(&format!("priority={chosen}"))).collect();
        prop_assert_eq!(names(&only), expected);
    }
}
