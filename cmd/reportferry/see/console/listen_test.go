package console

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
)

const secret = "0123456789abcdef-secret"

// listening is what a command line says, with a program whose environment has a token.
func listening(t *testing.T, args ...string) (*PageServer, *wire.Program) {
	t.Helper()
	cmd := &cobra.Command{}
	l := NewPageServer(cmd, "127.0.0.1:0", "")
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"TOKEN": secret, "SHORT": "0123456789abcde"}
	return l, &wire.Program{LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
}

var page = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })

func TestWhoMayListen(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"", ""}, {"--listen=localhost:0", ""}, {"--listen=[::1]:0", ""}, {"--token=${TOKEN}", ""},
		{"--listen=0.0.0.0:0 --token=${TOKEN}", ""}, {"--listen=:0 --token=${TOKEN}", ""},
		{"--listen=0.0.0.0:0", "give it as --token '${CONSOLE_TOKEN}'"},
		{"--listen=:0", "other machines reach this address"}, {"--listen=192.0.2.1:0", "other machines"},
		{"--listen=8082", "want an address such as"}, {"--listen=:0 --token=" + secret,
			"want a reference and never the token itself"},
		{"--listen=:0 --token=constant://?val=" + secret, "want a reference"},
		{"--listen=:0 --token=${NONE}", "NONE: it is not set"}, {"--token=${SHORT}", "has 15 characters, want 16"},
	} {
		l, p := listening(t, strings.Fields(c.args)...)
		_, stop, err := l.ServeWithProbes(t.Context(), p, slog.New(slog.DiscardHandler), page, nil)
		switch {
		case err == nil:
			stop()
			if c.says != "" {
				t.Errorf("%s is allowed", c.args)
			}
		case c.says == "" || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), secret) ||
			text.ExitCode(err) != 2:
			t.Errorf("%s: exit code %d: %v", c.args, text.ExitCode(err), err)
		}
	}
}

func TestWhoIsAnswered(t *testing.T) {
	l, p := listening(t, "--listen=0.0.0.0:0", "--token=${TOKEN}", "--host=Status.example.com")
	address, stop, err := l.ServeWithProbes(t.Context(), p, slog.New(slog.DiscardHandler), page, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, c := range []struct {
		host, token string
		want        int
	}{
		{"localhost", secret, 200}, {"status.example.com", secret, 200}, {"status.example.com:443", secret, 200},
		{"evil.example.com", secret, 421}, {"evil.example.com", "", 421},
		{"localhost", "", 401}, {"status.example.com", "wrong", 401}, {"x.status.example.com", secret, 421},
	} {
		if status, body := got(t, address, "/", c.host, c.token); status != c.want ||
			(body == "page") != (c.want == 200) {
			t.Errorf("host %s with token %q: %d %s", c.host, c.token, status, body)
		}
	}
}

// A bubble's listener, whose connections are pipes, so that the clock is the bubble's.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, open := <-p
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A client that sends a byte a second, or takes none, is let go.
func TestSlowReadersAreRelease(t *testing.T) {
	for _, c := range []struct {
		name    string
		do      func(net.Conn) error
		most    time.Duration
		drained bool // answers are read meanwhile
	}{
		{"the request comes byte by byte", func(conn net.Conn) error {
			for _, b := range []byte("GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + strings.Repeat("x", 1000)) {
				if _, err := conn.Write([]byte{b}); err != nil {
					return err
				}
				time.Sleep(time.Second)
			}
			return nil
		}, 12 * time.Second, true},
		{"the answer isn't read", func(conn net.Conn) error {
			if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				return err
			}
			time.Sleep(61 * time.Second)
			_, err := io.Copy(io.Discard, conn)
			if err == nil {
				err = io.EOF
			}
			return err
		}, 62 * time.Second, false},
		{"nothing is asked any more", func(conn net.Conn) error {
			if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				return err
			}
			_, err := io.Copy(io.Discard, conn)
			if err == nil {
				err = io.EOF
			}
			return err
		}, 61 * time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := serverOf(page, slog.New(slog.DiscardHandler), 10)
			listener := make(pipes)
			over := make(chan struct{})
			go func() { defer close(over); _ = server.Serve(listener) }()
			ours, theirs := net.Pipe()
			listener <- theirs
			began := time.Now()
			if c.drained {
				go func() { _, _ = io.Copy(io.Discard, ours) }()
			}
			if err := c.do(ours); err == nil || time.Since(began) > c.most {
				t.Errorf("%s: after %v: %v", c.name, time.Since(began), err)
			}
			_ = ours.Close()
			_ = server.Close()
			<-over
		})
	}
}

// A hundred readers are answered while others hold connections open, those above the limit are
// closed, and nothing is left.
func TestManyReaders(t *testing.T) {
	const most = 250
	before := runtime.NumGoroutine()
	l, p := listening(t)
	l.most = most
	address, stop, err := l.ServeWithProbes(t.Context(), p, slog.New(slog.DiscardHandler), page, nil)
	if err != nil {
		t.Fatal(err)
	}
	host := strings.Trim(strings.TrimPrefix(address, "http://"), "/")
	var held []net.Conn
	hold := func(n int) {
		for range n {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: local") // and no more
			held = append(held, conn)
		}
	}
	hold(most - 120)
	ctx, cancel := context.WithCancel(t.Context())
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 100, MaxIdleConnsPerHost: 100}}
	var g sync.WaitGroup
	failed := make(chan error, 100)
	for range cap(failed) {
		g.Go(func() {
			for range 10 {
				r, _ := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
				res, err := client.Do(r)
				if err == nil {
					_, err = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
				if err != nil {
					failed <- err
					return
				}
			}
		})
	}
	g.Wait()
	select {
	case err := <-failed:
		t.Error(err)
	default:
	}
	cancel()
	client.CloseIdleConnections()
	hold(2 * most)
	refused := 0
	for _, conn := range held[most:] {
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := bufio.NewReader(conn).ReadByte(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			refused++
		}
	}
	if refused < most-20 {
		t.Errorf("of %d connections more than are taken, %d were closed", len(held)-most, refused)
	}
	for _, conn := range held {
		_ = conn.Close()
	}
	stop()
	if _, err := net.Dial("tcp", host); err == nil {
		t.Error("it still listens")
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 *
		time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, there were %d\n%s", runtime.NumGoroutine(), before,
				stacks[:runtime.Stack(stacks, true)])
		}
	}
}
