mod source;
#[test]
fn it() {
    let c = source::assembled();
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/component.wasm"), &c).unwrap();
    panic!("{}", c.len());
}
