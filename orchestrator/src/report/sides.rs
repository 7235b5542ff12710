//! Stored runs → sides of a comparison.

use crate::report::stored::{self, Stored};
use crate::store::{ExecutionDir, FactsWhen, PlannedRun, Store, StoreError};
use latlab_core::campaign::model::Settings;
use latlab_core::compare::{Provenance, Run, Side, published};
use latlab_core::facts::Facts;
use latlab_core::formats;
use latlab_core::latency::blocks::Series;
use latlab_core::latency::slices::slices;
use latprobe::stream::Folded;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// A planned run and where it is.
pub type Located = (ExecutionDir, PlannedRun);

/// What a side was named by.
#[derive(Debug)]
pub enum Named {
    /// Runs of the results store.
    Stored(Group),
    /// A published result, or a file of another tool.
    Ready(Side),
}

/// Runs with one name.
#[derive(Debug, Clone)]
pub struct Group {
    /// As asked, or the setting with its value and the cells.
    pub name: String,
    /// The runs.
    pub runs: Vec<Located>,
}

/// Why a name is no side.
#[derive(Debug, thiserror::Error)]
pub enum NoSide {
    /// The store, or nothing of this name in it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No published result of this name.
    #[error("no published result `{name}`; known: {}", known.join(", "))]
    NotPublished {
        /// As asked.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// A file of another tool that cannot be read.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// In plain words.
        reason: String,
    },
    /// A file without a latency measurement.
    #[error("{}: holds no latency measurement", path.display())]
    NoLatency {
        /// The file.
        path: PathBuf,
    },
}

impl Named {
    /// The side; stored runs without a measurement are left out, and its name says so.
    pub fn side(&self) -> Result<Side, NoSide> {
        match self {
            Named::Ready(side) => Ok(side.clone()),
            Named::Stored(group) => {
                let runs = group.runs.iter().map(|(execution, planned)| read(execution, planned));
                let runs = runs.filter_map(Result::transpose).collect::<Result<Vec<Run>, _>>()?;
                let name = match runs.len() == group.runs.len() {
                    true => group.name.clone(),
                    false => format!("{} ({} of {} runs were measured)", group.name, runs.len(), group.runs.len()),
                };
                Ok(Side { name, runs })
            }
        }
    }

    /// Targets of its runs; none where they are not known.
    pub fn targets(&self) -> Vec<String> {
        match self {
            Named::Ready(_) => Vec::new(),
            Named::Stored(group) => {
                distinct(group.runs.iter().map(|(_, run)| run.target.as_str())).into_iter().map(str::to_owned).collect()
            }
        }
    }

    fn located(&self) -> &[Located] {
        match self {
            Named::Ready(_) => &[],
            Named::Stored(group) => &group.runs,
        }
    }
}

/// What `name` means: `published:NAME`, a file of another tool, or stored runs in the results directory `results`.
pub fn resolve(results: &Path, name: &str) -> Result<Named, NoSide> {
    if let Some(reference) = name.strip_prefix("published:") {
        let all = published();
        let known = || all.iter().map(|published| published.name.clone()).collect();
        return match all.iter().find(|published| published.name == reference) {
            Some(published) => Ok(Named::Ready(published.side())),
            None => Err(NoSide::NotPublished { name: reference.to_owned(), known: known() }),
        };
    }
    if Path::new(name).is_file() {
        return foreign(Path::new(name)).map(Named::Ready);
    }
    let store = Store::open(results)?;
    Ok(Named::Stored(Group { name: name.to_owned(), runs: find(&store, name)? }))
}

fn foreign(path: &Path) -> Result<Side, NoSide> {
    let refused = |reason: String| NoSide::File { path: path.to_owned(), reason };
    let file = std::fs::File::open(path).map_err(|error| refused(error.to_string()))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let options = formats::Options { name: &name, only: None, without_bins: false };
    let measurements = formats::import(BufReader::new(file), options).map_err(|error| refused(error.to_string()))?;
    let runs: Vec<Run> = measurements.iter().filter_map(|measurement| Run::imported(&name, measurement)).collect();
    match runs.is_empty() {
        true => Err(NoSide::NoLatency { path: path.to_owned() }),
        false => Ok(Side { name, runs }),
    }
}

