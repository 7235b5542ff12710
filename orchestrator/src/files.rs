//! Campaign and target files by name: as a path, under `./campaigns` and `./targets`, in the user's configuration, and those built in.

use std::io::Read;
use std::path::{Path, PathBuf};

use latlab_core::diagnostic::{Diagnostic, Diagnostics, Source, Span, nearest};
use latlab_core::document::{self, LARGEST_FILE};

#[cfg(test)]
mod tests;

/// What a file describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A campaign.
    Campaign,
    /// A target.
    Target,
}

impl Kind {
    fn folder(self) -> &'static str {
        match self {
            Self::Campaign => "campaigns",
            Self::Target => "targets",
        }
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Campaign => "campaign",
            Self::Target => "target",
        }
    }

    fn built_in(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Campaign => built_in::CAMPAIGNS,
            Self::Target => built_in::TARGETS,
        }
    }
}

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name in messages: the path, or `<built-in>/campaigns/demo.toml`.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Where files are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// Directories that may hold `campaigns` and `targets`, the nearest first.
    roots: Vec<PathBuf>,
}

impl Library {
    /// The working directory, then the user's configuration.
    pub fn of_user() -> Self {
        let config = std::env::var_os("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".config")));
        Self { roots: std::iter::once(PathBuf::new()).chain(config.map(|path| path.join("latlab"))).collect() }
    }

    /// Only these directories, and those built in.
    pub fn of(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { roots: roots.into_iter().collect() }
    }

    /// Finds and reads a file. `asked` is where its name stands, for the error.
    pub fn find(&self, kind: Kind, name: &str, asked: &Span) -> Result<Found, Diagnostics> {
        let asked = &Span::new(&asked.source.as_file_name(), asked.range.clone());
        let path = Path::new(name);
        if path.is_file() || looks_like_path(name) {
            return read(path, asked);
        }
        let file = format!("{name}.toml");
        let places: Vec<PathBuf> = self.roots.iter().map(|root| root.join(kind.folder()).join(&file)).collect();
        if let Some(path) = places.iter().find(|path| path.is_file()) {
            return read(path, asked);
        }
        if let Some((_, text)) = kind.built_in().iter().find(|(known, _)| *known == name) {
            return Ok(Found { name: format!("<built-in>/{}/{file}", kind.folder()), text: (*text).to_owned() });
        }
        Err(self.unknown(kind, name, asked, &places))
    }

    /// Finds a file of either kind: a path is told by its folder, else by its content; of a name, the campaign comes first.
    pub fn find_either(&self, name: &str, asked: &Span) -> Result<(Kind, Found), Diagnostics> {
        let asked = &Span::new(&asked.source.as_file_name(), asked.range.clone());
        let path = Path::new(name);
        if path.is_file() || looks_like_path(name) {
            let found = read(path, asked)?;
            let folder = path.parent().and_then(Path::file_name).and_then(|folder| folder.to_str());
            let by_folder = [Kind::Campaign, Kind::Target].into_iter().find(|kind| Some(kind.folder()) == folder);
            let kind = by_folder.unwrap_or_else(|| by_content(&found));
            return Ok((kind, found));
        }
        let known = |kind| self.names(kind).iter().any(|known| known == name);
        let kind = if known(Kind::Target) && !known(Kind::Campaign) { Kind::Target } else { Kind::Campaign };
        Ok((kind, self.find(kind, name, asked)?))
    }

    /// Every name that [`Self::find`] knows, sorted.
    pub fn names(&self, kind: Kind) -> Vec<String> {
        let in_folder = |root: &PathBuf| {
            let folder = root.join(kind.folder());
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries
                .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
                .collect::<Vec<_>>()
        };
        let mut names: Vec<String> = self.roots.iter().flat_map(in_folder).collect();
        names.extend(kind.built_in().iter().map(|(name, _)| (*name).to_owned()));
        names.sort_unstable();
        names.dedup();
        names
    }

    fn unknown(&self, kind: Kind, name: &str, asked: &Span, places: &[PathBuf]) -> Diagnostics {
        let names = self.names(kind);
        let word = kind.word();
        let diagnostic = Diagnostic::error(asked.clone(), format!("no {word} `{name}`"));
        let diagnostic = match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => diagnostic.label(format!("did you mean `{near}`?")),
            None => diagnostic.label(format!("neither a file nor the name of a {word}")),
        };
        let places = places.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        one(diagnostic.help(format!("looked for {places}, and among those built in; known: {}", names.join(", "))))
    }
}

fn one(diagnostic: Diagnostic) -> Diagnostics {
    [diagnostic].into_iter().collect()
}

/// `./a`, `a/b` and `a.toml` are paths and nothing else.
fn looks_like_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

/// A target says how a board is reached or what it is; anything else is a campaign.
fn by_content(found: &Found) -> Kind {
    const OF_TARGETS: [&str; 8] = ["ssh", "transport", "arch", "cpu_count", "work_dirs", "kernel", "power", "emulated"];
    const OF_CAMPAIGNS: [&str; 8] = ["targets", "duration", "cycles", "interval", "measure", "loads", "cell", "matrix"];
    // By text and not by parsing: a file with errors has a kind, too.
    let begins = |key: &str| {
        found.text.lines().any(|line| {
            let after = line.trim_start_matches([' ', '\t', '[']).strip_prefix(key);
            after.is_some_and(|rest| rest.starts_with([' ', '\t', '=', '.', ']']))
        })
    };
    let count = |keys: &[&str]| keys.iter().filter(|key| begins(key)).count();
    if count(&OF_TARGETS) > count(&OF_CAMPAIGNS) { Kind::Target } else { Kind::Campaign }
}

/// Reads a file, bounded.
fn read(path: &Path, asked: &Span) -> Result<Found, Diagnostics> {
    let name = path.display().to_string();
    let refuse = |error: &std::io::Error| {
        one(Diagnostic::error(asked.clone(), format!("cannot read {name}: {}", reason(error))))
    };
    if path.is_dir() {
        return Err(one(Diagnostic::error(asked.clone(), format!("{name} is a directory")).help("name a file in it")));
    }
    let mut bytes = Vec::new();
    let limit = LARGEST_FILE as u64 + 1;
    std::fs::File::open(path)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|error| refuse(&error))?;
    let text = document::decode(&name, &bytes)?.to_owned();
    Ok(Found { name, text })
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// A place for errors about a name given on the command line.
pub fn on_command_line(option: &str, text: &str) -> Span {
    Span::new(&Source::option(option, text), 0..text.len())
}

/// Files that every latlab carries.
mod built_in {
    macro_rules! files {
        ($folder:literal: $($name:literal),* $(,)?) => {
            &[$(($name, include_str!(concat!("../../", $folder, "/", $name, ".toml")))),*]
        };
    }

    pub(super) const CAMPAIGNS: &[(&str, &str)] = files!("campaigns": "bbb-idle-loaded", "cyclone-v-12h", "demo", "elce-2016", "first-look", "imx93-forlinx", "isolation", "nightly", "zynq-xeno-test");
    pub(super) const TARGETS: &[(&str, &str)] = files!("targets": "beaglebone-black", "cyclone-v", "generic-aarch64", "generic-armv7", "generic-x86_64", "imx93-evk", "local", "ok-mx93", "pandaboard-omap4460", "zynq-zc702");
}
