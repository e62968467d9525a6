//! One pass over a schema before it is compiled: how large it is, and how much work and stack a value can cost.
//!
//! Some schemas are small and cheap to compile, yet checking a single value against them takes for ever: thirty
//! definitions of which each names the next one twice are a billion ways through. Such ways are counted here, in the
//! graph of what is applied to the same value. Where a reference could lead to several places (`$dynamicRef`, equal
//! anchors), all of them count, so the figures are upper bounds.
//!
//! References are resolved only as well as counting needs it. Whether they are right is for the compiler to say.

use std::collections::HashMap;

use super::document::{Document, Kind};
use super::error::SchemaError;
use super::keywords::{self, Role};
use super::limits::SchemaLimits;

/// Edges of the graph, for each permitted subschema: more can only come from very many equal anchors.
const EDGES_PER_SUBSCHEMA: usize = 8;

/// Elements passed over on the way to what references point at, for each permitted subschema: more can only come from
/// very many references to the ends of very long arrays.
const HOPS_PER_SUBSCHEMA: usize = 64;

/// The longest chain in the meta-schemas, to which a schema may refer: they are known without being fetched.
const META_SCHEMA_CHAIN: usize = 8;

/// What the pass found out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Survey {
    /// Whether there are regular expressions.
    pub(super) has_patterns: bool,
    /// The longest chain of subschemas that are applied to the same value, each within the one before.
    pub(super) longest_chain: usize,
}

/// Looks through the schema and checks it against the bounds.
pub(super) fn survey(document: &Document<'_>, limits: &SchemaLimits) -> Result<Survey, SchemaError> {
    let mut surveyor = Surveyor::new(document, limits);
    surveyor.walk()?;
    let cost = Costs::of(&surveyor.in_place);
    if cost.most_ways > limits.max_alternatives {
        return Err(SchemaError::PastLimit {
            what: "subschemas that apply to one single value, all ways through its references counted",
            limit: limits.max_alternatives,
        });
    }
    let beyond = if surveyor.names_meta_schema { META_SCHEMA_CHAIN } else { 0 };
    Ok(Survey { has_patterns: surveyor.patterns > 0, longest_chain: cost.longest_chain + beyond })
}

struct Surveyor<'d> {
    document: &'d Document<'d>,
    limits: &'d SchemaLimits,
    id_keyword: &'static str,
    /// The subschemas found so far, by node, and each one's number.
    numbers: HashMap<u32, usize>,
    /// For each subschema, by number, those that are applied to the same value.
    in_place: Vec<Vec<usize>>,
    edges: usize,
    hops: usize,
    patterns: usize,
    names_meta_schema: bool,
    /// Subschemas to be looked at, each with the resource that it belongs to.
    pending: Vec<(u32, u32)>,
    /// References to be followed: from which subschema, in which resource, to where.
    references: Vec<(usize, u32, &'d str)>,
    /// Resources by the last part of their identifiers, and anchors by name.
    resources: HashMap<&'d str, Vec<u32>>,
    anchors: HashMap<&'d str, Vec<u32>>,
}

impl<'d> Surveyor<'d> {
    fn new(document: &'d Document<'d>, limits: &'d SchemaLimits) -> Self {
        Self {
            document,
            limits,
            id_keyword: keywords::id_keyword(document),
            numbers: HashMap::new(),
            in_place: Vec::new(),
            edges: 0,
            hops: 0,
            patterns: 0,
            names_meta_schema: false,
            pending: Vec::new(),
            references: Vec::new(),
            resources: HashMap::new(),
            anchors: HashMap::new(),
        }
    }

    fn walk(&mut self) -> Result<(), SchemaError> {
        self.number_of(Document::ROOT, Document::ROOT)?;
        loop {
            while let Some((node, resource)) = self.pending.pop() {
                self.look_at(node, resource)?;
            }
            // References may lead to what no keyword leads to, such as a container of the author's own.
            let references = std::mem::take(&mut self.references);
            if references.is_empty() {
                return Ok(());
            }
            for (from, resource, reference) in references {
                self.count_hops(reference)?;
                self.names_meta_schema |= reference.contains("://json-schema.org/");
                for (target, resource) in self.targets(resource, reference) {
                    let to = self.number_of(target, resource)?;
                    self.connect(from, to)?;
                }
            }
        }
    }

    /// The number of a subschema, which is looked at later if it is new.
    fn number_of(&mut self, node: u32, resource: u32) -> Result<usize, SchemaError> {
        if let Some(number) = self.numbers.get(&node) {
            return Ok(*number);
        }
        let number = self.in_place.len();
        if number >= self.limits.max_subschemas {
            return Err(SchemaError::past("subschemas", self.limits.max_subschemas));
        }
        self.numbers.insert(node, number);
        self.in_place.push(Vec::new());
        self.pending.push((node, resource));
        Ok(number)
    }

    fn connect(&mut self, from: usize, to: usize) -> Result<(), SchemaError> {
        self.edges += 1;
        let limit = self.limits.max_subschemas.saturating_mul(EDGES_PER_SUBSCHEMA);
        if self.edges > limit {
            return Err(SchemaError::past("places that its references can lead to", limit));
        }
        self.in_place[from].push(to);
        Ok(())
    }

