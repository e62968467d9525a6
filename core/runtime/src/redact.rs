//! Hiding credentials in message text, for what is shown to people: traces and dumps.
//!
//! One pass over the text, which may be cut anywhere or be no JSON at all; no tree is built. A value is hidden when its
//! key names a credential, at any depth, and so is what follows `Bearer` or `Basic` in a string. JSON inside a string
//! (how tools like to answer) is looked through as well. It errs on the side of hiding.

use std::borrow::Cow;

const HIDDEN: &str = "\"[redacted]\"";

/// Levels of JSON inside strings that are looked through; deeper ones are hidden whole.
const NESTED: u8 = 4;

/// Keys whose values are hidden, compared without case, `-`, `_` and a leading `x-`.
const SECRETS: [&str; 22] = [
    "authorization",
    "proxyauthorization",
    "token",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "authtoken",
    "sessiontoken",
    "bearertoken",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "clientsecret",
    "secretkey",
    "privatekey",
    "apikey",
    "accesskey",
    "cookie",
    "setcookie",
    "credentials",
    "clientassertion",
];

/// The text with every credential replaced.
pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    // Most messages have neither; they are not copied.
    let mut pass = Pass { text, at: 0, done: 0, out: String::new(), level: 0 };
    pass.values();
    pass.finish()
}

struct Pass<'a> {
    text: &'a str,
    at: usize,
    /// Up to here the text is in `out`.
    done: usize,
    out: String,
    level: u8,
}

impl<'a> Pass<'a> {
    fn finish(mut self) -> Cow<'a, str> {
        if self.done == 0 && self.out.is_empty() {
            return Cow::Borrowed(self.text);
        }
        self.out.push_str(&self.text[self.done..]);
        Cow::Owned(self.out)
    }

    fn replace(&mut self, start: usize, end: usize, with: &str) {
        self.out.push_str(&self.text[self.done..start]);
        self.out.push_str(with);
        self.done = end;
    }

    /// Walks from string to string; what stands between them holds no credential unless a key says so.
    fn values(&mut self) {
        while let Some(found) = memchr::memchr(b'"', &self.text.as_bytes()[self.at..]) {
            let start = self.at + found;
            let (end, whole) = string_end(self.text.as_bytes(), start);
            self.at = end;
            let inner = &self.text[start + 1..if whole { end - 1 } else { end }];
            let after = skip_blanks(self.text.as_bytes(), end);
            if whole && self.text.as_bytes().get(after) == Some(&b':') {
                if names_secret(inner) {
                    let value = skip_blanks(self.text.as_bytes(), after + 1);
                    let value_end = value_end(self.text.as_bytes(), value);
                    self.replace(value, value_end, HIDDEN);
                    self.at = value_end;
                }
            } else if let Some(clean) = self.clean_string(inner) {
                self.replace(start + 1, start + 1 + inner.len(), &clean);
            }
        }
    }

    /// A string's inner text without credentials, if it had any.
    fn clean_string(&self, inner: &str) -> Option<String> {
        if inner.contains("\\\"") {
            return self.clean_nested(inner);
        }
        hide_schemes(inner)
    }

    /// A string that quotes: perhaps JSON by itself.
    fn clean_nested(&self, inner: &str) -> Option<String> {
        if self.level + 1 == NESTED {
            return Some("[redacted: nested too deep]".into());
        }
        // Cut text may end within an escape; what can't be read as a string is scanned as it stands.
        let plain: String = match serde_json::from_str(&format!("\"{inner}\"")) {
            Ok(plain) => plain,
            Err(_) => inner.replace("\\\"", "\""),
        };
        let mut pass = Pass { text: &plain, at: 0, done: 0, out: String::new(), level: self.level + 1 };
        pass.values();
        let found = !pass.out.is_empty();
        let clean = pass.finish();
        let schemes = hide_schemes(&clean);
        if !found && schemes.is_none() {
            return None;
        }
        let clean = schemes.map_or(clean, Cow::Owned);
        let quoted = serde_json::to_string(&clean).ok()?;
        Some(quoted[1..quoted.len() - 1].to_owned())
    }
}

/// Where the string that opens at `start` ends (behind its closing quote), and whether it ends at all.
fn string_end(text: &[u8], start: usize) -> (usize, bool) {
    let mut at = start + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &text[at..]) {
        at += found;
        if text[at] == b'"' {
            return (at + 1, true);
        }
        at += 2;
        if at >= text.len() {
            break;
        }
    }
    (text.len(), false)
}

fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Where the value that begins at `at` ends. A value that is cut off ends with the text.
fn value_end(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at = string_end(text, at).0;
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn names_secret(key: &str) -> bool {
    // Escapes in a key are rare enough to pay for.
    let plain: Cow<'_, str> = if key.contains('\\') {
        serde_json::from_str::<String>(&format!("\"{key}\"")).map_or(Cow::Borrowed(key), Cow::Owned)
    } else {
        Cow::Borrowed(key)
    };
    // Longer than any secret's name with its separators.
    if plain.len() > 40 {
        return false;
    }
    let mut name: String = plain.chars().filter(|c| *c != '-' && *c != '_').collect();
    name.make_ascii_lowercase();
    let bare = if plain.starts_with("x-") || plain.starts_with("X-") { &name[1..] } else { &name };
    SECRETS.contains(&bare)
}

/// Replaces what follows an authentication scheme's name, up to the next blank or the end. None: there was nothing.
fn hide_schemes(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let mut out = String::new();
    let (mut done, mut at) = (0, 0);
    loop {
        let next = |scheme: &str| lower[at..].find(scheme).map(|found| at + found + scheme.len());
        let (value, is_prose) = match (next("bearer "), next("basic ")) {
            (Some(bearer), Some(basic)) if basic < bearer => (basic, true),
            (Some(bearer), _) => (bearer, false),
            (None, Some(basic)) => (basic, true),
            (None, None) => break,
        };
        let end = lower[value..].find([' ', '\t', '"', ',', '\\']).map_or(text.len(), |found| value + found);
        let shown = &text[value..end];
        // "A basic idea" is no credential: those hold capitals, digits or signs, or are longer than words.
        let is_prose =
            is_prose && shown.len() < 16 && shown.bytes().all(|b| b.is_ascii_lowercase() || b".;:!?)".contains(&b));
        if !shown.is_empty() && !is_prose {
            out.push_str(&text[done..value]);
            out.push_str("[redacted]");
            done = end;
        }
        at = end;
    }
    if done == 0 {
        return None;
    }
    out.push_str(&text[done..]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn values_of_secret_keys_are_hidden_at_any_depth() {
        let cases = [
            (r#"{"a":{"token":"abc"},"b":1}"#, r#"{"a":{"token":"[redacted]"},"b":1}"#),
            (r#"[{"Access_Token": 17}, 2]"#, r#"[{"Access_Token": "[redacted]"}, 2]"#),
            (r#"{"x-api-key":["a",{"b":"}"}],"c":0}"#, r#"{"x-api-key":"[redacted]","c":0}"#),
            (r#"{"clientSecret":null}"#, r#"{"clientSecret":"[redacted]"}"#),
            (r#"{"\u0074oken":"abc"}"#, r#"{"\u0074oken":"[redacted]"}"#),
            (r#"{"password":"a\"b","d":"e"}"#, r#"{"password":"[redacted]","d":"e"}"#),
        ];
        for (text, clean) in cases {
            assert_eq!(redact(text), clean);
        }
    }

    #[test]
    fn schemes_in_strings_are_hidden() {
        assert_eq!(redact(r#"{"h":"Bearer abc.def-1 then"}"#), r#"{"h":"Bearer [redacted] then"}"#);
        assert_eq!(redact(r#"{"h":"bearer a1"}"#), r#"{"h":"bearer [redacted]"}"#);
        assert_eq!(redact(r#"["Basic dXNlcjpwYXNz", "Bearer x9"]"#), r#"["Basic [redacted]", "Bearer [redacted]"]"#);
        assert_eq!(redact(r#"["a basic idea"]"#), r#"["a basic idea"]"#);
    }

    #[test]
    fn json_in_strings_is_looked_through() {
        let text = r#"{"text":"{\"token\":\"abc\",\"n\":1}"}"#;
        assert_eq!(redact(text), r#"{"text":"{\"token\":\"[redacted]\",\"n\":1}"}"#);
    }

    #[test]
    fn cut_text_hides_to_its_end() {
        let whole =
            r#"{"n":1,"deep":{"secret":{"k":"0123456789"}},"h":"Bearer 0123456789","t":"{\"token\":\"0123456789\"}"}"#;
        for end in 0..=whole.len() {
            let clean = redact(&whole[..end]).into_owned();
            assert!(!clean.contains("0123"), "{clean}");
        }
    }

    #[test]
    fn plain_text_is_not_copied() {
        for text in [r#"{"jsonrpc":"2.0","id":1,"params":{"progressToken":7}}"#, "no JSON", "", "\"", "{\"a\\"] {
            assert!(matches!(redact(text), std::borrow::Cow::Borrowed(same) if same == text));
        }
    }
}