/// The stored runs that `name` means: as [`stored::find`], and `EXECUTION/CELL`: all runs of a cell.
fn find(store: &Store, name: &str) -> Result<Vec<Located>, StoreError> {
    let missing = match stored::find(store, Some(name)) {
        Err(error @ StoreError::NoSuchRun { .. }) => error,
        found => return found,
    };
    let Some((execution, cell)) = name.trim_end_matches('/').rsplit_once('/') else { return Err(missing) };
    let execution = store.execution(execution)?;
    let of_cell = execution.runs().filter(|(run, _)| run.cell == cell);
    let of_cell: Vec<Located> = of_cell.map(|(run, _)| (execution.clone(), run.clone())).collect();
    if of_cell.is_empty() { Err(missing) } else { Ok(of_cell) }
}

fn read(execution: &ExecutionDir, planned: &PlannedRun) -> Result<Option<Run>, StoreError> {
    let Stored::Measured(result, segments) = stored::read(execution, planned)? else { return Ok(None) };
    // Half a run is another experiment.
    if result.in_progress {
        return Ok(None);
    }
    let dir = execution.run_dir(&planned.name);
    let (Some(spec), Some(cell)) = (dir.spec()?, execution.plan().cell(planned)) else { return Ok(None) };
    let captures = dir.facts(FactsWhen::Before)?;
    let facts = Facts::parse(&captures);
    let instrument = segments.iter().find_map(|segment: &Folded| segment.instrument.as_ref());
    let provenance = Provenance::of_run(&result, &spec, instrument, &facts, &captures);
    let series = Series::new(&segments, cell.settings.measure.block_ns);
    let mut parts = Vec::new();
    for segment in dir.segments()? {
        parts.extend(slices(&dir.segment_bytes(segment)?));
    }
    let header = segments.iter().find_map(|segment| segment.header.as_ref());
    let boot = header.map(|header| header.boot_id.clone()).or(facts.boot_id);
    Ok(Some(Run::measured(&result, boot, series, parts, provenance)))
}

/// Why runs cannot be told apart by a setting.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotApart {
    /// No setting of this name.
    #[error("no setting `{key}`: --by takes an axis of the campaign or one of {}", known().join(", "))]
    UnknownSetting {
        /// As asked.
        key: String,
    },
    /// All runs have the same value.
    #[error("all runs have the same {key} ({value}): nothing to compare")]
    OneValue {
        /// As asked.
        key: String,
        /// The value.
        value: String,
    },
}

/// Settings that `--by` knows, and where they stand.
const SETTINGS: [(&str, &[&str]); 12] = [
    ("isolcpus", &["/boot/isolcpus"]),
    ("kernel", &["/boot/kernel"]),
    ("append", &["/boot/append"]),
    ("load", &["/loads"]),
    ("interval", &["/measure/interval_ns"]),
    ("priority", &["/measure/priority"]),
    ("policy", &["/measure/policy"]),
    ("instrument", &["/measure/instrument"]),
    ("cpus", &["/measure/cpus"]),
    ("duration", &["/length"]),
    ("governor", &["/apply/governor", "/require/governor"]),
    ("rt_runtime", &["/apply/rt_runtime", "/require/rt_runtime"]),
];

fn known() -> Vec<&'static str> {
    SETTINGS.iter().map(|(name, _)| *name).chain(["cell", "target"]).collect()
}

/// A run, its value of the setting, and all its other settings.
struct Parted<'a> {
    value: String,
    rest: String,
    run: &'a Located,
}

/// Parts `runs` by `key` into sides A and B; the first value is side A of each pair. Only runs that agree in every other
/// setting are paired, where there are such.
pub fn by(runs: &[Located], key: &str) -> Result<Vec<(Group, Group)>, NotApart> {
    let mut parted = Vec::new();
    for run in runs {
        let (value, rest) = value_and_rest(run, key).ok_or_else(|| NotApart::UnknownSetting { key: key.to_owned() })?;
        parted.push(Parted { value, rest, run });
    }
    let mut found = pairs(key, &parted);
    if found.is_empty() {
        // Nothing differs in this alone: the comparison will say in what else.
        parted.iter_mut().for_each(|parted| parted.rest = parted.run.1.target.clone());
        found = pairs(key, &parted);
    }
    if found.is_empty() {
        let value = parted.first().map(|parted| parted.value.clone()).unwrap_or_default();
        return Err(NotApart::OneValue { key: key.to_owned(), value });
    }
    Ok(found)
}

