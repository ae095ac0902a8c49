package bucket

import (
	"bufio"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A transport that goes on reading a body after its answer is there doesn't reach the body any
// more, nor a copy of it.
func TestBodiesEndWithTheAnswer(t *testing.T) {
	for _, again := range []bool{false, true} {
		var unmapped atomic.Bool
		var late atomic.Int64
		body := func() io.ReadCloser {
			reads := 0
			return io.NopCloser(readerFunc(func(p []byte) (int, error) {
				if reads++; reads > 100 {
					return 0, io.EOF
				}
				if unmapped.Load() {
					late.Add(1)
				}
				time.Sleep(time.Millisecond) // a read that is going on is waited for
				if unmapped.Load() {
					late.Add(1)
				}
				return len(p), nil
			}))
		}
		over := make(chan error)
		slow := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			r := req.Body
			if again {
				r, _ = req.GetBody()
			}
			begun := make(chan bool)
			go func() {
				close(begun)
				_, err := io.Copy(io.Discard, r)
				over <- err
			}()
			<-begun
			time.Sleep(5 * time.Millisecond)
			return &http.Response{StatusCode: http.StatusServiceUnavailable}, nil
		})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://127.0.0.1/", body())
		if err != nil {
			t.Fatal(err)
		}
		req.GetBody = func() (io.ReadCloser, error) { return body(), nil }
		if _, err := (bodyStopper{slow}).RoundTrip(req); err != nil { //nolint:bodyclose // it has none
			t.Fatal(err)
		}
		unmapped.Store(true)
		if err := <-over; err == nil {
			t.Error("the rest of the body was read without an error")
		}
		if late.Load() > 0 {
			t.Error("the body was read after the answer")
		}
		if _, wrapped := req.Body.(stoppableBody); wrapped {
			t.Error("the caller's request is another now")
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An upload that the store refuses before it has read it all is an error.
func TestAzureAnswersEarly(t *testing.T) {
	t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
	t.Setenv("AZURE_STORAGE_KEY", base64.StdEncoding.EncodeToString([]byte("key")))
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close() //nolint:errcheck // nobody asks it any more
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go refuse(conn)
		}
	}()
	b, err := Open(t.Context(), "azblob://bkt?protocol=http&localemu=true&domain="+server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		size := 3 * fileBuffer
		f := File{Size: int64(size), Open: func() (io.ReadCloser,
			error) {
			return io.NopCloser(strings.NewReader(strings.Repeat("n", size))), nil
		}}
		_, err := b.PutFile(t.Context(), "k", f, Condition{Absent: true})
		if err == nil || !strings.Contains(err.Error(), "403") {
			t.Fatalf("want the refusal, got %v", err)
		}
	}
}

// refuse answers at once and then takes what comes, slowly, so that the other side goes on sending.
func refuse(conn net.Conn) {
	defer conn.Close()                              //nolint:errcheck // the test is over
	_ = conn.(*net.TCPConn).SetReadBuffer(16 << 10) // else the kernel would take a whole block at once
	r := bufio.NewReader(conn)
	if _, err := http.ReadRequest(r); err != nil {
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"); err != nil {
		return
	}
	for piece := make([]byte, 64<<10); ; time.Sleep(time.Millisecond) {
		if _, err := r.Read(piece); err != nil {
			return
		}
	}
}
