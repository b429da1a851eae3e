//! The `fumehood` program.
use std::process::ExitCode;

fn main() -> ExitCode {
    fumehood::cli::main()
}
