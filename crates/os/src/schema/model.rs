//! The shape of a row.

use std::iter;

use super::cim::CimType;

/// Where a row was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Microsoft's reference page says it.
    Page(&'static str),
    /// Microsoft's page of a cmdlet that is generated from the class says it. Names are the
    /// class's own; CIM types are inferred from the cmdlet's.
    Cmdlet(&'static str),
    /// Read off the class on a running Windows by a generator of Microsoft's, and published in
    /// its repository. Says names, types and directions, never meanings.
    Definition(&'static str),
    /// A file of the PowerShell modules that ship with Windows, read in a public copy: it shows the
    /// methods that a cmdlet calls on a class or on an instance, and the meaning of numbers.
    Module(&'static str),
    /// No source was found; the text has the assumption and its reason.
    Unverified(&'static str),
}

impl Source {
    /// The page to open, if there is one.
    pub const fn url(self) -> Option<&'static str> {
        match self {
            Self::Page(url) | Self::Cmdlet(url) | Self::Definition(url) | Self::Module(url) => {
                Some(url)
            }
            Self::Unverified(_) => None,
        }
    }
}

/// A WMI namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Namespace {
    Storage,
    Smb,
    CimV2,
}

impl Namespace {
    /// The path to connect to on the local machine.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Storage => r"Root\Microsoft\Windows\Storage",
            Self::Smb => r"Root\Microsoft\Windows\Smb",
            Self::CimV2 => r"Root\CimV2",
        }
    }
}

/// The first build of Windows that has something, for example 26100 for Windows Server 2025.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Build(pub u32);

impl Build {
    pub const SERVER_2012: Self = Self(9200);
    pub const SERVER_2012_R2: Self = Self(9600);
    pub const SERVER_2016: Self = Self(14393);
    pub const SERVER_2019: Self = Self(17763);
    pub const SERVER_2022: Self = Self(20348);
    pub const SERVER_2025: Self = Self(26100);
}

/// A number of an enumeration, and Microsoft's word for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedValue {
    pub value: u32,
    pub name: &'static str,
}

/// A text of an enumeration, and Microsoft's word for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedText {
    pub value: &'static str,
    pub name: &'static str,
}

pub(crate) const fn number(value: u32, name: &'static str) -> NamedValue {
    NamedValue { value, name }
}

pub(crate) const fn text(value: &'static str, name: &'static str) -> NamedText {
    NamedText { value, name }
}

/// The values that are documented; Windows may return others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    Any,
    Numbers(&'static [NamedValue]),
    Texts(&'static [NamedText]),
}

/// A property of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property {
    pub name: &'static str,
    pub cim: CimType,
    pub array: bool,
    pub key: bool,
    /// Documented as never null. Any other property may be.
    pub required: bool,
    pub values: Values,
    pub since: Option<Build>,
    pub source: Source,
}

impl Property {
    pub(crate) const fn new(name: &'static str, cim: CimType, source: Source) -> Self {
        Self {
            name,
            cim,
            array: false,
            key: false,
            required: false,
            values: Values::Any,
            since: None,
            source,
        }
    }

    pub(crate) const fn array(self) -> Self {
        Self {
            array: true,
            ..self
        }
    }

    /// A key is never null.
    pub(crate) const fn key(self) -> Self {
        Self {
            key: true,
            required: true,
            ..self
        }
    }

    pub(crate) const fn required(self) -> Self {
        Self {
            required: true,
            ..self
        }
    }

    pub(crate) const fn numbers(self, values: &'static [NamedValue]) -> Self {
        Self {
            values: Values::Numbers(values),
            ..self
        }
    }

    pub(crate) const fn texts(self, values: &'static [NamedText]) -> Self {
        Self {
            values: Values::Texts(values),
            ..self
        }
    }

    pub(crate) const fn since(self, build: Build) -> Self {
        Self {
            since: Some(build),
            ..self
        }
    }
}

/// Which way a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
}

/// A parameter of a method. `ReturnValue` is not one of them: every method here returns `uint32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: &'static str,
    pub direction: Direction,
    pub cim: CimType,
    pub array: bool,
    /// May be left out (null). Always true of what comes out.
    pub optional: bool,
    /// A password or the like, which must not be shown.
    pub secret: bool,
    pub values: Values,
    pub since: Option<Build>,
    pub source: Source,
}

impl Parameter {
    pub(crate) const fn input(name: &'static str, cim: CimType, source: Source) -> Self {
        Self {
            name,
            direction: Direction::In,
            cim,
            array: false,
            optional: true,
            secret: false,
            values: Values::Any,
            since: None,
            source,
        }
    }

    pub(crate) const fn output(name: &'static str, cim: CimType, source: Source) -> Self {
        Self {
            direction: Direction::Out,
            ..Self::input(name, cim, source)
        }
    }

