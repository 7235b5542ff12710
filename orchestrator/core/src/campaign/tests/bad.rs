//! Every kind of mistake, with the exact message.

use super::{bad, bad_with, file, overrides};
use crate::campaign::{Overrides, load};
use crate::diagnostic::Style;

/// One line after `name` and `duration` → the only error. The line is the third.
#[test]
fn one_mistake_gives_one_message() {
    let durations =
        "write a duration with its unit, in quotes, such as \"250us\", \"1ms\", \"10s\", \"15m\", \"12h\", \"3d\"";
    for (line, expected) in [
        ("interval = 1000", "3:12 1000 | `interval` has no unit | a duration needs one | write the number with its unit, in quotes: \"1000us\"".to_owned()),
        ("interval = \"1000\"", "3:12 \"1000\" | `interval` has no unit | a duration needs one | write the number with its unit: \"1000us\"".to_owned()),
        ("interval = 0.5", "3:12 0.5 | `interval` has no unit | a duration needs one | write the number with its unit, in quotes: \"0.5us\"".to_owned()),
        ("interval = \"-1ms\"", "3:12 \"-1ms\" | `interval` is negative | allowed: 10us to 1h".to_owned()),
        ("interval = \"0s\"", "3:12 \"0s\" | `interval` is zero | allowed: 10us to 1h".to_owned()),
        ("interval = \"1us\"", "3:12 \"1us\" | `interval` is too short | allowed: 10us to 1h".to_owned()),
        ("interval = \"2h\"", "3:12 \"2h\" | `interval` is too long | allowed: 10us to 1h".to_owned()),
        ("interval = \"1 fortnight\"", format!("3:12 \"1 fortnight\" | `interval` cannot be \"1 fortnight\" | not a duration | {durations}")),
        ("interval = true", format!("3:12 true | `interval` is a duration | this is a boolean | {durations}")),
        ("interval = \"\"", format!("3:12 \"\" | `interval` cannot be \"\" | not a duration | {durations}")),
        ("measure.mlock = True", "3:17 True | `True` is no TOML value | write `true` | TOML has `true` and `false`, in small letters and without quotes".to_owned()),
        ("measure.mlock = \"true\"", "3:17 \"true\" | `measure.mlock` is true or false | this is text | write `true` or `false`, without quotes".to_owned()),
        ("measure.mlock = yes", "3:17 yes | `yes` is no TOML value | write `true` or `false`, or \"yes\" in quotes if text is meant".to_owned()),
        ("measure.mlock = ", "3:17  | a value is missing after `=`".to_owned()),
        ("measure.priority = 0", "3:20 0 | `measure.priority` is out of range | allowed: a whole number from 1 to 99".to_owned()),
        ("measure.priority = 100", "3:20 100 | `measure.priority` is out of range | allowed: a whole number from 1 to 99".to_owned()),
        ("measure.priority = \"98\"", "3:20 \"98\" | `measure.priority` is a number | this is text | write a whole number from 1 to 99, without quotes".to_owned()),
        ("measure.priority = 9.8", "3:20 9.8 | `measure.priority` is a whole number | this is a number with a fraction | write a whole number from 1 to 99".to_owned()),
        ("measure.priority = 99999999999999999999999999999999999999999999", "3:20 99999999999999999999999999999999999999999999 | `measure.priority` is out of range | allowed: a whole number from 1 to 99".to_owned()),
        ("measure = { policy = \"other\", priority = 98 }", "3:42 98 | `measure.priority` needs the policy fifo or rr | has no meaning here ~ 3:22 this policy has no real-time priority | remove `priority`, or set `policy = \"fifo\"`".to_owned()),
        ("measure.policy = \"fiffo\"", "3:18 \"fiffo\" | `measure.policy` cannot be \"fiffo\" | did you mean \"fifo\"? | allowed: \"fifo\", \"rr\", \"other\", \"deadline\"".to_owned()),
        ("measure.instrument = \"latprob\"", "3:22 \"latprob\" | `measure.instrument` cannot be \"latprob\" | did you mean \"latprobe\"? | allowed: \"latprobe\", \"latprobe-hunt\", \"latprobe-noise\", \"cyclictest\", \"xenomai-cyclictest\", \"xenomai-latency\", \"timerlat\"".to_owned()),
        ("measure.prio = 98", "3:9 prio | unknown key `prio` | allowed in `measure`: `accept`, `block`, `cpu_dma_latency`, `cpus`, `distance`, `duty`, `histogram`, `hunt`, `instrument`, `mlock`, `offset`, `policy`, `priority`, `sleep`, `threads`, `warmup`, `worst`".to_owned()),
        ("measure.cpus = 1", "3:16 1 | `measure.cpus` is a CPU list | this is a number | write it in quotes, as the kernel writes CPU lists: \"1\", \"0-3,5\"".to_owned()),
        ("measure.cpus = \"1-\"", "3:16 \"1-\" | `measure.cpus` cannot be \"1-\" | `1-` is no CPU number or range | write numbers and ranges, such as \"1\" or \"0-3,5\"; or \"all\" or \"isolated\"".to_owned()),
        ("measure.cpus = \"isolatd\"", "3:16 \"isolatd\" | `measure.cpus` cannot be \"isolatd\" | did you mean \"isolated\"? | write numbers and ranges, such as \"1\" or \"0-3,5\"; or \"all\" or \"isolated\"".to_owned()),
        ("measure = { cpus = \"1\", threads = 2 }", "3:25 threads | `measure.threads` and `measure.cpus` exclude each other | threads that are not pinned | `cpus` gives one thread to each CPU named; `threads` starts so many threads without pinning".to_owned()),
        ("measure.threads = 0", "3:19 0 | `measure.threads` is out of range | allowed: a whole number from 1 to 1024".to_owned()),
        ("measure = 1", "3:11 1 | `measure` is a table | this is a whole number | write a `[measure]` section, or `{ key = value }`".to_owned()),
        ("measure.histogram.bins = 0", "3:26 0 | `measure.histogram.bins` is out of range | allowed: a whole number from 1 to 1000000".to_owned()),
        ("measure.histogram.bins = 1000001", "3:26 1000001 | `measure.histogram.bins` is out of range | allowed: a whole number from 1 to 1000000".to_owned()),
        ("measure.histogram.width = \"0us\"", "3:27 \"0us\" | `measure.histogram.width` is zero | allowed: 1ns to 1s".to_owned()),
        ("measure.accept = \"coarse-clock\"", "3:18 \"coarse-clock\" | `measure.accept` is a list | this is text | write it in brackets: [\"coarse-clock\"]".to_owned()),
        ("measure.instrument = \"latprobe-hunt\"", "3:22 \"latprobe-hunt\" | latprobe-hunt needs the latency that ends the hunt | add `hunt = { at_least = \"100us\" }` to [measure]".to_owned()),
        ("measure.hunt.at_least = \"100us\"", "3:9 hunt | `measure.hunt` has no meaning for latprobe | set `measure.instrument = \"latprobe-hunt\"`, or take `hunt` out".to_owned()),
        ("measure = { instrument = \"latprobe-hunt\", hunt = { at_least = \"1ms\", events = [\"sched\"] } }", "3:80 \"sched\" | `measure.hunt.events` lists events of the kernel | no event | write group:name, such as \"sched:sched_switch\" (`available_events` on the board lists them)".to_owned()),
        ("measure.duty = 0.5", "3:16 0.5 | `measure.duty` has no meaning for latprobe | set `measure.instrument = \"latprobe-noise\"`, or take `duty` out".to_owned()),
        ("measure = { instrument = \"latprobe-noise\", cpus = \"1\", duty = 0.96 }", "3:61 0.96 | `measure.duty` is the share of each period that the loop is busy | not between 0.01 and 0.95 | write a number up to 0.95: a busy loop without pauses can hang a board".to_owned()),
        ("measure = { instrument = \"latprobe-noise\" }", "3:26 \"latprobe-noise\" | latprobe-noise would take every CPU | name the CPUs in `measure.cpus`, or \"isolated\"; one CPU must be left for the system".to_owned()),
        ("measure = { instrument = \"latprobe-noise\", cpus = \"1\" }\ngate.max = \"1ms\"", "4:1 gate | a gate cannot judge what latprobe-noise finds | only measurements are judged: take [gate] out, or make it a campaign of its own".to_owned()),
        ("cycles = 5", "3:1 cycles | `cycles` and `duration` exclude each other | a run ends after one of them | remove one; a cell, an axis or --set may replace one by the other".to_owned()),
        ("boot.isolcpus = \"1 2\"", "3:17 \"1 2\" | `boot.isolcpus` cannot be \"1 2\" | `1 2` is no CPU number or range | write numbers and ranges, such as \"1\" or \"0-3,5\", or \"none\"".to_owned()),
        ("boot.isolcpus = \"\"", "3:17 \"\" | `boot.isolcpus` names no CPU | write numbers and ranges, such as \"1\" or \"0-3,5\", or \"none\"".to_owned()),
        ("boot.isolcpus = \"managed_irq,1\"", "3:17 \"managed_irq,1\" | `boot.isolcpus` cannot be \"managed_irq,1\" | `managed_irq` is no CPU number or range | flags are not understood here: give the whole word in `boot.append`, such as \"isolcpus=managed_irq,domain,1\"".to_owned()),
        ("boot = { isolcpus = \"1\", append = \"quiet isolcpus=1\" }", "3:35 \"quiet isolcpus=1\" | `boot.append` and `boot.isolcpus` both isolate CPUs | `isolcpus=` stands here | keep one of them".to_owned()),
        ("boot.append = \"a=\\\"b c\"", "3:15 \"a=\\\"b c\" | `boot.append` has an unclosed quote | close it".to_owned()),
        ("boot.kernel = \"xenomai-cobalt\"", "3:15 \"xenomai-cobalt\" | latprobe on `xenomai-cobalt` would measure Linux, not Cobalt | a co-kernel variant | set `measure.instrument` of this cell to \"xenomai-cyclictest\" or \"xenomai-latency\"".to_owned()),
        ("boot.kernel = \"xenomai-cobalt\"\nmeasure.instrument = \"timerlat\"", "3:15 \"xenomai-cobalt\" | timerlat on `xenomai-cobalt` would measure Linux, not Cobalt | a co-kernel variant ~ 4:22 this instrument runs under Linux | set `measure.instrument` of this cell to \"xenomai-cyclictest\" or \"xenomai-latency\"".to_owned()),
        ("measure.cpus = \"isolated\"\nboot.isolcpus = \"none\"", "3:16 \"isolated\" | `measure.cpus` is \"isolated\", but no CPU is isolated ~ 4:17 none here | name the CPUs, or isolate some by `boot.isolcpus`".to_owned()),
        ("load = [\"dd\"]", "3:9 \"dd\" | unknown load `dd` | no load is defined | define it: `[loads.dd.hackbench]`, `.dd`, `.cat` or `.command`".to_owned()),
        ("load = [\"d1\"]\nloads.dd1.dd.block = \"1M\"", "3:9 \"d1\" | unknown load `d1` | did you mean `dd1`? | allowed in `loads`: `dd1`".to_owned()),
        ("load = [\"a\", \"a\"]\nloads.a.dd = {}", "3:14 \"a\" | load `a` is named twice ~ 3:9 first here".to_owned()),
        ("load = [\"idle\"]", "3:9 \"idle\" | \"idle\" stands alone | write `load = \"idle\"` or `load = []` for no load".to_owned()),
        ("load = \"a,b\"\nloads.a.dd = {}", "3:8 \"a,b\" | unknown load `a,b` | several names are a list | write [\"a\", \"b\"]".to_owned()),
        ("measure.cpus = \"0-1024\"", "3:16 \"0-1024\" | more than 1024 sampling threads".to_owned()),
        ("loads.a.command.argv = [\"a\\u0000\"]", "3:25 \"a\\u0000\" | `loads.a.command.argv` holds a NUL character | remove it".to_owned()),
        ("load = 3", "3:8 3 | `load` is a list of names of `[loads]` | this is a whole number | write `load = [\"name\", \"name\"]`, or `load = \"idle\"`".to_owned()),
        ("loads.a.dd.cpus = \"x\"", "3:19 \"x\" | `loads.a.dd.cpus` cannot be \"x\" | `x` is no CPU number or range | write numbers and ranges, such as \"1\" or \"0-3,5\"".to_owned()),
        ("loads.a.block = \"1M\"", "3:9 block | `loads.a` lacks its kind | belongs into the table of the kind | write `[loads.a.dd]` (or `.hackbench`, `.cat`, `.command`) above it".to_owned()),
        ("loads.a.hackbnch = {}", "3:9 hackbnch | unknown kind of load `hackbnch` | did you mean `hackbench`? | allowed in `loads.a`: `cat`, `command`, `dd`, `hackbench`".to_owned()),
        ("loads.a.dd.block = \"32 M\"", "3:20 \"32 M\" | `loads.a.dd.block` cannot be \"32 M\" | not a size | write a number with k, M or G (powers of 1024), such as \"32M\"".to_owned()),
        ("loads.a.dd.block = \"5G\"", "3:20 \"5G\" | `loads.a.dd.block` is out of range | allowed: up to 4G | dd holds a whole block in memory".to_owned()),
        ("loads.a.dd.from = \"x\"", "3:19 \"x\" | `loads.a.dd.from` is a file of the board | not an absolute path | begin it with `/`".to_owned()),
        ("loads.a.command = {}", "3:19 {} | `loads.a.command.argv` is missing | the program and its arguments: `argv = [\"stress-ng\", \"--cpu\", \"2\"]`".to_owned()),
        ("loads.a.command.argv = []", "3:24 [] | `loads.a.command.argv` names no program | write the program and its arguments: [\"program\", \"argument\"]".to_owned()),
        ("loads.idle.dd = {}", "3:7 idle | `idle` is no usable name of a load | \"idle\" means no load; choose another name".to_owned()),
        ("loads.a.dd.min_duty = 95", "3:23 95 | `loads.a.dd.min_duty` is out of range | allowed: 0 to 1 | it is a share, not a percentage: 95 % is written 0.95".to_owned()),
        ("require.rt_runtime = -1", "3:22 -1 | `require.rt_runtime` has no unit | write \"unlimited\" | -1 is the kernel's word for it".to_owned()),
        ("require.rt_runtime = 950000", "3:22 950000 | `require.rt_runtime` has no unit | a duration needs one | write the number with its unit, in quotes: \"950000us\"".to_owned()),
        ("require.rt_runtime = \"2s\"", "3:22 \"2s\" | `require.rt_runtime` is too long | allowed: 0s to 1s | a time in each second, such as \"950ms\", or \"unlimited\"".to_owned()),
        ("apply.clocksource = \"arch_sys_counter\"", "3:7 clocksource | `clocksource` can be required, but not applied | changing it would disturb the whole board | move it to `[require]`: `clocksource` is then checked before the run".to_owned()),
        ("require.governor = \"ondemand\"\napply.governor = \"performance\"", "4:18 \"performance\" | `governor` is required to be ondemand, but set to performance".to_owned()),
        ("gate.max = nan", "3:12 nan | `gate.max` is a duration | this is `nan` | write a duration with its unit, in quotes, such as \"250us\", \"1ms\", \"10s\", \"15m\", \"12h\", \"3d\"".to_owned()),
        ("gate.max = 120", "3:12 120 | `gate.max` has no unit | a duration needs one | write the number with its unit, in quotes: \"120us\"".to_owned()),
        ("gate.missed = -1", "3:15 -1 | `gate.missed` is out of range | allowed: a whole number from 0 to 9223372036854775807".to_owned()),
        ("gate.quantile.\"99.99\" = \"80us\"", "3:15 \"99.99\" | `99.99` is no quantile | did you mean \"0.9999\"? | a quantile is a number from 0 to 1, in quotes: \"0.9999\" = \"80us\"".to_owned()),
        ("gate.quantile.\"-0.1\" = \"80us\"", "3:15 \"-0.1\" | `-0.1` is no quantile | allowed: 0 to 1 | a quantile is a number from 0 to 1, in quotes: \"0.9999\" = \"80us\"".to_owned()),
        ("gate.exceed.\"100us\" = 1.5", "3:23 1.5 | `gate.exceed.\"100us\"` is out of range | allowed: 0 to 1 | it is a share, not a percentage: 95 % is written 0.95".to_owned()),
        ("gate.exceed.\"100us\" = -1e-6", "3:23 -1e-6 | `gate.exceed.\"100us\"` is out of range | allowed: 0 to 1 | it is a share, not a percentage: 95 % is written 0.95".to_owned()),
        ("gate.exceed.100 = 1e-6", "3:13 100 | `gate.exceed.\"100\"` has no unit | a duration needs one | write the number with its unit: \"100us\"".to_owned()),
        ("plan.repeat = 0", "3:15 0 | `plan.repeat` is out of range | allowed: a whole number from 1 to 1000".to_owned()),
        ("plan.order = \"random\"", "3:14 \"random\" | `plan.order` cannot be \"random\" | allowed: \"grouped\", \"interleaved\"".to_owned()),
        ("collect.every = \"0s\"", "3:17 \"0s\" | `collect.every` is zero | allowed: 1s to 1h".to_owned()),
        ("targets = \"bbb\"", "3:11 \"bbb\" | `targets` is a list | this is text | write it in brackets: [\"bbb\"]".to_owned()),
        ("targets = [\"bbb\", \"bbb\"]", "3:19 \"bbb\" | target `bbb` is named twice ~ 3:12 first here | a board is measured once per cell and repetition; for more, set `plan.repeat`".to_owned()),
        ("targets = [\"\"]", "3:12 \"\" | `targets` is empty | leave the key out if it has no value".to_owned()),
        ("matrix.boot.kernal = [\"a\"]", "3:13 kernal | unknown key `kernal` | did you mean `kernel`? | allowed in `boot`: `append`, `isolcpus`, `kernel`".to_owned()),
        ("matrix.targets = [\"a\"]", "3:8 targets | unknown key `targets` | allowed here: `apply`, `boot`, `collect`, `cycles`, `duration`, `gate`, `interval`, `load`, `loads`, `measure`, `require`".to_owned()),
        ("matrix.interval = \"1ms\"", "3:19 \"1ms\" | axis `interval` is a list of values | this is text | write [\"1ms\"], or move the key out of `[matrix]`".to_owned()),
        ("matrix.interval = []", "3:19 [] | axis `interval` has no value | give at least one value, or remove the axis".to_owned()),
        ("matrix.interval = [\"1ms\", \"1us\"]", "3:27 \"1us\" | `interval` is too short | allowed: 10us to 1h".to_owned()),
        ("matrix = 1", "3:10 1 | `matrix` is a table | this is a whole number | write a `[matrix]` section with one list per axis: `boot.isolcpus = [\"1\", \"none\"]`".to_owned()),
        ("[cell]\nname = \"a\"", "3:1 [cell] | `cell` is a list of tables | this is a table | begin each cell with `[[cell]]`, in double brackets".to_owned()),
        ("[[cell]]\ninterval = \"1ms\"", "3:1 [[cell]] | `cell.name` is missing | each `[[cell]]` has a name, which stands in the results: `name = \"isolated\"`".to_owned()),
        ("[[cell]]\nname = \"a b\"", "4:8 \"a b\" | `cell.name` is no usable name | names become file names: up to 64 letters, digits, `.`, `_` and `-`, beginning with a letter or digit".to_owned()),
        ("[[cell]]\nname = \"a\"\n[[cell]]\nname = \"a\"\ninterval = \"2ms\"", "6:8 \"a\" | two cells are called `a` ~ 4:8 first here | results are kept by cell name: give each its own".to_owned()),
        ("interval = \"1ms\"\ninterval = \"2ms\"", "4:1 interval | `interval` is given twice | again here ~ 3:1 first given here".to_owned()),
        ("description = 1", "3:15 1 | `description` is text | this is a whole number | write it in quotes: \"1\"".to_owned()),
        ("cpus = \"1\"", "3:1 cpus | unknown key `cpus` | belongs to `[measure]` | write it below `[measure]`, or as `measure.cpus` at the top".to_owned()),
        ("measure.load = [\"a\"]", "3:9 load | unknown key `load` | belongs to the top of the file | move it above the first `[table]`: a line belongs to the `[table]` above it".to_owned()),
        ("boot.bins = 3", "3:6 bins | unknown key `bins` | belongs to `[measure.histogram]` | write it below `[measure.histogram]`, or as `measure.histogram.bins` at the top".to_owned()),
        ("cpus: \"1\"", "3:5 : | not TOML: invalid unquoted key, expected letters, numbers, `-`, `_` | TOML writes `key = value`, and tables as `[table]`".to_owned()),
        ("// no", "3:1 // | not TOML: invalid unquoted key, expected letters, numbers, `-`, `_` | a comment begins with `#`".to_owned()),
        ("interval = \u{201c}1ms\u{201d}", "3:12 \u{201c}1ms\u{201d} | `\u{201c}1ms\u{201d}` is no TOML value | typographic quotes | write \"1ms\", with straight quotes".to_owned()),
        ("interval = \"1ms\",", "3:17  | not TOML: unexpected key or value, expected newline, `#` | one `key = value` or `[table]` stands on a line, with nothing behind it".to_owned()),
        ("measure.cpus = 0-3", "3:16 0-3 | `0-3` is no TOML value | text must be quoted | write \"0-3\"".to_owned()),
        ("boot.isolcpus = none", "3:17 none | `none` is no TOML value | text must be quoted | write \"none\"".to_owned()),
        ("measure.priority = 08", "3:20 0 | not TOML: unexpected leading zero".to_owned()),
        ("gate.quantile.0.99 = \"80us\"", "3:15 0 | `0.99` needs quotes | the dot makes it a table | write \"0.99\" = \"80us\"".to_owned()),
        ("load = [\"a\" \"b\"]\nloads.a.dd = {}", "3:13  | not TOML: missing comma between array elements, expected `,`".to_owned()),
        ("[measure", "3:9  | not TOML: unclosed table, expected `]`".to_owned()),
        ("x", "3:2  | not TOML: key with no value, expected `=`".to_owned()),
    ] {
        assert_eq!(bad(&file(line)), [expected], "{line}");
    }
}

