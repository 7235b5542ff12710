//! `[loads.NAME.KIND]` and `load`.

use super::model::{Load, LoadKind};
use super::settings::Extent;
use crate::diagnostic::{Diagnostic, nearest};
use crate::document::reader::{Parsed, Problem, Reader, unknown};
use crate::document::values::{NAME_RULE, argv, boolean, cpu_list, duration, integer, is_name, list, non_empty, share};
use crate::document::{Entry, Node, Value};
use crate::units::DAY;

/// `load = "idle"`: none.
pub(super) const IDLE: &str = "idle";

const KINDS: &[&str] = &["hackbench", "dd", "cat", "command"];

/// The loads of the cell, resolved.
pub(super) fn read(root: &mut Reader<'_>, extent: Extent) -> Vec<Load> {
    let entries = root.named("loads");
    let defined: Vec<Option<Load>> = entries.iter().map(|entry| definition(root, entry, extent)).collect();
    let names: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    let Some(entry) = root.entry("load") else { return Vec::new() };
    let Some(wanted) = root.parse(&entry.node, "load", wanted) else { return Vec::new() };
    let mut loads = Vec::new();
    let mut seen: Vec<&(String, Node)> = Vec::new();
    for named in &wanted {
        let (name, node) = named;
        let index = names.iter().position(|known| known == name);
        if let Some((_, first)) = seen.iter().find(|(other, _)| other == name) {
            let again = Diagnostic::error(node.span.clone(), format!("load `{name}` is named twice"));
            root.sink().push(again.also(first.span.clone(), "first here"));
        } else if index.is_none() && extent == Extent::Whole {
            root.sink().push(unknown_load(node, name, &names));
        }
        seen.push(named);
        loads.extend(index.and_then(|index| defined[index].clone()));
    }
    loads
}

fn unknown_load(node: &Node, name: &str, names: &[&str]) -> Diagnostic {
    if name.contains(',') {
        let each = name.split(',').map(|name| format!("\"{}\"", name.trim())).collect::<Vec<_>>().join(", ");
        return Diagnostic::error(node.span.clone(), format!("unknown load `{name}`"))
            .label("several names are a list")
            .help(format!("write [{each}]"));
    }
    if names.is_empty() {
        return Diagnostic::error(node.span.clone(), format!("unknown load `{name}`"))
            .label("no load is defined")
            .help(format!("define it: `[loads.{name}.hackbench]`, `.dd`, `.cat` or `.command`"));
    }
    unknown(&node.span, "load", name, "loads", names)
}

/// The names in `load`, each with its node.
fn wanted(node: &Node) -> Parsed<Vec<(String, Node)>> {
    match &node.value {
        Value::String(text) if text == IDLE => Ok(Vec::new()),
        Value::String(text) => Ok(vec![(text.clone(), node.clone())]),
        Value::Array(_) => list(|item| Ok((non_empty(item)?, item.clone())))(node).and_then(|names| {
            match names.iter().find(|(name, _)| name == IDLE) {
                Some((_, item)) => Err(vec![Problem {
                    span: Some(item.span.clone()),
                    ..Problem::new("\"idle\" stands alone", "", "write `load = \"idle\"` or `load = []` for no load")
                }]),
                None => Ok(names),
            }
        }),
        other => Err(vec![Problem::new(
            "`{}` is a list of names of `[loads]`",
            format!("this is {}", other.kind()),
            "write `load = [\"name\", \"name\"]`, or `load = \"idle\"`",
        )]),
    }
}

