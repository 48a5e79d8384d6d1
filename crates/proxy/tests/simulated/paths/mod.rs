//! Clients' paths, over the wire and on a simulated node: the forms of texts, the links on the path, and that nothing
//! outside the working folders is ever touched.

mod attack;
mod fixture;
mod forms;
mod links;
mod lookups;
mod random;
mod random_swaps;
mod refusals;
mod roots;
mod sentry;
mod swaps;
