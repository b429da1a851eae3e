//! The `fumehood` program.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    fumehood::cli::main()
}