    fn look_at(&mut self, node: u32, resource: u32) -> Result<(), SchemaError> {
        let document = self.document;
        let number = self.number_of(node, resource)?;
        let resource = match keywords::resource_id(document, node, self.id_keyword) {
            Some(id) => {
                self.resources.entry(last_part(id)).or_default().push(node);
                node
            }
            None => resource,
        };
        for (key, value) in document.members(node) {
            match document.string(key) {
                "$ref" | "$dynamicRef" | "$recursiveRef" if document.kind(value) == Kind::String => {
                    self.references.push((number, resource, document.string(value)));
                }
                "$anchor" | "$dynamicAnchor" => {
                    self.anchors.entry(document.string(value)).or_default().push(node);
                }
                keyword if keyword == self.id_keyword => {
                    if let Some(name) = document.string(value).strip_prefix('#') {
                        self.anchors.entry(name).or_default().push(node);
                    }
                }
                "pattern" => self.patterns += 1,
                "patternProperties" => self.patterns += document.count(value),
                _ => {}
            }
        }
        if self.patterns > self.limits.max_patterns {
            return Err(SchemaError::past("regular expressions", self.limits.max_patterns));
        }
        for (subschema, role) in keywords::subschemas(document, node) {
            let to = self.number_of(subschema, resource)?;
            if role == Role::InPlace {
                self.connect(number, to)?;
            }
        }
        Ok(())
    }

    fn count_hops(&mut self, reference: &str) -> Result<(), SchemaError> {
        let indices = reference.split('/').filter_map(|token| token.parse::<usize>().ok());
        self.hops = indices.fold(self.hops, |hops, index| hops.saturating_add(index.min(self.document.len())));
        let limit = self.limits.max_subschemas.saturating_mul(HOPS_PER_SUBSCHEMA);
        if self.hops > limit {
            Err(SchemaError::past("array elements before what it refers to", limit))
        } else {
            Ok(())
        }
    }

    /// Every subschema that a reference may lead to, each with its resource.
    fn targets(&self, resource: u32, reference: &str) -> Vec<(u32, u32)> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let own = [resource];
        let resources: &[u32] = match uri {
            "" => &own,
            _ => self.resources.get(last_part(uri)).map_or(&[], Vec::as_slice),
        };
        let targets: Vec<(u32, u32)> = if fragment.is_empty() || fragment.starts_with('/') {
            let pointer = keywords::percent_decode(fragment);
            let follow = |root: &u32| Some((self.document.pointer(*root, &pointer)?, *root));
            resources.iter().filter_map(follow).collect()
        } else {
            let anchors = self.anchors.get(fragment).map_or(&[][..], Vec::as_slice);
            anchors.iter().map(|node| (*node, *node)).collect()
        };
        targets.into_iter().filter(|(node, _)| keywords::is_schema(self.document, *node)).collect()
    }
}

/// What tells identifiers apart without resolving them against a base.
fn last_part(uri: &str) -> &str {
    let uri = uri.split('#').next().unwrap_or(uri);
    uri.rsplit(['/', ':']).next().unwrap_or(uri)
}

/// The cost of applying a subschema to one value.
#[derive(Debug, PartialEq, Eq)]
struct Costs {
    most_ways: u64,
    longest_chain: usize,
}

