package report

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// late is an answer that comes late.
type late struct{ io.Reader }

func (s late) Read(p []byte) (int, error) {
	time.Sleep(2 * time.Second)
	return s.Reader.Read(p)
}

// What conversion took doesn't count the time in which it waited for the answer.
func TestConvertingLeavesOutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetch{}
		began, answer := time.Now(), &timedBody{Reader: late{strings.NewReader("day,installs")}}
		text, err := io.ReadAll(answer)
		if err != nil || string(text) != "day,installs" || answer.waited != 4*time.Second {
			t.Errorf("%q, %v; waited %v", text, err, answer.waited)
		}
		time.Sleep(time.Second)
		f.addConvertTime(began, answer)
		if f.out.Convert != time.Second {
			t.Errorf("conversion took %v", f.out.Convert)
		}
	})
}
