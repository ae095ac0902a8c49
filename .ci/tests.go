// Command tests reads the output of `go test -json`. It copies all of it to the file that its
// argument names, and prints what `go test` would. Without it, a failure would have to be picked
// out of a hundred thousand lines of JSON.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// An event is one of test2json's: https://pkg.go.dev/cmd/test2json
type event struct {
	Action, Package, Test, Output string
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "tests:", err)
		os.Exit(1)
	}
}

// run does the work of the command; name is the file that gets the JSON.
func run(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	outputs := map[event]*strings.Builder{} // output by package and test, kept until the test's result is known
	lines := bufio.NewReader(os.Stdin)
	for {
		line, end := lines.ReadBytes('\n')
		if _, err := file.Write(line); err != nil {
			return err
		}
		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil: // not an event, such as a compiler's message
			fmt.Print(string(line))
		default:
			show(e, outputs)
		}
		if end != nil { // the go command's exit code shows whether its output is complete
			for test, text := range outputs { // these tests have no result, because the process died
				fmt.Printf("unfinished: %s %s\n%s", test.Package, test.Test, text)
			}
			return file.Close()
		}
	}
}

// show collects a test's output, and prints it when the test fails. Of a package it prints the last
// line.
func show(e event, outputs map[event]*strings.Builder) {
	test := event{Package: e.Package, Test: e.Test}
	switch e.Action {
	case "build-output":
		fmt.Print(e.Output)
	case "output":
		if outputs[test] == nil {
			outputs[test] = &strings.Builder{}
		}
		outputs[test].WriteString(e.Output)
	case "pass", "skip", "fail":
		text := ""
		if outputs[test] != nil {
			text = outputs[test].String()
			delete(outputs, test)
		}
		switch {
		case e.Action == "fail":
			fmt.Print(text)
		case e.Test == "": // the last line is that of the package: ok, its name and its time
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			fmt.Println(lines[len(lines)-1])
		}
	}
}
