//! Reads the seam's queries in WQL.
//!
//! Grammar: <https://learn.microsoft.com/windows/win32/wmisdk/select-statement-for-data-queries>,
//! <https://learn.microsoft.com/windows/win32/wmisdk/where-clause> and
//! <https://learn.microsoft.com/windows/win32/wmisdk/associators-of-statement>. `OR`, `LIKE`, the other comparisons and
//! the other keywords of associators are not read.

use std::iter::Peekable;
use std::vec::IntoIter;

use os::Comparison;

use crate::object_path::{identifier, unquoted};

/// A query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// `SELECT columns FROM class WHERE conditions`.
    Select {
        /// None at all is `*`.
        columns: Vec<String>,
        class: String,
        /// All must hold.
        conditions: Vec<Predicate>,
    },
    /// `ASSOCIATORS OF {of} WHERE AssocClass = association ResultClass = result`.
    Associators {
        of: String,
        /// The association.
        association: String,
        /// The class of the results.
        result: String,
    },
}

/// `property = literal`, or another comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predicate {
    /// The property to compare.
    pub property: String,
    pub comparison: Comparison,
    /// The value to compare with.
    pub literal: Literal,
}

/// A value as a query spells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// `TRUE` or `FALSE`.
    Bool(bool),
    /// `NULL`.
    Null,
    /// Of any width.
    Number(i128),
    /// Between quotes of either kind.
    Text(String),
}

/// Reads a query to its end; `None` when it is none.
#[must_use]
pub fn read(query: &str) -> Option<Statement> {
    let mut reader = Reader(tokens(query)?.into_iter().peekable());
    let statement = match reader.word()?.to_ascii_uppercase().as_str() {
        "SELECT" => reader.select()?,
        "ASSOCIATORS" => reader.associators()?,
        _ => return None,
    };
    reader.0.next().is_none().then_some(statement)
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// The text between braces.
    Braced(String),
    Number(i128),
    Sign(&'static str),
    Text(String),
    Word(String),
}

fn tokens(mut rest: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if rest.is_empty() {
            return Some(tokens);
        }
        let (token, behind) = token(rest)?;
        tokens.push(token);
        rest = behind;
    }
}

/// The longer signs first.
const SIGNS: [&str; 5] = ["<>", "!=", "=", ",", "*"];

fn token(text: &str) -> Option<(Token, &str)> {
    let first = text.chars().next()?;
    if let Some(sign) = SIGNS.into_iter().find(|sign| text.starts_with(sign)) {
        return Some((Token::Sign(sign), &text[sign.len()..]));
    }
    match first {
        '\'' | '"' => {
            let (value, behind) = unquoted(&text[1..], first)?;
            Some((Token::Text(value), behind))
        }
        '{' => {
            let (path, behind) = braced(&text[1..])?;
            Some((Token::Braced(path.to_owned()), behind))
        }
        '-' | '0'..='9' => number(text),
        _ => {
            let (word, behind) = identifier(text)?;
            Some((Token::Word(word.to_owned()), behind))
        }
    }
}

fn number(text: &str) -> Option<(Token, &str)> {
    let end = text[1..]
        .find(|letter: char| !letter.is_ascii_alphanumeric())
        .map_or(text.len(), |at| at + 1);
    let (number, behind) = text.split_at(end);
    Some((Token::Number(number.parse().ok()?), behind))
}

/// The text before the closing brace, ignoring braces within a quoted key.
fn braced(text: &str) -> Option<(&str, &str)> {
    let mut rest = text;
    loop {
        let at = rest.find(['"', '}'])?;
        let here = text.len() - rest.len() + at;
        if rest[at..].starts_with('}') {
            return Some((&text[..here], &text[here + 1..]));
        }
        (_, rest) = unquoted(&rest[at + 1..], '"')?;
    }
}

struct Reader(Peekable<IntoIter<Token>>);

impl Reader {
    fn select(&mut self) -> Option<Statement> {
        let columns = self.columns()?;
        self.keyword("FROM")?;
        let class = self.word()?;
        let mut conditions = Vec::new();
        if self.0.peek().is_some() {
            self.keyword("WHERE")?;
            conditions.push(self.condition()?);
        }
        while self.0.peek().is_some() {
            self.keyword("AND")?;
            conditions.push(self.condition()?);
        }
        Some(Statement::Select {
            columns,
            class,
            conditions,
        })
    }

    fn associators(&mut self) -> Option<Statement> {
        self.keyword("OF")?;
        let Token::Braced(of) = self.0.next()? else {
            return None;
        };
        self.keyword("WHERE")?;
        let association = self.named("AssocClass")?;
        let result = self.named("ResultClass")?;
        Some(Statement::Associators {
            of,
            association,
            result,
        })
    }

