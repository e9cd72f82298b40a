//! Methods of a wrapper that only pass a call on. Inside `impl Store` with `#[async_trait]`, `pass_on!(inner: read, stat)`
//! implements `read` and `stat` by calling those of the field `inner`, and `pass_on!(**: read)` by what a reference leads to.
//! `pass_on!(call(): read)` hands operation and name to the wrapper's method `call`, and a closure that makes the call with
//! copies of its arguments, to be run elsewhere.

/// Implements methods of [`Store`](crate::Store) by those of another store.
#[macro_export]
macro_rules! pass_on {
    (**: $($method:ident),+) => { $($crate::pass_on!(@$method self, now [**self]);)+ };
    ($via:ident(): $($method:ident),+) => { $($crate::pass_on!(@$method self, later [self.$via]);)+ };
    ($field:ident: $($method:ident),+) => { $($crate::pass_on!(@$method self, now [self.$field]);)+ };
    (@create $($to:tt)+) => { $crate::pass_on! {
        create Create (key.as_str()) ['k] (key: &'k $crate::Key = key.clone() => &key, bytes: ::bytes::Bytes => bytes)
            -> $crate::Created, $($to)+
    } };
    (@read $($to:tt)+) => { $crate::pass_on! {
        read Read (key.as_str()) ['k] (key: &'k $crate::Key = key.clone() => &key) -> ::bytes::Bytes, $($to)+
    } };
    (@map $($to:tt)+) => { $crate::pass_on! {
        map Map (key.as_str()) ['k] (key: &'k $crate::Key = key.clone() => &key) -> ::bytes::Bytes, $($to)+
    } };
    (@read_range $($to:tt)+) => { $crate::pass_on! {
        read_range ReadRange (key.as_str()) ['k]
            (key: &'k $crate::Key = key.clone() => &key, range: ::core::ops::Range<u64> => range)
            -> ::bytes::Bytes, $($to)+
    } };
    (@stat $($to:tt)+) => { $crate::pass_on! {
        stat Stat (key.as_str()) ['k] (key: &'k $crate::Key = key.clone() => &key) -> Option<$crate::Stat>, $($to)+
    } };
    (@list $($to:tt)+) => { $crate::pass_on! {
        list List (prefix) ['p, 'k] (
            prefix: &'p str = prefix.to_owned() => &prefix,
            after: Option<&'k $crate::Key> = after.cloned() => after.as_ref(),
            limit: usize => limit
        ) -> $crate::ListPage, $($to)+
    } };
    (@delete $($to:tt)+) => { $crate::pass_on! {
        delete Delete (key.as_str()) ['k] (key: &'k $crate::Key = key.clone() => &key) -> (), $($to)+
    } };
    (@delete_all $($to:tt)+) => { $crate::pass_on! {
        delete_all Delete (keys.first().map_or("", $crate::Key::as_str)) ['k]
            (keys: &'k [$crate::Key] = keys.to_vec() => &keys) -> (), $($to)+
    } };
    (@now $($to:tt)+) => { $crate::pass_on! { now Now ("") [] () -> $crate::StoreTime, $($to)+ } };
    (@is_remote $me:ident, now [$($to:tt)+]) => { fn is_remote(&$me) -> bool { ($($to)+).is_remote() } };
    (@largest $me:ident, now [$($to:tt)+]) => { fn largest(&$me) -> Option<u64> { ($($to)+).largest() } };
    // The form that `#[async_trait]` gives a method; the future is the other store's own.
    (
        $method:ident $op:ident ($name:expr) [$($life:lifetime),*]
        ($($argument:ident: $type:ty $(= $own:expr)? => $pass:expr),*) -> $answer:ty, $me:ident, now [$($to:tt)+]
    ) => {
        fn $method<'s, $($life,)* 'call>(
            &'s $me, $($argument: $type),*
        ) -> ::core::pin::Pin<Box<dyn Future<Output = Result<$answer, $crate::StoreError>> + Send + 'call>>
        where 's: 'call, $($life: 'call,)* Self: 'call {
            ($($to)+).$method($($argument),*)
        }
    };
    (
        $method:ident $op:ident ($name:expr) [$($life:lifetime),*]
        ($($argument:ident: $type:ty $(= $own:expr)? => $pass:expr),*) -> $answer:ty, $me:ident, later [$($to:tt)+]
    ) => {
        fn $method<'s, $($life,)* 'call>(
            &'s $me, $($argument: $type),*
        ) -> ::core::pin::Pin<Box<dyn Future<Output = Result<$answer, $crate::StoreError>> + Send + 'call>>
        where 's: 'call, $($life: 'call,)* Self: 'call {
            let of = ($crate::Op::$op, $name);
            $($(let $argument = $own;)?)*
            Box::pin($($to)+(of, move |inner| async move { inner.$method($($pass),*).await }))
        }
    };
}
