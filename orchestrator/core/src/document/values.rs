//! Parsers of single values, each with what is allowed in its errors.

use super::reader::{Parsed, Problem};
use super::{Node, Value};
use crate::diagnostic::nearest;
use crate::units::{format_duration, parse_duration};
use latprobe::cpulist::CpuList;
use std::fmt::Display;
use std::ops::RangeInclusive;

fn refuse<T>(message: impl Into<String>, label: impl Into<String>, help: impl Into<String>) -> Parsed<T> {
    Err(vec![Problem::new(message, label, help)])
}

/// Text.
pub fn text(node: &Node) -> Parsed<String> {
    match &node.value {
        Value::String(text) => match text.chars().find(|c| c.is_control()) {
            Some(found) => refuse("`{}` holds a control character", format!("{found:?}"), "remove it"),
            None => Ok(text.clone()),
        },
        other => {
            let written = node.span.text();
            let help = if matches!(other, Value::Array(_) | Value::Table(_)) || written.contains('\n') {
                "write it in quotes".to_owned()
            } else {
                format!("write it in quotes: \"{written}\"")
            };
            refuse("`{}` is text", format!("this is {}", other.kind()), help)
        }
    }
}

/// Text that is not empty.
pub fn non_empty(node: &Node) -> Parsed<String> {
    let text = text(node)?;
    if text.trim().is_empty() { refuse("`{}` is empty", "", "leave the key out if it has no value") } else { Ok(text) }
}

/// A name that becomes part of file names.
pub fn name(node: &Node) -> Parsed<String> {
    let text = text(node)?;
    if is_name(&text) { Ok(text) } else { refuse("`{}` is no usable name", "", NAME_RULE) }
}

/// Whether a text can be a name, see [`NAME_RULE`].
pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        && text.len() <= 64
}

/// What a name may be.
pub const NAME_RULE: &str =
    "names become file names: up to 64 letters, digits, `.`, `_` and `-`, beginning with a letter or digit";

/// `true` or `false`.
pub fn boolean(node: &Node) -> Parsed<bool> {
    match node.value {
        Value::Boolean(value) => Ok(value),
        _ => refuse(
            "`{}` is true or false",
            format!("this is {}", node.value.kind()),
            "write `true` or `false`, without quotes",
        ),
    }
}

/// A whole number in a range.
pub fn integer<T>(allowed: RangeInclusive<T>) -> impl Fn(&Node) -> Parsed<T>
where
    T: TryFrom<i128> + PartialOrd + Display,
{
    move |node| {
        let range = format!("a whole number from {} to {}", allowed.start(), allowed.end());
        match node.value {
            Value::Integer(number) => match T::try_from(number) {
                Ok(number) if allowed.contains(&number) => Ok(number),
                _ => refuse("`{}` is out of range", format!("allowed: {range}"), ""),
            },
            Value::String(_) => refuse("`{}` is a number", "this is text", format!("write {range}, without quotes")),
            _ => refuse("`{}` is a whole number", format!("this is {}", node.value.kind()), format!("write {range}")),
        }
    }
}

/// A share, 0 to 1.
pub fn share(node: &Node) -> Parsed<f64> {
    let number = match node.value {
        Value::Float(number) => number,
        Value::Integer(0) => 0.0,
        Value::Integer(1) => 1.0,
        Value::Integer(_) => f64::NAN,
        _ => {
            return refuse(
                "`{}` is a share",
                format!("this is {}", node.value.kind()),
                "write a number from 0 to 1, such as 0.95 or 1e-6",
            );
        }
    };
    if (0.0..=1.0).contains(&number) {
        Ok(number)
    } else {
        refuse("`{}` is out of range", "allowed: 0 to 1", "it is a share, not a percentage: 95 % is written 0.95")
    }
}

/// A number in a range.
pub fn number_in(allowed: RangeInclusive<f64>) -> impl Fn(&Node) -> Parsed<f64> {
    move |node| {
        let range = format!("a number from {} to {}", allowed.start(), allowed.end());
        let number = match node.value {
            Value::Float(number) => number,
            Value::Integer(number) => number as f64,
            Value::String(_) => {
                return refuse("`{}` is a number", "this is text", format!("write {range}, without quotes"));
            }
            _ => return refuse("`{}` is a number", format!("this is {}", node.value.kind()), format!("write {range}")),
        };
        if allowed.contains(&number) {
            Ok(number)
        } else {
            refuse("`{}` is out of range", format!("allowed: {range}"), "")
        }
    }
}

/// One of a few words.
pub fn one_of<T: Copy>(words: &'static [(&'static str, T)]) -> impl Fn(&Node) -> Parsed<T> {
    move |node| {
        let found = text(node)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == found) {
            return Ok(*value);
        }
        let all = words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let label = nearest(&found, words.iter().map(|(word, _)| *word))
            .map_or(String::new(), |word| format!("did you mean \"{word}\"?"));
        refuse(format!("`{{}}` cannot be \"{found}\""), label, format!("allowed: {all}"))
    }
}

/// A duration in ns. `unit` is the one that a forgotten unit most probably was.
pub fn duration(allowed: RangeInclusive<u64>, unit: &'static str) -> impl Fn(&Node) -> Parsed<u64> {
    move |node| {
        let written = match &node.value {
            Value::String(text) => text.as_str(),
            Value::Integer(number) => {
                let help = format!("write the number with its unit, in quotes: \"{number}{unit}\"");
                return refuse("`{}` has no unit", "a duration needs one", help);
            }
            Value::Float(number) if !number.is_finite() => {
                return refuse("`{}` is a duration", format!("this is `{}`", node.span.text()), EXAMPLES);
            }
            Value::Float(_) => {
                let help = format!("write the number with its unit, in quotes: \"{}{unit}\"", node.span.text());
                return refuse("`{}` has no unit", "a duration needs one", help);
            }
            other => return refuse("`{}` is a duration", format!("this is {}", other.kind()), EXAMPLES),
        };
        duration_text(written, &allowed, unit)
    }
}

