use super::Held;

#[test]
fn the_end_of_a_head_is_seen_in_any_pieces() {
    let head = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    for size in 1..=head.len() {
        let mut held = Held::default();
        let seen: Vec<bool> = head.chunks(size).map(|piece| held.completes(piece)).collect();
        let (last, before) = seen.split_last().unwrap();
        assert!(*last && !before.contains(&true), "{size}: {seen:?}");
    }
    let mut held = Held::default();
    assert!(held.completes(b"GET / HTTP/1.1\r\n\r\nbody"));
    // A part of it may have been read while a handler ran.
    held.remember(b"GET / HTTP/1.1\r\nhost: a\r\n\r");
    assert!(!held.completes(b""));
    assert!(held.completes(b"\n"));
}

#[test]
fn bytes_are_given_in_order_as_far_as_there_is_room() {
    let mut held = Held::default();
    held.bytes.extend_from_slice(b"abcde");
    held.released = true;
    let mut buf = [0; 3];
    assert_eq!((held.give(&mut buf), &buf), (3, b"abc"));
    assert!(held.released);
    assert_eq!((held.give(&mut buf), &buf[..2]), (2, &b"de"[..]));
    assert!(!held.released);
}
