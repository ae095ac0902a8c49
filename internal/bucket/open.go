package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	_ "gocloud.dev/blob/fileblob" // file://
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/blob/s3blob"

	"github.com/reportferry/reportferry/internal/address"
	"github.com/reportferry/reportferry/internal/disk"
)

// SharedKey is the URL parameter that allows a folder on a network file system, or on one in user
// space. Setting it to true states that only one machine writes there, and that the file system
// keeps locks (flock(2)) between that machine's processes.
const SharedKey = "shared"

// Open opens the bucket of a URL. It differs from gocloud.dev/blob.OpenBucket in these points:
//
//   - file:///abs/dir, file://./dir and file://../dir are directories, which are created when they
//     are missing; the last two are relative to the working directory. A file is written beside its
//     place and renamed, and gets no second file with its attributes.
//   - In gs://bucket/a/b, and likewise with s3 and azblob, all keys begin with a/b/. gocloud itself
//     ignores the path.
//   - mem:// is a store that nobody else has.
//
// The query parameters are those of gocloud and two more. Without insecure=true, a store on another
// machine can't be reached over plain HTTP; without shared=true, nothing is written to a folder on
// a network. Errors don't repeat the parameters, because they may be secret.
func Open(ctx context.Context, rawURL string) (*Bucket, error) {
	b, err := open(ctx, rawURL)
	if err != nil {
		return nil, withText(err, fmt.Sprintf("open bucket %s: %v", address.Redact(rawURL), err))
	}
	b.url = strings.TrimSuffix(address.Redact(rawURL), "/")
	b.where, b.params = identityOf(b.blob, rawURL)
	return b, nil
}

// open does the work of Open. Its errors don't name the bucket.
func open(ctx context.Context, rawURL string) (*Bucket, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("not a URL")
	}
	insecure, err := flag(u, address.InsecureKey)
	if err != nil {
		return nil, err
	}
	shared, err := flag(u, SharedKey)
	if err != nil {
		return nil, err
	}
	switch {
	case u.Scheme == "file":
		return openFolder(ctx, u, shared)
	case u.Scheme == "mem" && u.RawQuery == "":
		return NewMemory(), nil
	case u.Scheme == "mem":
		return nil, errors.New("invalid query parameter: mem:// has none")
	}
	prefix := strings.Trim(u.Path, "/")
	u.Path, u.RawPath = "", ""
	bucket, err := openBlob(ctx, u)
	if err != nil {
		return nil, err
	}
	if err := checkEncrypted(bucket, u); err != nil && !insecure {
		return nil, errors.Join(err, bucket.Close())
	}
	retryGoogle(bucket)
	if prefix != "" {
		prefix += "/"
		bucket = blob.PrefixedBucket(bucket, prefix)
	}
	b := New("", &cloud{bucket, deleterOf(bucket, u, prefix)})
	b.blob = bucket
	return b, nil
}

// flag returns the value of a parameter, true or false, and removes it from the URL.
func flag(u *url.URL, name string) (on bool, err error) {
	q := u.Query()
	if value := q.Get(name); value != "" && value != "true" && value != "false" {
		return false, fmt.Errorf("parameter %s: want true or false", name)
	}
	if on = q.Get(name) == "true"; q.Has(name) {
		q.Del(name)
		u.RawQuery = q.Encode()
	}
	return on, nil
}

// openBlob opens a URL with this package's opener if it has one for the store, or else with
// gocloud's.
func openBlob(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	mux := blob.DefaultURLMux()
	if own := openers[u.Scheme]; own != nil {
		mux = &blob.URLMux{} // URLMux handles the parameters prefix and key
		mux.RegisterBucket(u.Scheme, own)
	}
	bucket, err := mux.OpenBucketURL(ctx, u)
	if err != nil { // drivers' errors contain the whole URL
		return nil, withText(err, strings.ReplaceAll(err.Error(), u.String(), address.Redact(u.String())))
	}
	return bucket, nil
}

// openFolder opens a file URL. Unless shared, nothing may be written to a folder that checkLocal
// refuses.
func openFolder(ctx context.Context, u *url.URL, shared bool) (*Bucket, error) {
	dir, err := folderOf(u)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory: move that file away, or name another folder", dir)
	}
	at := &folder{root: disk.NewRoot(dir)}
	if !shared {
		at.refused = checkLocal(dir)
	}
	b := New("", at)
	b.dir, b.proof.err = dir, at.refused // conditions are checked under locks, so there is nothing to prove
	b.proof.done.Store(true)
	b.blob, err = openBlob(ctx, u)
	return b, err
}

