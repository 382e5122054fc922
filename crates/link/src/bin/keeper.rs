//! The keeper as a program of its own, for tests. In the product it is a hidden subcommand.

fn main() -> std::process::ExitCode {
    link::keeper::main()
}
