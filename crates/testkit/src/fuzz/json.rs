//! JSON: what we take `serde_json` takes with an equal value, and what we refuse beyond it is over a bound.

use std::collections::BTreeSet;
use std::fmt;

use fumehood_core::Json;
use fumehood_core::json::JsonErrorKind;
use fumehood_core::limits::{JSON_DEPTH_MAX, JSON_NODES_MAX};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{assert_place_within, assert_showable};

/// Reads the input as JSON.
pub fn json(bytes: &[u8]) {
    let ours = Json::parse(bytes, bytes.len());
    let theirs = serde_json::from_slice::<serde_json::Value>(bytes);
    let shape = serde_json::from_slice::<Shape>(bytes).ok();
    match (&ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            let shape = shape.expect("a value has a shape");
            assert!(shape.levels <= JSON_DEPTH_MAX && shape.nodes <= JSON_NODES_MAX && !shape.has_duplicate);
            assert_eq!(serde_json::to_value(ours).expect("a value can be written"), theirs);
            let again = serde_json::to_string(ours).expect("a value can be written");
            assert_eq!(Json::parse(again.as_bytes(), again.len()).as_ref(), Ok(ours), "{again}");
        }
        (Ok(_), Err(error)) => panic!("taken, and refused by serde_json: {error}"),
        (Err(error), theirs) => {
            assert_showable(&error.to_string());
            if let Some(place) = error.place {
                assert_place_within(place, bytes);
            }
            match (error.kind, shape.filter(|_| theirs.is_ok())) {
                (JsonErrorKind::Depth, Some(shape)) => assert!(shape.levels > JSON_DEPTH_MAX),
                (JsonErrorKind::Nodes, Some(shape)) => assert!(shape.nodes > JSON_NODES_MAX),
                (JsonErrorKind::DuplicateKey, Some(shape)) => assert!(shape.has_duplicate),
                (kind, Some(_)) => panic!("refused as {kind:?}, and taken by serde_json"),
                (_, None) => {}
            }
        }
    }
    if let Some(bytes_max) = bytes.len().checked_sub(1) {
        let over = Json::parse(bytes, bytes_max).map_err(|error| error.kind);
        assert_eq!(over, Err(JsonErrorKind::TooLarge { bytes_max }));
    }
}

/// How large a value is, counted apart from our reader and before a key can hide another.
#[derive(Clone, Copy)]
struct Shape {
    levels: usize,
    nodes: usize,
    has_duplicate: bool,
}

impl Shape {
    const LEAF: Self = Self { levels: 1, nodes: 1, has_duplicate: false };

    fn take(&mut self, child: Self) {
        self.levels = self.levels.max(child.levels + 1);
        self.nodes += child.nodes;
        self.has_duplicate |= child.has_duplicate;
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::LEAF)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::LEAF)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::LEAF)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
        Ok(Shape::LEAF)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::LEAF)
    }

    fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
        Ok(Shape::LEAF)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Shape, A::Error> {
        let mut shape = Shape::LEAF;
        while let Some(child) = access.next_element()? {
            shape.take(child);
        }
        Ok(shape)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Shape, A::Error> {
        let mut shape = Shape::LEAF;
        let mut keys = BTreeSet::new();
        while let Some((key, child)) = access.next_entry::<String, Shape>()? {
            shape.take(child);
            shape.has_duplicate |= !keys.insert(key);
        }
        Ok(shape)
    }
}
