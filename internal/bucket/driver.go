package bucket

import (
	"context"
	"io"
	"time"
)

// A Driver makes single calls to one store. What it must do is what package buckettest asks of it.
type Driver interface {
	// Do makes one call. It neither repeats it nor bounds its time, beyond what the store's own client does.
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

// An Op is a kind of call.
type Op string

// The kinds of calls.
const (
	OpGet    Op = "get"
	OpPut    Op = "put"
	OpList   Op = "list"
	OpDelete Op = "delete"
)

// An Answer is what the store says to a call, as far as it knows: of an error, too, the date.
type Answer struct {
	Data    []byte // of a get
	Version string // of a get or put; empty after a put: the store doesn't say it
	Objects []Object
	Date    time.Time // by the store's clock, in whole seconds on most; zero: it says none
}

// A File is the content of a large object.
type File struct {
	Open        func() (io.ReadCloser, error) // is called once
	Size        int64                         // in bytes; a content that is shorter or longer isn't put
	ContentType string
	Metadata    map[string]string // folders keep none
}
