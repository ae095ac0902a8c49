//go:build servers

package sinktest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Postgres is a server of the test's own on 127.0.0.1, of Debian's package postgresql, which
// .ci/servers installs. It runs as another user when the tests run as root, which Postgres refuses.
type Postgres struct {
	Addr     string // host:port
	User     string // the superuser
	Password string
	Dir      string // of its data; ca.pem in it is its certificate

	bin    string               // folder of its programs
	as     *syscall.SysProcAttr // the user that it runs as; nil: that of the tests
	server *exec.Cmd            // nil: it doesn't run
	log    bytes.Buffer
	ended  chan struct{} // closed when the server has ended
}

// StartPostgres makes a database in a temporary folder and starts its server, until the end of the
// test.
func StartPostgres(t testing.TB) *Postgres {
	t.Helper()
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(programs) == 0 {
		t.Fatal("Debian's package postgresql isn't installed: .ci/servers true installs it")
	}
	p := &Postgres{User: "tester", Password: "p@ss/" + rand.Text(), bin: filepath.Dir(programs[len(programs)-1])}
	if p.Dir, err = os.MkdirTemp("", "reportferry-postgres-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(p.Dir) })
	if os.Getuid() == 0 {
		p.become(t, "postgres")
	}
	// Make the database and the certificate.
	secret := filepath.Join(p.Dir, "secret")
	p.write(t, secret, p.Password)
	data := filepath.Join(p.Dir, "data")
	if out, err := p.command("initdb", "-D", data, "-U", p.User, "--pwfile", secret, "-A", "scram-sha-256", "-E",
		"UTF8", "--locale=C", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	out, err := exec.Command("openssl", "req", "-new", "-x509", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
		"-addext", "subjectAltName=IP:127.0.0.1", "-newkey", "rsa:2048", "-keyout", "-", "-out", "-").Output()
	if err != nil {
		t.Fatalf("openssl: %v", err)
	}
	p.write(t, filepath.Join(p.Dir, "ca.pem"), string(out)) // the key and the certificate
	// Find a free port, and start the server there.
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.Addr = free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Crash)
	p.Start(t)
	return p
}

// become has the server run as a user of its own.
func (p *Postgres) become(t testing.TB, name string) {
	t.Helper()
	who, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(who.Uid) // numbers, on every Unix
	gid, _ := strconv.Atoi(who.Gid)
	p.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	if err := os.Chown(p.Dir, uid, gid); err != nil {
		t.Fatal(err)
	}
}

// write writes a file that the server's user owns.
func (p *Postgres) write(t testing.TB, path, text string) {
	t.Helper()
	err := os.WriteFile(path, []byte(text), 0o600)
	if err == nil && p.as != nil {
		err = os.Chown(path, int(p.as.Credential.Uid), int(p.as.Credential.Gid))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// command returns a command of one of Postgres's programs, run by the server's user.
func (p *Postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = p.Dir, p.as
	return cmd
}

// Start starts the server and waits until it answers. It runs without fsync, which is faster, and
// loses nothing when the server crashes, but only when the whole machine does.
func (p *Postgres) Start(t testing.TB) {
	t.Helper()
	_, port, _ := net.SplitHostPort(p.Addr)
	pem := filepath.Join(p.Dir, "ca.pem")
	p.server = p.command("postgres", "-D", filepath.Join(p.Dir, "data"), "-c", "listen_addresses=127.0.0.1", "-p", port,
		"-c", "unix_socket_directories=",
		"-c", "fsync=off", "-c", "ssl=on", "-c", "ssl_cert_file="+pem, "-c", "ssl_key_file="+pem, "-c",
		"log_min_messages=fatal")
	p.server.Stdout, p.server.Stderr = &p.log, &p.log
	if err := p.server.Start(); err != nil {
		t.Fatal(err)
	}
	p.ended = make(chan struct{})
	go func(server *exec.Cmd, ended chan struct{}) {
		_ = server.Wait() // it is killed
		close(ended)
	}(p.server, p.ended)
	host, port, _ := net.SplitHostPort(p.Addr)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if p.command("pg_isready", "-q", "-h", host, "-p", port).Run() == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("Postgres isn't ready after 30 s: %s", &p.log)
		}
	}
}

// Crash stops the server as pg_ctl stop -m immediate does, without a clean shutdown: the next
// start recovers from the write-ahead log.
func (p *Postgres) Crash() {
	if p.server == nil {
		return
	}
	_ = p.server.Process.Signal(syscall.SIGQUIT) // it may have ended
	<-p.ended
	p.server = nil
}

// URL returns a sink's URL of a schema at an address, which is the server's own or that of a proxy
// before it.
func (p *Postgres) URL(addr, schema string, parameters ...string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(p.User, p.Password), Host: addr,
		Path: "/postgres/" + schema, RawQuery: strings.Join(parameters, "&")}
	return u.String()
}

// NewSchema returns the name of a schema that no other test has, and the statement that makes it.
func NewSchema() (name, statement string) {
	name = fmt.Sprintf("place_%d", places.Add(1))
	return name, "CREATE SCHEMA " + name
}