#[test]
fn mistakes_of_the_whole_file() {
    for (text, expected) in [
        (
            "",
            "1:1  | empty file: no campaign in it | a campaign has at least `name` and `duration`; see docs/campaign.md",
        ),
        (
            "# nothing\n\n",
            "1:1  | empty file: no campaign in it | a campaign has at least `name` and `duration`; see docs/campaign.md",
        ),
        (
            "duration = \"1s\"",
            "1:1  | `name` is missing | a short name for the campaign: it names the results, such as `name = \"nightly\"`",
        ),
        (
            "name = \"a\"",
            "1:1  | `duration` is missing | how long each run measures: `duration = \"10m\"`, or `cycles = 600000`",
        ),
        (
            "name = \"../a\"\nduration = \"1s\"",
            "1:8 \"../a\" | `name` is no usable name | names become file names: up to 64 letters, digits, `.`, `_` and `-`, beginning with a letter or digit",
        ),
        ("name = \"a\"\nduration = \"0s\"", "2:12 \"0s\" | `duration` is zero | allowed: 1ns to 365d"),
        ("name = \"a\"\nduration = \"366d\"", "2:12 \"366d\" | `duration` is too long | allowed: 1ns to 365d"),
        (
            "name = \"a\"\nduration = \"12H\"",
            "2:12 \"12H\" | `duration` cannot be \"12H\" | did you mean \"12h\"? | write a duration with its unit, in quotes, such as \"250us\", \"1ms\", \"10s\", \"15m\", \"12h\", \"3d\"",
        ),
        ("name = \"a\"\nduration = 12h", "2:12 12h | `12h` is no TOML value | text must be quoted | write \"12h\""),
        (
            "name = \"a\"\nduration = \"1us\"",
            "2:12 \"1us\" | `duration` is shorter than `interval` | no cycle of 1ms fits into it",
        ),
        (
            "name = \"a\"\ncycles = 0",
            "2:10 0 | `cycles` is out of range | allowed: a whole number from 1 to 3153600000000",
        ),
        (
            "name = \"a\"\ncycles = 43200000000",
            "2:10 43200000000 | `cycles` takes more than a year | at an interval of 1ms",
        ),
    ] {
        assert_eq!(bad(text), [expected], "{text:?}");
    }
}

