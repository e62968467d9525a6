//! What turns a decoded JSON value into what a parameter's annotation promises.
//!
//! The annotation was read once, in `ferromcp/_schema.py`, and the engine has checked the value against the schema made
//! from it. So a plan checks nothing: where the value is not of the kind that a step is for, the step passes it on.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// One step, in the form that `_schema.py` describes.
pub(crate) enum Plan {
    /// A float without fraction becomes an int: JSON Schema calls 1.0 an integer.
    Int,
    /// An int becomes a float: JSON calls 1 a number.
    Float,
    /// For each item of an array.
    List(Box<Plan>),
    /// For each value of an object.
    Dict(Box<Plan>),
    /// Python decides.
    Call(Py<PyAny>),
}

impl Plan {
    /// Reads the Python form; None stands for "keep".
    pub(crate) fn compile(spec: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if spec.is_none() {
            return Ok(None);
        }
        if let Ok(name) = spec.cast::<PyString>() {
            return match name.to_str()? {
                "int" => Ok(Some(Self::Int)),
                "float" => Ok(Some(Self::Float)),
                other => Err(PyTypeError::new_err(format!("no plan is called {other:?}"))),
            };
        }
        if let Ok(pair) = spec.cast_exact::<PyTuple>() {
            let (kind, inner): (String, Bound<'_, PyAny>) = pair.extract()?;
            let Some(inner) = Self::compile(&inner)?.map(Box::new) else { return Ok(None) };
            return match kind.as_str() {
                "list" => Ok(Some(Self::List(inner))),
                "dict" => Ok(Some(Self::Dict(inner))),
                other => Err(PyTypeError::new_err(format!("no plan is called {other:?}"))),
            };
        }
        if spec.is_callable() {
            return Ok(Some(Self::Call(spec.clone().unbind())));
        }
        Err(PyTypeError::new_err("a plan is None, a name, a pair, or callable"))
    }

    /// The converted value, or None where it can stay as it is. Lists and dicts are changed in place: nobody else holds
    /// them.
    pub(crate) fn apply<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self {
            Self::Int => {
                let Ok(float) = value.cast_exact::<PyFloat>() else { return Ok(None) };
                if !float.value().is_finite() || float.value().fract() != 0.0 {
                    return Ok(None);
                }
                value.call_method0(pyo3::intern!(value.py(), "__int__")).map(Some)
            }
            Self::Float => match value.cast_exact::<PyInt>() {
                Ok(int) => int.py().get_type::<PyFloat>().call1((int,)).map(Some),
                Err(_) => Ok(None),
            },
            Self::List(inner) => {
                let Ok(list) = value.cast_exact::<PyList>() else { return Ok(None) };
                for at in 0..list.len() {
                    if let Some(item) = inner.apply(&list.get_item(at)?)? {
                        list.set_item(at, item)?;
                    }
                }
                Ok(None)
            }
            Self::Dict(inner) => {
                let Ok(dict) = value.cast_exact::<PyDict>() else { return Ok(None) };
                for (key, item) in dict
                    .items()
                    .iter()
                    .map(|pair| pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>())
                    .collect::<PyResult<Vec<_>>>()?
                {
                    if let Some(item) = inner.apply(&item)? {
                        dict.set_item(key, item)?;
                    }
                }
                Ok(None)
            }
            Self::Call(function) => function.bind(value.py()).call1((value,)).map(Some),
        }
    }
}
