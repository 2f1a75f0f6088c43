;; What Go's runtime imports, `wasi_snapshot_preview1`, by the little of WASI that weir has: clocks, random numbers and standard
;; error. There are no files, sockets, arguments and environment variables.
;;
;; It has no memory of its own, and asks for none: Go's runtime takes what memory.grow adds to be its own. A function of WASI
;; that returns its result in memory writes to $SCRATCH, whose content is put back.
(module
  (import "env" "memory" (memory 0))
  (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $get_stderr (result i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
    (func $write_and_flush (param $stream i32) (param $at i32) (param $length i32) (param $result i32)))
  (import "wasi:clocks/monotonic-clock@0.2.0" "now" (func $monotonic_now (result i64)))
  (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe_duration (param i64) (result i32)))
  (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:clocks/wall-clock@0.2.0" "now" (func $wall_now (param $result i32)))
  (import "wasi:random/random@0.2.0" "get-random-u64" (func $random (result i64)))

  ;; Of preview 1's errors: not an open descriptor, and not supported.
  (global $BADF i32 (i32.const 8))
  (global $NOSYS i32 (i32.const 52))

  ;; 16 bytes of memory, which need not be free.
  (global $SCRATCH i32 (i32.const 0))
  (global $kept_low (mut i64) (i64.const 0))
  (global $kept_high (mut i64) (i64.const 0))
  (func $keep_scratch
    (global.set $kept_low (i64.load (global.get $SCRATCH)))
    (global.set $kept_high (i64.load offset=8 (global.get $SCRATCH))))
  (func $restore_scratch
    (i64.store (global.get $SCRATCH) (global.get $kept_low))
    (i64.store offset=8 (global.get $SCRATCH) (global.get $kept_high)))

  ;; Whether the component may be left. While weir asks Go for memory, to put the arguments or the results of a call there, it
  ;; may not, but Go's scheduler runs and reads clocks. The SDK says when it may. Until the first call, Go initialises itself.
  (global $may_leave (mut i32) (i32.const 1))
  (func (export "weir_may_leave") (param i32)
    (global.set $may_leave (local.get 0)))

  ;; The times that were read last, in nanoseconds.
  (global $monotonic (mut i64) (i64.const 0))
  (global $wall (mut i64) (i64.const 0))

  (func $read_wall
    (call $keep_scratch)
    (call $wall_now (global.get $SCRATCH))
    (global.set $wall
      (i64.add
        (i64.mul (i64.load (global.get $SCRATCH)) (i64.const 1000000000))
        (i64.load32_u offset=8 (global.get $SCRATCH))))
    (call $restore_scratch))

  (func (export "clock_time_get") (param $clock i32) (param $precision i64) (param $time i32) (result i32)
    (if (i32.eqz (local.get $clock))
      (then
        (if (global.get $may_leave) (then (call $read_wall)))
        (i64.store (local.get $time) (global.get $wall)))
      (else
        (if (global.get $may_leave) (then (global.set $monotonic (call $monotonic_now))))
        (i64.store (local.get $time) (global.get $monotonic))))
    (i32.const 0))

  (func (export "clock_res_get") (param $clock i32) (param $resolution i32) (result i32)
    (i64.store (local.get $resolution) (i64.const 1))
    (i32.const 0))

  ;; Go needs random numbers when it initialises itself, and for crypto/rand; not while it allocates.
  (func (export "random_get") (param $at i32) (param $length i32) (result i32)
    (local $bits i64) (local $left i32)
    (if (i32.eqz (global.get $may_leave)) (then (return (global.get $NOSYS))))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $length)))
        (if (i32.eqz (local.get $left))
          (then
            (local.set $bits (call $random))
            (local.set $left (i32.const 8))))
        (i32.store8 (local.get $at) (i32.wrap_i64 (local.get $bits)))
        (local.set $bits (i64.shr_u (local.get $bits) (i64.const 8)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $length (i32.sub (local.get $length) (i32.const 1)))
        (br $next)))
    (i32.const 0))

  ;; Standard output and error both go where weir puts standard error: into the plugin's log.
  (global $stderr (mut i32) (i32.const 0))

  ;; Writes at most what one call of WASI takes, and returns how much that was.
  (func $write_some (param $at i32) (param $length i32) (result i32)
    (if (i32.gt_u (local.get $length) (i32.const 4096))
      (then (local.set $length (i32.const 4096))))
    (if (i32.and (global.get $may_leave) (i32.ne (local.get $length) (i32.const 0)))
      (then
        (if (i32.eqz (global.get $stderr))
          (then (global.set $stderr (call $get_stderr))))
        (call $keep_scratch)
        (call $write_and_flush (global.get $stderr) (local.get $at) (local.get $length) (global.get $SCRATCH))
        (call $restore_scratch)))
    (local.get $length))

  (func $write_all (param $at i32) (param $length i32)
    (local $written i32)
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $length)))
        (local.set $written (call $write_some (local.get $at) (local.get $length)))
        (local.set $at (i32.add (local.get $at) (local.get $written)))
        (local.set $length (i32.sub (local.get $length) (local.get $written)))
        (br $next))))

  (func (export "fd_write") (param $fd i32) (param $iovecs i32) (param $count i32) (param $written i32) (result i32)
    (local $sum i32)
    (if (i32.gt_u (i32.sub (local.get $fd) (i32.const 1)) (i32.const 1))
      (then (return (global.get $BADF))))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $count)))
        (call $write_all (i32.load (local.get $iovecs)) (i32.load offset=4 (local.get $iovecs)))
        (local.set $sum (i32.add (local.get $sum) (i32.load offset=4 (local.get $iovecs))))
        (local.set $iovecs (i32.add (local.get $iovecs) (i32.const 8)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next)))
    (i32.store (local.get $written) (local.get $sum))
    (i32.const 0))

  ;; Standard input is at its end.
  (func (export "fd_read") (param $fd i32) (param $iovecs i32) (param $count i32) (param $read i32) (result i32)
    (if (local.get $fd) (then (return (global.get $BADF))))
    (i32.store (local.get $read) (i32.const 0))
    (i32.const 0))

  ;; To wait, for the clock in the first subscription, is what weir refuses, and it says so. To wait for nothing is not.
  (func (export "poll_oneoff") (param $in i32) (param $out i32) (param $count i32) (param $events i32) (result i32)
    (local $timeout i64)
    (if (i32.eqz (i32.load8_u offset=8 (local.get $in)))
      (then (local.set $timeout (i64.load offset=24 (local.get $in)))))
    (if (i32.and (global.get $may_leave) (i64.ne (local.get $timeout) (i64.const 0)))
      (then (call $block (call $subscribe_duration (local.get $timeout)))))
    (i64.store (local.get $out) (i64.load (local.get $in)))
    (i64.store offset=8 (local.get $out) (i64.const 0))
    (i32.store (local.get $events) (i32.const 1))
    (i32.const 0))

  (func (export "sched_yield") (result i32) (i32.const 0))
  (func (export "proc_exit") (param i32) (unreachable))
  (func (export "proc_raise") (param i32) (result i32) (global.get $NOSYS))

  ;; No arguments and no environment.
  (func $none (param $count i32) (param $size i32) (result i32)
    (i32.store (local.get $count) (i32.const 0))
    (i32.store (local.get $size) (i32.const 0))
    (i32.const 0))
  (export "args_sizes_get" (func $none))
  (export "environ_sizes_get" (func $none))
  (func $nothing (param i32 i32) (result i32) (i32.const 0))
  (export "args_get" (func $nothing))
  (export "environ_get" (func $nothing))

  ;; No files: Go finds the directories that it was given until a descriptor is not open.
  (func (export "fd_advise") (param i32 i64 i64 i32) (result i32) (global.get $BADF))
  (func (export "fd_allocate") (param i32 i64 i64) (result i32) (global.get $BADF))
  (func (export "fd_close") (param i32) (result i32) (global.get $BADF))
  (func (export "fd_datasync") (param i32) (result i32) (global.get $BADF))
  (func (export "fd_fdstat_get") (param i32 i32) (result i32) (global.get $BADF))
  (func (export "fd_fdstat_set_flags") (param i32 i32) (result i32) (global.get $BADF))
  (func (export "fd_fdstat_set_rights") (param i32 i64 i64) (result i32) (global.get $BADF))
  (func (export "fd_filestat_get") (param i32 i32) (result i32) (global.get $BADF))
  (func (export "fd_filestat_set_size") (param i32 i64) (result i32) (global.get $BADF))
  (func (export "fd_filestat_set_times") (param i32 i64 i64 i32) (result i32) (global.get $BADF))
  (func (export "fd_pread") (param i32 i32 i32 i64 i32) (result i32) (global.get $BADF))
  (func (export "fd_prestat_get") (param i32 i32) (result i32) (global.get $BADF))
  (func (export "fd_prestat_dir_name") (param i32 i32 i32) (result i32) (global.get $BADF))
  (func (export "fd_pwrite") (param i32 i32 i32 i64 i32) (result i32) (global.get $BADF))
  (func (export "fd_readdir") (param i32 i32 i32 i64 i32) (result i32) (global.get $BADF))
  (func (export "fd_renumber") (param i32 i32) (result i32) (global.get $BADF))
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) (global.get $BADF))
  (func (export "fd_sync") (param i32) (result i32) (global.get $BADF))
  (func (export "fd_tell") (param i32 i32) (result i32) (global.get $BADF))
  (func (export "path_create_directory") (param i32 i32 i32) (result i32) (global.get $NOSYS))
  (func (export "path_filestat_get") (param i32 i32 i32 i32 i32) (result i32) (global.get $NOSYS))
  (func (export "path_filestat_set_times") (param i32 i32 i32 i32 i64 i64 i32) (result i32) (global.get $NOSYS))
  (func (export "path_link") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (global.get $NOSYS))
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) (global.get $NOSYS))
  (func (export "path_readlink") (param i32 i32 i32 i32 i32 i32) (result i32) (global.get $NOSYS))
  (func (export "path_remove_directory") (param i32 i32 i32) (result i32) (global.get $NOSYS))
  (func (export "path_rename") (param i32 i32 i32 i32 i32 i32) (result i32) (global.get $NOSYS))
  (func (export "path_symlink") (param i32 i32 i32 i32 i32) (result i32) (global.get $NOSYS))
  (func (export "path_unlink_file") (param i32 i32 i32) (result i32) (global.get $NOSYS))

  ;; No sockets.
  (func (export "sock_accept") (param i32 i32 i32) (result i32) (global.get $NOSYS))
  (func (export "sock_recv") (param i32 i32 i32 i32 i32 i32) (result i32) (global.get $NOSYS))
  (func (export "sock_send") (param i32 i32 i32 i32 i32) (result i32) (global.get $NOSYS))
  (func (export "sock_shutdown") (param i32 i32) (result i32) (global.get $NOSYS)))