// unsafeFileSystems lists file systems on which locks may be kept on this machine only, or not at
// all, by the numbers that statfs(2) returns on Linux (include/uapi/linux/magic.h). On other
// systems they aren't recognised.
var unsafeFileSystems = map[int64]string{
	0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB", 0x65735546: "FUSE", 0x01021997: "9p",
	0x5346414f: "AFS", 0x6b414653: "AFS",
	0x73757245: "Coda", 0x564c: "NCP", 0x00c36400: "Ceph", 0x0bd00bd0: "Lustre", 0x47504653: "GPFS",
	0x19830326: "BeeGFS",
	0x01161970: "GFS2", 0x7461636f: "OCFS2", 0x786f4256: "VirtualBox",
}

// statfs returns the number of a path's file system. Tests replace it.
var statfs = func(path string) (kind int64, err error) {
	var s syscall.Statfs_t
	err = syscall.Statfs(path, &s)
	return int64(uint32(s.Type)),
		err //nolint:gosec,unconvert // the types differ between systems, and some have it negative
}

// checkLocal refuses a folder on one of unsafeFileSystems, where its locks may not exclude all
// writers.
func checkLocal(dir string) error {
	for at := dir; ; at = filepath.Dir(at) { // if the folder is missing, its parents are looked at
		kind, err := statfs(at)
		if errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at) {
			continue
		}
		if name := unsafeFileSystems[kind]; err == nil && name != "" {
			return fmt.Errorf("%s is on a file system of a network, or one in user space (%s), where a lock may not "+
				"keep out writers of other machines; "+
				"use a folder of this machine or a bucket, or add %s=true to the URL when one machine alone writes "+
				"there", dir, name, SharedKey)
		}
		return err
	}
}

// checkEncrypted refuses a store on another machine that would be reached over plain HTTP, because
// of its URL or of an environment variable.
func checkEncrypted(bucket *blob.Bucket, u *url.URL) error {
	_, q := identityOf(bucket, u.String())
	at := q.Get("endpoint")
	if plain, _ := strconv.ParseBool(u.Query().Get("disable_https")); plain {
		_, host, _ := strings.Cut(cmp.Or(at, "https://amazonaws.com"), "://")
		at = "http://" + host
	}
	if at != "" && !strings.Contains(at, "://") {
		at = "http://" + at // STORAGE_EMULATOR_HOST
	}
	where, err := url.Parse(at)
	if err != nil {
		return err
	}
	return address.Encrypted(where)
}

// openers replaces the openers of gocloud for the stores whose clients or errors need changes.
var openers = map[string]opener{azureblob.Scheme: openAzure, s3blob.Scheme: openS3, gcsblob.Scheme: openGCS}

// An opener opens a URL of one kind of store.
type opener func(context.Context, *url.URL) (*blob.Bucket, error)

// OpenBucketURL makes opener a blob.BucketURLOpener.
func (o opener) OpenBucketURL(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	return o(ctx, u)
}

// folderOf completes the URL of a folder and returns its directory. It makes the directory
// absolute, and sets the options that an atomic replacement needs: the temporary file is on the
// same file system, and no second file holds the attributes.
func folderOf(u *url.URL) (dir string, err error) {
	for _, moved := range []string{"prefix", "key"} {
		if u.Query().Has(moved) {
			return "", fmt.Errorf("write the directory into the path, not as %s=", moved)
		}
	}
	dir = u.Path
	switch u.Host {
	case "", "localhost":
	case ".", "..":
		dir = u.Host + "/" + u.Path
	default:
		return "", errors.New("a relative directory is written file://./dir, an absolute one file:///dir")
	}
	if dir == "" {
		return "", errors.New("the directory is missing; want file://./dir or file:///dir")
	}
	abs, err := filepath.Abs(filepath.FromSlash(dir))
	if err != nil {
		return "", err
	}
	u.Host, u.Path, u.RawPath = "", filepath.ToSlash(abs), ""
	q := u.Query()
	q.Set("create_dir", "true")
	q.Set("no_tmp_dir", "true")
	q.Set("metadata", "skip")
	u.RawQuery = q.Encode()
	return abs, nil
}

// Folder returns the directory of a file URL as Open opens it, and "" for other stores.
func Folder(rawURL string) (dir string, err error) {
	u, err := url.Parse(rawURL)
	switch {
	case err != nil:
		err = errors.New("not a URL")
	case u.Scheme == "file":
		dir, err = folderOf(u)
	}
	if err != nil {
		return "", fmt.Errorf("bucket %s: %w", address.Redact(rawURL), err)
	}
	return dir, nil
}
