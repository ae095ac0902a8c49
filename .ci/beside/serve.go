// Command serve is a caching proxy in front of the emulator: it forwards each query once, and then
// repeats the answer, compressed by gzip, from memory, so that a comparison measures the client
// alone. Its arguments are the address to listen on, and the emulator's.
//
//	PUT /_play {"latency": "2s", "faults": true}    set how answers come from now on
//	POST /_forget                                   forget all answers: they have changed
//	POST /_asked                                    the queries since the last such call, as JSON
//
// With faults, every twelfth request is answered with a 429 or a 504, or its answer is cut in half,
// if it is for a csv_report.
package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// answer is an HTTP answer of the emulator, as it is kept in memory.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// player answers from memory, and asks the emulator for the rest.
type player struct {
	emulator string

	mu      sync.Mutex
	known   map[string]answer
	latency time.Duration
	faults  bool
	asked   int
	queries []string
}

func main() {
	p := &player{emulator: os.Args[2], known: map[string]answer{}}
	http.HandleFunc("PUT /_play", p.play)
	http.HandleFunc("POST /_forget", func(http.ResponseWriter, *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		clear(p.known)
	})
	http.HandleFunc("POST /_asked", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		_ = json.NewEncoder(w).Encode(append([]string{}, p.queries...)) // an error means a gone client
		p.queries = nil
	})
	http.HandleFunc("/", p.answer)
	log.Fatal(http.ListenAndServe(os.Args[1], nil)) //nolint:gosec // for a minute, on the loopback
}

// play sets the latency and the faults of the answers from now on.
func (p *player) play(w http.ResponseWriter, r *http.Request) {
	var how struct {
		Latency string
		Faults  bool
	}
	latency := time.Duration(0)
	err := json.NewDecoder(r.Body).Decode(&how)
	if err == nil {
		latency, err = time.ParseDuration(how.Latency)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latency, p.faults, p.asked = latency, how.Faults, 0
}

// answer answers a query, from memory if it is known there.
func (p *player) answer(w http.ResponseWriter, r *http.Request) {
	key := r.Method + " " + r.URL.RequestURI()
	p.mu.Lock()
	p.asked++
	p.queries = append(p.queries, r.URL.RequestURI())
	nth, latency := p.asked, p.latency
	spoilt := p.faults && nth%12 == 0 && strings.HasSuffix(r.URL.Path, "/csv_report")
	a, known := p.known[key]
	p.mu.Unlock()
	if !known {
		var err error
		if a, err = p.ask(r); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		p.mu.Lock()
		p.known[key] = a
		p.mu.Unlock()
	}
	time.Sleep(latency)
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	switch {
	case spoilt && nth/12%3 == 0:
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	case spoilt && nth/12%3 == 1:
		http.Error(w, "it takes too long", http.StatusGatewayTimeout)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	if spoilt {
		_, _ = w.Write(a.body[:len(a.body)/2])
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(a.body)
}

// ask forwards a request to the emulator, and returns its answer.
func (p *player) ask(r *http.Request) (a answer, err error) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, p.emulator+r.URL.RequestURI(), nil)
	if err != nil {
		return a, err
	}
	req.Header.Set("Authorization", r.Header.Get("Authorization"))
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	a = answer{status: resp.StatusCode, header: http.Header{}}
	for _, name := range []string{"Content-Type", "Content-Encoding"} {
		if value := resp.Header.Get(name); value != "" {
			a.header.Set(name, value)
		}
	}
	a.body, err = io.ReadAll(resp.Body)
	return a, err
}
