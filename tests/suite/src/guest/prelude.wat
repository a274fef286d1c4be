  ;; Shared by all synthetic guests. The heap is reset at the start of a call if the instance serves no other one. Imports
  ;; store their results at address 64.
  (global $text (mut i32) (i32.const 0))
  (global $text_len (mut i32) (i32.const 0))
  (global $kind (mut i32) (i32.const 0))
  (global $kind_len (mut i32) (i32.const 0))
  (global $count (mut i32) (i32.const 0))
  (global $reader (mut i32) (i32.const 0))
  (global $writer (mut i32) (i32.const 0))
  (global $first (mut i32) (i32.const 0))
  (global $mark (mut i32) (i32.const 0))
  (global $all (mut i32) (i32.const 0))
  (global $at (mut i32) (i32.const 0))
  ;; How many calls the instance has in flight, in the asynchronous form.
  (global $tasks (mut i32) (i32.const 0))

  (table $things 1 funcref)

  ;; Calls itself until the stack overflows. The addition after the call prevents a tail call.
  (func $overflow (result i32) (i32.add (call $overflow) (global.get $count)))

  (func $alloc (param $size i32) (result i32)
    (local $at i32)
    (local $end i32)
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
    (local.set $end (i32.add (local.get $at) (local.get $size)))
    (if (i32.gt_u (local.get $end) (i32.mul (memory.size) (i32.const 65536)))
      (then
        (if (i32.eq (memory.grow (i32.add (i32.shr_u (local.get $size) (i32.const 16)) (i32.const 1))) (i32.const -1))
          (then unreachable))))
    (global.set $heap (local.get $end))
    (local.get $at))

  (func (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (call $alloc (local.get $size)))
    (if (i32.lt_u (local.get $size) (local.get $old_size)) (then (local.set $old_size (local.get $size))))
    (memory.copy (local.get $at) (local.get $old) (local.get $old_size))
    (local.get $at))

  ;; Appends to the text.
  (func $say (param $at i32) (param $len i32)
    (local $new i32)
    (local.set $new (call $alloc (i32.add (global.get $text_len) (local.get $len))))
    (memory.copy (local.get $new) (global.get $text) (global.get $text_len))
    (memory.copy (i32.add (local.get $new) (global.get $text_len)) (local.get $at) (local.get $len))
    (global.set $text (local.get $new))
    (global.set $text_len (i32.add (global.get $text_len) (local.get $len))))

  (func $clear (global.set $text_len (i32.const 0)))

  ;; Starts a listener: resets the heap and keeps the payload, which the host has just stored there; its data becomes the
  ;; text. JSON (case 0) has its text in `$a`, other content its type in `$a` and its data in `$b`. Everything moves to the
  ;; start of the heap in the host's order.
  (func $receive (param $base i32) (param $case i32) (param $a i32) (param $a_len i32) (param $b i32) (param $b_len i32)
    (memory.copy (local.get $base) (local.get $a) (local.get $a_len))
    (global.set $text (local.get $base))
    (global.set $text_len (local.get $a_len))
    (global.set $kind_len (i32.const 0))
    (if (local.get $case)
      (then
        (global.set $kind (local.get $base))
        (global.set $kind_len (local.get $a_len))
        (global.set $text (i32.add (local.get $base) (local.get $a_len)))
        (global.set $text_len (local.get $b_len))
        (memory.copy (global.get $text) (local.get $b) (local.get $b_len))))
    (global.set $heap (i32.add (global.get $text) (global.get $text_len))))

  ;; Makes the data of the payload that an import stored the text.
  (func $say_payload
    (call $clear)
    (if (i32.load8_u (i32.const 68))
      (then (call $say (i32.load (i32.const 80)) (i32.load (i32.const 84))))
      (else (call $say (i32.load (i32.const 72)) (i32.load (i32.const 76))))))

  ;; Appends the text that an import stored.
  (func $say_string (call $say (i32.load (i32.const 64)) (i32.load (i32.const 68))))

  ;; Appends the option<string> that an import stored.
  (func $say_option (param $none i32) (param $none_len i32)
    (if (i32.load8_u (i32.const 64))
      (then (call $say (i32.load (i32.const 68)) (i32.load (i32.const 72))))
      (else (call $say (local.get $none) (local.get $none_len)))))

  ;; Appends the list of properties or headers that an import stored, one line each.
  (func $say_pairs (param $equals i32) (param $line_end i32)
    (local $at i32)
    (local $end i32)
    (local.set $at (i32.load (i32.const 64)))
    (local.set $end (i32.add (local.get $at) (i32.mul (i32.load (i32.const 68)) (i32.const 16))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (call $say (i32.load (local.get $at)) (i32.load offset=4 (local.get $at)))
        (call $say (local.get $equals) (i32.const 1))
        (call $say (i32.load offset=8 (local.get $at)) (i32.load offset=12 (local.get $at)))
        (call $say (local.get $line_end) (i32.const 1))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br $next))))

  ;; Makes the text "failed <code>" or "failed <code>: <message>" from the failure that an import stored.
  (func $say_failure (param $failed i32) (param $failed_len i32) (param $colon i32) (param $with_message i32)
    (call $clear)
    (call $say (local.get $failed) (local.get $failed_len))
    (call $say (i32.load (i32.const 68)) (i32.load (i32.const 72)))
    (if (local.get $with_message)
      (then
        (call $say (local.get $colon) (i32.const 2))
        (call $say (i32.load (i32.const 88)) (i32.load (i32.const 92))))))

  ;; Appends a number below 10,000,000,000 in decimal.
  (func $say_number (param $value i32)
    (local $at i32)
    (local $len i32)
    (local.set $at (i32.add (call $alloc (i32.const 16)) (i32.const 16)))
    (loop $next
      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
      (local.set $len (i32.add (local.get $len) (i32.const 1)))
      (i32.store8 (local.get $at) (i32.add (i32.rem_u (local.get $value) (i32.const 10)) (i32.const 48)))
      (local.set $value (i32.div_u (local.get $value) (i32.const 10)))
      (br_if $next (local.get $value)))
    (call $say (local.get $at) (local.get $len)))
