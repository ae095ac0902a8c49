package bucket

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // an ETag, as S3 makes it
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"
)

// A Memory is a store in memory. Each process of a test or a simulation calls Open to share it. The
// zero Memory is empty and ready.
type Memory struct {
	Now func() time.Time // the store's clock; nil: time.Now
	// Hashed makes the versions digests of contents, as on S3. Otherwise they are numbers, and
	// none ever occurs twice.
	Hashed bool

	mu      sync.Mutex
	objects map[string]*memoryObject // by key
	puts    int                      // how many there have been; makes versions
}

// A memoryObject is an object of a Memory.
type memoryObject struct {
	Object
	data        []byte
	contentType string
	metadata    map[string]string
}

// NewMemory opens a new store in memory, which nobody else shares.
func NewMemory() *Bucket { return new(Memory).Open() }

// Open returns a bucket of the store. Its URL is mem://.
func (m *Memory) Open() *Bucket { return New("mem://", m) }

// Blob returns the same store as a gocloud bucket.
func (m *Memory) Blob() *blob.Bucket { return blob.NewBucket(memoryBlob{m}) }

// now returns the time by the store's clock.
func (m *Memory) now() time.Time {
	if m.Now != nil {
		return m.Now()
	}
	return time.Now()
}

// Do makes a call, without any delay.
func (m *Memory) Do(ctx context.Context, c Call) (a Answer, err error) {
	if err := ctx.Err(); err != nil {
		return a, err
	}
	a.Date = m.now()
	put := &memoryObject{data: bytes.Clone(c.Data), contentType: c.contentType()}
	if f := c.File; f != nil {
		var content bytes.Buffer
		if err := f.copyTo(ctx, &content); err != nil {
			return a, err
		}
		put.data = content.Bytes()
		put.metadata = f.Metadata
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	there := m.objects[c.Key]
	switch c.Op {
	case OpGet:
		if there == nil {
			return a, fs.ErrNotExist
		}
		a.Data, a.Version = bytes.Clone(there.data), there.Version
	case OpPut:
		if c.On.Absent && there != nil || c.On.Version != "" && (there == nil || there.Version != c.On.Version) {
			return a, ErrConflict
		}
		a.Version = m.put(c.Key, put, a.Date)
	case OpList, OpListFiles:
		for _, key := range slices.Sorted(maps.Keys(m.objects)) {
			if strings.HasPrefix(key, c.Key) {
				a.Objects = append(a.Objects, m.objects[key].Object)
			}
		}
	case OpDelete:
		for _, key := range c.Keys {
			delete(m.objects, key)
		}
	default:
		return a, fmt.Errorf("%q is no call", c.Op)
	}
	return a, nil
}

// put stores an object and gives it a version. m.mu must be locked.
func (m *Memory) put(key string, o *memoryObject, now time.Time) (version string) {
	m.puts++
	o.Object = Object{Key: key, Size: int64(len(o.data)), Version: "m" + strconv.Itoa(m.puts), Modified: now}
	if m.Hashed {
		sum := md5.Sum(o.data) //nolint:gosec // as above
		o.Version = hex.EncodeToString(sum[:])
	}
	if m.objects == nil {
		m.objects = map[string]*memoryObject{}
	}
	m.objects[key] = o
	return o.Version
}
