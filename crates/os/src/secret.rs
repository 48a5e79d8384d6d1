/// Fails to compile if one of these types has a `Debug` form, through which a secret could reach the log. A type
/// with one has both constants, so that the constant is ambiguous.
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
