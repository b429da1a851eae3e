//! Numbers as JSON texts and schemas compare them.

use core::cmp::Ordering;

use serde::ser::{Serialize, Serializer};

/// A JSON number.
///
/// A literal without fraction and exponent between -2^63 and 2^64 - 1 is kept exactly. Every other literal is the
/// nearest double, as in JavaScript and most JSON readers. Two numbers are equal when their values are: `5`, `5.0`
/// and `5e0` are one number, and so are `0` and `-0`. An exact integer and a double compare by exact value, so
/// 9007199254740993 is not 9007199254740992.0.
#[derive(Clone, Copy, Debug)]
pub struct Number(Repr);

#[derive(Clone, Copy, Debug)]
enum Repr {
    /// Within `i64::MIN..=u64::MAX`.
    Exact(i128),
    /// Finite.
    Double(f64),
}

impl Number {
    /// A number from a double; `None` if it is not finite.
    pub fn from_f64(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self(Repr::Double(value)))
    }

    /// Whether the value is whole. `5.0` and `-0` are; so is every double of magnitude 2^53 and more.
    pub fn is_integer(self) -> bool {
        match self.0 {
            Repr::Exact(_) => true,
            Repr::Double(value) => value.fract() == 0.0,
        }
    }

    /// The value as a signed integer, if it is whole and fits.
    pub fn as_i64(self) -> Option<i64> {
        self.as_exact().and_then(|value| i64::try_from(value).ok())
    }

    /// The value as a count, if it is whole and fits.
    pub fn as_u64(self) -> Option<u64> {
        self.as_exact().and_then(|value| u64::try_from(value).ok())
    }

    /// Whether no whole number that is written out can be mistaken for this one or slip past it: it lies between
    /// -2^63 and 2^64, both excluded.
    ///
    /// Whole literals in that range are kept exactly. Those outside are rounded, which is monotone, to at most -2^63 or
    /// at least 2^64: still on their own side of this number. At -2^63 itself that fails, since -2^63 - 1 is read as
    /// -2^63.
    pub fn is_exactly_comparable(self) -> bool {
        match self.0 {
            Repr::Exact(value) => value > i128::from(i64::MIN),
            Repr::Double(value) => value > -TWO_POW_63 && value < TWO_POW_63 * 2.0,
        }
    }

    /// The value as an integer, if it is whole and its magnitude is below 2^127.
    fn as_exact(self) -> Option<i128> {
        match self.0 {
            Repr::Exact(value) => Some(value),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "whole and below 2^127, so the cast is exact"
            )]
            Repr::Double(value) if value.fract() == 0.0 && value.abs() < TWO_POW_127 => Some(value as i128),
            Repr::Double(_) => None,
        }
    }

    /// Compares an exact integer with a double by value. Not by casting the integer: that would round it.
    fn exact_with_double(exact: i128, double: f64) -> Ordering {
        if double >= TWO_POW_127 {
            return Ordering::Less;
        }
        if double <= -TWO_POW_127 {
            return Ordering::Greater;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the floor is whole and below 2^127 in magnitude"
        )]
        let floor = double.floor() as i128;
        exact.cmp(&floor).then(if double.fract() == 0.0 { Ordering::Equal } else { Ordering::Less })
    }
}

const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_POW_127: f64 = TWO_POW_63 * TWO_POW_63 * 2.0;

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            (Repr::Exact(a), Repr::Exact(b)) => a.cmp(&b),
            // Both finite; -0 and 0 must be equal, which `total_cmp` denies.
            (Repr::Double(a), Repr::Double(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            (Repr::Exact(a), Repr::Double(b)) => Self::exact_with_double(a, b),
            (Repr::Double(a), Repr::Exact(b)) => Self::exact_with_double(b, a).reverse(),
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(Repr::Exact(i128::from(value)))
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(Repr::Exact(i128::from(value)))
    }
}

impl core::fmt::Display for Number {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            Repr::Exact(value) => write!(f, "{value}"),
            Repr::Double(value) => write!(f, "{value}"),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Repr::Exact(value) => match i64::try_from(value) {
                Ok(signed) => serializer.serialize_i64(signed),
                Err(_) => serializer.serialize_u64(u64::try_from(value).unwrap_or(u64::MAX)),
            },
            Repr::Double(value) => serializer.serialize_f64(value),
        }
    }
}
