//! House rules that neither the compiler nor clippy knows. Each finding names file, line and rule.

use crate::{paths, shell};
use anyhow::{Result, bail};
use clap::CommandFactory;
use std::path::Path;
use std::process::{Command, ExitCode};

/// More lines than this do not fit one sitting.
const LONGEST_FILE: usize = 600;

/// What the pure core must not touch: files, clock, environment, network, printing.
const IMPURE: [&str; 10] = [
    "std::fs",
    "std::env",
    "TcpStream",
    "UdpSocket",
    "std::process",
    "tokio",
    "SystemTime",
    "Instant::now",
    "println!",
    "print!(",
];

pub(crate) fn main() -> Result<ExitCode> {
    check()?;
    Ok(ExitCode::SUCCESS)
}

/// Applies every rule; all findings at once.
pub(crate) fn check() -> Result<()> {
    println!("tidy: house rules");
    let root = paths::root();
    let mut findings = Vec::new();
    let listed = shell::output(Command::new("git").current_dir(root).args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    let files: Vec<&str> = listed.lines().filter(|file| root.join(file).is_file()).collect();
    for file in files.iter().filter(|file| file.ends_with(".rs")) {
        source(file, &paths::read(&root.join(file))?, &mut findings);
    }
    let documents: Vec<(&str, String)> = files
        .iter()
        .filter(|file| file.ends_with(".md"))
        .map(|file| Ok((*file, paths::read(&root.join(file))?)))
        .collect::<Result<_>>()?;
    let verbs = paths::read(&root.join("orchestrator/src/cli/mod.rs"))?;
    for (file, text) in &documents {
        commands(&verbs, file, text, &mut findings);
    }
    shipped(&files, &documents, &mut findings);
    architecture(root, &documents, &mut findings);
    if findings.is_empty() {
        return Ok(());
    }
    bail!("{} house rules broken:\n  {}", findings.len(), findings.join("\n  "))
}

/// Rules for one Rust file.
fn source(file: &str, text: &str, findings: &mut Vec<String>) {
    let lines = text.lines().count();
    if lines > LONGEST_FILE {
        findings.push(format!(
            "{file}: {lines} lines, more than {LONGEST_FILE}: find the missing concept and give it a room"
        ));
    }
    let own = file == "xtask/src/tidy.rs";
    let mut in_tests = false;
    for (number, line) in text.lines().enumerate() {
        let at = format!("{file}:{}", number + 1);
        let line = line.trim();
        in_tests |= line == "#[cfg(test)]";
        if line.starts_with("//") || own {
            continue;
        }
        if line.starts_with("#[allow(") || line.starts_with("#![allow(") {
            findings.push(format!("{at}: `allow` hides for ever: use `expect` with a reason"));
        }
        if file.starts_with("orchestrator/core/src/") && !in_tests {
            for word in IMPURE.iter().filter(|word| line.contains(**word)) {
                findings.push(format!("{at}: the core is pure, `{word}` belongs to the edges"));
            }
        }
        if (line.contains("unsafe {") || line.contains("unsafe fn")) && !file.starts_with("probe/src/rt/") {
            findings.push(format!("{at}: unsafe code lives in probe/src/rt"));
        }
    }
}

/// Commands in documents exist.
fn commands(verbs: &str, file: &str, text: &str, findings: &mut Vec<String>) {
    let xtask = crate::Cli::command();
    for (number, line) in text.lines().enumerate() {
        for rest in line.split("cargo xtask ").skip(1) {
            let word = first_word(rest);
            if !word.is_empty() && xtask.find_subcommand(&word).is_none() {
                findings.push(format!("{file}:{}: there is no `cargo xtask {word}`", number + 1));
            }
        }
        // Only in code: in prose the word begins sentences.
        let spans = line.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("latlab "));
        for rest in spans.chain(line.strip_prefix("    latlab ")) {
            let word = first_word(rest);
            if !word.is_empty() && word != "help" && !verbs.contains(&variant(&word)) {
                findings.push(format!("{file}:{}: there is no `latlab {word}`", number + 1));
            }
        }
    }
}

/// A verb as the command line's enum writes it: `Resume(`.
fn variant(word: &str) -> String {
    let mut letters = word.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("    {first}{}(", letters.as_str())
}

/// The leading letters and hyphens; nothing for an option or a placeholder in capitals.
fn first_word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-')
        .collect::<String>()
        .trim_start_matches('-')
        .to_owned()
}

/// Every shipped campaign and target stands in a document.
fn shipped(files: &[&str], documents: &[(&str, String)], findings: &mut Vec<String>) {
    for file in files.iter().filter(|file| file.starts_with("campaigns/") || file.starts_with("targets/")) {
        let Some(name) = Path::new(file).file_stem().and_then(|stem| stem.to_str()) else { continue };
        if file.ends_with(".toml") && !documents.iter().any(|(_, text)| text.contains(name)) {
            findings.push(format!("{file}: no document tells users about it"));
        }
    }
}

/// Paths that ARCHITECTURE.md names exist.
fn architecture(root: &Path, documents: &[(&str, String)], findings: &mut Vec<String>) {
    let Some((file, text)) = documents.iter().find(|(file, _)| *file == "ARCHITECTURE.md") else { return };
    for (number, line) in text.lines().enumerate() {
        for code in line.split('`').skip(1).step_by(2) {
            let path = code.trim_end_matches('/');
            let looks_like_one = ["probe/", "orchestrator/", "xtask/"].iter().any(|top| path.starts_with(top))
                && !path.contains(['*', '{', ' ', '<']);
            if looks_like_one && !root.join(path).exists() {
                findings.push(format!("{file}:{}: {path} does not exist", number + 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        source(file, text, &mut findings);
        findings
    }

    #[test]
    fn core_must_be_pure_outside_tests() {
        let text = "use std::fs::File;\n#[cfg(test)]\nmod tests { use std::fs; }\n";
        let findings = found("orchestrator/core/src/x.rs", text);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].starts_with("orchestrator/core/src/x.rs:1:"));
        assert!(found("orchestrator/src/x.rs", text).is_empty());
    }

    #[test]
    fn allow_unsafe_and_length_are_found() {
        assert_eq!(found("probe/src/x.rs", "#[allow(dead_code)]\nfn x() { unsafe { y() } }\n").len(), 2);
        assert!(found("probe/src/rt/x.rs", "unsafe fn x() {}\n").is_empty());
        assert_eq!(found("a.rs", &"\n".repeat(LONGEST_FILE + 1)).len(), 1);
    }

    #[test]
    fn commands_of_documents_are_looked_up() {
        let mut findings = Vec::new();
        commands(
            "enum Verb {\n    Run(run::Args),\n}",
            "README.md",
            "run `cargo xtask ci` or `cargo xtask no-such-thing`\n    latlab no-such-verb x\nlatlab runs `latlab run x`\n",
            &mut findings,
        );
        assert_eq!(
            findings,
            ["README.md:1: there is no `cargo xtask no-such-thing`", "README.md:2: there is no `latlab no-such-verb`"]
        );
    }
}
