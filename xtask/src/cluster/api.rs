//! The API server's objects, through curl: as anybody can look at them while the cluster is up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;

const CALL: Duration = Duration::from_secs(30);

/// The API server, as the user with all rights.
pub(super) struct Api {
    url: String,
    config: PathBuf,
}

impl Api {
    /// A starting API server; it will write its certificate to a file.
    pub(super) fn new(url: String, certificate: &Path, token: &str, dir: &Path) -> Result<Self> {
        let config = dir.join("curl.conf");
        let text = format!(
            "silent\ncacert = \"{}\"\nheader = \"Authorization: Bearer {token}\"\n",
            certificate.display()
        );
        fs::write(&config, text).context("write curl's settings")?;
        Ok(Self { url, config })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Curl's settings, the token among them.
    pub(super) fn config(&self) -> &Path {
        &self.config
    }

    /// Whether a health page of the server says yes. A server not yet up counts as no.
    pub(super) fn is_well(&self, page: &str) -> Result<Option<()>> {
        let done = process::capture(&mut self.curl("GET", page), CALL)?;
        Ok(done.output.ends_with("\n200").then_some(()))
    }

    /// An object; `None` when there is none.
    pub(super) fn find(&self, path: &str) -> Result<Option<Value>> {
        match self.ask(&mut self.curl("GET", path))? {
            Answer::Missing => Ok(None),
            Answer::Object(object) => Ok(Some(object)),
        }
    }

    /// Prints a list as the server has it at hand, and then its changes, an event a line, until it is ended.
    pub(super) fn watch(&self, list: &str) -> Command {
        let mut curl = self.curl("GET", &format!("{list}?watch=true&resourceVersion=0"));
        curl.arg("--no-buffer");
        curl
    }

    /// Makes an object in a list, and returns the stored one.
    pub(super) fn create(&self, list: &str, object: &Value) -> Result<Value> {
        let mut curl = self.curl("POST", list);
        send(&mut curl, "application/json", object);
        self.there(list, &mut curl)
    }

    /// Changes fields of an object.
    pub(super) fn merge(&self, path: &str, fields: &Value) -> Result<Value> {
        let mut curl = self.curl("PATCH", path);
        send(&mut curl, "application/merge-patch+json", fields);
        self.there(path, &mut curl)
    }

    pub(super) fn delete(&self, path: &str) -> Result<()> {
        self.there(path, &mut self.curl("DELETE", path)).map(drop)
    }

    fn there(&self, path: &str, curl: &mut Command) -> Result<Value> {
        match self.ask(curl)? {
            Answer::Missing => bail!("the API server has no {path}"),
            Answer::Object(object) => Ok(object),
        }
    }

    fn ask(&self, curl: &mut Command) -> Result<Answer> {
        let output = process::capture(curl, CALL)?.success("curl")?;
        Answer::read(&output)
    }

    fn curl(&self, method: &str, path: &str) -> Command {
        let mut curl = Command::new("curl");
        curl.arg("--config").arg(&self.config);
        curl.args(["--write-out", "\\n%{http_code}", "--request", method]);
        curl.arg(format!("{}{path}", self.url));
        curl
    }
}

fn send(curl: &mut Command, kind: &str, object: &Value) {
    curl.args(["--header", &format!("Content-Type: {kind}")]);
    curl.args(["--data-raw", &object.to_string()]);
}

#[derive(Debug, PartialEq)]
enum Answer {
    Missing,
    Object(Value),
}

impl Answer {
    /// Reads curl's output: the object, and after it the status in a line of its own.
    fn read(output: &str) -> Result<Self> {
        let (body, status) = output.rsplit_once('\n').context("curl printed no status")?;
        match status {
            "404" => Ok(Self::Missing),
            "200" | "201" | "202" => {
                let object = serde_json::from_str(body).context("read the API server's answer")?;
                Ok(Self::Object(object))
            }
            _ => bail!("the API server answered {status}\n{body}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_read_and_refusals_are_errors() {
        let object = Answer::read("{\"kind\":\n\"Pod\"}\n200").unwrap();
        assert_eq!(object, Answer::Object(json!({"kind": "Pod"})));
        assert_eq!(Answer::read("{}\n404").unwrap(), Answer::Missing);
        let refused = Answer::read("not so\n422").unwrap_err().to_string();
        assert_eq!(refused, "the API server answered 422\nnot so");
        assert!(Answer::read("").is_err());
    }
}