    pub(crate) const fn array(self) -> Self {
        Self {
            array: true,
            ..self
        }
    }

    pub(crate) const fn required(self) -> Self {
        Self {
            optional: false,
            ..self
        }
    }

    pub(crate) const fn secret(self) -> Self {
        Self {
            secret: true,
            ..self
        }
    }

    pub(crate) const fn numbers(self, values: &'static [NamedValue]) -> Self {
        Self {
            values: Values::Numbers(values),
            ..self
        }
    }

    pub(crate) const fn texts(self, values: &'static [NamedText]) -> Self {
        Self {
            values: Values::Texts(values),
            ..self
        }
    }

    pub(crate) const fn since(self, build: Build) -> Self {
        Self {
            since: Some(build),
            ..self
        }
    }
}

/// A value of `ReturnValue`, and Microsoft's words for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnCode {
    pub code: u32,
    pub meaning: &'static str,
}

impl ReturnCode {
    pub(crate) const fn new(code: u32, meaning: &'static str) -> Self {
        Self { code, meaning }
    }
}

/// The return codes that are documented for a method; Windows may return others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returns {
    pub codes: &'static [ReturnCode],
    pub source: Source,
}

/// The object or class that a method is called on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The path of an instance.
    Instance,
    /// The class itself. The pages do not distinguish the two, so this has the source that does.
    Static(Source),
}

/// A method of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    pub name: &'static str,
    pub scope: Scope,
    /// In the order of the declaration.
    pub parameters: &'static [Parameter],
    pub returns: Returns,
    pub since: Option<Build>,
    pub source: Source,
}

impl Method {
    /// A method whose page lists its return codes.
    pub(crate) const fn instance(
        name: &'static str,
        parameters: &'static [Parameter],
        codes: &'static [ReturnCode],
        source: Source,
    ) -> Self {
        Self {
            name,
            scope: Scope::Instance,
            parameters,
            returns: Returns { codes, source },
            since: None,
            source,
        }
    }

    pub(crate) const fn on_class(self, shown_by: Source) -> Self {
        Self {
            scope: Scope::Static(shown_by),
            ..self
        }
    }

    pub(crate) const fn returns(self, returns: Returns) -> Self {
        Self { returns, ..self }
    }

    pub(crate) const fn since(self, build: Build) -> Self {
        Self {
            since: Some(build),
            ..self
        }
    }

    /// The parameter of this name, compared without case.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.name.eq_ignore_ascii_case(name))
    }

    /// Microsoft's words for a return code, if this method is documented to return it.
    pub fn meaning(&self, code: u32) -> Option<&'static str> {
        self.returns
            .codes
            .iter()
            .find(|row| row.code == code)
            .map(|row| row.meaning)
    }
}

/// A class.
#[derive(Debug, PartialEq, Eq)]
pub struct Class {
    pub name: &'static str,
    pub namespace: Namespace,
    /// The class that this one derives from, when the table has it.
    pub base: Option<&'static Self>,
    /// Those of this class alone, see [`Class::all_properties`].
    pub properties: &'static [Property],
    pub methods: &'static [Method],
    pub source: Source,
}

impl Class {
    /// The properties of this class and of its bases.
    pub fn all_properties(&'static self) -> impl Iterator<Item = &'static Property> {
        self.lineage().flat_map(|class| class.properties)
    }

    /// The property of this name, inherited ones too, compared without case.
    pub fn property(&'static self, name: &str) -> Option<&'static Property> {
        self.all_properties()
            .find(|property| property.name.eq_ignore_ascii_case(name))
    }

    /// The properties that together name an instance; none for a class without instances.
    pub fn keys(&'static self) -> impl Iterator<Item = &'static Property> {
        self.all_properties().filter(|property| property.key)
    }

    /// The method of this name, compared without case.
    pub fn method(&self, name: &str) -> Option<&'static Method> {
        self.methods
            .iter()
            .find(|method| method.name.eq_ignore_ascii_case(name))
    }

    /// Whether this class only says that two objects belong together.
    pub fn is_association(&self) -> bool {
        self.properties
            .iter()
            .filter(|property| matches!(property.cim, CimType::Reference(_)))
            .count()
            == 2
    }

    /// The property of an association that refers to objects of `class`. `None` also if both ends
    /// may, as with services: then the constant names the end.
    pub fn end(&self, class: &'static Self) -> Option<&'static Property> {
        let mut ends = self
            .properties
            .iter()
            .filter(|property| class.is_a_target_of(property.cim));
        ends.next().filter(|_| ends.next().is_none())
    }

    /// This class, then the one that it derives from, and so on.
    fn lineage(&'static self) -> impl Iterator<Item = &'static Self> {
        iter::successors(Some(self), |class| class.base)
    }

    fn is_a_target_of(&'static self, cim: CimType) -> bool {
        self.lineage()
            .any(|class| cim == CimType::Reference(class.name))
    }
}
