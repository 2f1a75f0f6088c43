package abi

import (
	"sync"
	"unsafe"
)

// calls are made one after the other: while weir carries one out, it may ask for memory, and then other goroutines run.
var calls sync.Mutex

// Call is a call of a function of the contract.
type Call struct {
	// More are in memory.
	arguments [16]uint64
	count     int
	result    unsafe.Pointer
}

// Begin begins a call whose result takes this many bytes.
func Begin(size uintptr) *Call {
	calls.Lock()
	call := &Call{}
	if size > 0 {
		call.result = Allocate(size)
	}
	return call
}

// Push adds an argument.
func (call *Call) Push(argument uint64) {
	call.arguments[call.count] = argument
	call.count++
}

// Pad adds arguments that mean nothing: those of the other cases of a type.
func (call *Call) Pad(count int) {
	call.count += count
}

// I32 returns an argument.
func (call *Call) I32(number int) int32 {
	return int32(uint32(call.arguments[number]))
}

// I64 returns an argument.
func (call *Call) I64(number int) int64 {
	return int64(call.arguments[number])
}

// Result returns where the result is to be.
func (call *Call) Result() int32 {
	return Address(call.result)
}

// Leave must come right before the function of weir.
func (call *Call) Leave() {
	mayLeave(0)
}

// End ends a call. Answer and Done end it as well.
func (call *Call) End() {
	mayLeave(1)
	release()
	calls.Unlock()
}

// Answer ends a call and returns what it answered: a value or an error, at an offset in the result.
func Answer[T any, E error](
	call *Call, offset uintptr, load func(unsafe.Pointer) T, failed func(unsafe.Pointer) E,
) (value T, err error) {
	defer call.End()
	at := unsafe.Add(call.result, offset)
	if LoadBool(call.result) {
		return value, failed(at)
	}
	return load(at), nil
}

// Done ends a call that answers with an error or with nothing.
func Done[E error](call *Call, offset uintptr, failed func(unsafe.Pointer) E) error {
	defer call.End()
	if LoadBool(call.result) {
		return failed(unsafe.Add(call.result, offset))
	}
	return nil
}

// Pass passes a number.
func Pass[T Integer](call *Call, value T) {
	wide := uint64(value)
	if unsafe.Sizeof(value) < 8 {
		wide = uint64(uint32(value))
	}
	call.Push(wide)
}

// PassBool passes a boolean.
func PassBool(call *Call, value bool) {
	if value {
		call.Push(1)
	} else {
		call.Push(0)
	}
}

// PassString passes a string.
func PassString(call *Call, value string) {
	call.pushSpan(unsafe.Pointer(unsafe.StringData(value)), len(value))
}

// PassBytes passes a list of bytes.
func PassBytes(call *Call, value []byte) {
	call.pushSpan(unsafe.Pointer(unsafe.SliceData(value)), len(value))
}

// PassList passes a list of items of a size.
func PassList[T any](size uintptr, item func(unsafe.Pointer, T)) func(*Call, []T) {
	return func(call *Call, items []T) {
		call.pushSpan(storeItems(size, item, items), len(items))
	}
}

// pushSpan passes the address and the length of a string or a list.
func (call *Call) pushSpan(content unsafe.Pointer, length int) {
	if length == 0 {
		// Any address that is aligned.
		call.Push(8)
	} else {
		call.Push(uint64(hold(content)))
	}
	call.Push(uint64(length))
}

// PassOption passes what may be absent, as this many arguments besides whether it is.
func PassOption[T any](count int, pass func(*Call, T)) func(*Call, *T) {
	return func(call *Call, value *T) {
		PassBool(call, value != nil)
		if value == nil {
			call.Pad(count)
			return
		}
		pass(call, *value)
	}
}

// PassOptional passes what may be absent.
func PassOptional[T any](count int, isGiven func(T) bool, pass func(*Call, T)) func(*Call, T) {
	return func(call *Call, value T) {
		PassBool(call, isGiven(value))
		if !isGiven(value) {
			call.Pad(count)
			return
		}
		pass(call, value)
	}
}
