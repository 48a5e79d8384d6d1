//! What the objects refuse: a client that is wrong has to see it here.

#![cfg(windows)]

mod refusals;
