package main

import (
	"flag"
	"os"
	"testing"
)

// asProgram is the variable that makes this test binary the program itself, so that tests which need processes build nothing
// more.
const asProgram = "REPORTFERRY_TEST_PROGRAM"

// atOnce is how many tests of processes run side by side, unless -parallel says so. They wait for leases and slow answers
// most of the time.
const atOnce = "8"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
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
