//! JSON Schema for host code: compiled once, checked without building Python objects.
//!
//! Which dialects there are and that nothing is fetched is the validator's rule; here stands how Python asks.

use crate::convert::raw::Text;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Compiled schemas that `validate` keeps. 512: more tools than one process serves; past it the oldest half goes.
const KEPT: usize = 512;

type Findings = Vec<(String, String)>;

/// A compiled JSON Schema.
#[pyclass(frozen, module = "ferromcp._native")]
pub(crate) struct Schema {
    validator: jsonschema::Validator,
}

#[pymethods]
impl Schema {
    /// Compiles the JSON text of a schema; ValueError when it is none.
    #[new]
    #[pyo3(signature = (schema, /))]
    fn new(schema: Text) -> PyResult<Self> {
        compile(&schema.utf8()?)
    }

    /// What is wrong with the JSON text of an instance: JSON pointer and sentence for each finding.
    #[pyo3(signature = (instance, /))]
    fn validate(&self, instance: Text) -> PyResult<Findings> {
        let instance = parse(&instance.utf8()?)?;
        Ok(findings(&self.validator, &instance))
    }

    /// Whether the JSON text of an instance is valid.
    #[pyo3(signature = (instance, /))]
    fn is_valid(&self, instance: Text) -> PyResult<bool> {
        Ok(self.validator.is_valid(&parse(&instance.utf8()?)?))
    }
}

/// As `Schema(schema).validate(instance)`, with the compiled schema kept for the next time.
#[pyfunction]
#[pyo3(signature = (schema, instance, /))]
pub(crate) fn validate(schema: Text, instance: Text) -> PyResult<Findings> {
    static CACHE: Mutex<Option<HashMap<String, Arc<Schema>>>> = Mutex::new(None);
    let schema = schema.utf8()?;
    let instance = parse(&instance.utf8()?)?;
    let known = CACHE.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|cache| cache.get(&schema).cloned());
    let compiled = match known {
        Some(compiled) => compiled,
        None => {
            let compiled = Arc::new(compile(&schema)?);
            let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
            let cache = cache.get_or_insert_default();
            if cache.len() >= KEPT {
                let mut keep = false;
                cache.retain(|_, _| {
                    keep = !keep;
                    keep
                });
            }
            cache.insert(schema, Arc::clone(&compiled));
            compiled
        }
    };
    Ok(findings(&compiled.validator, &instance))
}

fn compile(schema: &str) -> PyResult<Schema> {
    let schema = parse(schema)?;
    let validator = jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .build(&schema)
        .map_err(|error| PyValueError::new_err(format!("schema: {error}")))?;
    Ok(Schema { validator })
}

fn parse(text: &str) -> PyResult<serde_json::Value> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("not JSON: {error}")))
}

fn findings(validator: &jsonschema::Validator, instance: &serde_json::Value) -> Findings {
    if validator.is_valid(instance) {
        return Vec::new();
    }
    validator.iter_errors(instance).map(|error| (error.instance_path().to_string(), error.to_string())).collect()
}
