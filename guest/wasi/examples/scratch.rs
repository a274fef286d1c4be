fn main() {
    let a: Vec<String> = std::env::args().collect();
    let b = std::fs::read(&a[1]).unwrap();
    let t = std::time::Instant::now();
    let keep = a.get(3).cloned();
    let c = pointwork_wasi::compose(&b, |n| keep.as_ref().is_some_and(|k| n.starts_with(k.as_str())));
    match c { Ok(c) => { println!("{} -> {} {:?}", b.len(), c.len(), t.elapsed()); std::fs::write(&a[2], c).unwrap(); }
      Err(e) => println!("{e}: {:?}", e) }
}