const EXAMPLES: &str =
    "write a duration with its unit, in quotes, such as \"250us\", \"1ms\", \"10s\", \"15m\", \"12h\", \"3d\"";

/// See [`duration`], of a text.
pub fn duration_text(written: &str, allowed: &RangeInclusive<u64>, unit: &str) -> Parsed<u64> {
    let Some(ns) = parse_duration(written) else {
        if !written.trim().is_empty() && written.trim().chars().all(|c| c.is_ascii_digit() || c == '.') {
            let help = format!("write the number with its unit: \"{}{unit}\"", written.trim());
            return refuse("`{}` has no unit", "a duration needs one", help);
        }
        let lower = written.to_lowercase();
        let label = match parse_duration(&lower) {
            Some(_) => format!("did you mean \"{lower}\"?"),
            None => "not a duration".to_owned(),
        };
        return refuse(format!("`{{}}` cannot be \"{written}\""), label, EXAMPLES);
    };
    match u64::try_from(ns) {
        Ok(ns) if allowed.contains(&ns) => Ok(ns),
        _ => {
            let what = match ns {
                ..0 => "is negative",
                0 => "is zero",
                _ if ns < i128::from(*allowed.start()) => "is too short",
                _ => "is too long",
            };
            let range =
                format!("allowed: {} to {}", format_duration(*allowed.start()), format_duration(*allowed.end()));
            refuse(format!("`{{}}` {what}"), range, "")
        }
    }
}

/// CPU numbers in the kernel's list format; not empty.
pub fn cpu_list(node: &Node) -> Parsed<CpuList> {
    let text = match &node.value {
        Value::Integer(number) if *number >= 0 => {
            let help = format!("write it in quotes, as the kernel writes CPU lists: \"{number}\", \"0-3,5\"");
            return refuse("`{}` is a CPU list", "this is a number", help);
        }
        _ => text(node)?,
    };
    match CpuList::parse(&text) {
        Ok(list) if !list.is_empty() => Ok(list),
        Ok(_) => refuse("`{}` names no CPU", "", "write numbers and ranges, such as \"1\" or \"0-3,5\""),
        Err(bad) => refuse(
            format!("`{{}}` cannot be \"{text}\""),
            format!("`{}` is no CPU number or range", bad.part),
            "write numbers and ranges, such as \"1\" or \"0-3,5\"",
        ),
    }
}

/// A list with at least one value.
pub fn some<T>(item: impl Fn(&Node) -> Parsed<T>) -> impl Fn(&Node) -> Parsed<Vec<T>> {
    let list = list(item);
    move |node| {
        let values = list(node)?;
        if values.is_empty() { refuse("`{}` is empty", "", "leave the key out for its default") } else { Ok(values) }
    }
}

/// Most values of a list.
const LONGEST_LIST: usize = 1000;

/// A list of values.
pub fn list<T>(item: impl Fn(&Node) -> Parsed<T>) -> impl Fn(&Node) -> Parsed<Vec<T>> {
    move |node| {
        let Value::Array(nodes) = &node.value else {
            let help = match &node.value {
                Value::String(text) if !text.contains('\n') => format!("write it in brackets: [\"{text}\"]"),
                _ => "write it in brackets: [ ... ]".to_owned(),
            };
            return refuse("`{}` is a list", format!("this is {}", node.value.kind()), help);
        };
        if nodes.len() > LONGEST_LIST {
            return refuse(format!("`{{}}` has {} values", nodes.len()), format!("at most {LONGEST_LIST}"), "");
        }
        let mut values = Vec::new();
        let mut problems = Vec::new();
        for node in nodes.iter().filter(|node| node.value != Value::Damaged) {
            match item(node) {
                Ok(value) => values.push(value),
                Err(found) => problems.extend(found.into_iter().map(|mut problem| {
                    problem.span.get_or_insert_with(|| node.span.clone());
                    problem
                })),
            }
        }
        if problems.is_empty() { Ok(values) } else { Err(problems) }
    }
}

/// Words separated by blanks; blanks inside double quotes belong to the word, as in a kernel command line.
pub fn words(node: &Node) -> Parsed<Vec<String>> {
    let text = text(node)?;
    let mut quoted = false;
    let split = text.split(|c: char| {
        quoted ^= c == '"';
        c.is_whitespace() && !quoted
    });
    let words = split.filter(|word| !word.is_empty()).map(str::to_owned).collect();
    if quoted { refuse("`{}` has an unclosed quote", "", "close it") } else { Ok(words) }
}

/// A program with arguments, which may have several lines.
pub fn argv(node: &Node) -> Parsed<Vec<String>> {
    let argument = |node: &Node| match &node.value {
        Value::String(argument) if argument.contains('\0') => refuse("`{}` holds a NUL character", "", "remove it"),
        Value::String(argument) => Ok(argument.clone()),
        _ => text(node),
    };
    let argv = list(argument)(node)?;
    match argv.first() {
        Some(program) if !program.trim().is_empty() => Ok(argv),
        _ => refuse("`{}` names no program", "", "write the program and its arguments: [\"program\", \"argument\"]"),
    }
}
