;; The adapter from `wasi_snapshot_preview1` to the contract; what each function answers is said in lib.rs.
;;
;; It has to be what wit-component takes as an adapter: no data, no tables, the memory of the guest. It has no stack in that
;; memory either (a global `__stack_pointer` would get it a page of 64 KiB). So a sentence is written into the memory by
;; constants: the test that assembles this file turns each `@panic` into stores and a call of `$panic`.
;;
;; Error numbers: 8 badf, 28 inval, 54 notdir, 57 notsock, 58 notsup, 70 spipe.
(module
  (import "pointwork:module/environment@0.2.0" "now" (func $now (param i32)))
  (import "pointwork:module/environment@0.2.0" "monotonic" (func $monotonic (param i32)))
  (import "pointwork:module/environment@0.2.0" "random" (func $random (result i32)))
  (import "pointwork:module/environment@0.2.0" "variables" (func $variables (param i32)))
  (import "pointwork:module/log@0.2.0" "print" (func $print (param i32 i32 i32)))
  (import "pointwork:module/log@0.2.0" "panicked" (func $panicked (param i32 i32 i32 i32 i32 i32 i32)))
  (import "__main_module__" "cabi_realloc" (func $realloc (param i32 i32 i32 i32) (result i32)))
  (import "env" "memory" (memory 0))

  ;; The list that `variables` returned, 16 bytes for each: name and value, each with its address and length. A C library
  ;; asks for the sizes first and then for the contents; both are answered from here. An empty list is not kept, since the
  ;; call may have been outside of a request.
  (global $list (mut i32) (i32.const 0))
  (global $count (mut i32) (i32.const 0))

  ;; What the host returns to the adapter, it puts into memory of the guest. The adapter keeps it as long as the instance.
  (func (export "cabi_import_realloc") (param i32 i32 i32 i32) (result i32)
    (call $realloc (local.get 0) (local.get 1) (local.get 2) (local.get 3)))

  ;; Reports the sentence at address 0 and traps. No code of the guest runs after it, so nothing there is missed.
  (func $panic (param $length i32)
    (call $panicked (i32.const 0) (local.get $length)
      (i32.const 0) (i32.const 0) (i32.const 0) ;; no type of an exception
      (i32.const 0) (i32.const 0)) ;; no frames
    unreachable)

  ;; The nanoseconds of a clock. The host writes its record of 16 bytes at address 0; what was there is put back, since no other
  ;; memory is known to be free.
  (func $nanoseconds (param $is_monotonic i32) (result i64)
    (local $first i64) (local $second i64) (local $time i64)
    (local.set $first (i64.load (i32.const 0)))
    (local.set $second (i64.load (i32.const 8)))
    (if (local.get $is_monotonic)
      (then (call $monotonic (i32.const 0)))
      (else (call $now (i32.const 0))))
    (local.set $time (i64.add
      (i64.mul (i64.load (i32.const 0)) (i64.const 1000000000))
      (i64.load32_u (i32.const 8))))
    (i64.store (i32.const 0) (local.get $first))
    (i64.store (i32.const 8) (local.get $second))
    (local.get $time))

  ;; Whether it is one of the three standard streams, the only descriptors there are.
  (func $is_stream (param $fd i32) (result i32)
    (i32.lt_u (local.get $fd) (i32.const 3)))

  ;; The error of what a stream cannot do: that of the caller for a stream, badf for every other descriptor.
  (func $stream_or_badf (param $fd i32) (param $error i32) (result i32)
    (select (local.get $error) (i32.const 8) (call $is_stream (local.get $fd))))

  ;; Arguments and variables

  (func (export "args_get") (param i32 i32) (result i32)
    (i32.const 0))
  (func (export "args_sizes_get") (param $count i32) (param $size i32) (result i32)
    (i32.store (local.get $count) (i32.const 0))
    (i32.store (local.get $size) (i32.const 0))
    (i32.const 0))

  (func $load_variables
    (local $at i32)
    (if (i32.eqz (global.get $count)) (then
      (local.set $at (call $realloc (i32.const 0) (i32.const 0) (i32.const 4) (i32.const 8)))
      (call $variables (local.get $at))
      (global.set $list (i32.load (local.get $at)))
      (global.set $count (i32.load offset=4 (local.get $at))))))

  (func (export "environ_sizes_get") (param $count i32) (param $size i32) (result i32)
    (local $entry i32) (local $left i32) (local $bytes i32)
    (call $load_variables)
    (local.set $entry (global.get $list))
    (local.set $left (global.get $count))
    (block $end (loop $next
      (br_if $end (i32.eqz (local.get $left)))
      ;; `name=value` and a zero.
      (local.set $bytes (i32.add (i32.add (local.get $bytes) (i32.const 2))
        (i32.add (i32.load offset=4 (local.get $entry)) (i32.load offset=12 (local.get $entry)))))
      (local.set $entry (i32.add (local.get $entry) (i32.const 16)))
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (br $next)))
    (i32.store (local.get $count) (global.get $count))
    (i32.store (local.get $size) (local.get $bytes))
    (i32.const 0))

  (func (export "environ_get") (param $pointers i32) (param $to i32) (result i32)
    (local $entry i32) (local $left i32) (local $length i32)
    (call $load_variables)
    (local.set $entry (global.get $list))
    (local.set $left (global.get $count))
    (block $end (loop $next
      (br_if $end (i32.eqz (local.get $left)))
      (i32.store (local.get $pointers) (local.get $to))
      (local.set $length (i32.load offset=4 (local.get $entry)))
      (memory.copy (local.get $to) (i32.load (local.get $entry)) (local.get $length))
      (local.set $to (i32.add (local.get $to) (local.get $length)))
      (i32.store8 (local.get $to) (i32.const 0x3d)) ;; =
      (local.set $to (i32.add (local.get $to) (i32.const 1)))
      (local.set $length (i32.load offset=12 (local.get $entry)))
      (memory.copy (local.get $to) (i32.load offset=8 (local.get $entry)) (local.get $length))
      (local.set $to (i32.add (local.get $to) (local.get $length)))
      (i32.store8 (local.get $to) (i32.const 0))
      (local.set $to (i32.add (local.get $to) (i32.const 1)))
      (local.set $pointers (i32.add (local.get $pointers) (i32.const 4)))
      (local.set $entry (i32.add (local.get $entry) (i32.const 16)))
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (br $next)))
    (i32.const 0))

  ;; Clocks: 0 is the real time, 1 the monotonic clock. The others count processor time, which a guest cannot know.

  (func (export "clock_res_get") (param $clock i32) (param $to i32) (result i32)
    (if (i32.gt_u (local.get $clock) (i32.const 1)) (then (return (i32.const 58))))
    (i64.store (local.get $to) (i64.const 1))
    (i32.const 0))
  (func (export "clock_time_get") (param $clock i32) (param $precision i64) (param $to i32) (result i32)
    (if (i32.gt_u (local.get $clock) (i32.const 1)) (then (return (i32.const 58))))
    (i64.store (local.get $to) (call $nanoseconds (local.get $clock)))
    (i32.const 0))

  (func (export "random_get") (param $to i32) (param $left i32) (result i32)
    (local $bits i32)
    (block $end (loop $next
      (br_if $end (i32.lt_u (local.get $left) (i32.const 4)))
      (i32.store align=1 (local.get $to) (call $random))
      (local.set $to (i32.add (local.get $to) (i32.const 4)))
      (local.set $left (i32.sub (local.get $left) (i32.const 4)))
      (br $next)))
    (if (local.get $left) (then
      (local.set $bits (call $random))
      (loop $rest
        (i32.store8 (local.get $to) (local.get $bits))
        (local.set $bits (i32.shr_u (local.get $bits) (i32.const 8)))
        (local.set $to (i32.add (local.get $to) (i32.const 1)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br_if $rest (local.get $left)))))
    (i32.const 0))

  ;; The standard streams

  (func (export "fd_write") (param $fd i32) (param $pieces i32) (param $left i32) (param $written i32) (result i32)
    (local $length i32) (local $all i32)
    (if (i32.gt_u (i32.sub (local.get $fd) (i32.const 1)) (i32.const 1)) (then (return (i32.const 8))))
    (block $end (loop $next
      (br_if $end (i32.eqz (local.get $left)))
      (local.set $length (i32.load offset=4 (local.get $pieces)))
      (if (local.get $length) (then
        (call $print (i32.eq (local.get $fd) (i32.const 2)) (i32.load (local.get $pieces)) (local.get $length))
        (local.set $all (i32.add (local.get $all) (local.get $length)))))
      (local.set $pieces (i32.add (local.get $pieces) (i32.const 8)))
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (br $next)))
    (i32.store (local.get $written) (local.get $all))
    (i32.const 0))
  (func (export "fd_read") (param $fd i32) (param $pieces i32) (param $count i32) (param $read i32) (result i32)
    (if (local.get $fd) (then (return (i32.const 8))))
    (i32.store (local.get $read) (i32.const 0))
    (i32.const 0))
  (func (export "fd_close") (param $fd i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 0)))
  ;; Of an unknown type, so that nobody takes it for a terminal; 0 may be read (bit 1), 1 and 2 be written (bit 6).
  (func (export "fd_fdstat_get") (param $fd i32) (param $to i32) (result i32)
    (if (call $is_stream (local.get $fd)) (then
      (memory.fill (local.get $to) (i32.const 0) (i32.const 24))
      (i64.store offset=8 (local.get $to) (select (i64.const 0x40) (i64.const 0x2) (local.get $fd)))))
    (call $stream_or_badf (local.get $fd) (i32.const 0)))
  (func (export "fd_filestat_get") (param $fd i32) (param $to i32) (result i32)
    (if (call $is_stream (local.get $fd)) (then
      (memory.fill (local.get $to) (i32.const 0) (i32.const 64))))
    (call $stream_or_badf (local.get $fd) (i32.const 0)))
  (func (export "fd_seek") (param $fd i32) (param i64 i32 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 70)))
  (func (export "fd_tell") (param $fd i32) (param i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 70)))
  (func (export "fd_pread") (param $fd i32) (param i32 i32 i64 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 70)))
  (func (export "fd_pwrite") (param $fd i32) (param i32 i32 i64 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 70)))
  (func (export "fd_sync") (param $fd i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 28)))
  (func (export "fd_datasync") (param $fd i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 28)))
  (func (export "fd_advise") (param $fd i32) (param i64 i64 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 70)))
  (func (export "fd_allocate") (param $fd i32) (param i64 i64) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 70)))
  (func (export "fd_fdstat_set_flags") (param $fd i32) (param i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 58)))
  (func (export "fd_fdstat_set_rights") (param $fd i32) (param i64 i64) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 58)))
  (func (export "fd_filestat_set_size") (param $fd i32) (param i64) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 28)))
  (func (export "fd_filestat_set_times") (param $fd i32) (param i64 i64 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 58)))
  (func (export "fd_readdir") (param $fd i32) (param i32 i32 i64 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 54)))
  (func (export "fd_renumber") (param $fd i32) (param i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 58)))

  ;; Files and sockets: no folder is open, so that every path lacks one to begin from.

  (func (export "fd_prestat_get") (param i32 i32) (result i32)
    (i32.const 8))
  (func (export "fd_prestat_dir_name") (param i32 i32 i32) (result i32)
    (i32.const 8))
  (func (export "path_create_directory") (param $fd i32) (param i32 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 54)))
  (func (export "path_filestat_get") (param $fd i32) (param i32 i32 i32 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 54)))
  (func (export "path_filestat_set_times") (param $fd i32) (param i32 i32 i32 i64 i64 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 54)))
  (func (export "path_link") (param $fd i32) (param i32 i32 i32 i32 i32 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 54)))
  (func (export "path_open") (param $fd i32) (param i32 i32 i32 i32 i64 i64 i32 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 54)))
  (func (export "path_readlink") (param $fd i32) (param i32 i32 i32 i32 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 54)))
  (func (export "path_remove_directory") (param $fd i32) (param i32 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 54)))
  (func (export "path_rename") (param $fd i32) (param i32 i32 i32 i32 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 54)))
  (func (export "path_symlink") (param i32 i32) (param $fd i32) (param i32 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 54)))
  (func (export "path_unlink_file") (param $fd i32) (param i32 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 54)))
  (func (export "sock_accept") (param $fd i32) (param i32 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 57)))
  (func (export "sock_recv") (param $fd i32) (param i32 i32 i32 i32 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 57)))
  (func (export "sock_send") (param $fd i32) (param i32 i32 i32 i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 57)))
  (func (export "sock_shutdown") (param $fd i32) (param i32) (result i32)
    (call $stream_or_badf (local.get $fd) (i32.const 57)))

  ;; Waiting and ending. Without an answer that a program could go on with, and without a reason that it could find in a
  ;; trap alone.

  (func (export "sched_yield") (result i32)
    (i32.const 0))
  ;; A subscription has 48 bytes; at 8 is what it waits for, 0 is a clock.
  (func (export "poll_oneoff") (param $subscriptions i32) (param $events i32) (param $left i32) (param $count i32)
    (result i32)
    (block $end (loop $next
      (br_if $end (i32.eqz (local.get $left)))
      (if (i32.eqz (i32.load8_u offset=8 (local.get $subscriptions))) (then
        (@panic "a controller cannot sleep: call a channel that waits")))
      (local.set $subscriptions (i32.add (local.get $subscriptions) (i32.const 48)))
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (br $next)))
    (i32.const 58))
  (func (export "proc_exit") (param i32)
    (@panic "a controller cannot end its process: return a reply instead"))
  (func (export "proc_raise") (param i32) (result i32)
    (@panic "a controller cannot raise a signal: return a reply instead")))
