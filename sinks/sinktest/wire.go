//go:build servers

package sinktest

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"
)

// A Wire is a proxy to a Postgres server. The fault that Break sets happens once. Connections
// through it aren't encrypted.
type Wire struct {
	Addr string // host:port of the proxy
	to   string // host:port of the server

	mu    sync.Mutex
	fault WireFault
	nth   int  // pieces or commits that were counted since the fault was set
	broke bool // the fault has happened
}

// A WireFault is what becomes of a connection.
type WireFault struct {
	Kind  string
	Nth   int           // which piece or commit it happens at, from 1
	Delay time.Duration // of a late commit
}

// The kinds of faults. A piece is what one read from the client's connection returns.
const (
	WireReset  = "reset"  // the connection ends before the nth piece from the client is forwarded
	WireMute   = "mute"   // the nth piece is forwarded, and the connection ends in place of its answer
	WireUnsent = "unsent" // the connection ends before the nth COMMIT is forwarded
	WireLost   = "lost"   // the nth COMMIT is done, and its answer is lost
	WireLate   = "late"   // the client's connection ends at the nth COMMIT, which the server gets after the delay
)

// NewWire makes a proxy to the server, which runs until the end of the test.
func NewWire(t testing.TB, p *Postgres) *Wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	w := &Wire{Addr: listener.Addr().String(), to: p.Addr}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go w.carry(client)
		}
	}()
	return w
}

// Break sets the fault.
func (w *Wire) Break(f WireFault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault, w.nth, w.broke = f, 0, false
}

// Broke tells whether the fault has happened.
func (w *Wire) Broke() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broke
}

// due returns the fault that happens at a piece from the client, or the zero value.
func (w *Wire) due(piece []byte) WireFault {
	w.mu.Lock()
	defer w.mu.Unlock()
	commit := bytes.Contains(piece, []byte("commit\x00"))
	if w.broke || w.fault.Kind == "" || !commit && w.fault.Kind != WireReset && w.fault.Kind != WireMute {
		return WireFault{}
	}
	if w.nth++; w.nth < w.fault.Nth {
		return WireFault{}
	}
	w.broke = true
	return w.fault
}

// carry forwards both directions of a client's connection until one end closes or a fault happens.
func (w *Wire) carry(client net.Conn) {
	defer client.Close() //nolint:errcheck // one end of two, whose other end may be gone
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		return // the client sees a server that is down
	}
	// Answers go to the client until mute is called.
	var muted sync.Mutex // guards dead, and is held while an answer goes to the client
	dead := false
	go func() {
		defer client.Close() //nolint:errcheck // as above
		piece := make([]byte, 64<<10)
		for {
			n, err := server.Read(piece)
			muted.Lock()
			if !dead {
				_, _ = client.Write(piece[:n]) // the client may be gone
			}
			over := dead
			muted.Unlock()
			if err != nil {
				return
			}
			if over && n > 0 { // the answer that must not come through
				_ = client.Close()
			}
		}
	}()
	// Pieces go to the server, with the fault.
	mute := func() { muted.Lock(); dead = true; muted.Unlock() }
	piece := make([]byte, 64<<10)
	for {
		n, err := client.Read(piece)
		switch fault := w.due(piece[:n]); fault.Kind {
		case WireReset, WireUnsent:
			_ = server.Close()
			return
		case WireMute, WireLost:
			mute()
		case WireLate:
			mute()
			_ = client.Close()
			time.Sleep(fault.Delay)
			_, _ = server.Write(piece[:n]) // the connection may have ended
			time.Sleep(fault.Delay)        // for the server to do it before the connection ends
			_ = server.Close()
			return
		}
		if n > 0 {
			if _, err := server.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			_ = server.Close()
			return
		}
	}
}
