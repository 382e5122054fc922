//! The keeper of stdio servers as a program of its own, for the tests here that start some. In the product it is a
//! hidden subcommand.

fn main() -> std::process::ExitCode {
    link::keeper::main()
}
