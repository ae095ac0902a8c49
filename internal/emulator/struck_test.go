package emulator_test

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// watcher calls look before anything of an answer goes out, or its connection is dropped.
type watcher struct {
	http.ResponseWriter
	look func()
}

func (w watcher) WriteHeader(status int) {
	w.look()
	w.ResponseWriter.WriteHeader(status)
}

func (w watcher) Write(b []byte) (int, error) {
	w.look()
	return w.ResponseWriter.Write(b)
}

func (w watcher) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.look()
	return nil, nil, http.ErrNotSupported
}

// A client that has its answer, or has seen its connection end, finds the fault in the books.
func TestFaultsAreBookedBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/cost", "/third_party_sharing"} {
		for _, fault := range []emulator.Fault{{Kind: emulator.FaultStatus, Status: 503}, {Kind: emulator.FaultHTML},
			{Kind: emulator.FaultReset}} {
			t.Run(strings.TrimPrefix(path, "/")+" "+fault.String(), func(t *testing.T) {
				t.Parallel()
				s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 2,
					Faults: []emulator.Fault{fault}})
				booked := func() int { return s.Spend().Faulted + s.Sharing().Faulted }
				looks := 0
				w := watcher{httptest.NewRecorder(), func() {
					if looks++; booked() != 1 {
						t.Errorf("the answer goes out with %d faults in the books, want 1", booked())
					}
				}}
				r := httptest.NewRequest(http.MethodPost, path, strings.NewReader("a=b"))
				r.Header.Set("Content-Type", wire.FormType)
				func() {
					defer func() {
						if p, _ := recover().(error); p != nil && !errors.Is(p, http.ErrAbortHandler) {
							t.Errorf("the request ends with %v", p)
						}
					}()
					s.ServeHTTP(w, r)
				}()
				if looks == 0 || booked() != 1 {
					t.Errorf("%d faults in the books after %d looks, want 1", booked(), looks)
				}
			})
		}
	}
}