    fn columns(&mut self) -> Option<Vec<String>> {
        if self.sign("*").is_some() {
            return Some(Vec::new());
        }
        let mut columns = vec![self.word()?];
        while self.sign(",").is_some() {
            columns.push(self.word()?);
        }
        Some(columns)
    }

    fn condition(&mut self) -> Option<Predicate> {
        let property = self.word()?;
        let (comparison, literal) = match self.0.next()? {
            Token::Sign("=") => (Comparison::Equal, self.literal()?),
            Token::Sign("<>" | "!=") => (Comparison::NotEqual, self.literal()?),
            Token::Word(word) if word.eq_ignore_ascii_case("IS") => {
                (self.is_null()?, Literal::Null)
            }
            _ => return None,
        };
        Some(Predicate {
            property,
            comparison,
            literal,
        })
    }

    /// Behind `IS`.
    fn is_null(&mut self) -> Option<Comparison> {
        let word = self.word()?;
        if word.eq_ignore_ascii_case("NULL") {
            return Some(Comparison::Equal);
        }
        let is_not = word.eq_ignore_ascii_case("NOT");
        self.keyword("NULL").filter(|()| is_not)?;
        Some(Comparison::NotEqual)
    }

    fn literal(&mut self) -> Option<Literal> {
        match self.0.next()? {
            Token::Number(number) => Some(Literal::Number(number)),
            Token::Text(text) => Some(Literal::Text(text)),
            Token::Word(word) if word.eq_ignore_ascii_case("TRUE") => Some(Literal::Bool(true)),
            Token::Word(word) if word.eq_ignore_ascii_case("FALSE") => Some(Literal::Bool(false)),
            _ => None,
        }
    }

    /// `name = word`.
    fn named(&mut self, name: &str) -> Option<String> {
        self.keyword(name)?;
        self.sign("=")?;
        self.word()
    }

    fn keyword(&mut self, keyword: &str) -> Option<()> {
        self.word()?.eq_ignore_ascii_case(keyword).then_some(())
    }

    fn word(&mut self) -> Option<String> {
        match self.0.next()? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    fn sign(&mut self, sign: &str) -> Option<()> {
        let next = self
            .0
            .next_if(|token| matches!(token, Token::Sign(it) if *it == sign));
        next.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use os::Comparison;

    use super::{Literal, Statement, read};

    fn literals(query: &str) -> Vec<Literal> {
        match read(query) {
            Some(Statement::Select { conditions, .. }) => {
                conditions.into_iter().map(|it| it.literal).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn literals_of_each_kind_are_read() {
        let found = literals(
            r#"select * from A where B = 1 and C <> 'it\'s \"x\\' AND D != "y" and E = true"#,
        );
        let text = |text: &str| Literal::Text(text.to_owned());
        let wanted = [
            Literal::Number(1),
            text(r#"it's "x\"#),
            text("y"),
            Literal::Bool(true),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn nulls_are_compared_by_is() {
        let Some(Statement::Select { conditions, .. }) =
            read("SELECT a, b FROM C WHERE a IS NULL AND b is not null")
        else {
            panic!("a query");
        };
        let comparisons: Vec<_> = conditions.iter().map(|it| it.comparison).collect();
        assert_eq!(comparisons, [Comparison::Equal, Comparison::NotEqual]);
        assert!(read("SELECT a FROM C WHERE a = NULL").is_none());
    }

    #[test]
    fn a_path_ends_at_the_brace_outside_of_its_quotes() {
        let query = r#"ASSOCIATORS OF {A.K="{1}\"} x"} WHERE AssocClass = B ResultClass = C"#;
        let Some(Statement::Associators {
            of,
            association,
            result,
        }) = read(query)
        else {
            panic!("a query");
        };
        assert_eq!(
            (of.as_str(), association.as_str(), result.as_str()),
            (r#"A.K="{1}\"} x""#, "B", "C")
        );
    }

    #[test]
    fn what_is_no_query_is_not_read() {
        for query in [
            "",
            "SELECT",
            "SELECT FROM A",
            "SELECT a b FROM A",
            "SELECT * FROM A WHERE",
            "SELECT * FROM A WHERE b",
            "SELECT * FROM A WHERE b = 1 OR c = 2",
            "SELECT * FROM A WHERE b = 1 x",
            "SELECT * FROM A WHERE b = 1x",
            "SELECT * FROM A WHERE b = 'x",
            "SELECT * FROM A WHERE b = 'x' 'y'",
            "SELECT * FROM A; SELECT * FROM B",
            "ASSOCIATORS OF {A} WHERE ClassDefsOnly",
            "ASSOCIATORS OF {A=\"} WHERE AssocClass = B ResultClass = C",
        ] {
            assert_eq!(read(query), None, "{query}");
        }
    }
}
