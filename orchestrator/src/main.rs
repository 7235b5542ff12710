//! `latlab`, the command.

fn main() -> std::process::ExitCode {
    latlab::cli::main()
}
