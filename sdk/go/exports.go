//go:build wasm

package weir

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"weir.dev/weir/internal/abi"
	"weir.dev/weir/internal/contract"
	"weir.dev/weir/log"
)

// What a command returns in memory: whether it failed, and the result or the error at an offset. The result of ADD is the largest.
const (
	answerSize = 64
	payload    = 4
)

//go:wasmexport weir:cni/commands@0.2.0#add
func exportAdd(request int32) int32 {
	return command(func() (func(unsafe.Pointer), error) {
		result, err := exported.Add(contract.LoadRequest(abi.Given(request)))
		return func(at unsafe.Pointer) { contract.StoreResult(at, result) }, err
	})
}

//go:wasmexport weir:cni/commands@0.2.0#del
func exportDel(request int32) int32 {
	return command(func() (func(unsafe.Pointer), error) {
		return nil, exported.Del(contract.LoadRequest(abi.Given(request)))
	})
}

//go:wasmexport weir:cni/commands@0.2.0#check
func exportCheck(request int32) int32 {
	return command(func() (func(unsafe.Pointer), error) {
		return nil, exported.Check(contract.LoadRequest(abi.Given(request)))
	})
}

// The fields of the requests of STATUS and GC are arguments.

//go:wasmexport weir:cni/commands@0.2.0#status
func exportStatus(network, networkLength, config, configLength int32) int32 {
	return command(func() (func(unsafe.Pointer), error) {
		fields := abi.Gather(network, networkLength, config, configLength)
		return nil, exported.Status(contract.LoadStatusRequest(fields))
	})
}

//go:wasmexport weir:cni/commands@0.2.0#gc
func exportGC(network, networkLength, knownAs, knownAsLength, config, configLength, valid, validLength int32) int32 {
	return command(func() (func(unsafe.Pointer), error) {
		fields := abi.Gather(
			network, networkLength, knownAs, knownAsLength, config, configLength, valid, validLength)
		return nil, exported.GC(contract.LoadGCRequest(fields))
	})
}

//go:wasmexport weir:cni/commands@0.2.0#version
func exportVersion() int32 {
	at := abi.Allocate(answerSize)
	contract.StoreAbout(at, exported.about)
	return abi.Address(at)
}

// command runs a command, and returns where its answer is.
func command(run func() (func(unsafe.Pointer), error)) int32 {
	abi.Enter()
	defer abi.Exit()
	defer endOfPanic()
	store, err := run()
	answer := abi.Allocate(answerSize)
	at := unsafe.Add(answer, payload)
	abi.StoreBool(answer, err != nil)
	if err != nil {
		contract.StoreError(at, failure(err))
	} else if store != nil {
		store(at)
	}
	return abi.Address(answer)
}

// endOfPanic ends a plugin that panics. Its message is that of the CNI error.
func endOfPanic() {
	reason := recover()
	if reason == nil {
		return
	}
	message := fmt.Sprintf("panicked%s: %v", panicPlace(), reason)
	log.Write(log.LevelError, "the plugin panicked", [][2]string{{"panic", message}})
	abi.Trap(2)
}

// panicPlace returns where the plugin's own code was when it panicked, as ` at main.go:42`.
func panicPlace() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for {
		frame, more := frames.Next()
		if frame.File != "" && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf(" at %s:%d", frame.File[strings.LastIndexByte(frame.File, '/')+1:], frame.Line)
		}
		if !more {
			return ""
		}
	}
}
