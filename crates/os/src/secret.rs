/// Refuses to compile when one of these types has a `Debug` form, by which a secret could reach a line of a log. A
/// type that has one has both constants, and nothing says which of them is meant.
#[doc(hidden)]
#[macro_export]
macro_rules! assert_no_debug {
    ($($secret:ty),+ $(,)?) => {
        const _: () = {
            trait Printed<Which> {
                const IS_NOT: () = ();
            }
            impl<T: ?Sized> Printed<()> for T {}
            impl<T: ?Sized + ::core::fmt::Debug> Printed<u8> for T {}
            $(<$secret as Printed<_>>::IS_NOT;)+
        };
    };
}
