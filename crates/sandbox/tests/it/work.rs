//! Ordinary work of interpreters, at the level `full`.

mod files;
mod node;
mod python;
mod shells;
