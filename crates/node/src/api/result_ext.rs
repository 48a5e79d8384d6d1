use super::{Condition, Result};

/// Helpers for a result whose failure may mean that nothing is left to do.
pub trait ResultExt {
    /// The operation's value.
    type Value;

    /// `None` instead of an error with this condition.
    ///
    /// # Errors
    /// All others.
    fn none_if(self, condition: Condition) -> Result<Option<Self::Value>>;

    /// Success instead of an error with this condition; for several it is repeated.
    ///
    /// # Errors
    /// All others.
    fn ok_if(self, condition: Condition) -> Result<()>;
}

impl<T> ResultExt for Result<T> {
    type Value = T;

    fn none_if(self, condition: Condition) -> Result<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is(condition) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn ok_if(self, condition: Condition) -> Result<()> {
        self.none_if(condition).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Cause, Error};

    #[test]
    fn only_an_error_with_the_condition_is_taken_for_success() {
        let failed = |condition| Err::<u8, _>(Error::new("look", "", Cause::failed(condition, "")));
        assert_eq!(
            failed(Condition::NotFound).ok_if(Condition::NotFound),
            Ok(())
        );
        assert_eq!(
            failed(Condition::NotFound).none_if(Condition::NotFound),
            Ok(None)
        );
        assert_eq!(Ok(1).none_if(Condition::NotFound), Ok(Some(1)));
        let chained = failed(Condition::InUse).ok_if(Condition::NotFound);
        assert!(chained.is_err());
        assert_eq!(chained.ok_if(Condition::InUse), Ok(()));
        let late: Result<()> = Err(Error::new("look", "", Cause::Deadline));
        assert!(late.ok_if(Condition::Other).is_err());
    }
}
