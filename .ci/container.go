// Command container starts an image's program as a cluster would: with the image's entry point,
// environment, user and folder, in its own root and with nothing else. It prints the exit code, the
// time and the peak of memory, or how long the program takes from its start to the first byte that
// reaches the service. Without it, the image would be built and never run, because the machine that
// checks changes has no container engine.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A container is an unpacked image and how its program is to be started.
type container struct {
	root  string   // folder of the unpacked image
	dir   string   // working folder; empty: the image's
	image struct { // https://github.com/opencontainers/image-spec/blob/main/config.md
		User, WorkingDir     string
		Env, Entrypoint, Cmd []string
	}
}

// load reads what buildah's inspect prints of an image.
func (c *container) load(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var all struct {
		OCIv1 struct{ Config json.RawMessage }
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	if err := json.Unmarshal(all.OCIv1.Config, &c.image); err != nil {
		return err
	}
	if len(c.image.Entrypoint) == 0 {
		return fmt.Errorf("%s: no entry point", path)
	}
	return nil
}

func main() {
	var c container
	flag.StringVar(&c.root, "root", "", "`folder` of the unpacked image")
	flag.StringVar(&c.dir, "w", "", "working `folder`, else the image's")
	image := flag.String("image", "", "JSON `file` that tells of the image")
	starts := flag.Int("starts", 0, "measure so many starts")
	slowest := flag.Duration("slowest", 0, "fail when not one start is as fast as this")
	flag.Parse()
	err := c.load(*image)
	if err == nil && *starts > 0 {
		err = c.measure(*starts, *slowest, flag.Args())
	} else if err == nil {
		err = c.once(flag.Args())
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, "container:", err)
		os.Exit(1)
	}
}

// command returns the image's program with these arguments, or with the image's own when there are
// none.
func (c *container) command(args []string) (*exec.Cmd, error) {
	if len(args) == 0 {
		args = c.image.Cmd
	}
	var user, group uint32
	if n, err := fmt.Sscanf(c.image.User, "%d:%d", &user, &group); n != 2 || user == 0 {
		return nil, fmt.Errorf("the image's user %q: want two numbers that aren't root's (%v)", c.image.User, err)
	}
	cmd := exec.Command(c.image.Entrypoint[0], slices.Concat(c.image.Entrypoint[1:], args)...)
	cmd.Dir = cmp.Or(c.dir, c.image.WorkingDir)
	cmd.Env = append(slices.Clone(c.image.Env), "ADJUST_TOKEN=made-up")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: c.root, Credential: &syscall.Credential{Uid: user, Gid: group},
		Cloneflags: syscall.CLONE_NEWPID, // the program is process 1, for which the kernel treats signals differently
	}
	return cmd, nil
}

// once runs the program and prints its time, its CPU time and its peak of memory.
func (c *container) once(args []string) error {
	cmd, err := c.command(args)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	began := time.Now()
	err = cmd.Run()
	if cmd.ProcessState != nil {
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		fmt.Fprintf(os.Stderr, "%.2f s, %.2f s of CPU, %d MiB at its peak\n", time.Since(began).Seconds(),
			(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), usage.Maxrss/1024)
	}
	return err
}

// config is the config that measure starts the program with; its verbs are the service's address
// and the number of the start.
const config = `
service: {base_url: "http://%s", token: "${ADJUST_TOKEN}"}
ledger: file:///data/start-%d/ledger
jobs:
  - name: daily
    kind: report
    sinks: [file:///data/start-%[2]d/out]
    start: -60d
    currency: USD
    dimensions: [day, app, network]
    metrics: [installs, retained_users_d1, roas_d7]
`

// measure starts the program n times, each with an empty ledger, against a service that refuses the
// token: the program then ends at once. It prints what passed between each start and the first byte
// that the service saw.
func (c *container) measure(n int, slowest time.Duration, args []string) error {
	service, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer service.Close()
	arrivals := make(chan time.Time, 100) // when the first bytes of requests came
	go func() {
		for {
			conn, err := service.Accept()
			if err != nil {
				return
			}
			go refuse(conn, arrivals)
		}
	}()
	var wall, busy []time.Duration // time to the first byte, and CPU time, of each start
	for i := range n {
		text := fmt.Sprintf(config, service.Addr(), i)
		if err := os.WriteFile(filepath.Join(c.root, "etc/reportferry/config.yml"), []byte(text), 0o644); err != nil {
			return err
		}
		cmd, err := c.command(args)
		if err != nil {
			return err
		}
		var output strings.Builder
		cmd.Stdout, cmd.Stderr = &output, &output
		began := time.Now()
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != 5 || len(arrivals) == 0 {
			return fmt.Errorf("start %d: exit %d, want 5 of a refused token, after a request: %s", i, code,
				output.String())
		}
		wall = append(wall, (<-arrivals).Sub(began))
		busy = append(busy, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		for len(arrivals) > 0 { // other connections of the same start
			<-arrivals
		}
	}
	slices.Sort(wall)
	slices.Sort(busy)
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("start to first byte: fastest %s, median %s, worst %s of %d; CPU to the end: median %s; load %s\n",
		ms(wall[0]), ms(wall[n/2]), ms(wall[n-1]), n, ms(busy[n/2]), strings.Fields(string(load))[0])
	if slowest > 0 && wall[0] > slowest {
		return fmt.Errorf("not one of %d starts took less than %s", n, slowest)
	}
	return nil
}

// refuse notes when the first byte of a request arrives, and answers 401.
func refuse(conn net.Conn, arrivals chan<- time.Time) {
	defer conn.Close()
	buffer := make([]byte, 64<<10)
	if n, _ := conn.Read(buffer[:1]); n == 0 {
		return
	}
	arrivals <- time.Now()
	_, _ = conn.Read(buffer[1:])
	_, _ = io.WriteString(conn, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

// ms writes a duration in milliseconds.
func ms(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds()*1000, 'f', 1, 64) + " ms"
}
