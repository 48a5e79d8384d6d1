//! A program that does nothing: the memory that any Rust program takes before its own work begins.

fn main() {
    loop {
        std::thread::park();
    }
}
