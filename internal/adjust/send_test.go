package adjust

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/klauspost/compress/zstd"
)

// Which statuses are asked again, and whose words the error carries.
func TestStatuses(t *testing.T) {
	again := map[int]bool{408: true, 429: true, 500: true, 502: true, 503: true, 504: true, 520: true, 524: true}
	for _, code := range []int{201, 202, 206, 304, 400, 401, 403, 404, 405, 408, 410, 414, 422, 429, 451, 500, 501, 502,
		503, 504, 505, 520, 524} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(status(code), csv)
				c, _ := open(t, s, nil)
				got, a, err := fetch(t.Context(), c, query())
				if again[code] {
					if err != nil || got != truth || a.Attempts != 2 {
						t.Fatalf("%q after %d attempts, %v", got, a.Attempts, err)
					}
					return
				}
				var e *Error
				if !errors.As(err, &e) || e.Status != code || a.Attempts != 1 || got != "" {
					t.Fatalf("%q after %d attempts, %v", got, a.Attempts, err)
				}
				if errors.Is(err, ErrAuth) != (code == 401 || code == 403) {
					t.Errorf("ErrAuth in %v", err)
				}
				words := fmt.Sprintf("words of the service on %d", code)
				if code != 304 && (e.Code != "request_error" || e.Message != words ||
					!strings.Contains(err.Error(), words)) {
					t.Errorf("error %#v doesn't show the body", e)
				}
			})
		})
	}
}

func TestEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := open(t, play(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }), nil)
		a, err := c.CSVReport(t.Context(), query(), func(io.Reader) error { t.Error("read was called"); return nil })
		if err != nil || !a.Empty || a.Bytes != 0 || a.Attempts != 1 {
			t.Errorf("%+v, %v", a, err)
		}
	})
}

// What the accepted answer says of itself is handed out, without anything that repeats the token;
// of the one before it, nothing is.
func TestHeadersOfTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		say := func(id string, then reply) reply {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Request-Id", id)
				w.Header().Set("X-Echo", r.Header.Get("Authorization"))
				then(w, r)
			}
		}
		busy := say("1", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
		for status, last := range map[int]reply{
			200: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, truth) },
			204: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
		} {
			c, _ := open(t, play(busy, say("2", last)), nil)
			a, err := c.CSVReport(t.Context(), query(), func(r io.Reader) error {
				_,
					err := io.Copy(io.Discard, r)
				return err
			})
			if err != nil || a.Attempts != 2 || a.Status != status || a.Header.Get("X-Request-Id") != "2" ||
				a.Header.Get("Date") == "" {
				t.Errorf("%+v, %v", a, err)
			}
			if echo, is := a.Header["X-Echo"]; is {
				t.Errorf("the token is repeated: %q", echo)
			}
		}
	})
}

// raw is an answer written to the connection byte by byte, which is closed behind it.
func raw(head string, body []byte) reply {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, b, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		writeAll(b, head, body)
		_ = conn.Close()
	}
}

