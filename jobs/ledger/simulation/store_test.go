package simulation

import (
	"bytes"
	"crypto/md5" //nolint:gosec // an ETag, as S3 makes it
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	"gocloud.dev/gcerrors"
)

// A store is one bucket, as S3 keeps it: every call is atomic, listings are strongly consistent,
// and a condition is looked at in the moment in which the write is applied.
type store struct {
	name    string
	objects map[string]*object
	hashed  bool // the ETag is the content's hash, as S3 has it; else each write has another
	seconds bool // times of objects have no fractions, as in S3's answers
	writes  int
	refused int // writes whose condition didn't hold
	changed func(key string, o *object)
}

type object struct {
	data        []byte
	etag        string
	modTime     time.Time
	meta        map[string]string
	contentType string
}

func newStore(name string) *store { return &store{name: name, objects: map[string]*object{}} }

// A request is what reaches the store of a call.
type request struct {
	op, key     string // get, head, list, put, create, delete; and ask, which is for the service
	data        []byte
	meta        map[string]string
	contentType string
	absent      bool   // on the condition that there is none
	match       string // on the condition that it is this one
}

func (r *request) writes() bool { return r.op == "put" || r.op == "create" || r.op == "delete" }

// A result is what the store answers.
type result struct {
	err    error
	object *object
	list   []listed
	date   time.Time // by the store's clock; zero: the answer was lost
	truth  []answer  // of the service
}

type listed struct {
	key string
	*object
}

// A refusal is an error in the store's words.
type refusal struct {
	code gcerrors.ErrorCode
	word string // S3's
}

func (e *refusal) Error() string                 { return e.word }
func (e *refusal) ErrorCode() string             { return e.word }
func (e *refusal) ErrorMessage() string          { return e.word }
func (e *refusal) ErrorFault() smithy.ErrorFault { return smithy.FaultUnknown }

var (
	errPrecondition = &refusal{gcerrors.FailedPrecondition, "PreconditionFailed"}
	errConflict     = &refusal{gcerrors.Unknown, "ConditionalRequestConflict"}
	errNotFound     = &refusal{gcerrors.NotFound, "NoSuchKey"}
	errUnavailable  = &refusal{gcerrors.Unknown, "SlowDown"}
	errDead         = &refusal{gcerrors.Unknown, "the process is dead"}
)

// apply does what a request asks, by the store's clock.
func (s *store) apply(r *request, now time.Time) (res result) {
	if s.seconds {
		now = now.Truncate(time.Second)
	}
	defer func() { res.date = now }()
	o := s.objects[r.key]
	switch r.op {
	case "get", "head":
		if o == nil {
			return result{err: errNotFound}
		}
		return result{object: o}
	case "list":
		var found []listed
		for _, key := range slices.Sorted(maps.Keys(s.objects)) {
			if strings.HasPrefix(key, r.key) {
				found = append(found, listed{key, s.objects[key]})
			}
		}
		return result{list: found}
	case "delete":
		if o == nil {
			return result{err: errNotFound}
		}
		delete(s.objects, r.key)
		s.changed(r.key, nil)
		return result{}
	}
	switch {
	case r.absent && o != nil, r.match != "" && o != nil && o.etag != r.match:
		s.refused++
		return result{err: errPrecondition}
	case r.match != "" && o == nil:
		s.refused++
		return result{err: errNotFound}
	}
	s.writes++
	o = &object{data: bytes.Clone(r.data), meta: r.meta, contentType: r.contentType, modTime: now}
	if o.etag = fmt.Sprintf(`"write %d"`, s.writes); s.hashed {
		sum := md5.Sum(r.data) //nolint:gosec // as above
		o.etag = `"` + hex.EncodeToString(sum[:]) + `"`
	}
	s.objects[r.key] = o
	s.changed(r.key, o)
	return result{object: o}
}
