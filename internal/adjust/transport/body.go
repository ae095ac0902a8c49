package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reportferry/reportferry/internal/catalog"
)

// A watch ends an attempt when the service keeps it waiting: for the first byte, then between two
// pieces of the body. The time that the reader itself takes doesn't count.
type watch struct {
	first, idle *time.Timer
	idleTime    time.Duration // the longest wait between two pieces of the body
}

// newWatch starts the wait for the first byte. end ends the attempt.
func newWatch(end context.CancelCauseFunc, firstByte, idle time.Duration) *watch {
	w := &watch{idleTime: idle}
	w.first = time.AfterFunc(firstByte, func() { end(&timeoutError{"no first byte", firstByte}) })
	w.idle = time.AfterFunc(idle, func() { end(&timeoutError{"nothing more of the answer", idle}) })
	w.idle.Stop()
	return w
}

func (w *watch) stop() { w.first.Stop(); w.idle.Stop() }

// A body is the decoded body of one answer. It keeps the error that ended it in broken, because
// its reader may hide that error or return another.
type body struct {
	from      io.Reader
	watch     *watch
	count     *atomic.Int64 // the meter's count of bytes; may be nil
	maxBytes  int64         // the largest allowed size in bytes; 0 for any
	tooLong   bool          // the body is larger than maxBytes
	bytesRead int64         // so far
	broken    error         // what is wrong with the body, or nil
	wrongKind bool          // it isn't what was asked for: it is empty, or begins with a wrong character
	jsonError string        // the whole body, if it is an error in JSON
	close     func()        // to be called when nothing more is read
}

// openBody decodes resp's body. The caller calls its close at the end.
func openBody(resp *http.Response, w *watch) *body {
	b := &body{watch: w, close: func() {}}
	from, closeIt, err := unpack(resp.Header.Get("Content-Encoding"), resp.Body)
	if err != nil {
		b.broken = err
		return b
	}
	b.from, b.close = from, closeIt
	return b
}

// checkEnd refuses an HTTP/1 answer that could be cut off unnoticed: it has no Content-Length,
// isn't chunked, and isn't compressed (gzip and Zstandard mark their end).
func checkEnd(resp *http.Response) error {
	if resp.ProtoMajor == 1 && resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 &&
		resp.Header.Get("Content-Encoding") == "" {
		return errors.New("the answer has neither length nor chunks, so that a cut would not be noticed")
	}
	return nil
}

// Read reads from the decoded body. It watches the time that reading takes, and the size.
func (b *body) Read(p []byte) (int, error) {
	if b.broken != nil {
		return 0, b.broken
	}
	if b.bytesRead > 0 {
		b.watch.idle.Reset(b.watch.idleTime)
	}
	n, err := b.from.Read(p)
	b.watch.idle.Stop()
	if n > 0 {
		b.watch.first.Stop()
	}
	b.bytesRead += int64(n)
	if b.count != nil {
		b.count.Add(int64(n))
	}
	if b.tooLong = b.maxBytes > 0 && b.bytesRead > b.maxBytes; b.tooLong {
		b.broken = fmt.Errorf("the answer is longer than %d bytes unpacked (service.max_answer); ask for less at "+
			"once, such as by a shorter page", b.maxBytes)
		return 0, b.broken
	}
	if err != nil && err != io.EOF {
		b.broken = fmt.Errorf("the answer broke off after %d bytes: %w", b.bytesRead, err)
		return n, b.broken
	}
	return n, err
}

// shownBytes is how many bytes an error shows of an answer that isn't what was asked for.
const shownBytes = 160

// feed passes b to read, unless b is empty, is an error in JSON, or begins with a character of
// never. With private set, the message about such a beginning doesn't show it. feed returns read's
// error. What is wrong with b itself is in b.broken or b.jsonError, even if that comes to light
// only after what read has consumed.
func (b *body) feed(never string, private bool, read func(io.Reader) error) error {
	buffered := bufio.NewReader(b)
	head, err := buffered.Peek(1)
	switch {
	case b.broken != nil:
		return nil
	case err != nil: // end of file
		b.broken, b.wrongKind = errors.New("the answer is empty"), true
		return nil
	case string(head) == "{" && b.hasError(buffered):
		return nil
	case strings.Contains(never, string(head)):
		if !private {
			head, _ = buffered.Peek(shownBytes) // as much as there is
		}
		if b.broken == nil {
			b.broken, b.wrongKind = fmt.Errorf("the answer begins with %q", head), true
		}
		return nil
	}
	if err := read(buffered); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, buffered)
	return err
}

// hasError tells whether the whole body is an error in JSON, and keeps it in b.jsonError.
func (b *body) hasError(from *bufio.Reader) bool {
	whole, err := from.Peek(from.Size())
	if errors.Is(err, io.EOF) && tellsError(whole, false) {
		b.jsonError = string(whole)
	}
	return b.jsonError != ""
}

// checkType compares the Content-Type with those that fit. Without one, the body must speak for
// itself.
func checkType(resp *http.Response, want []string) error {
	header := resp.Header.Get("Content-Type")
	if header == "" {
		return nil
	}
	kind, params, err := mime.ParseMediaType(header)
	if err != nil || !slices.Contains(want, kind) {
		return fmt.Errorf("the answer is %q instead of %s", header, want[0])
	}
	if set := params["charset"]; !slices.Contains([]string{"", "utf-8", "utf8", "us-ascii"}, catalog.Fold(set)) {
		return fmt.Errorf("the answer is in %q instead of UTF-8", set)
	}
	return nil
}

// errorBodyLimit is the most bytes that are read of the body of an error.
const errorBodyLimit = 64 << 10

// errorText reads the body of an error, up to errorBodyLimit. If the body was cut off, its last
// word is left out: it may be half of a secret token, which scrubbing wouldn't recognize.
func errorText(b *body) string {
	raw, err := io.ReadAll(io.LimitReader(b, errorBodyLimit))
	return wholeWords(string(raw), err)
}

// wholeWords removes the last word of a text that was cut off: it was if err isn't nil, and may
// have been if the text is as long as errorBodyLimit.
func wholeWords(text string, err error) string {
	if err != nil || len(text) == errorBodyLimit {
		text = text[:strings.LastIndexAny(text, " \t\r\n\"',:<>(){}[]")+1]
	}
	return text
}
