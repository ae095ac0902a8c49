package bucket

import (
	"context"
	"path"
	"time"
)

// A Driver makes single calls to one store. Package buckettest specifies what it must do.
type Driver interface {
	// Do makes one call. It doesn't repeat the call, beyond the retries of the store's own client.
	Do(ctx context.Context, c Call) (Answer, error)
}

// A Call is one request to a store.
type Call struct {
	Op   Op
	Key  string   // for a listing: the prefix of the keys
	Keys []string // for a deletion
	Data []byte   // of a put
	File *File    // for a put of content too large for memory, instead of Data
	On   Condition
}

// contentType returns the content type for a put. No content encoding is ever set, because Google's
// storage would decode the content for some readers.
func (c Call) contentType() string {
	switch {
	case c.File != nil:
		return c.File.ContentType
	case path.Ext(c.Key) == ".json":
		return "application/json"
	}
	return "application/octet-stream"
}

// An Op is a kind of call.
type Op string

// The kinds of calls.
const (
	OpGet       Op = "get"
	OpPut       Op = "put"
	OpList      Op = "list"
	OpListFiles Op = "list files" // lists what PutFile has put
	OpDelete    Op = "delete"
)

// An Answer is what the store answers to a call, as far as it is known. With an error, too, it may
// have a date.
type Answer struct {
	Data    []byte // of a get
	Version string // for a get or put; empty after a put if the store doesn't return it
	Objects []Object
	Date    time.Time // by the store's clock, mostly in whole seconds; zero: the store gives none
}
