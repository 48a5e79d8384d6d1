use crate::SuiteFailure;

/// A case with another answer from an implementation, and this answer.
#[derive(Debug, Clone, Copy)]
pub struct Deviation {
    /// The [`crate::Case::name`].
    pub case: &'static str,
    /// The case's [`SuiteFailure::summary`] there.
    pub answer: &'static str,
}

impl Deviation {
    /// Compares the answer with the one in the table: any other answer, even the right one, is an
    /// error.
    pub(crate) fn confirm(&self, outcome: Result<(), SuiteFailure>) -> Result<(), String> {
        match outcome {
            Err(failure) if failure.summary() == self.answer => Ok(()),
            Err(failure) => Err(format!(
                "the table says {:?}, but now it is {:?}: {failure}",
                self.answer,
                failure.summary()
            )),
            Ok(()) => Err("holds now: take its row out of the table".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Deviation;
    use crate::SuiteFailure;

    #[test]
    fn only_the_known_answer_is_confirmed() {
        let row = Deviation {
            case: "files::some",
            answer: "not so: there are links",
        };
        let known = SuiteFailure::Wrong("not so: there are links".to_owned());
        let other = SuiteFailure::Wrong("not so: there are files".to_owned());
        assert_eq!(row.confirm(Err(known)), Ok(()));
        assert!(row.confirm(Err(other)).is_err());
        assert!(row.confirm(Ok(())).is_err());
    }
}