func writeAll(b *bufio.ReadWriter, head string, body []byte) {
	_, _ = b.WriteString(strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n")
	_, _ = b.Write(body)
	_ = b.Flush()
}

// Answers with status 200 and what becomes of them: taken, or asked again because they may not be
// whole.
func TestAnswers(t *testing.T) {
	z := gz([]byte(truth))
	spoilt := bytes.Clone(z)
	spoilt[len(spoilt)-6] ^= 1 // in the checksum
	zst := zs(t, []byte(truth), zstd.WithEncoderCRC(true))
	wide := zs(t, bytes.Repeat([]byte(truth), 1<<20), zstd.WithWindowSize(32<<20))
	wrong := bytes.Clone(zst)
	wrong[len(wrong)-1] ^= 1 // in the checksum
	const ok, csvType = "HTTP/1.1 200 OK", "\nContent-Type: text/csv"
	const length, chunks = "\nContent-Length: %d", "\nTransfer-Encoding: chunked"
	with := func(head string, body []byte, n int) reply { return raw(ok+fmt.Sprintf(head, n), body) }
	chunk := func(b []byte, end string) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n%s", len(b), b, end) }
	plain := []byte(truth)
	tests := []struct {
		name  string
		reply reply
		why   string // of a refusal; "" when taken
	}{
		{"length", with(csvType+length, plain, len(plain)), ""},
		{"length, cut", with(csvType+length, plain[:len(plain)-1], len(plain)),
			"broke off after 39 bytes: unexpected EOF"},
		{"length, nothing sent", with(csvType+length, nil, len(plain)), "broke off after 0 bytes: unexpected EOF"},
		{"chunks", raw(ok+csvType+chunks, chunk(plain, "0\r\n\r\n")), ""},
		{"chunks, last one missing", raw(ok+csvType+chunks, chunk(plain, "")),
			"broke off after 40 bytes: unexpected EOF"},
		{"neither length nor chunks", raw(ok+csvType, plain), "neither length nor chunks"},
		{"HTTP/1.0 without length", raw("HTTP/1.0 200 OK"+csvType, plain), "neither length nor chunks"},
		{"gzip without length", raw(ok+csvType+"\nContent-Encoding: gzip", z), ""},
		{"gzip without length, last byte missing", raw(ok+csvType+"\nContent-Encoding: gzip", z[:len(z)-1]),
			"broke off after 40 bytes: unexpected EOF"},
		{"gzip without length, trailer missing", raw(ok+csvType+"\nContent-Encoding: gzip", z[:len(z)-8]),
			"unexpected EOF"},
		{"gzip, cut head", with(csvType+length+"\nContent-Encoding: gzip", z[:5], 5), "unpack the answer"},
		{"gzip, empty", with(csvType+length+"\nContent-Encoding: gzip", nil, 0), "unpack the answer: EOF"},
		{"gzip, spoilt", with(csvType+length+"\nContent-Encoding: gzip", spoilt, len(z)), "gzip: invalid checksum"},
		{"gzip, chunked, last chunk missing", raw(ok+csvType+"\nContent-Encoding: gzip"+chunks, chunk(z, "")),
			"unexpected EOF"},
		{"gzip that isn't", with(csvType+length+"\nContent-Encoding: gzip", plain, len(plain)), "gzip: invalid header"},
		{"zstd without length", raw(ok+csvType+"\nContent-Encoding: zstd", zst), ""},
		{"zstd of a window that takes too much memory", with(csvType+length+"\nContent-Encoding: zstd", wide,
			len(wide)), "window size exceeded"},
		{"zstd without length, last byte missing", raw(ok+csvType+"\nContent-Encoding: zstd", zst[:len(zst)-1]),
			"unexpected EOF"},
		{"zstd without length, half", raw(ok+csvType+"\nContent-Encoding: zstd", zst[:len(zst)/2]), "unexpected EOF"},
		{"zstd, cut head", with(csvType+length+"\nContent-Encoding: zstd", zst[:3], 3), "unexpected EOF"},
		{"zstd, empty", with(csvType+length+"\nContent-Encoding: zstd", nil, 0), "the answer is empty"},
		{"zstd, spoilt", with(csvType+length+"\nContent-Encoding: zstd", wrong, len(zst)), "CRC check failed"},
		{"zstd that isn't", with(csvType+length+"\nContent-Encoding: zstd", plain, len(plain)),
			"invalid input: magic number mismatch"},
		{"brotli", with(csvType+length+"\nContent-Encoding: br", plain, len(plain)), `packed as "br"`},
		{"empty", with(csvType+length, nil, 0), "the answer is empty"},
		{"empty chunks", raw(ok+csvType+chunks, []byte("0\r\n\r\n")), "the answer is empty"},
		{"empty gzip stream", with(csvType+length+"\nContent-Encoding: gzip", gz(nil), len(gz(nil))),
			"the answer is empty"},
		{"HTML", with("\nContent-Type: text/html"+length, []byte("<h1>Sorry</h1>"), 14),
			"a page of HTML: Sorry; a web site answers there: check the address"},
		{"JSON", with("\nContent-Type: application/json"+length, []byte(`{"error_desc":"oops"}`), 21),
			"oops: an error under a status that tells none"},
		{"HTML under a false name", with(csvType+length, []byte("<h1>Sorry</h1>"), 14), `begins with "<h1>Sorry</h1>"`},
		{"HTML under no name", with(length, []byte("<h1>Sorry</h1>"), 14), `begins with "<h1>Sorry</h1>"`},
		{"no type", with(length, plain, len(plain)), ""},
		{"plain text", with("\nContent-Type: text/plain; charset=UTF-8"+length, plain, len(plain)), ""},
		{"Latin-1", with(csvType+"; charset=iso-8859-1"+length, plain, len(plain)), "instead of UTF-8"},
		{"no HTTP", raw("220 ftp.example ready", nil), "malformed HTTP"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := open(t, play(tt.reply, csv), nil)
				got, a, err := fetch(t.Context(), c, query())
				want := 1
				if tt.why != "" {
					want = 2
				}
				if err != nil || got != truth || a.Attempts != want || a.Bytes != int64(len(truth)) {
					t.Errorf("%q, %+v, %v", got, a, err)
				}
				c, _ = open(t, play(tt.reply), func(o *Options) { o.Attempts = 1 })
				if _, _, err = fetch(t.Context(), c, query()); tt.why != "" &&
					(err == nil || !strings.Contains(err.Error(), tt.why)) || tt.why == "" && err != nil {
					t.Errorf("error %v, want %q", err, tt.why)
				}
			})
		})
	}
}

