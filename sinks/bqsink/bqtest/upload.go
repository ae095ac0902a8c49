package bqtest

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
)

// An upload is a resumable session: first the metadata are sent, then the file in chunks.
// https://cloud.google.com/bigquery/docs/reference/api-uploads
type upload struct {
	project  string
	body     []byte
	media    []byte
	answer   any // the answer to the whole upload, once it is complete
	refused  *refusal
	complete bool
}

// chunkUnit divides the size of every chunk but the last, in bytes.
const chunkUnit = 256 << 10

// serveUpload handles jobs.insert below /upload, by either protocol.
func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	c := newCall("jobs.insert", r)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client is gone: nothing was accepted
	}
	const permission = "bigquery.jobs.create"
	id := c.query.Get("upload_id")
	switch kind := c.query.Get("uploadType"); {
	case id != "" && (r.Method == http.MethodPut || r.Method == http.MethodPost):
		s.serveChunk(w, c, id, body)
	case r.Method != http.MethodPost:
		s.serve(w, c, "", func(*call) (any, *refusal) {
			return nil, refuse("badRequest", "%s is not a method of an upload", r.Method)
		})
	case kind == "multipart":
		var bad *refusal
		if c.body, c.media, bad = splitParts(r.Header.Get("Content-Type"), body); bad == nil {
			c.job = namedJob(c.body)
		}
		s.serve(w, c, permission, func(c *call) (any, *refusal) {
			if bad != nil {
				return nil, bad
			}
			return s.insertJob(c)
		})
	case kind == "resumable":
		c.name, c.body, c.job = "uploads.start", body, namedJob(body)
		s.serve(w, c, permission, s.startUpload)
	default:
		s.serve(w, c, "", func(*call) (any, *refusal) {
			return nil, refuse("badRequest", "uploadType %q is not multipart or resumable", kind)
		})
	}
}

// splitParts splits a multipart/related body into JSON and the file.
func splitParts(contentType string, body []byte) (meta, media []byte, r *refusal) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || params["boundary"] == "" {
		return nil, nil, refuse("badRequest", "Content-Type %q has no boundary", contentType)
	}
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	var both [2][]byte
	for i := range both {
		p, err := parts.NextPart()
		if err != nil {
			return nil, nil, refuse("badRequest", "part %d of the multipart body: %v", i+1, err)
		}
		if both[i], err = io.ReadAll(p); err != nil {
			return nil, nil, refuse("badRequest", "part %d of the multipart body: %v", i+1, err)
		}
	}
	if both[1] == nil {
		both[1] = []byte{}
	}
	return both[0], both[1], nil
}

func (s *Server) startUpload(c *call) (any, *refusal) {
	s.serial++
	id := fmt.Sprintf("session-%d", s.serial)
	s.uploads[id] = &upload{project: c.project, body: c.body}
	scheme := "http"
	if c.request.TLS != nil {
		scheme = "https"
	}
	location := fmt.Sprintf("%s://%s%s?uploadType=resumable&upload_id=%s", scheme, c.request.Host,
		c.request.URL.Path, id)
	return func(w http.ResponseWriter) {
		w.Header().Set("Location", location)
		w.Header().Set("X-GUploader-UploadID", id)
		w.WriteHeader(http.StatusOK)
	}, nil
}

// serveChunk takes one chunk of the file. The last one is jobs.insert itself.
func (s *Server) serveChunk(w http.ResponseWriter, c *call, id string, chunk []byte) {
	s.mu.Lock()
	u := s.uploads[id]
	s.mu.Unlock()
	from, total, err := contentRange(c.request.Header.Get("Content-Range"), len(chunk))
	if total < 0 || err != nil || u == nil {
		c.name = "uploads.chunk"
	}
	if u != nil {
		c.project, c.job = u.project, namedJob(u.body)
		if total >= 0 {
			c.body = u.body
		}
	}
	s.serve(w, c, "", func(c *call) (any, *refusal) {
		switch {
		case u == nil:
			return nil, refuse("notFound", "Not found: upload session %s", id)
		case err != nil:
			return nil, refuse("badRequest", "%v", err)
		case u.complete:
			return u.answer, u.refused
		case from > len(u.media):
			return nil, refuse("badRequest", "a chunk from byte %d on, but %d bytes are here", from, len(u.media))
		case from >= 0 && total < 0 && len(chunk)%chunkUnit != 0:
			return nil, refuse("badRequest", "a chunk of %d bytes that isn't the last; want a multiple of %d",
				len(chunk), chunkUnit)
		}
		if from >= 0 {
			u.media = append(u.media[:from], chunk...)
		}
		if total < 0 || len(u.media) < total {
			return incomplete(c.request, len(u.media)), nil
		}
		if len(u.media) != total {
			return nil, refuse("badRequest", "%d bytes came and %d were announced", len(u.media), total)
		}
		c.media = append([]byte{}, u.media...)
		u.answer, u.refused = s.insertJob(c)
		u.complete = true
		u.media = nil
		return u.answer, u.refused
	})
}

// contentRange parses "bytes 0-99/100", "bytes 0-99/*", "bytes */100" and "bytes */*". Without the
// header, the body is the file.
func contentRange(header string, length int) (from, total int, err error) {
	if header == "" {
		return 0, length, nil
	}
	bad := fmt.Errorf("Content-Range %q of a body of %d bytes isn't understood", header, length)
	span, size, ok := strings.Cut(strings.TrimPrefix(header, "bytes "), "/")
	if !ok {
		return 0, 0, bad
	}
	from, total = -1, -1
	if size != "*" {
		if total, err = strconv.Atoi(size); err != nil {
			return 0, 0, bad
		}
	}
	if span == "*" {
		return from, total, nil
	}
	first, last, _ := strings.Cut(span, "-")
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil || to-from+1 != length || from < 0 {
		return 0, 0, bad
	}
	return from, total, nil
}

// incomplete answers 308, or 200 with a header when the client asks for that.
func incomplete(r *http.Request, have int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		if have > 0 {
			w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", have-1))
		}
		if r.Header.Get("X-GUploader-No-308") == "yes" {
			w.Header().Set("X-Http-Status-Code-Override", "308")
			w.WriteHeader(http.StatusOK)
			return
		}
		w.WriteHeader(http.StatusPermanentRedirect)
	}
}
