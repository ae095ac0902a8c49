package emulator

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// inProcess is an HTTP server on a listener of pipes, and the client that dials it. No socket is
// opened, so it works inside testing/synctest, where goroutines that wait on real sockets would
// stop the fake clock.
type inProcess struct {
	mu       sync.Mutex
	closed   bool
	client   *http.Client
	listener *pipeListener
	server   *http.Server
	served   chan struct{} // closed when server has ended
}

// Client returns the client that reaches s in this process, whatever the URL's scheme and host. It
// is made on first call, shared by all callers, and ends with Close.
func (s *Server) Client() *http.Client {
	p := &s.inproc
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client != nil {
		return p.client
	}
	p.listener = &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	p.server = &http.Server{Handler: s}
	p.served = make(chan struct{})
	p.client = &http.Client{Transport: &http.Transport{
		DialContext:         p.listener.dial,
		DialTLSContext:      p.listener.dial, // https in a URL needs no certificate here
		MaxIdleConnsPerHost: 64,
	}}
	if p.closed {
		p.listener.stop()
	}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(p.listener) // always ends with ErrServerClosed or the listener's end
	}()
	return p.client
}

// close ends the server and its connections.
func (p *inProcess) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.client == nil {
		return
	}
	_ = p.server.Close() // closing pipes can't fail
	p.listener.stop()
	<-p.served
	p.client.CloseIdleConnections()
}

// pipeListener is a net.Listener whose connections are pipes.
type pipeListener struct {
	conns chan net.Conn // the server's end of each pipe that is dialled
	done  chan struct{} // closed by stop
	once  sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, errors.New("dial the emulator: it is closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) stop()          { l.once.Do(func() { close(l.done) }) }
func (l *pipeListener) Close() error   { l.stop(); return nil }
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