// The words of an error's body are shown however it is packed and however its connection ends.
func TestErrorBodies(t *testing.T) {
	long := strings.Repeat("ä ", 1000)
	tests := []struct{ name, head, body, want string }{
		{"the service's", "",
			`{"error_code":"request_error","error_desc":"Unsupported dimension: x","error_desc_details":null}`,
			"400 Bad Request: request_error: Unsupported dimension: x"},
		{"details", "",
			`{"error_code":"validation_error","error_desc":"Invalid","error_desc_details":[{"loc":["body","platform"],"msg":"Field required"}]}`,
			"validation_error: Invalid: platform: Field required"},
		{"odd details", "", `{"error_desc":"Invalid","error_desc_details":{"x":1},"error_code":7}`,
			"400 Bad Request: Invalid"},
		{"with what support asks for", "",
			`{"error_code":"request_error","error_desc":"Bad","correlation_id":"7d5b-4e"}`,
			"request_error: Bad (correlation_id 7d5b-4e)"},
		{"with nothing else", "",
			`{"error_code":"validation_error","error_desc_details":[{"loc":["index"],"msg":"Field required"}],"correlation_id":"7d5b-4e"}`,
			"validation_error: (correlation_id 7d5b-4e): index: Field required"},
		{"the sharing endpoint's", "", `{"error":"App not found"}`, "400 Bad Request: App not found"},
		{"text", "", "so\n  not ", "400 Bad Request: so not"},
		{"long", "", long, strings.Repeat("ä ", 200) + " …"},
		{"not UTF-8", "", "a\xffb", "400 Bad Request: a\uFFFDb"},
		{"gzip", "\nContent-Encoding: gzip", string(gz([]byte(`{"error_desc":"packed"}`))), "400 Bad Request: packed"},
		{"half a gzip", "\nContent-Encoding: gzip", string(gz([]byte("half")))[:5], "400 Bad Request"},
		{"none", "", "", "csv_report 2026-01-01:2026-01-07: 400 Bad Request"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(raw("HTTP/1.1 400 Whatever"+tt.head, []byte(tt.body)))
				c, _ := open(t, s, nil)
				_, _, err := fetch(t.Context(), c, query())
				if err == nil || !strings.HasSuffix(err.Error(), tt.want) || len(s.when()) != 1 {
					t.Errorf("%d attempts, error %v\nwant %s", len(s.when()), err, tt.want)
				}
			})
		})
	}
}

func zs(t *testing.T, b []byte, o ...zstd.EOption) []byte {
	z, err := zstd.NewWriter(nil, o...)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(b, nil)
}

func gz(b []byte) []byte {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // a level there is
	_, _ = z.Write(b)                                    // a buffer takes everything
	_ = z.Close()
	return packed.Bytes()
}
