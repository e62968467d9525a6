//! Names and patterns: what stands for a value in a vector, and what a message is held against.
//!
//! Decides nothing of its own; tests/vectors/README.md is the rule.

use super::json::Json;
use std::collections::BTreeMap;

/// What a vector's names stand for.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<String, Json>);

impl Names {
    /// Gives a name its value.
    pub fn bind(&mut self, name: &str, value: Json) {
        self.0.insert(name.to_owned(), value);
    }

    /// The value with every `$name` in it replaced.
    pub fn resolve(&self, value: &Json) -> Result<Json, String> {
        Ok(match value {
            Json::Text { plain: Some(text), .. } => match text.strip_prefix('$') {
                None => value.clone(),
                Some(rest) if rest.starts_with('$') => Json::text(rest),
                Some(name) => {
                    let bound = self.0.get(name).ok_or_else(|| format!("nothing is bound to ${name}"))?;
                    self.resolve(bound)?
                }
            },
            Json::Array(elements) => {
                Json::Array(elements.iter().map(|element| self.resolve(element)).collect::<Result<_, _>>()?)
            }
            Json::Object(members) if matches!(&members[..], [(key, _)] if key == "$join") => {
                let parts = self.resolve(&members[0].1)?;
                let parts: Option<String> = parts.elements().iter().map(Json::as_text).collect();
                Json::text(&parts.ok_or("$join joins strings")?)
            }
            Json::Object(members) => {
                let resolved = members.iter().map(|(key, value)| Ok((key.clone(), self.resolve(value)?)));
                Json::Object(resolved.collect::<Result<_, String>>()?)
            }
            other => other.clone(),
        })
    }
}

/// Holds a message against a pattern whose names are resolved. The error says where they part; bindings are collected.
pub fn matches(pattern: &Json, value: &Json, bound: &mut Vec<(String, Json)>) -> Result<(), String> {
    let shown = || format!("expected {}, got {}", shorten(&pattern.write()), shorten(&value.write()));
    if let Some((matcher, operand)) = matcher(pattern) {
        return match matcher {
            "$any" => Ok(()),
            "$type" => {
                let wanted = operand.as_text().unwrap_or_default();
                let is = value.kind() == wanted || (wanted == "number" && value.kind() == "integer");
                if is { Ok(()) } else { Err(shown()) }
            }
            "$oneOf" => {
                let fits = |pattern: &Json| matches(pattern, value, &mut Vec::new()).is_ok();
                if operand.elements().iter().any(fits) { Ok(()) } else { Err(shown()) }
            }
            "$line" => {
                let line = |text: &str| !text.trim().is_empty() && !text.contains(['\n', '\r']) && text.len() <= 300;
                if value.as_text().is_some_and(line) { Ok(()) } else { Err(shown()) }
            }
            "$holds" => {
                let wanted = operand.as_text().unwrap_or_default();
                if value.write().contains(wanted) { Ok(()) } else { Err(shown()) }
            }
            "$optional" => matches(operand, value, bound),
            "$absent" => Err(format!("expected nothing, got {}", shorten(&value.write()))),
            "$open" => members(operand, value, true, bound),
            "$unordered" => unordered(operand.elements(), value.elements(), bound)
                .map_err(|why| if value.kind() == "array" { why } else { shown() }),
            "$bind" => {
                bound.push((operand.as_text().unwrap_or_default().to_owned(), value.clone()));
                Ok(())
            }
            _ => Err(format!("unknown matcher {matcher}")),
        };
    }
    match (pattern, value) {
        (Json::Object(_), Json::Object(_)) => members(pattern, value, false, bound),
        (Json::Array(patterns), Json::Array(values)) if patterns.len() == values.len() => {
            for (at, (pattern, value)) in patterns.iter().zip(values).enumerate() {
                matches(pattern, value, bound).map_err(|why| format!("[{at}] {why}"))?;
            }
            Ok(())
        }
        _ if pattern == value => Ok(()),
        _ => Err(shown()),
    }
}

/// Each pattern takes one value, whatever the order.
pub fn unordered(patterns: &[Json], values: &[Json], bound: &mut Vec<(String, Json)>) -> Result<(), String> {
    let mut rest: Vec<&Json> = values.iter().collect();
    for pattern in patterns {
        let mut found = Vec::new();
        let at = rest.iter().position(|value| {
            found.clear();
            matches(pattern, value, &mut found).is_ok()
        });
        let Some(at) = at else {
            let left: Vec<_> = rest.iter().map(|value| shorten(&value.write())).collect();
            return Err(format!("nothing fits {} among {left:?}", shorten(&pattern.write())));
        };
        rest.remove(at);
        bound.append(&mut found);
    }
    if rest.is_empty() { Ok(()) } else { Err(format!("unexpected: {}", shorten(&rest[0].write()))) }
}

fn matcher(pattern: &Json) -> Option<(&str, &Json)> {
    const ALL: [&str; 10] =
        ["$any", "$type", "$oneOf", "$line", "$holds", "$optional", "$absent", "$open", "$unordered", "$bind"];
    match pattern.members() {
        [(key, operand)] if ALL.contains(&key.as_str()) => Some((key, operand)),
        _ => None,
    }
}

fn members(pattern: &Json, value: &Json, open: bool, bound: &mut Vec<(String, Json)>) -> Result<(), String> {
    if value.kind() != "object" {
        return Err(format!("expected an object, got {}", shorten(&value.write())));
    }
    for (key, wanted) in pattern.members() {
        match value.get(key) {
            Some(found) => matches(wanted, found, bound).map_err(|why| format!(".{key} {why}"))?,
            None if matches!(matcher(wanted), Some(("$absent" | "$optional", _))) => {}
            None => return Err(format!(".{key} is not there in {}", shorten(&value.write()))),
        }
    }
    let stranger = value.members().iter().find(|(key, _)| pattern.get(key).is_none());
    match stranger {
        Some((key, value)) if !open => Err(format!(".{key} is unexpected: {}", shorten(&value.write()))),
        _ => Ok(()),
    }
}

/// A text that fits into one line of a failure.
pub fn shorten(text: &str) -> String {
    const LONGEST: usize = 400;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let head: String = text.chars().take(LONGEST).collect();
    format!("{head}…")
}
