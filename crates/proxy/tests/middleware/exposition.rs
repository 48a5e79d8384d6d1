//! A strict reader of Prometheus's text format
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>).

use std::collections::{BTreeMap, BTreeSet};

/// A page, read. Labels are in the order of their names.
pub(crate) struct Exposition {
    text: String,
    samples: BTreeMap<String, f64>,
    bounds: BTreeMap<String, Vec<String>>,
}

impl Exposition {
    /// Reads a page, and fails the test for every violation of the format or of a histogram's meaning.
    pub(crate) fn parse(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line has its end");
        let mut page = Self {
            text: text.to_owned(),
            samples: BTreeMap::new(),
            bounds: BTreeMap::new(),
        };
        let mut families = BTreeSet::new();
        let mut family = None;
        let mut helped = None;
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                helped = help.split(' ').next().map(str::to_owned);
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a name and a kind");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(helped.as_deref(), Some(name), "help goes before type");
                assert!(families.insert(name.to_owned()), "{name} comes twice");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                family = Some((name.to_owned(), kind == "histogram"));
            } else {
                page.sample(line, family.as_ref().expect("a family goes before"));
            }
        }
        page.check_histograms();
        page
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn value(&self, series: &str) -> Option<f64> {
        self.samples.get(series).copied()
    }

    /// The bounds of a histogram, alike in all its series.
    pub(crate) fn bounds(&self, family: &str) -> Vec<&str> {
        let mut all = self
            .bounds
            .iter()
            .filter(|(series, _)| series.starts_with(family));
        let (_, first) = all.next().expect("a series");
        assert!(all.all(|(_, bounds)| bounds == first));
        first.iter().map(String::as_str).collect()
    }

    fn sample(&mut self, line: &str, (family, is_histogram): &(String, bool)) {
        let (series, value) = line.rsplit_once(' ').expect("a value");
        let (name, labels) = match series.split_once('{') {
            None => (series, BTreeMap::new()),
            Some((name, labels)) => (name, read_in_order(labels)),
        };
        let suffixes: &[&str] = match is_histogram {
            true => &["_bucket", "_sum", "_count"],
            false => &[""],
        };
        let known = suffixes
            .iter()
            .any(|suffix| name == format!("{family}{suffix}"));
        assert!(known && is_name(name), "{line} in {family}");
        let value: f64 = value.parse().expect("a number");
        if let (true, Some(bound)) = (name.ends_with("_bucket"), labels.get("le")) {
            let mut rest = labels.clone();
            rest.remove("le");
            let series = format!("{family}{}", written(&rest));
            self.bounds.entry(series).or_default().push(bound.clone());
        }
        let series = format!("{name}{}", written(&labels));
        assert_eq!(
            self.samples.insert(series, value),
            None,
            "{line} comes twice"
        );
    }

    fn check_histograms(&self) {
        for (series, bounds) in &self.bounds {
            let (family, labels) = series.split_once('{').expect("our histograms have labels");
            let labels = labels.trim_end_matches('}');
            let numbers = bounds.iter().map(|bound| match bound.as_str() {
                "+Inf" => f64::INFINITY,
                bound => bound.parse().expect("a number"),
            });
            assert!(numbers.is_sorted(), "{series}: {bounds:?}");
            assert_eq!(bounds.last().map(String::as_str), Some("+Inf"), "{series}");
            let counts: Vec<f64> = bounds
                .iter()
                .map(|bound| {
                    let mut all = read_labels(&format!("{labels}}}"));
                    all.insert(String::from("le"), bound.clone());
                    self.samples[&format!("{family}_bucket{}", written(&all))]
                })
                .collect();
            assert!(counts.is_sorted(), "{series}: {counts:?}");
            let total = self.samples[&format!("{family}_count{{{labels}}}")];
            assert_eq!(counts.last(), Some(&total), "{series}");
            assert!(self.samples[&format!("{family}_sum{{{labels}}}")] >= 0.0);
        }
    }
}

/// As Go's library writes them: by their names, and the bound of a bucket behind.
fn read_in_order(text: &str) -> BTreeMap<String, String> {
    let labels = read_labels(text);
    let mut sorted = labels.clone();
    let bound = sorted.remove("le").map(|bound| format!("le=\"{bound}\""));
    let sorted = sorted
        .iter()
        .map(|(name, value)| format!("{name}=\"{value}\""));
    let sorted: Vec<_> = sorted.chain(bound).collect();
    assert_eq!(text, format!("{}}}", sorted.join(",")));
    labels
}

/// `a="b",c="d"}`
fn read_labels(mut text: &str) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    loop {
        let (name, rest) = text.split_once("=\"").expect("a label");
        assert!(is_name(name) && !name.contains(':'), "{name}");
        let (value, rest) = read_value(rest);
        assert_eq!(
            labels.insert(name.to_owned(), value),
            None,
            "{name} comes twice"
        );
        match rest {
            "}" => return labels,
            rest => text = rest.strip_prefix(',').expect("a comma"),
        }
    }
}

/// The value up to its quote, its escapes kept, and the rest.
fn read_value(text: &str) -> (String, &str) {
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        match (is_escaped, character) {
            (true, '\\' | '"' | 'n') => is_escaped = false,
            (true, other) => panic!("\\{other} is no escape"),
            (false, '\\') => is_escaped = true,
            (false, '"') => return (text[..at].to_owned(), &text[at + 1..]),
            (false, _) => {}
        }
    }
    panic!("{text}: no quote");
}

fn written(labels: &BTreeMap<String, String>) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let labels: Vec<_> = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{value}\""))
        .collect();
    format!("{{{}}}", labels.join(","))
}

fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte == b':';
    name.bytes().next().is_some_and(is_letter)
        && name
            .bytes()
            .all(|byte| is_letter(byte) || byte.is_ascii_digit())
}
