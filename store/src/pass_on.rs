//! Methods of a wrapper that only pass a call on. Inside `impl Store` with `#[async_trait]`, `pass_on!(inner: read, stat)`
//! implements `read` and `stat` by calling those of the field `inner`.

/// Implements methods of [`Store`](crate::Store) by those of a field.
#[macro_export]
macro_rules! pass_on {
    ($field:ident: $($method:ident),+) => { $($crate::pass_on!(@$method $field);)+ };
    (@create $field:ident) => {
        $crate::pass_on!(create('k) $field, key: &'k $crate::Key, bytes: ::bytes::Bytes => $crate::Created);
    };
    (@read $field:ident) => { $crate::pass_on!(read('k) $field, key: &'k $crate::Key => ::bytes::Bytes); };
    (@map $field:ident) => { $crate::pass_on!(map('k) $field, key: &'k $crate::Key => ::bytes::Bytes); };
    (@read_range $field:ident) => {
        $crate::pass_on!(
            read_range('k) $field, key: &'k $crate::Key, range: ::core::ops::Range<u64> => ::bytes::Bytes
        );
    };
    (@stat $field:ident) => { $crate::pass_on!(stat('k) $field, key: &'k $crate::Key => Option<$crate::Stat>); };
    (@list $field:ident) => {
        $crate::pass_on!(
            list('p, 'k) $field, prefix: &'p str, after: Option<&'k $crate::Key>, limit: usize => $crate::ListPage
        );
    };
    (@delete $field:ident) => { $crate::pass_on!(delete('k) $field, key: &'k $crate::Key => ()); };
    (@delete_all $field:ident) => { $crate::pass_on!(delete_all('k) $field, keys: &'k [$crate::Key] => ()); };
    (@now $field:ident) => { $crate::pass_on!(now() $field => $crate::StoreTime); };
    (@is_remote $field:ident) => { fn is_remote(&self) -> bool { self.$field.is_remote() } };
    (@largest $field:ident) => { fn largest(&self) -> Option<u64> { self.$field.largest() } };
    // The form that `#[async_trait]` gives a method; the future is the field's own.
    ($method:ident($($life:lifetime),*) $field:ident $(, $argument:ident: $type:ty)* => $answer:ty) => {
        fn $method<'s, $($life,)* 'call>(
            &'s self, $($argument: $type),*
        ) -> ::core::pin::Pin<Box<dyn Future<Output = Result<$answer, $crate::StoreError>> + Send + 'call>>
        where 's: 'call, $($life: 'call,)* Self: 'call {
            self.$field.$method($($argument),*)
        }
    };
}