#[test]
fn a_length_missing_in_one_cell_points_at_that_cell() {
    let text = "name = \"t\"\n[[cell]]\nname = \"a\"\nduration = \"1s\"\n[[cell]]\nname = \"b\"\n";
    let expected =
        "6:8 \"b\" | `duration` is missing | how long each run measures: `duration = \"10m\"`, or `cycles = 600000`";
    assert_eq!(bad(text), [expected]);
}

#[test]
fn all_mistakes_of_a_file_at_once_in_its_order() {
    let text =
        "name = \"t\"\nduration = 12\ncolour = \"blue\"\n[measure]\nmlock = True\npriority = 0\n[boot]\nkernel = []\n";
    let found = bad(text);
    let starts: Vec<&str> = found.iter().map(|line| line.split(" | ").next().unwrap()).collect();
    assert_eq!(starts, ["2:12 12", "3:1 colour", "5:9 True", "6:12 0", "8:10 []"]);
}

#[test]
fn mistakes_in_options_point_at_the_option() {
    let text = file("[matrix]\nboot.isolcpus = [\"1\", \"none\"]");
    for (set, only, expected) in [
        (&[("measure.priorty", "80")][..], &[][..], "1:9 priorty | unknown key `priorty` | did you mean `priority`?"),
        (
            &[("measure.priority", "800")],
            &[],
            "1:18 800 | `measure.priority` is out of range | allowed: a whole number from 1 to 99",
        ),
        (
            &[("interval", "1000")],
            &[],
            "1:10 1000 | `interval` has no unit | a duration needs one | write the number with its unit, in quotes: \"1000us\"",
        ),
        (&[("interval", "soon")], &[], "1:10 soon | `interval` cannot be \"soon\" | not a duration"),
        (
            &[("a b", "1")],
            &[],
            "1:1 a b=1 | `a b` is no key | write the key as in the file, with dots: --set measure.priority=80",
        ),
        (&[("", "1")], &[], "1:1 =1 | `` is no key"),
        (
            &[("matrix.interval", "[]")],
            &[],
            "1:1 matrix.interval=[] | `matrix` cannot be set | set the key itself, which replaces it in every cell; choose cells by --only",
        ),
        (&[("plan.repeat", "0")], &[], "1:13 0 | `plan.repeat` is out of range"),
        (&[("load", "ghost")], &[], "1:6 ghost | unknown load `ghost` | no load is defined"),
        (&[], &[("boot.isolcpus", "2")], "1:15 2 | no cell has boot.isolcpus = \"2\" | there are: \"1\", \"none\""),
        (
            &[],
            &[("boot.isolcpus", "1,nne")],
            "1:15 nne | no cell has boot.isolcpus = \"nne\" | did you mean \"none\"? | there are: \"1\", \"none\"",
        ),
        (
            &[],
            &[("kernel", "a")],
            "1:1 kernel | no cell has `kernel` | choose by `boot.isolcpus`, `cell`, or by any key that the campaign sets, such as `boot.kernel`",
        ),
        (
            &[],
            &[("isolcpus", "1"), ("boot.isolcpus", "none")],
            "1:15 none | no cell has boot.isolcpus = \"none\" | there are: \"1\"",
        ),
    ] {
        let found = load("c.toml", &text, &overrides(set, only)).unwrap_err();
        assert!(found.only_usage(), "{set:?} {only:?}");
        let lines = bad_with(&text, &overrides(set, only));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with(expected), "{lines:?}\n{expected}");
    }
    let twice = Overrides { targets: vec!["a".to_owned(), "a".to_owned()], ..Overrides::default() };
    let lines = bad_with(&text, &twice);
    assert!(lines[0].starts_with("1:1 a | target `a` is named twice"), "{lines:?}");
}

