//! `boot.command` and `boot.put_back` of the target file.

use super::BootError;
use super::kept::exec;
use crate::board::Board;
use crate::transport::Request;
use latlab_core::boot::Asked;
use latlab_core::target::Place;
use std::time::Duration;

/// A command may wait for a TFTP server or write flash.
const TIME: Duration = Duration::from_secs(300);

async fn run(board: &Board, name: &str, argv: Vec<String>) -> Result<(), BootError> {
    let (place, where_) = match board.target.boot.runs_on {
        Place::Host => (&board.host, "this host"),
        Place::Board => (&board.transport, "the board"),
    };
    let answer = exec(place, Request::new(argv).timeout(TIME)).await?;
    match answer.success() {
        true => Ok(()),
        false => Err(BootError::Program { what: format!("`boot.{name}` on {where_}"), complaint: answer.complaint() }),
    }
}

/// `isolcpus=1 threadirqs`: what the command line must hold; `isolcpus=` alone: no CPU is isolated.
fn arguments(asked: &Asked) -> String {
    let isolcpus = asked.arguments.isolcpus.iter().map(|list| format!("isolcpus={list}"));
    isolcpus.chain(asked.arguments.append.iter().cloned()).collect::<Vec<_>>().join(" ")
}

fn filled_in(argv: &[String], asked: &Asked) -> Vec<String> {
    let kernel = asked.kernel.clone().unwrap_or_default();
    let label = asked.label.clone().unwrap_or_default();
    let arguments = arguments(asked);
    let fill =
        |word: &String| word.replace("{kernel}", &kernel).replace("{label}", &label).replace("{arguments}", &arguments);
    argv.iter().map(fill).collect()
}

pub(super) async fn choose(board: &Board, asked: &Asked) -> Result<(), BootError> {
    let argv = board.target.boot.command.as_deref().unwrap_or_default();
    run(board, "command", filled_in(argv, asked)).await
}

pub(super) async fn put_back(board: &Board) -> Result<bool, BootError> {
    match &board.target.boot.put_back {
        // What was chosen is the command's own affair: it is undone whenever it is asked for.
        Some(argv) => run(board, "put_back", argv.clone()).await.map(|()| true),
        None => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latlab_core::boot::Arguments;

    #[test]
    fn words_are_filled_in_and_stay_words() {
        let asked = Asked {
            kernel: Some("preempt-rt".into()),
            label: Some("rt".into()),
            arguments: Arguments { isolcpus: Some("1".into()), append: vec!["threadirqs".into()] },
            ..Asked::default()
        };
        let argv = ["boot-it", "{kernel}", "--label={label}", "{arguments}"].map(str::to_owned);
        assert_eq!(filled_in(&argv, &asked), ["boot-it", "preempt-rt", "--label=rt", "isolcpus=1 threadirqs"]);
    }
}
