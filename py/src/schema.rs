//! JSON Schema for host code: the engine's own validator, compiled once and asked without building Python objects.
//!
//! Dialects, limits and the words for what does not fit are the engine's (`ferromcp_engine::schema`).

use crate::convert::raw::Text;
use ferromcp_engine::schema::{Schema as Compiled, SchemaLimits};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Compiled schemas that `validate` keeps. 512: more tools than one process serves; past it half of them go.
const KEPT: usize = 512;

type Findings = Vec<(String, String)>;

/// A compiled JSON Schema.
#[pyclass(frozen, module = "ferromcp._native")]
pub(crate) struct Schema {
    compiled: Compiled,
}

#[pymethods]
impl Schema {
    /// Compiles the JSON text of a schema; ValueError when it is none, or refers to another document.
    #[new]
    #[pyo3(signature = (schema, /))]
    fn new(schema: Text) -> PyResult<Self> {
        compile(&schema.utf8()?)
    }

    /// What is wrong with the JSON text of an instance: JSON pointer and sentence for each finding.
    #[pyo3(signature = (instance, /))]
    fn validate(&self, instance: Text) -> PyResult<Findings> {
        Ok(findings(&self.compiled, &instance.utf8()?))
    }

    /// Whether the JSON text of an instance is valid.
    #[pyo3(signature = (instance, /))]
    fn is_valid(&self, instance: Text) -> PyResult<bool> {
        Ok(self.compiled.validate(&instance.utf8()?).is_ok())
    }
}

/// As `Schema(schema).validate(instance)`, with the compiled schema kept for the next time.
#[pyfunction]
#[pyo3(signature = (schema, instance, /))]
pub(crate) fn validate(schema: Text, instance: Text) -> PyResult<Findings> {
    static CACHE: Mutex<Option<HashMap<String, Arc<Schema>>>> = Mutex::new(None);
    let lock = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = schema.utf8()?;
    let known = lock().as_ref().and_then(|cache| cache.get(&schema).cloned());
    let schema = match known {
        Some(schema) => schema,
        None => {
            let compiled = Arc::new(compile(&schema)?);
            let mut cache = lock();
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
    Ok(findings(&schema.compiled, &instance.utf8()?))
}

fn compile(schema: &str) -> PyResult<Schema> {
    let compiled = Compiled::compile(schema, &SchemaLimits::default());
    compiled.map(|compiled| Schema { compiled }).map_err(|error| PyValueError::new_err(format!("schema: {error}")))
}

fn findings(schema: &Compiled, instance: &str) -> Findings {
    let Err(violations) = schema.validate(instance) else { return Vec::new() };
    violations.entries().iter().map(|violation| (violation.instance_path.clone(), violation.message.clone())).collect()
}
