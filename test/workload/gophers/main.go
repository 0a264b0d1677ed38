// SPDX-License-Identifier: MIT

// A Go program that knows its own stacks: gophers SECONDS. Each of its goroutines does one thing, six
// calls deep. Those that have a thread to themselves say which one it is, and what the runtime itself says
// is called there; the others go from thread to thread, as goroutines do. No cgo.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

type told struct {
	Name  string   `json:"name"`
	Tid   int      `json:"tid"`
	Stack []string `json:"stack"` // leaf first
	Begin int64    `json:"begin_ns"`
}

var (
	tell   = make(chan told)
	until  time.Time
	ledger sync.Mutex
	work   = make(chan int)
	sink   uint64
	heap   [64][]byte
)

// What the runtime says is called, without the functions that ask.
func stack() []string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var names []string
	for {
		f, more := frames.Next()
		names = append(names, f.Function)
		if !more {
			return names
		}
	}
}

func monotonic() int64 {
	var t syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

// From here on this thread stays where it is.
//
//go:noinline
func settle(name string) {
	tell <- told{name, syscall.Gettid(), stack(), monotonic()}
}

//go:noinline
func level5(leaf func()) { leaf(); sink++ }

//go:noinline
func level4(leaf func()) { level5(leaf); sink++ }

//go:noinline
func level3(leaf func()) { level4(leaf); sink++ }

//go:noinline
func level2(leaf func()) { level3(leaf); sink++ }

//go:noinline
func level1(leaf func()) { level2(leaf); sink++ }

// ---- with a thread of their own ----

//go:noinline
func compute() {
	settle("compute")
	for time.Now().Before(until) {
		for i := uint64(0); i < 1<<16; i++ {
			sink = sink*6364136223846793005 + i
		}
	}
}

// The clock is asked on the stack of the system.
//
//go:noinline
func askClock() {
	settle("clock")
	for time.Now().Before(until) {
	}
}

//go:noinline
func allocate() {
	settle("allocate")
	for i := 0; time.Now().Before(until); i++ {
		heap[i%len(heap)] = make([]byte, 100+i%5000*100)
	}
}

// A system call that the runtime knows nothing of: it blocks the thread.
//
//go:noinline
func nap() {
	settle("nap")
	for time.Now().Before(until) {
		t := syscall.Timespec{Nsec: 1000000}
		_ = syscall.Nanosleep(&t, nil)
	}
}

//go:noinline
func readPipe() {
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		panic(err)
	}
	go feed(ends[1])
	settle("read")
	buf := make([]byte, 1)
	for {
		if n, err := syscall.Read(ends[0], buf); err == nil && n == 0 {
			return
		}
	}
}

func feed(fd int) {
	for time.Now().Before(until) {
		time.Sleep(2 * time.Millisecond)
		_, _ = syscall.Write(fd, []byte{1})
	}
	_ = syscall.Close(fd)
}

// ---- from thread to thread ----

//go:noinline
func contend() {
	for time.Now().Before(until) {
		ledger.Lock()
		sink++
		time.Sleep(100 * time.Microsecond)
		ledger.Unlock()
	}
}

//go:noinline
func receive() {
	for range work {
		for i := uint64(0); i < 1<<12; i++ {
			sink += i
		}
	}
}

//go:noinline
func send() {
	for time.Now().Before(until) {
		work <- 1
		time.Sleep(50 * time.Microsecond)
	}
	close(work)
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		panic(err)
	}
	until = time.Now().Add(time.Duration(seconds * float64(time.Second)))
	alone := []func(){compute, askClock, allocate, nap, readPipe}
	together := []func(){contend, contend, contend, receive, receive, send}
	var all sync.WaitGroup
	for _, leaf := range alone {
		all.Add(1)
		go func(leaf func()) {
			runtime.LockOSThread()
			level1(leaf)
			all.Done()
		}(leaf)
	}
	threads := make([]told, len(alone))
	for i := range threads {
		threads[i] = <-tell
	}
	for _, leaf := range together {
		all.Add(1)
		go func(leaf func()) {
			level1(leaf)
			all.Done()
		}(leaf)
	}
	all.Wait()
	out, err := json.Marshal(map[string]interface{}{"pid": os.Getpid(), "end_ns": monotonic(), "threads": threads})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(out))
}
