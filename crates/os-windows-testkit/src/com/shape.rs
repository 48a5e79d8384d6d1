use os::schema::{CimType, Class, Direction, Method, Parameter, Property};

use crate::provided::RETURN_VALUE;

/// An object's possible properties, by the class table.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Class(&'static Class),
    /// The in-parameters of a method.
    Input(&'static Method),
    /// The out-parameters of a method.
    Output(&'static Method),
}

/// A property of an object.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) cim: CimType,
    pub(super) array: bool,
}

impl Shape {
    /// The name of the class.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Class(class) => class.name,
            // https://learn.microsoft.com/windows/win32/wmisdk/--parameters
            Self::Input(_) | Self::Output(_) => "__PARAMETERS",
        }
    }

    pub(super) fn fields(self) -> Vec<Field> {
        match self {
            Self::Class(class) => class.all_properties().map(Field::from).collect(),
            Self::Input(method) => parameters(method, Direction::In).collect(),
            Self::Output(method) => {
                let code = Field {
                    name: RETURN_VALUE,
                    cim: CimType::Uint32,
                    array: false,
                };
                parameters(method, Direction::Out).chain([code]).collect()
            }
        }
    }

    /// The field of this name, compared without case.
    pub(super) fn field(self, name: &str) -> Option<Field> {
        let mut fields = self.fields().into_iter();
        fields.find(|field| field.name.eq_ignore_ascii_case(name))
    }
}

fn parameters(method: &'static Method, direction: Direction) -> impl Iterator<Item = Field> {
    let rows = method.parameters.iter();
    rows.filter(move |row| row.direction == direction)
        .map(Field::from)
}

impl From<&Property> for Field {
    fn from(row: &Property) -> Self {
        Self {
            name: row.name,
            cim: row.cim,
            array: row.array,
        }
    }
}

impl From<&Parameter> for Field {
    fn from(row: &Parameter) -> Self {
        Self {
            name: row.name,
            cim: row.cim,
            array: row.array,
        }
    }
}
