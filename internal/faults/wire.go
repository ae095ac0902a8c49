package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Marshal returns a fault as JSON, with its delay as text: "delay": "1.5s". plain is the fault
// converted to a type without methods, so that encoding/json doesn't call its MarshalJSON again.
// Its Delay field is tagged `json:"-"`.
func Marshal(plain any, delay time.Duration) ([]byte, error) {
	text, err := json.Marshal(plain)
	if err != nil || delay == 0 {
		return text, err
	}
	comma := ","
	if string(text) == "{}" {
		comma = ""
	}
	return fmt.Appendf(text[:len(text)-1], "%s%q:%q}", comma, "delay", delay), nil
}

// Unmarshal reads what Marshal writes into plain and returns the delay. A field that plain doesn't
// have is an error, because a misspelt condition would let the fault strike at any call.
func Unmarshal(text []byte, plain any) (delay time.Duration, err error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return 0, err
	}
	if raw, ok := parts["delay"]; ok {
		var words string
		if err := json.Unmarshal(raw, &words); err != nil {
			return 0, fmt.Errorf("delay: %w", err)
		}
		if delay, err = time.ParseDuration(words); err != nil {
			return 0, fmt.Errorf("delay: %w", err)
		}
		delete(parts, "delay")
	}
	rest, err := json.Marshal(parts)
	if err != nil {
		return 0, err
	}
	d := json.NewDecoder(bytes.NewReader(rest))
	d.DisallowUnknownFields()
	return delay, d.Decode(plain)
}

// Sleep waits for d, or returns the context's error as soon as it ends. Inside testing/synctest it
// waits in fake time.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Drop ends the connection after the first line of the answer. Some bytes must be sent, because
// net/http silently repeats a GET whose kept-alive connection ends before the first byte, and the
// client would never see the fault. A connection that can't be hijacked is ended by the panic that
// net/http reserves for that.
func Drop(w http.ResponseWriter) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = conn.Close() }()
	_, _ = rw.WriteString("HTTP/1.1 200 OK\r\n")
	_ = rw.Flush()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset instead of an orderly end
	}
}
