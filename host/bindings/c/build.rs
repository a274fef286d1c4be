//! Names the version of the ABI in the library, so that the loader refuses a program of another one, and has the library
//! stay in memory behind `dlclose`: threads and handlers of signals that run its code outlive an application that was not
//! closed.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpointwork.so.1");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