fn pairs(key: &str, parted: &[Parted]) -> Vec<(Group, Group)> {
    let mut pairs = Vec::new();
    for rest in distinct(parted.iter().map(|parted| parted.rest.as_str())) {
        let alike = || parted.iter().filter(|parted| parted.rest == rest);
        let group = |value: &str| {
            let runs: Vec<Located> = alike().filter(|p| p.value == value).map(|p| p.run.clone()).collect();
            let cells = distinct(runs.iter().map(|(_, run)| run.cell.as_str())).join(", ");
            Group { name: format!("{key}={value} ({cells})"), runs }
        };
        let values = distinct(alike().map(|parted| parted.value.as_str()));
        if let Some((first, others)) = values.split_first() {
            pairs.extend(others.iter().map(|other| (group(first), group(other))));
        }
    }
    pairs
}

/// Each word once, in the order of its first appearance.
fn distinct<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    words.for_each(|word| {
        if !distinct.contains(&word) {
            distinct.push(word);
        }
    });
    distinct
}

/// The value of `key` in a run's settings, and all other settings that bear on its figures.
fn value_and_rest((execution, planned): &Located, key: &str) -> Option<(String, String)> {
    let cell = execution.plan().cell(planned)?;
    let mut settings = serde_json::to_value(&cell.settings).ok()?;
    for indifferent in ["gate", "collect", "require"] {
        settings.as_object_mut()?.remove(indifferent);
    }
    let last = key.rsplit('.').next().unwrap_or(key);
    let value = match last {
        "cell" => return Some((cell.name.clone(), planned.target.clone())),
        "target" => planned.target.clone(),
        _ => {
            let (_, pointers) =
                SETTINGS.iter().find(|(name, _)| *name == last || (last == "loads" && *name == "load"))?;
            let axis = cell.axes.iter().find(|(axis, _)| *axis == key || axis.rsplit('.').next() == Some(last));
            let stated = value_of(&cell.settings, pointers);
            for pointer in *pointers {
                if let Some(value) = settings.pointer_mut(pointer) {
                    *value = Value::Null;
                }
            }
            axis.map(|(_, value)| value.clone()).unwrap_or(stated)
        }
    };
    let target = if last == "target" { "" } else { &planned.target };
    Some((value, format!("{target} {settings}")))
}

fn value_of(settings: &Settings, pointers: &[&str]) -> String {
    let all = serde_json::to_value(settings).unwrap_or_default();
    let value = pointers.iter().find_map(|pointer| all.pointer(pointer).filter(|value| !value.is_null()));
    match value {
        None => "not asked".to_owned(),
        Some(Value::String(text)) if text.is_empty() => "none".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(loads)) => {
            let names: Vec<&str> = loads.iter().filter_map(|l| l.get("name").unwrap_or(l).as_str()).collect();
            if names.is_empty() { "none".to_owned() } else { names.join("+") }
        }
        Some(other) => other.to_string(),
    }
}

/// Settings in which the planned cells of two sides differ, by name: what a comparison of them is about.
pub fn asked(a: &Named, b: &Named) -> Vec<String> {
    let axes = |runs: &[Located]| {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (execution, planned) in runs {
            for (axis, value) in execution.plan().cell(planned).map(|cell| cell.axes.clone()).unwrap_or_default() {
                values.entry(axis).or_default().push(value);
            }
        }
        values.values_mut().for_each(|values| {
            values.sort_unstable();
            values.dedup();
        });
        values
    };
    let (a, b) = (axes(a.located()), axes(b.located()));
    let last = |axis: &String| axis.rsplit('.').next().unwrap_or(axis).to_owned();
    a.iter()
        .filter(|(axis, values)| b.get(*axis).is_some_and(|other| other != *values))
        .map(|(axis, _)| last(axis))
        .collect()
}
