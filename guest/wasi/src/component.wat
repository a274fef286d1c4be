;; The component from WASI 0.2 to the contract; what each function answers is said in lib.rs.
;;
;; This is its core module. The test that assembles it makes the types of the component from component.wit and the WIT of WASI,
;; and turns each `@panic` into stores of the sentence at address 0 and a call of `$panic`. It also adds the functions that are
;; not here: those of a resource that no function returns, such as `descriptor`, which nobody can call.
;;
;; The memory: below 256 a function writes its result, or a sentence; from 256 on is what the callers put here, and what the
;; host and these functions return as a list. A function is done with all of it when it ends, but for its result, which the
;; caller reads at once. So each function with a list among its parameters or in its result frees everything.
(module
  (import "pointwork:module/environment@0.2.0" "now" (func $now (param i32)))
  (import "pointwork:module/environment@0.2.0" "monotonic" (func $monotonic (param i32)))
  (import "pointwork:module/environment@0.2.0" "random" (func $random (result i32)))
  (import "pointwork:module/environment@0.2.0" "variables" (func $variables (param i32)))
  (import "pointwork:module/log@0.2.0" "print" (func $print (param i32 i32 i32)))
  (import "pointwork:module/log@0.2.0" "panicked" (func $panicked (param i32 i32 i32 i32 i32 i32 i32)))

  ;; Each takes a number that comes back as the first parameter of the methods, and returns the handle of a new resource.
  (import "[export]wasi:io/streams@0.2.12" "[resource-new]input-stream" (func $new_input (param i32) (result i32)))
  ;; The number is that of `log.print`: 0 for the standard output, 1 for the standard error.
  (import "[export]wasi:io/streams@0.2.12" "[resource-new]output-stream" (func $new_output (param i32) (result i32)))
  ;; The number is 1 if it is ready, and 0 if it waits for a time to come.
  (import "[export]wasi:io/poll@0.2.12" "[resource-new]pollable" (func $new_pollable (param i32) (result i32)))
  (import "[export]wasi:sockets/network@0.2.12" "[resource-new]network" (func $new_network (param i32) (result i32)))

  (memory (export "memory") 1)
  (global $free (mut i32) (i32.const 256))

  (func $free_all
    (global.set $free (i32.const 256)))

  (func $allocate (export "cabi_realloc")
    (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32) (local $end i32) (local $pages i32)
    (local.set $at (i32.and
      (i32.add (global.get $free) (i32.sub (local.get $align) (i32.const 1)))
      (i32.sub (i32.const 0) (local.get $align))))
    (local.set $end (i32.add (local.get $at) (local.get $size)))
    (if (i32.lt_u (local.get $end) (local.get $at)) (then unreachable))
    (local.set $pages (i32.sub (i32.shr_u (local.get $end) (i32.const 16)) (i32.sub (memory.size) (i32.const 1))))
    (if (i32.gt_s (local.get $pages) (i32.const 0)) (then
      (if (i32.eq (memory.grow (local.get $pages)) (i32.const -1)) (then unreachable))))
    (global.set $free (local.get $end))
    ;; A text grows while it arrives, if its caller keeps text as UTF-16.
    (memory.copy (local.get $at) (local.get $old)
      (select (local.get $old_size) (local.get $size) (i32.lt_u (local.get $old_size) (local.get $size))))
    (local.get $at))

  ;; Reports the sentence at address 0 and traps.
  (func $panic (param $length i32)
    (call $panicked (i32.const 0) (local.get $length)
      (i32.const 0) (i32.const 0) (i32.const 0) ;; no type of an exception
      (i32.const 0) (i32.const 0)) ;; no frames
    unreachable)

  (func $cannot_sleep
    (@panic "a controller cannot sleep: call a channel that waits"))

  ;; Results. Each returns the address of its result.

  ;; `none`, `ok` without a value, and a list without elements.
  (func $nothing (result i32)
    (i64.store (i32.const 0) (i64.const 0))
    (i32.const 0))
  (func $ok_u64 (param $value i64) (result i32)
    (i64.store (i32.const 0) (i64.const 0))
    (i64.store offset=8 (i32.const 0) (local.get $value))
    (i32.const 0))
  ;; An error: the second case of `stream-error`, which is `closed`, or of the `error-code` of sockets, which is `access-denied`.
  ;; Its place is 4, or 8 in a result that has a number of 64 bits otherwise.
  (func $error (result i32)
    (i32.store (i32.const 0) (i32.const 1))
    (i32.store offset=4 (i32.const 0) (i32.const 1))
    (i32.const 0))
  (func $error_u64 (result i32)
    (i32.store (i32.const 0) (i32.const 1))
    (i32.store offset=8 (i32.const 0) (i32.const 1))
    (i32.const 0))
  (func $list (param $at i32) (param $length i32) (result i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store offset=4 (i32.const 0) (local.get $length))
    (i32.const 0))

  ;; Arguments and variables

  ;; A variable of the contract is two texts, as a variable of WASI is. The program of a component in development, `=program`, is
  ;; none: a name with `=` ends an interpreter that reads its environment.
  (func (export "wasi:cli/environment@0.2.12#get-environment") (result i32)
    (local $from i32) (local $to i32) (local $end i32)
    (call $free_all)
    (call $variables (i32.const 0))
    (local.set $from (i32.load (i32.const 0)))
    (local.set $to (local.get $from))
    (local.set $end (i32.add (local.get $from) (i32.shl (i32.load (i32.const 4)) (i32.const 4))))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
      (if (i32.ne (i32.load8_u (i32.load (local.get $from))) (i32.const 61)) (then
        (memory.copy (local.get $to) (local.get $from) (i32.const 16))
        (local.set $to (i32.add (local.get $to) (i32.const 16)))))
      (local.set $from (i32.add (local.get $from) (i32.const 16)))
      (br $next)))
    (call $list
      (i32.load (i32.const 0))
      (i32.shr_u (i32.sub (local.get $to) (i32.load (i32.const 0))) (i32.const 4))))
  (func (export "wasi:cli/environment@0.2.12#get-arguments") (result i32)
    (call $nothing))
  (func (export "wasi:cli/environment@0.2.12#initial-cwd") (result i32)
    (call $nothing))

  ;; Clocks

  ;; A point in time has the same form in the contract.
  (func (export "wasi:clocks/wall-clock@0.2.12#now") (result i32)
    (call $now (i32.const 0))
    (i32.const 0))
  (func (export "wasi:clocks/wall-clock@0.2.12#resolution") (result i32)
    (i64.store (i32.const 0) (i64.const 0))
    (i64.store offset=8 (i32.const 0) (i64.const 1))
    (i32.const 0))
  (func $monotonic_nanoseconds (export "wasi:clocks/monotonic-clock@0.2.12#now") (result i64)
    (call $monotonic (i32.const 0))
    (i64.add
      (i64.mul (i64.load (i32.const 0)) (i64.const 1000000000))
      (i64.load32_u offset=8 (i32.const 0))))
  (func (export "wasi:clocks/monotonic-clock@0.2.12#resolution") (result i64)
    (i64.const 1))
  (func (export "wasi:clocks/monotonic-clock@0.2.12#subscribe-instant") (param $when i64) (result i32)
    (call $new_pollable (i64.le_u (local.get $when) (call $monotonic_nanoseconds))))
  (func (export "wasi:clocks/monotonic-clock@0.2.12#subscribe-duration") (param $duration i64) (result i32)
    (call $new_pollable (i64.eqz (local.get $duration))))

  ;; Random bits

  (func $random_bytes
    (export "wasi:random/random@0.2.12#get-random-bytes")
    (export "wasi:random/insecure@0.2.12#get-insecure-random-bytes")
    (param $length i64) (result i32)
    (local $at i32) (local $to i32) (local $end i32)
    (if (i64.gt_u (local.get $length) (i64.const 0x7fffffff)) (then unreachable))
    (call $free_all)
    ;; Whole words; the last one may be longer than what is left.
    (local.set $at (call $allocate (i32.const 0) (i32.const 0) (i32.const 4)
      (i32.add (i32.wrap_i64 (local.get $length)) (i32.const 3))))
    (local.set $to (local.get $at))
    (local.set $end (i32.add (local.get $at) (i32.wrap_i64 (local.get $length))))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $to) (local.get $end)))
      (i32.store (local.get $to) (call $random))
      (local.set $to (i32.add (local.get $to) (i32.const 4)))
      (br $next)))
    (call $list (local.get $at) (i32.wrap_i64 (local.get $length))))
  (func $random_u64
    (export "wasi:random/random@0.2.12#get-random-u64")
    (export "wasi:random/insecure@0.2.12#get-insecure-random-u64")
    (result i64)
    (i64.or
      (i64.extend_i32_u (call $random))
      (i64.shl (i64.extend_i32_u (call $random)) (i64.const 32))))
  (func (export "wasi:random/insecure-seed@0.2.12#insecure-seed") (result i32)
    (i64.store (i32.const 0) (call $random_u64))
    (i64.store offset=8 (i32.const 0) (call $random_u64))
    (i32.const 0))

  ;; The standard streams. None is a terminal.

  (func (export "wasi:cli/stdin@0.2.12#get-stdin") (result i32)
    (call $new_input (i32.const 0)))
  (func (export "wasi:cli/stdout@0.2.12#get-stdout") (result i32)
    (call $new_output (i32.const 0)))
  (func (export "wasi:cli/stderr@0.2.12#get-stderr") (result i32)
    (call $new_output (i32.const 1)))
  (func
    (export "wasi:cli/terminal-stdin@0.2.12#get-terminal-stdin")
    (export "wasi:cli/terminal-stdout@0.2.12#get-terminal-stdout")
    (export "wasi:cli/terminal-stderr@0.2.12#get-terminal-stderr")
    (result i32)
    (call $nothing))

  (func
    (export "wasi:io/streams@0.2.12#[method]input-stream.read")
    (export "wasi:io/streams@0.2.12#[method]input-stream.blocking-read")
    (param i32 i64) (result i32)
    (call $error))
  (func
    (export "wasi:io/streams@0.2.12#[method]input-stream.skip")
    (export "wasi:io/streams@0.2.12#[method]input-stream.blocking-skip")
    (param i32 i64) (result i32)
    (call $error_u64))

  ;; How many bytes `write` takes at once: within the first page of the memory.
  (func (export "wasi:io/streams@0.2.12#[method]output-stream.check-write") (param i32) (result i32)
    (call $ok_u64 (i64.const 32768)))
  (func
    (export "wasi:io/streams@0.2.12#[method]output-stream.write")
    (export "wasi:io/streams@0.2.12#[method]output-stream.blocking-write-and-flush")
    (param $to_error i32) (param $at i32) (param $length i32) (result i32)
    (if (local.get $length) (then
      (call $print (local.get $to_error) (local.get $at) (local.get $length))))
    (call $free_all)
    (call $nothing))
  (func
    (export "wasi:io/streams@0.2.12#[method]output-stream.flush")
    (export "wasi:io/streams@0.2.12#[method]output-stream.blocking-flush")
    (param i32) (result i32)
    (call $nothing))
  ;; Lines of a log are text, and have no zeroes.
  (func
    (export "wasi:io/streams@0.2.12#[method]output-stream.write-zeroes")
    (export "wasi:io/streams@0.2.12#[method]output-stream.blocking-write-zeroes-and-flush")
    (param i32 i64) (result i32)
    (call $error))
  ;; The only input is the empty one.
  (func
    (export "wasi:io/streams@0.2.12#[method]output-stream.splice")
    (export "wasi:io/streams@0.2.12#[method]output-stream.blocking-splice")
    (param i32 i32 i64) (result i32)
    (call $error_u64))

  ;; Waiting and ending. Streams are always ready.

  (func
    (export "wasi:io/streams@0.2.12#[method]input-stream.subscribe")
    (export "wasi:io/streams@0.2.12#[method]output-stream.subscribe")
    (param i32) (result i32)
    (call $new_pollable (i32.const 1)))
  (func (export "wasi:io/poll@0.2.12#[method]pollable.ready") (param $is_ready i32) (result i32)
    (local.get $is_ready))
  (func $block (export "wasi:io/poll@0.2.12#[method]pollable.block") (param $is_ready i32)
    (if (i32.eqz (local.get $is_ready)) (then (call $cannot_sleep))))
  ;; The places of those that are ready. They are written over the list itself, which is read ahead of them.
  (func $poll (export "wasi:io/poll@0.2.12#poll") (param $list i32) (param $length i32) (result i32)
    (local $place i32) (local $count i32)
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $place) (local.get $length)))
      (if (i32.load (i32.add (local.get $list) (i32.shl (local.get $place) (i32.const 2)))) (then
        (i32.store (i32.add (local.get $list) (i32.shl (local.get $count) (i32.const 2))) (local.get $place))
        (local.set $count (i32.add (local.get $count) (i32.const 1)))))
      (local.set $place (i32.add (local.get $place) (i32.const 1)))
      (br $next)))
    (if (i32.eqz (local.get $count)) (then (call $cannot_sleep)))
    (call $free_all)
    (call $list (local.get $list) (local.get $count)))

  (func $exit
    (export "wasi:cli/exit@0.2.12#exit")
    (export "wasi:cli/exit@0.2.12#exit-with-code")
    (param i32)
    (@panic "a controller cannot end its process: return a reply instead"))

  ;; Files and sockets: no folder is open, so that every path lacks one to begin from, and no socket can be made.

  (func (export "wasi:filesystem/preopens@0.2.12#get-directories") (result i32)
    (call $nothing))
  (func (export "wasi:sockets/instance-network@0.2.12#instance-network") (result i32)
    (call $new_network (i32.const 0)))
  (func
    (export "wasi:sockets/tcp-create-socket@0.2.12#create-tcp-socket")
    (export "wasi:sockets/udp-create-socket@0.2.12#create-udp-socket")
    (param i32) (result i32)
    (call $error))
  (func (export "wasi:sockets/ip-name-lookup@0.2.12#resolve-addresses") (param i32 i32 i32) (result i32)
    (call $free_all)
    (call $error)))
