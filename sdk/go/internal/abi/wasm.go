//go:build wasm

package abi

import "unsafe"

// IsNative tells whether this is a test on the machine that builds the plugin, where no function of the contract is.
const IsNative = false

// mayLeave tells the adapter for WASI (adapter/wasi.wat) whether its functions may call weir. They may not while weir asks for
// memory, before a command and at the end of a call, although Go's scheduler runs then.
//
//go:wasmimport wasi_snapshot_preview1 weir_may_leave
func mayLeave(may int32)

// Enter begins a command.
func Enter() {
	release()
	mayLeave(1)
}

// Exit ends a command, or the initialisation.
func Exit() {
	mayLeave(0)
}

// Trap ends the plugin.
//
//go:wasmimport wasi_snapshot_preview1 proc_exit
func Trap(code int32)

// realloc gives weir memory for the arguments of a command and for the results of a call.
//
//go:wasmexport cabi_realloc
func realloc(old, oldSize, align, size int32) int32 {
	at := Allocate(uintptr(uint32(size)))
	if oldSize != 0 {
		copy(unsafe.Slice((*byte)(at), size), unsafe.Slice((*byte)(pointer(uint32(old))), oldSize))
	}
	return Address(at)
}

// Ask is for native tests alone.
func Ask[T any](string, ...any) (value T, err error) { return value, nil }

// Tell is for native tests alone.
func Tell(string, ...any) error { return nil }

// Given returns the memory at an address that is an argument of a command.
func Given(address int32) unsafe.Pointer {
	return pointer(uint32(address))
}

// Gather returns the arguments of a command as they would be in memory.
func Gather(arguments ...int32) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(arguments))
}
