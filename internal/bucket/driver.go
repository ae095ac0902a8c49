package bucket

import (
	"context"
	"path"
	"time"
)

// A Driver makes single calls to one store. What it must do is what package buckettest asks of it.
type Driver interface {
	// Do makes one call. It doesn't repeat it, beyond what the store's own client does.
	Do(ctx context.Context, c Call) (Answer, error)
}

// A Call is what is asked of a store.
type Call struct {
	Op   Op
	Key  string   // of a listing: how its keys begin
	Keys []string // of a deletion
	Data []byte   // of a put
	File *File    // of a put of more than belongs into memory, instead of Data
	On   Condition
}

// contentType is that of what is put. Nothing has a content encoding: Google's storage would decode
// it for some readers.
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
	OpListFiles Op = "list files" // what PutFile has put
	OpDelete    Op = "delete"
)

// An Answer is what the store says to a call, as far as it knows: of an error, too, the date.
type Answer struct {
	Data    []byte // of a get
	Version string // of a get or put; empty after a put: the store doesn't say it
	Objects []Object
	Date    time.Time // by the store's clock, in whole seconds on most; zero: it says none
}
