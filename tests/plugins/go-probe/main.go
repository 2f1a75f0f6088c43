// The plugin `go-probe` does what its configuration says with Go's standard library, and answers with what came of it: the test
// go.rs compares.
package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"weir.dev/weir"
	"weir.dev/weir/link"
)

// Config has what to do.
type Config struct {
	Do string `json:"do"`
}

var acts = map[string]func(request *weir.Request[Config]) (string, error){
	"clocks":     clocks,
	"contract":   contract,
	"error":      func(*weir.Request[Config]) (string, error) { return "", errors.New("as the configuration says") },
	"exit":       func(*weir.Request[Config]) (string, error) { os.Exit(3); return "", nil },
	"files":      files,
	"goroutines": goroutines,
	"memory":     memory,
	"panic":      func(*weir.Request[Config]) (string, error) { panic("as the configuration says") },
	"print":      printed,
	"random":     random,
	"sleep":      func(*weir.Request[Config]) (string, error) { time.Sleep(time.Second); return "slept", nil },
	"stack":      func(*weir.Request[Config]) (string, error) { return fmt.Sprint(deeper(0)), nil },
}

// clocks reads both of the host, and not what was read when the plugin was loaded.
func clocks(*weir.Request[Config]) (string, error) {
	begin := time.Now()
	sum := 0
	for i := range 1_000_000 {
		sum += i % 7
	}
	if begin.Year() < 2025 || time.Since(begin) <= 0 {
		return "", fmt.Errorf("it is %v, and %v later after %d", begin, time.Since(begin), sum)
	}
	return "time passed", nil
}

func files(*weir.Request[Config]) (string, error) {
	if len(os.Args) > 0 || len(os.Environ()) > 0 {
		return "", fmt.Errorf("arguments %q, environment %q", os.Args, os.Environ())
	}
	for _, path := range []string{"/etc/passwd", "secret", "."} {
		if _, err := os.Open(path); err == nil {
			return "", fmt.Errorf("%s is open", path)
		}
		if _, err := os.ReadDir(path); err == nil {
			return "", fmt.Errorf("%s is listed", path)
		}
	}
	if err := os.WriteFile("file", []byte("content"), 0o600); err == nil {
		return "", errors.New("a file is written")
	}
	if count, err := os.Stdin.Read(make([]byte, 1)); count > 0 || err == nil {
		return "", errors.New("standard input is read")
	}
	return "no files", nil
}

// goroutines call the contract at the same time.
func goroutines(request *weir.Request[Config]) (string, error) {
	const count = 20
	var all sync.WaitGroup
	failures := make(chan error, count)
	for range count {
		all.Go(func() {
			for range 3 {
				runtime.Gosched()
				found, err := link.Get(weir.Container, weir.LinkName(request.Ifname))
				if err == nil && found.Name != request.Ifname {
					err = fmt.Errorf("found %s", found.Name)
				}
				if err != nil {
					failures <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failures)
	return "all looked", <-failures
}

// memory allocates more than the plugin may have at a time, so that memory is collected, and calls the contract, for whose results there must be memory.
func memory(request *weir.Request[Config]) (string, error) {
	kept := make([]string, 0, 64)
	for i := range 400 {
		kept = append(kept[len(kept)/64*16:], strings.Repeat("x", 64<<10))
		if _, err := link.Get(weir.Container, weir.LinkName(request.Ifname)); err != nil {
			return "", fmt.Errorf("call %d: %w", i, err)
		}
	}
	return fmt.Sprintf("kept %d", len(kept[0])), nil
}

func printed(*weir.Request[Config]) (string, error) {
	fmt.Println("to standard output")
	fmt.Fprintln(os.Stderr, "to standard error", strings.Repeat("long ", 1000))
	return "printed", nil
}

func random(*weir.Request[Config]) (string, error) {
	seen := make(map[[7]byte]bool)
	for range 100 {
		var next [7]byte
		if _, err := rand.Read(next[:]); err != nil || seen[next] {
			return "", fmt.Errorf("%v after %d", err, len(seen))
		}
		seen[next] = true
	}
	return "all differ", nil
}

func deeper(depth int) int {
	return deeper(depth+1) + 1
}

func add(request *weir.Request[Config]) (weir.Result, error) {
	act := acts[request.Config.Do]
	if act == nil {
		return weir.Result{}, weir.Fail(weir.CodeInvalidConfig, "do: nothing is called `%s`", request.Config.Do)
	}
	said, err := act(request)
	result := weir.Result{DNS: weir.DNS{Domain: said}}
	return result, err
}

func main() {}

func init() {
	weir.Export(weir.Plugin[Config]{
		Name:        "go-probe",
		Version:     "0.1.0",
		Description: "Does what its configuration says with the standard library",
		Add:         add,
		Check:       func(*weir.Request[Config]) error { return nil },
	})
}