impl Costs {
    /// Finds the strongly connected components (Tarjan), in which subschemas lead to each other without looking at
    /// another value, and adds up the ways from the leaves to the roots. Iterative, since chains may be long.
    fn of(graph: &[Vec<usize>]) -> Self {
        const UNSEEN: usize = usize::MAX;
        let mut order = vec![UNSEEN; graph.len()];
        let mut lowest = vec![UNSEEN; graph.len()];
        let mut component_of = vec![UNSEEN; graph.len()];
        let mut open = Vec::new();
        let mut ways = vec![0_u64; graph.len()];
        let mut chains = vec![0_usize; graph.len()];
        let mut seen = 0;
        for start in 0..graph.len() {
            if order[start] != UNSEEN {
                continue;
            }
            let mut path = vec![(start, 0)];
            while let Some((at, edge)) = path.last_mut() {
                let at = *at;
                if order[at] == UNSEEN {
                    (order[at], lowest[at]) = (seen, seen);
                    open.push(at);
                    seen += 1;
                }
                if let Some(&to) = graph[at].get(*edge) {
                    *edge += 1;
                    if order[to] == UNSEEN {
                        path.push((to, 0));
                    } else if component_of[to] == UNSEEN {
                        lowest[at] = lowest[at].min(order[to]);
                    }
                    continue;
                }
                path.pop();
                if let Some((parent, _)) = path.last() {
                    lowest[*parent] = lowest[*parent].min(lowest[at]);
                }
                if lowest[at] == order[at] {
                    let size = open.iter().rev().take_while(|member| **member != at).count() + 1;
                    let component = open.split_off(open.len() - size);
                    component.iter().for_each(|member| component_of[*member] = at);
                    let leaving = || {
                        let edges = component.iter().flat_map(|member| &graph[*member]);
                        edges.filter(|to| component_of[**to] != at)
                    };
                    // A component may be walked through in any order, each member once on a way.
                    let orders = (1..=size as u64).fold(1, u64::saturating_mul);
                    let beyond = leaving().fold(size as u64, |sum, to| sum.saturating_add(ways[*to]));
                    let all_ways = orders.saturating_mul(beyond);
                    let chain = size + leaving().map(|to| chains[*to]).max().unwrap_or(0);
                    for member in &component {
                        (ways[*member], chains[*member]) = (all_ways, chain);
                    }
                }
            }
        }
        Self { most_ways: ways.into_iter().max().unwrap_or(0), longest_chain: chains.into_iter().max().unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey_of(text: &str) -> Result<Survey, SchemaError> {
        let document = Document::parse(text, 128).expect("valid JSON");
        survey(&document, &SchemaLimits::default())
    }

    fn chain_of(text: &str) -> usize {
        survey_of(text).expect("within the bounds").longest_chain
    }

    #[test]
    fn chains_go_through_combinators_and_references() {
        assert_eq!(chain_of("{}"), 1);
        assert_eq!(chain_of(r#"{"properties":{"a":{"items":{}}}}"#), 1);
        assert_eq!(chain_of(r#"{"allOf":[{"not":{"if":true}}]}"#), 4);
        assert_eq!(chain_of(r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#b"},"b":{"$anchor":"b"}}}"##), 3);
        assert_eq!(chain_of(r##"{"$ref":"#/own/a%7Eb","own":{"a~b":{"anyOf":[{}]}}}"##), 3);
        assert_eq!(chain_of(r##"{"$ref":"x.json#/a","$defs":{"x":{"$id":"https://e.example/x.json","a":{}}}}"##), 2);
        assert_eq!(chain_of(r##"{"$ref":"http://json-schema.org/draft-07/schema#"}"##), 1 + META_SCHEMA_CHAIN);
        // Data is no schema.
        assert_eq!(chain_of(r##"{"const":{"$ref":"#"},"enum":[{"$ref":"#"}],"default":{"allOf":[{}]}}"##), 1);
    }

    #[test]
    fn loops_that_never_reach_another_value_end() {
        assert_eq!(chain_of(r##"{"$ref":"#"}"##), 1);
        assert_eq!(
            chain_of(r##"{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}"##),
            3
        );
    }

    /// Each of `count` definitions is applied twice by the one before.
    fn doubling(count: usize) -> String {
        let definitions: Vec<String> = (0..count)
            .map(|n| format!(r##""d{n}":{{"allOf":[{{"$ref":"#/$defs/d{0}"}},{{"$ref":"#/$defs/d{0}"}}]}}"##, n + 1))
            .collect();
        format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d{count}":{{}}}}}}"##, definitions.join(","))
    }

    #[test]
    fn ways_that_double_are_refused() {
        assert!(survey_of(&doubling(10)).is_ok());
        for count in [30, 64, 1000] {
            assert!(
                matches!(survey_of(&doubling(count)), Err(SchemaError::PastLimit { limit: 10_000, .. })),
                "{count}"
            );
        }
    }

    #[test]
    fn a_tangle_of_references_is_refused() {
        let all: Vec<String> = (0..12).map(|n| format!(r##"{{"$ref":"#/$defs/d{n}"}}"##)).collect();
        let definitions: Vec<String> = (0..12).map(|n| format!(r#""d{n}":{{"allOf":[{}]}}"#, all.join(","))).collect();
        let text = format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{}}}}}"##, definitions.join(","));
        assert!(matches!(survey_of(&text), Err(SchemaError::PastLimit { limit: 10_000, .. })));
    }

    #[test]
    fn recursion_through_parts_of_the_value_is_free() {
        let tree = r##"{"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}"##;
        assert_eq!(survey_of(tree), Ok(Survey { has_patterns: false, longest_chain: 2 }));
    }

    #[test]
    fn subschemas_and_patterns_are_counted() {
        let many = |count: usize, schema: &str| {
            let members: Vec<String> = (0..count).map(|n| format!(r#""p{n}":{schema}"#)).collect();
            format!(r#"{{"properties":{{{}}}}}"#, members.join(","))
        };
        assert!(survey_of(&many(19_999, "true")).is_ok());
        assert_eq!(survey_of(&many(20_000, "true")), Err(SchemaError::past("subschemas", 20_000)));
        assert!(survey_of(&many(256, r#"{"pattern":"a"}"#)).is_ok_and(|survey| survey.has_patterns));
        assert_eq!(survey_of(&many(257, r#"{"pattern":"a"}"#)), Err(SchemaError::past("regular expressions", 256)));
        let anchors: Vec<String> =
            (0..700).map(|_| r##"{"$anchor":"a","properties":{"p":{"$ref":"#a"}}}"##.into()).collect();
        let text = format!(r#"{{"anyOf":[{}]}}"#, anchors.join(","));
        assert!(matches!(survey_of(&text), Err(SchemaError::PastLimit { limit: 160_000, .. })));
    }
}