fn definition(root: &Reader<'_>, entry: &Entry, extent: Extent) -> Option<Load> {
    let path = format!("loads.{}", entry.key);
    if !is_name(&entry.key) || entry.key == IDLE {
        let why = if entry.key == IDLE { "\"idle\" means no load; choose another name" } else { NAME_RULE };
        root.sink().push(
            Diagnostic::error(entry.key_span.clone(), format!("`{}` is no usable name of a load", entry.key)).help(why),
        );
    }
    let inner = Reader::of_node(&entry.node, &path, root.sink())?;
    let Value::Table(table) = &entry.node.value else { return None };
    let kinds: Vec<&Entry> = table.entries().iter().filter(|e| KINDS.contains(&e.key.as_str())).collect();
    for stray in table.entries().iter().filter(|e| !KINDS.contains(&e.key.as_str())) {
        let is_table = matches!(stray.node.value, Value::Table(_));
        let diagnostic = if is_table || nearest(&stray.key, KINDS.iter().copied()).is_some() {
            unknown(&stray.key_span, "kind of load", &stray.key, &path, KINDS)
        } else {
            Diagnostic::error(stray.key_span.clone(), format!("`{path}` lacks its kind"))
                .label("belongs into the table of the kind")
                .help(format!("write `[{path}.dd]` (or `.hackbench`, `.cat`, `.command`) above it"))
        };
        inner.sink().push(diagnostic);
    }
    match kinds[..] {
        [kind] => load(entry, &path, kind, root),
        [first, second, ..] => {
            root.sink().push(
                Diagnostic::error(second.key_span.clone(), format!("`{path}` has two kinds"))
                    .label("a second kind")
                    .also(first.key_span.clone(), "the first")
                    .help("give the second load its own name, and name both in `load`"),
            );
            None
        }
        [] => {
            if table.entries().is_empty() && extent == Extent::Whole {
                root.sink().push(
                    Diagnostic::error(entry.key_span.clone(), format!("`{path}` lacks its kind"))
                        .help(format!("write `[{path}.hackbench]`, `.dd`, `.cat` or `.command`")),
                );
            }
            None
        }
    }
}

fn load(entry: &Entry, path: &str, kind_entry: &Entry, root: &Reader<'_>) -> Option<Load> {
    let mut table = Reader::of_node(&kind_entry.node, &format!("{path}.{}", kind_entry.key), root.sink())?;
    let kind = match kind_entry.key.as_str() {
        "hackbench" => LoadKind::Hackbench {
            groups: table.field("groups", integer(1..=10_000)).unwrap_or(10),
            loops: table.field("loops", integer(1..=1_000_000_000)).unwrap_or(100),
            size: table.field("size", integer(1..=1 << 20)).unwrap_or(100),
            pipes: table.field("pipes", boolean).unwrap_or(false),
            threads: table.field("threads", boolean).unwrap_or(false),
        },
        "dd" => LoadKind::Dd {
            from: table.field("from", absolute).unwrap_or_else(|| "/dev/zero".to_owned()),
            to: table.field("to", absolute).unwrap_or_else(|| "/dev/null".to_owned()),
            block: table.field("block", dd_size).unwrap_or_else(|| "1M".to_owned()),
            count: table.field("count", integer(1..=u64::MAX / 2)),
        },
        "cat" => LoadKind::Cat { file: table.field("file", absolute).unwrap_or_else(|| "/dev/zero".to_owned()) },
        _ => LoadKind::Command {
            argv: {
                if !table.has("argv") {
                    table.missing("argv", "the program and its arguments: `argv = [\"stress-ng\", \"--cpu\", \"2\"]`");
                }
                table.field("argv", argv).unwrap_or_default()
            },
        },
    };
    let load = Load {
        name: entry.key.clone(),
        kind,
        cpus: table.field("cpus", cpu_list),
        pause_ns: table.field("pause", duration(0..=DAY, "s")).unwrap_or(0),
        min_duty: table.field("min_duty", share).unwrap_or(0.9),
    };
    table.finish();
    Some(load)
}

fn absolute(node: &Node) -> Parsed<String> {
    let path = non_empty(node)?;
    if path.starts_with('/') {
        Ok(path)
    } else {
        Err(vec![Problem::new("`{}` is a file of the board", "not an absolute path", "begin it with `/`")])
    }
}

/// A size as every dd takes it, BusyBox's included.
fn dd_size(node: &Node) -> Parsed<String> {
    let help = "write a number with k, M or G (powers of 1024), such as \"32M\"";
    if let Value::Integer(number) = node.value {
        return if number > 0 {
            Err(vec![Problem::new(
                "`{}` is text",
                "a size as dd takes it",
                format!("write \"{number}\", in bytes, or with k, M or G"),
            )])
        } else {
            Err(vec![Problem::new("`{}` is out of range", "not a size", help)])
        };
    }
    let text = non_empty(node)?;
    let digits = text.trim_end_matches(['k', 'M', 'G']);
    let factor: u64 = match &text[digits.len()..] {
        "" => 1,
        "k" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => 0,
    };
    let bytes = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten();
    match bytes.and_then(|bytes| bytes.checked_mul(factor)) {
        Some(1..=0x1_0000_0000) => Ok(text),
        Some(0) | None => Err(vec![Problem::new(format!("`{{}}` cannot be \"{text}\""), "not a size", help)]),
        Some(_) => {
            Err(vec![Problem::new("`{}` is out of range", "allowed: up to 4G", "dd holds a whole block in memory")])
        }
    }
}
