package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// A file that is still being written is pushed by nobody who didn't name it, with the default of
// wait_until_quiet. Of a half-written file the last amount may be cut in the middle of its digits.
func TestHalfWrittenFilesWait(t *testing.T) {
	account, err := emulator.New(emutest.With(emulator.Options{}))
	check(t, err)
	app := account.Apps()[0].Token
	check(t, account.Close())
	for _, x := range []struct{ kind, job, half, whole, want string }{
		{
			"spend", "constants: {cost_type: cpi, cost_currency: USD, tag: t}",
			"cost_id,cost_amount\nlong-enough-id-1,1",
			"cost_id,cost_amount\nlong-enough-id-1,1250.55\nlong-enough-id-2,2\n", `"amount":125255000`,
		},
		{
			"sharing", "constants: {app_token: " + app + "}",
			"idfa,sharing\ndevice-1,enable", "idfa,sharing\ndevice-1,enable\ndevice-1,disable\n", `"rows":2,`,
		},
	} {
		t.Run(x.kind, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write := func(path, text string) { check(t, os.WriteFile(path, []byte(text), 0o600)) }
			check(t, os.Mkdir("in", 0o700))
			write("reportferry.yml",
				"service: embedded\nledger: file://./ledger\njobs: [{name: p, kind: "+x.kind+", source: file://./in/"+
					"*.csv, rejects: file://./rejects, max_rejects: 100%, "+x.job+"}]\n")
			clock := 10 * 365 * 24 * time.Hour // of the next command, since the bubble's beginning
			say := func(code int, args string, before func()) string {
				t.Helper()
				var out bytes.Buffer
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(clock)
					if before != nil {
						before()
						now := time.Now()
						check(t, os.Chtimes("in/a.csv", now, now))
					}
					defer time.Sleep(time.Second) // the embedded service's last goroutines
					if got := execute(t.Context(), strings.Fields(args), &out, &out); got != code {
						t.Errorf("%s: exit code %d, want %d: %s", args, got, code, &out)
					}
				})
				clock += time.Minute
				return out.String()
			}
			none := func() {
				t.Helper()
				if said := say(0, x.kind+" status", nil); !strings.Contains(said, "nothing was pushed yet") {
					t.Errorf("half of a file was pushed:\n%s", said)
				}
			}
			if said := say(0, x.kind+" push", func() { write("in/a.csv", x.half) }); !strings.Contains(said,
				"1 file that may still be growing; due at 2009-12-29T00:05:0") {
				t.Errorf("nothing says that the file waits, and until when:\n%s", said)
			}
			none()
			if said := say(0, x.kind+" check", nil); !strings.Contains(said,
				"may still be growing; a push without its name takes it at 2009-12-29T00:05:0") {
				t.Errorf("check doesn't say that the file waits:\n%s", said)
			}
			say(0, "run p", nil)
			none()
			clock += 10 * time.Minute
			say(0, x.kind+" push", func() { write("in/a.csv", x.whole) })
			none()
			clock += 10 * time.Minute
			say(0, x.kind+" push", nil)
			if said := say(0, x.kind+" status --json", nil); !strings.Contains(said, x.want) {
				t.Errorf("want %s, pushed is\n%s", x.want, said)
			}
			say(0, x.kind+" push in/a.csv", func() {
				write("in/a.csv", x.whole+strings.Replace(x.whole, "-1", "-3", 1)[strings.Index(x.whole, "\n")+1:])
			})
			if said := say(0, x.kind+" status", nil); strings.Count(said, "done ") < 1 ||
				strings.Contains(said, "not finished") {
				t.Errorf("a file that is named waits:\n%s", said)
			}
		})
	}
}
