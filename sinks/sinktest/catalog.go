//go:build servers

package sinktest

import (
	"bytes"
	_ "embed" // the server's source
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// CatalogJar is the file of Apache Iceberg's own REST catalog, of Maven Central's
// org.apache.iceberg:iceberg-open-api, in the cache folder of .ci/servers, which fetches it.
const CatalogJar = "iceberg-open-api-1.10.1.jar"

//go:embed testdata/RestCatalog.java
var catalogSource []byte

// A Catalog is a REST catalog of the test's own on 127.0.0.1. Its database is a file, so that what
// was committed outlives a crash.
type Catalog struct {
	Addr      string // host:port
	URI       string // of the server, for clients
	Warehouse string // file:///folder, or s3://bkt/folder

	dir        string    // folder of the program and the database
	java, jar  string    // paths of the program java, and of CatalogJar
	properties []string  // further arguments: see RestCatalog.java
	server     *exec.Cmd // nil: it doesn't run
	stdin      io.Closer // the server ends when it is closed
	log        bytes.Buffer
	ended      chan struct{} // closed when the server has ended
}

// A CatalogOption changes a catalog before StartCatalog starts it.
type CatalogOption func(*Catalog)

// CatalogOnS3 keeps the warehouse in a folder of its own in the S3 server's bucket. The catalog
// gives its clients the bucket's access keys with each table. getenv is os.Getenv; .ci/servers sets
// the variables.
func CatalogOnS3(getenv func(string) string) CatalogOption {
	return func(c *Catalog) {
		c.Warehouse = fmt.Sprintf("s3://bkt/warehouse-%d-%d", runStart, places.Add(1))
		region := "us-east-1"
		for _, pair := range [][2]string{
			{"s3.endpoint", "http://" + getenv("SERVERS_S3")}, {"s3.path-style-access", "true"},
			{"s3.access-key-id", getenv("AWS_ACCESS_KEY_ID")}, {"s3.secret-access-key",
				getenv("AWS_SECRET_ACCESS_KEY")},
			{"client.region", region}, {"s3.region", region}, // Java's name for it, and that of others
		} {
			c.properties = append(c.properties, pair[0]+"="+pair[1], "give."+pair[0]+"="+pair[1])
		}
		c.properties = append(c.properties, "io-impl=org.apache.iceberg.aws.s3.S3FileIO")
	}
}

// StartCatalog starts a catalog with an empty database and a warehouse in a temporary folder, until
// the end of the test. It takes a second and a half, and a start after a crash half a second; tests
// of one package share a server, each with its Namespace.
func StartCatalog(t testing.TB, options ...CatalogOption) *Catalog {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	c := &Catalog{jar: filepath.Join(cache, "reportferry", CatalogJar)}
	if _, err := os.Stat(c.jar); err != nil {
		t.Fatalf("the REST catalog of Apache Iceberg isn't there: %v: .ci/jar fetches it", err)
	}
	compiler, err := exec.LookPath("javac")
	if err != nil {
		t.Fatalf("the REST catalog needs Java and its compiler: %v: .ci/jar installs them", err)
	}
	c.java = filepath.Join(filepath.Dir(compiler), "java")
	// Compile the server in a temporary folder.
	if c.dir, err = os.MkdirTemp("", "reportferry-catalog-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(c.dir) })
	c.Warehouse = "file://" + filepath.Join(c.dir, "warehouse")
	for _, option := range options {
		option(c)
	}
	source := filepath.Join(c.dir, "RestCatalog.java")
	if err := os.WriteFile(source, catalogSource, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, "-cp", c.jar, "-d", c.dir, source).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v: %s", err, out)
	}
	// Find a free port, and start the server there.
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.Addr = free.Addr().String()
	c.URI = "http://" + c.Addr
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Crash)
	c.Start(t)
	return c
}

// Start starts the server and waits until it answers. The server has only one connection to the
// database, so that commits wait for each other. With several, SQLite would refuse one of two
// commits with an error that no catalog in use gives.
func (c *Catalog) Start(t testing.TB) {
	t.Helper()
	_, port, _ := net.SplitHostPort(c.Addr)
	arguments := []string{
		"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
		"-cp", c.dir + string(os.PathListSeparator) + c.jar, "org.apache.iceberg.rest.RestCatalog", port,
		"catalog-impl=org.apache.iceberg.jdbc.JdbcCatalog", "jdbc.schema-version=V1", "clients=1",
		"uri=jdbc:sqlite:" + filepath.Join(c.dir, "catalog.db"), "jdbc.journal_mode=WAL", "jdbc.synchronous=OFF",
		"warehouse=" + c.Warehouse,
	}
	c.server = exec.Command(c.java, append(arguments, c.properties...)...)
	c.server.Stdout, c.server.Stderr = &c.log, &c.log
	var err error
	if c.stdin, err = c.server.StdinPipe(); err == nil {
		err = c.server.Start()
	}
	if err != nil {
		c.server = nil
		t.Fatal(err)
	}
	c.ended = make(chan struct{})
	go func(server *exec.Cmd, ended chan struct{}) {
		_ = server.Wait() // it is killed
		close(ended)
	}(c.server, c.ended)
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if answer, err := http.Get(c.URI + "/v1/config"); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-c.ended:
			t.Fatalf("the REST catalog has ended: %s", &c.log)
		default:
		}
		if time.Now().After(end) {
			c.Crash() // its log is complete then
			t.Fatalf("the REST catalog doesn't answer after 60 s: %s", &c.log)
		}
	}
}

// Crash kills the server, whatever it is doing. Start starts it again at the same address, with all
// that it has committed.
func (c *Catalog) Crash() {
	if c.server == nil {
		return
	}
	_ = c.server.Process.Kill() // it may have ended
	<-c.ended
	_ = c.stdin.Close()
	c.server = nil
}

// NewNamespace returns the name of a namespace that no other test of the package has.
func NewNamespace() string {
	return fmt.Sprintf("place_%d", places.Add(1))
}

// Namespace makes an empty namespace that no other test has, and returns its name.
func (c *Catalog) Namespace(t testing.TB) string {
	t.Helper()
	name := NewNamespace()
	answer, err := http.Post(c.URI+"/v1/namespaces", "application/json",
		strings.NewReader(`{"namespace":["`+name+`"],"properties":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("making namespace %s: %s %s %v", name, answer.Status, text, err)
	}
	return name
}
