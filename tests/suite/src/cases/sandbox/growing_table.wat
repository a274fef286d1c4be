;; A module whose table grows without bound, which no module of an SDK can do. The suite puts in the names of the asynchronous form for a
;; module of that form.
;;
;;   POST /it    grows the table until that fails, and traps
;;   GET /ok     "ok"
(module
  (import "pointwork:module/context@0.2.0" "[resource-drop]context" (func $drop_context (param i32)))
  (memory (export "memory") 1)
  (table $growing 1 funcref)

  ;; The reply "ok": the case, the status, no headers, the case of the body, its text (address, length).
  (data (i32.const 16) "\00\00\00\00\c8\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00\8c\00\00\00\02\00\00\00")
  ;; Names and words.
  (data (i32.const 128) "Things")
  (data (i32.const 136) "it")
  (data (i32.const 140) "ok")
  (data (i32.const 144) "POST")
  (data (i32.const 148) "GET")
  (data (i32.const 152) "whole")
  (data (i32.const 160) "by hand")
  (data (i32.const 168) "wat")
  ;; list<string> with the path of each route.
  (data (i32.const 176) "\88\00\00\00\02\00\00\00")
  (data (i32.const 184) "\8c\00\00\00\02\00\00\00")
  ;; list<route>: handler, name, method (case, address, length), paths (address, count), body, metadata.
  (data (i32.const 192) "\00\00\00\00\88\00\00\00\02\00\00\00\01\00\00\00\90\00\00\00\04\00\00\00\b0\00\00\00\01\00\00\00\98\00\00\00\05")
  (data (i32.const 240) "\01\00\00\00\8c\00\00\00\02\00\00\00\01\00\00\00\94\00\00\00\03\00\00\00\b8\00\00\00\01\00\00\00\98\00\00\00\05")
  ;; list<controller>: name, prefix, routes, metadata.
  (data (i32.const 288) "\80\00\00\00\06\00\00\00\00\00\00\00\00\00\00\00\c0\00\00\00\02")
  ;; The manifest at 320: name and version (absent), SDK, language, controllers, and three empty lists.
  (data (i32.const 344) "\a0\00\00\00\07\00\00\00\a8\00\00\00\03\00\00\00\20\01\00\00\01")

  ;; Never called: the host passes neither texts nor lists.
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
  (func (export "pointwork:module/listeners@0.2.0#deliver") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)

  (func (export "pointwork:module/manifest@0.2.0#describe") (result i32) (i32.const 320))

  (func (export "pointwork:module/handlers@0.2.0#handle") (param $handler i32) (param $context i32) (result i32)
    (if (i32.eqz (local.get $handler))
      (then
        (loop $more
          (br_if $more (i32.ne (i32.const -1) (table.grow $growing (ref.null func) (i32.const 1000)))))
        unreachable))
    (call $drop_context (local.get $context))
    (i32.const 16)))
