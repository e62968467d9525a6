//! x
#![allow(missing_docs)]
pub struct UriTemplate {
    v: Vec<String>,
}
impl UriTemplate {
    pub fn parse(_: &str) -> Result<Self, String> {
        Ok(Self { v: vec![] })
    }
    pub fn matches(&self, _: &str) -> Option<Vec<(String, String)>> {
        None
    }
    pub fn variables(&self) -> &[String] {
        &self.v
    }
}
