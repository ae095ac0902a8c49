package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// newTerminal opens a terminal: what a person sees and types, and what a program has as its own.
func newTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	check(t, err)
	var number, unlock int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, person.Fd(), request,
			uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	resize(t, person, 24, 80)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	check(t, err)
	t.Cleanup(func() { _, _ = person.Close(), program.Close() })
	return person, program
}

// resize makes a terminal this large. Zeros are a size that nobody knows.
func resize(t *testing.T, person *os.File, rows, columns uint16) {
	t.Helper()
	size := [4]uint16{rows, columns} // and of no size in pixels
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, person.Fd(), syscall.TIOCSWINSZ,
		uintptr(unsafe.Pointer(&size))); errno != 0 {
		t.Fatal(errno)
	}
}

// converse runs the program on a terminal of its own in dir, types an answer to each question, and
// gives all that the person sees.
func converse(t *testing.T, dir string, args, answers []string) (seen string, code int) {
	t.Helper()
	person, program := newTerminal(t)
	cmd := exec.CommandContext(t.Context(), binary(t), args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "ADJUST_TOKEN=", "TMPDIR=/tmp", "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	check(t, cmd.Start())
	check(t, program.Close())
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	var text strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := person.Read(buf)
		text.Write(buf[:n])
		if err != nil { // the program has ended
			break
		}
		if !strings.HasSuffix(text.String(), "]: ") {
			continue
		}
		if len(answers) == 0 {
			t.Fatalf("one question more:\n%s", text.String())
		}
		_, err = person.WriteString(answers[0])
		check(t, err)
		answers = answers[1:]
	}
	_ = cmd.Wait() // the exit code says it
	if len(answers) > 0 {
		t.Errorf("never asked for %q", answers)
	}
	return strings.ReplaceAll(text.String(), "\r\n", "\n"), cmd.ProcessState.ExitCode()
}

// On a terminal init asks, and asks again after a slip.
func TestInitDialog(t *testing.T) {
	dir := t.TempDir()
	seen, code := converse(t, dir, []string{"init"}, []string{
		"none\n", "example\n", "2, sky garden, 99\n", "2, sky garden\n", "spent\n", "ad_revenue,own\n", "day,contry\n",
		"day,country\n", "\n", "\n",
		"tomorrow\n", "-5d\n", "Berlin\n", "Europe/Berlin\n", "EUR\n", "tables\n", "daily\n", "0 5 * * *\n",
	})
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	golden(t, "init-dialog", "$ reportferry init\n"+steady(seen))
	data, err := os.ReadFile(filepath.Join(dir, "reportferry.yml"))
	check(t, err)
	golden(t, "init-dialog-yml", string(data))
}

// Flags are the answers on a terminal too.
func TestInitFlagsOnTerminal(t *testing.T) {
	dir := t.TempDir()
	seen, code := converse(t, dir, []string{"init", "--embedded", "--preset", "events"}, nil)
	if _, err := os.Stat(filepath.Join(dir, "reportferry.yml")); err != nil || code != 0 {
		t.Errorf("exit code %d, %v: %s", code, err, seen)
	}
}

// A slip that the config only warns of counts when it is given again.
func TestInitDoubt(t *testing.T) {
	dir := t.TempDir()
	seen, code := converse(t, dir, []string{"init", "mine.yml"}, []string{
		"real\n", "http://service.test\n", "\n", "secret-1\n", "TOKEN_HERE\n", "abc123\n", "own\n", "\n", "instals\n",
		"\n", "\n", "\n", "\n", "\n", "\n", "\n", "\n",
	})
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	golden(t, "init-doubt", "$ reportferry init mine.yml\n"+steady(seen))
}

// Whoever leaves before the last answer leaves no file, by Ctrl-C or by the end of the input.
// Ctrl-C makes a terminal drop what it hasn't shown yet, so that the message may be lost.
func TestInitLeft(t *testing.T) {
	for key, says := range map[string]string{"\x03": "",
		"\x04": "the answers ended before the questions did; no file was written"} {
		for _, answers := range [][]string{{key}, {"example\n", "all\n", "spend\n", key}} {
			dir, began := t.TempDir(), time.Now()
			seen, code := converse(t, dir, []string{"init"}, answers)
			if time.Since(began) > 8*time.Second { // the program is ended by force after 9
				t.Errorf("%q doesn't end the questions", key)
			}
			if code != 130 || !strings.Contains(seen, says) {
				t.Errorf("exit code %d: %s", code, seen)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%q leaves %v, %v", key, left, err)
			}
		}
	}
}
