//! The `fumehood` program.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    // This very program is also the sandbox's launcher, which must be decided before any thread exists.
    fumehood::helper::dispatch();
    fumehood::cli::main(fumehood::mcp::serve)
}
