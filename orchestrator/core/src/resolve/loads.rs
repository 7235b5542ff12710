//! Load recipes → command lines for the board.

use super::{Refusal, online_only};
use crate::campaign::model::{Load, LoadKind};
use crate::facts::Facts;
use latprobe::spec;

pub(super) fn load(load: &Load, facts: &Facts) -> Result<spec::Load, Refusal> {
    let cpus = match &load.cpus {
        None => None,
        Some(list) => Some(online_only(&format!("load `{}`", load.name), list, facts)?.as_slice().to_vec()),
    };
    Ok(spec::Load { name: load.name.clone(), argv: argv(load, facts)?, cpus, pause_ns: load.pause_ns })
}

fn argv(load: &Load, facts: &Facts) -> Result<Vec<String>, Refusal> {
    // A tool that nobody looked for may be there; the supervisor says so if not.
    let tool = |name: &str| match facts.tools.get(name) {
        Some(None) => Err(Refusal::MissingTool { load: load.name.clone(), tool: name.to_owned() }),
        Some(Some(path)) => Ok(path.clone()),
        None => Ok(name.to_owned()),
    };
    Ok(match &load.kind {
        LoadKind::Hackbench { groups, loops, size, pipes, threads } => {
            let mut argv = match facts.tool("hackbench") {
                Some(path) => vec![path.to_owned()],
                None => ["@latprobe", "load", "hackbench"].map(str::to_owned).to_vec(),
            };
            for (option, value) in [("-g", groups), ("-l", loops), ("-s", size)] {
                argv.extend([option.to_owned(), value.to_string()]);
            }
            argv.extend(pipes.then(|| "-p".to_owned()));
            argv.extend(threads.then(|| "-T".to_owned()));
            argv
        }
        LoadKind::Dd { from, to, block, count } => {
            let mut argv = vec![tool("dd")?, format!("if={from}"), format!("of={to}"), format!("bs={block}")];
            argv.extend(count.map(|count| format!("count={count}")));
            argv
        }
        LoadKind::Cat { file } => vec![tool("cat")?, file.clone()],
        LoadKind::Command { argv } => argv.clone(),
    })
}
