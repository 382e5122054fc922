//! The supervisor as a standalone program, for tests. In `vouch` it is a hidden subcommand.

fn main() -> std::process::ExitCode {
    link::supervisor::main()
}
