use std::fmt::{self, Write as _};

/// A page in Prometheus's text format, version 0.0.4
/// (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
#[derive(Default)]
pub struct Exposition(String);

/// The type of a family.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Exposition {
    /// Begins a family; its samples follow.
    pub fn family(&mut self, name: &str, help: &str, kind: Kind) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a sample to the begun family.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl fmt::Display) {
        self.0.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            self.0.push(if index == 0 { '{' } else { ',' });
            // Writing to a String cannot fail.
            let _ = write!(self.0, "{label}=\"{}\"", escaped(text));
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    /// Adds a counter without labels.
    pub fn counter(&mut self, name: &str, help: &str, value: impl fmt::Display) {
        self.family(name, help, Kind::Counter);
        self.sample(name, &[], value);
    }

    /// Adds a gauge without labels.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl fmt::Display) {
        self.family(name, help, Kind::Gauge);
        self.sample(name, &[], value);
    }

    pub fn into_text(self) -> String {
        self.0
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', r"\\")
        .replace('"', r#"\""#)
        .replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::Exposition;

    #[test]
    fn labels_are_escaped() {
        let mut page = Exposition::default();
        page.sample("a", &[("b", "x\"\\\n"), ("c", "")], 0.5);
        page.sample("d", &[], 3);
        assert_eq!(page.into_text(), "a{b=\"x\\\"\\\\\\n\",c=\"\"} 0.5\nd 3\n");
    }
}
