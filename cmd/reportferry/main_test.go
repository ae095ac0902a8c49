package main

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"
)

// asProgram is the variable that makes this test binary the program itself, so that tests which
// need processes build nothing more.
const asProgram = "REPORTFERRY_TEST_PROGRAM"

// asCrash is the variable that makes the program crash once it has begun, and says how.
const asCrash = "REPORTFERRY_TEST_CRASH"

func crash(how string) {
	for runningProgram.Load() == nil {
		runtime.Gosched()
	}
	switch how {
	case "panic":
		panic("a mistake")
	case "memory":
		limit := syscall.Rlimit{Cur: 1 << 30, Max: 1 << 30}
		if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
			panic("no limit: " + err.Error())
		}
		hoard = make([]byte, 1<<40)
	case "threads":
		debug.SetMaxThreads(1) // as where a limit of pids is reached
	case "map":
		shared := map[int]int{}
		for range 2 * runtime.GOMAXPROCS(0) {
			go func() {
				for i := 0; ; i++ {
					shared[i]++
				}
			}()
		}
	}
}

var hoard []byte

// atOnce is how many tests of processes run side by side, unless -parallel says so. They wait for
// leases and slow answers most of the time.
const atOnce = "8"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		switch how := os.Getenv(asCrash); how {
		case "":
		case "early":
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM) // which is never refused
			time.Sleep(time.Minute)
		default:
			go crash(how)
		}
		main()
		return
	}
	if err := os.Setenv(asProgram, "1"); err != nil {
		panic(err)
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", atOnce); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