#[test]
fn a_wrong_file_is_the_files_fault_even_with_a_wrong_option() {
    let found = load("c.toml", &file("interval = 1"), &overrides(&[("x", "1")], &[])).unwrap_err();
    assert!(!found.only_usage());
    assert_eq!(found.len(), 2);
}

#[test]
fn looks_like_this() {
    let text = "name = \"nightly\"\nduration = \"15m\"\n\n[measure]\npriorty = 98\n";
    let found = load("campaigns/nightly.toml", text, &Overrides::default()).unwrap_err();
    let expected = "\
error: unknown key `priorty`
 --> campaigns/nightly.toml:5:1
  |
5 | priorty = 98
  | ^^^^^^^ did you mean `priority`?
  |
  = help: allowed in `measure`: `accept`, `block`, `cpu_dma_latency`, `cpus`, `distance`, `duty`, `histogram`, `hunt`, `instrument`, `mlock`, `offset`, `policy`, `priority`, `sleep`, `threads`, `warmup`, `worst`";
    assert_eq!(found.render(Style::Plain), expected);
    assert!(found.render(Style::Plain).is_ascii());
    assert!(found.render(Style::Colour).contains('\u{1b}'));
    let json = serde_json::to_value(&found.to_json()[0]).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "severity": "error",
            "message": "unknown key `priorty`",
            "file": "campaigns/nightly.toml",
            "line": 5,
            "column": 1,
            "text": "priorty",
            "label": "did you mean `priority`?",
            "related": [],
            "help": expected.split("help: ").nth(1).unwrap(),
        })
    );
}

/// The table of misplaced keys names only keys that are really there.
#[test]
fn homes_of_keys_are_true() {
    for (path, keys) in crate::campaign::settings::HOMES {
        for key in *keys {
            let full = if path.is_empty() { (*key).to_owned() } else { format!("{path}.{key}") };
            let found = bad(&format!("{full} = 1979-05-27\n"));
            assert!(found.iter().any(|line| line.starts_with("1:")), "{found:?}");
            assert!(!found.iter().any(|line| line.contains("unknown key")), "{found:?}");
        }
    }
}
