//! The supervisor of stdio servers as a standalone program, for tests that start such servers. In the product the
//! supervisor is a hidden subcommand.

fn main() -> std::process::ExitCode {
    link::supervisor::main()
}
