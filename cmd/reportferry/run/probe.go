package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// askReadiness asks the process that serves at an address of this machine whether it is ready, for
// health checks in an image that has no other program. It prints the answer.
func askReadiness(ctx context.Context, listen string, out io.Writer) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("--listen %q: %w: want the address of the one that serves, such as 127.0.0.1:8081", listen,
			ledger.ErrRefused)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // it serves on every address of the machine
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerTime+2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return err
	}
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // without a proxy
	res, err := direct.Do(req)
	if err != nil {
		return fmt.Errorf("nobody answers: %w", err)
	}
	defer func() { _ = res.Body.Close() }() // it has been read
	if _, err := io.Copy(out, io.LimitReader(res.Body, 64<<10)); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return errors.New("it isn't ready: " + res.Status)
	}
	return nil
}
