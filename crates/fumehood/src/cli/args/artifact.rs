//! What can be typed behind `artifact`.

use std::time::Duration;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ArtifactCommand {
    /// List what is kept, newest first.
    List,
    /// Print the first lines.
    Head(HeadArgs),
    /// Print the last lines.
    Tail(HeadArgs),
    /// Print all of it, or some lines.
    Cat(LinesArgs),
    /// Find lines.
    ///
    /// PATTERN is a regular expression in the syntax of Rust's regex crate, matched within one line. A line above 64 KiB is
    /// searched in pieces that overlap.
    Grep(GrepArgs),
    /// Print some bytes.
    Slice(SliceArgs),
    /// Print how many bytes it has.
    ByteLength(IdArgs),
    /// Print how many lines it has; a last one without a newline counts.
    LineCount(IdArgs),
    /// Print what it costs a model, estimated: 2.8 bytes a token.
    EstimateTokens(IdArgs),
    /// Remove what is old, too much, or named.
    Prune(PruneArgs),
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct IdArgs {
    /// The artifact: art_ and 32 hex digits.
    pub(in crate::cli) id: String,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct HeadArgs {
    /// The artifact: art_ and 32 hex digits.
    pub(in crate::cli) id: String,
    /// How many lines.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub(in crate::cli) lines: u64,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct LinesArgs {
    /// The artifact: art_ and 32 hex digits.
    pub(in crate::cli) id: String,
    /// Only these lines, counted from 1, both ends included: 5..9, 5.., ..9 or 5.
    #[arg(long, value_name = "A..B", value_parser = line_range)]
    pub(in crate::cli) line: Option<(u64, Option<u64>)>,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct GrepArgs {
    /// The artifact: art_ and 32 hex digits.
    pub(in crate::cli) id: String,
    /// What to look for. Behind `--` if it begins with a dash.
    pub(in crate::cli) pattern: String,
    /// Let letters match their other case.
    #[arg(long, short)]
    pub(in crate::cli) ignore_case: bool,
    /// Take PATTERN as a text, not as a regular expression.
    #[arg(long, short = 'F')]
    pub(in crate::cli) fixed: bool,
    /// Lines to show before and behind each that matches, at most 100.
    #[arg(long, short = 'C', value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=100))]
    pub(in crate::cli) context: u64,
    /// Matching lines after which to stop.
    #[arg(long, short = 'm', value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(in crate::cli) max: u64,
    /// The byte to start at: 0, or where an earlier search says to go on.
    #[arg(long, value_name = "OFFSET", default_value_t = 0)]
    pub(in crate::cli) from: u64,
    /// Seconds after which to stop.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(in crate::cli) deadline: u64,
    /// Print line numbers also into a pipe or file.
    #[arg(long, short = 'n')]
    pub(in crate::cli) line_number: bool,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct SliceArgs {
    /// The artifact: art_ and 32 hex digits.
    pub(in crate::cli) id: String,
    /// The first byte, from 0.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(in crate::cli) offset: u64,
    /// How many bytes; all to the end if not given.
    #[arg(long, value_name = "BYTES")]
    pub(in crate::cli) length: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct PruneArgs {
    /// These artifacts.
    #[arg(value_name = "ID", required_unless_present_any = ["older_than", "keep_bytes"])]
    pub(in crate::cli) ids: Vec<String>,
    /// Those older than this: a number with s, m, h, d or w behind it, such as 30d.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(in crate::cli) older_than: Option<Duration>,
    /// The oldest, until the rest takes at most this much room: bytes, or a number with K, M or G behind it.
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    pub(in crate::cli) keep_bytes: Option<u64>,
    /// Remove nothing; say what would be removed.
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
}

/// Clap wants an error as text.
fn line_range(text: &str) -> Result<(u64, Option<u64>), String> {
    let number = |digits: &str| digits.parse::<u64>().map_err(|_| "lines are written 5..9, 5.., ..9 or 5");
    let (first, last) = match text.split_once("..") {
        None => (number(text)?, Some(number(text)?)),
        Some(("", last)) => (1, Some(number(last)?)),
        Some((first, "")) => (number(first)?, None),
        Some((first, last)) => (number(first)?, Some(number(last)?)),
    };
    match last {
        Some(last) if last < first => Err("the last line is before the first".to_owned()),
        last => Ok((first, last)),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let wrong = "a duration is a number with s, m, h, d or w behind it, such as 30d";
    let (number, unit) = with_unit(text).ok_or(wrong)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return Err(wrong.to_owned()),
    };
    let seconds = number.checked_mul(seconds).ok_or("the duration is too long")?;
    Ok(Duration::from_secs(seconds))
}

fn byte_count(text: &str) -> Result<u64, String> {
    let wrong = "room is a number of bytes, or a number with K, M or G behind it";
    let (number, unit) = with_unit(text).ok_or(wrong)?;
    let bytes = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return Err(wrong.to_owned()),
    };
    Ok(number.checked_mul(bytes).ok_or("that is more than can be")?)
}

/// A number, and what stands behind it.
fn with_unit(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    Some((digits.parse().ok()?, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_lines_have_four_forms() {
        for (text, range) in
            [("5..9", (5, Some(9))), ("5..", (5, None)), ("..9", (1, Some(9))), ("5", (5, Some(5)))]
        {
            assert_eq!(line_range(text), Ok(range), "{text}");
        }
        for text in ["", "..", "9..5", "-1", "5-9", "5...9", "a..b", "18446744073709551616"] {
            assert!(line_range(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_and_sizes_have_units() {
        for (text, seconds) in [("0s", 0), ("90m", 5400), ("2h", 7200), ("30d", 2_592_000), ("1w", 604_800)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in
            ["", "30", "d", "1.5d", "30 d", "-1d", "1y", "99999999999999999999s", "9999999999999999999w"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
        for (text, bytes) in [("0", 0), ("7", 7), ("2K", 2048), ("3M", 3 << 20), ("1G", 1 << 30)] {
            assert_eq!(byte_count(text), Ok(bytes), "{text}");
        }
        for text in ["", "K", "1T", "1KiB", "1.5G", "-1", "18446744073709551615G"] {
            assert!(byte_count(text).is_err(), "{text}");
        }
    }
}
