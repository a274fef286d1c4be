;; A controller without a toolchain: a core module for the world `module`, with the canonical ABI by hand.
;;
;;   GET /wat            static text
;;   GET /wat/:name      "hello " and the parameter
;;
;; The suite adds the type information of the world and wraps the module into a component.
(module
  (import "pointwork:module/context@0.2.0" "[method]context.param"
    (func $param (param $context i32) (param $name i32) (param $name_length i32) (param $result i32)))
  (import "pointwork:module/context@0.2.0" "[resource-drop]context" (func $drop_context (param i32)))

  (memory (export "memory") 1)

  ;; An outcome is 28 bytes: the case at 0, then a reply: status at 4, headers (address, count) at 8, the case of the body
  ;; at 16, its text (address, length) at 20. All headers are absent and every body is text.
  (global $outcome i32 (i32.const 16))
  ;; The option<string> that `param` returns: the case at 0, address and length at 4.
  (global $option i32 (i32.const 64))
  ;; The start of the heap, behind the data.
  (global $heap (mut i32) (i32.const 1024))

  (data (i32.const 128) "hello from text")
  (data (i32.const 160) "hello ")
  (data (i32.const 168) "name")

  ;; Names, paths and words of the declarations.
  (data (i32.const 176) "Hello")
  (data (i32.const 184) "wat")
  (data (i32.const 188) "still")
  (data (i32.const 196) "greet")
  (data (i32.const 204) ":name")
  (data (i32.const 212) "GET")
  (data (i32.const 224) "whole")
  (data (i32.const 232) "by hand")

  ;; list<string> with the one path of `greet`.
  (data (i32.const 216) "\cc\00\00\00\05\00\00\00")
  ;; list<route>: handler, name, method (case, address, length), paths (address, count), body, metadata.
  (data (i32.const 256) "\00\00\00\00\bc\00\00\00\05\00\00\00\01\00\00\00\d4\00\00\00\03\00\00\00\00\00\00\00\00\00\00\00")
  (data (i32.const 288) "\e0\00\00\00\05\00\00\00\00\00\00\00\00\00\00\00")
  (data (i32.const 304) "\01\00\00\00\c4\00\00\00\05\00\00\00\01\00\00\00\d4\00\00\00\03\00\00\00\d8\00\00\00\01\00\00\00")
  (data (i32.const 336) "\e0\00\00\00\05\00\00\00\00\00\00\00\00\00\00\00")
  ;; list<controller>: name, prefix, routes, metadata.
  (data (i32.const 352) "\b0\00\00\00\05\00\00\00\b8\00\00\00\03\00\00\00\00\01\00\00\02\00\00\00\00\00\00\00\00\00\00\00")
  ;; The manifest: name and version (absent), SDK, language, controllers, channels, events used, metadata.
  (data (i32.const 384) "\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
  (data (i32.const 408) "\e8\00\00\00\07\00\00\00\b8\00\00\00\03\00\00\00\60\01\00\00\01\00\00\00")
  (data (i32.const 432) "\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")

  ;; Allocates memory and never frees any; `handle` starts over.
  (func (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
    (global.set $heap (i32.add (local.get $at) (local.get $size)))
    (if (i32.gt_u (global.get $heap) (i32.mul (memory.size) (i32.const 65536)))
      (then
        (if (i32.eq (memory.grow (i32.add (i32.shr_u (local.get $size) (i32.const 16)) (i32.const 1))) (i32.const -1))
          (then unreachable))))
    (local.get $at))

  (func (export "pointwork:module/manifest@0.2.0#describe") (result i32) (i32.const 384))

  ;; Never called: the manifest lists no channel.
  (func (export "pointwork:module/listeners@0.2.0#deliver") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)

  (func (export "pointwork:module/handlers@0.2.0#handle") (param $handler i32) (param $context i32) (result i32)
    (global.set $heap (i32.const 1024))
    (if (i32.eqz (local.get $handler))
      (then (call $reply (i32.const 128) (i32.const 15)))
      (else (call $greet (local.get $context))))
    (call $drop_context (local.get $context))
    (global.get $outcome))

  (func $reply (param $text i32) (param $length i32)
    (i32.store8 (global.get $outcome) (i32.const 0))
    (i32.store16 offset=4 (global.get $outcome) (i32.const 200))
    (i64.store offset=8 align=4 (global.get $outcome) (i64.const 0))
    (i32.store8 offset=16 (global.get $outcome) (i32.const 1))
    (i32.store offset=20 (global.get $outcome) (local.get $text))
    (i32.store offset=24 (global.get $outcome) (local.get $length)))

  (func $greet (param $context i32)
    (local $length i32)
    (local $text i32)
    (call $param (local.get $context) (i32.const 168) (i32.const 4) (global.get $option))
    ;; The pattern has the name, so there is a parameter.
    (local.set $length (i32.load offset=8 (global.get $option)))
    (local.set $text (global.get $heap))
    (global.set $heap (i32.add (local.get $text) (i32.add (local.get $length) (i32.const 6))))
    (if (i32.gt_u (global.get $heap) (i32.mul (memory.size) (i32.const 65536))) (then unreachable))
    (memory.copy (local.get $text) (i32.const 160) (i32.const 6))
    (memory.copy
      (i32.add (local.get $text) (i32.const 6)) (i32.load offset=4 (global.get $option)) (local.get $length))
    (call $reply (local.get $text) (i32.add (local.get $length) (i32.const 6)))))
