package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/address"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/notify"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink"
)

// leastRoom is the free space, in bytes, that a spool folder needs: a window of 2 GB of CSV becomes
// about a tenth of that as Parquet.
const leastRoom = 200e6

// probeDone is the detail of a step that has tried a place by a probe.
const probeDone = "a probe was written, read and deleted"

// step writes whether one step of the check succeeded, and keeps the exit code of a failed one.
func (c *checker) step(name string, err error, detail string) {
	if err == nil {
		fmt.Fprintf(c.out, "%s: ok, %s\n", name, detail)
		return
	}
	said := strings.TrimPrefix(err.Error(), "job "+name+": ")
	fmt.Fprintf(c.out, "%s: failed: %s\n", name, said)
	if c.errorLog != nil {
		c.errorLog.Error(name+": failed", "error", err)
	}
	c.codes = append(c.codes, text.ExitCode(err))
}

// exitCode returns the command's exit code: the first of 2, 5, 1 and 3 that any step has, or else
// 0.
func (c *checker) exitCode() int {
	if c.wrong > 0 {
		c.codes = append(c.codes, jobs.ExitSome)
	}
	for _, code := range []int{jobs.ExitUsage, jobs.ExitDenied, jobs.ExitFailed, jobs.ExitSome} {
		if slices.Contains(c.codes, code) {
			return code
		}
	}
	return jobs.ExitDone
}

// trySpool opens the spool folder and looks at its free space.
func (c *checker) trySpool() {
	name := "spool folder " + c.SpoolParent()
	if err := c.OpenSpool(); err != nil {
		c.step(name, err, "")
		return
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(c.Spool, &disk); err != nil {
		c.step(name, &fs.PathError{Op: "statfs", Path: c.Spool, Err: err}, "")
		return
	}
	free := int64(disk.Bavail) * int64(disk.Bsize) //nolint:unconvert // the types differ between systems
	if free < leastRoom {
		c.step(name, fmt.Errorf("%s free, and the parts of one window may take %s; make room, or name another "+
			"folder as spool_dir", text.Bytes(free), text.Bytes(leastRoom)), "")
		return
	}
	c.step(name, nil, text.Bytes(free)+" free")
}

// tryLedger opens the ledger and tries it. c.Ledger stays nil when it can't be used.
func (c *checker) tryLedger(ctx context.Context) {
	detail := probeDone
	err := c.OpenLedger(ctx)
	if err == nil {
		err = c.Ledger.Probe(ctx)
	}
	if err == nil {
		var theirs time.Time
		var known bool
		if theirs, known, err = c.Ledger.Clock(ctx); known {
			var warning string
			if warning, err = transport.CheckClock("the bucket", theirs, time.Now()); warning != "" {
				detail += "; " + warning
			}
		}
	}
	c.step("ledger "+sinks.Redact(c.Config.Ledger), err, detail)
	if err != nil {
		c.Ledger = nil
	}
}

// columnLists are the service's own lists of what a report may ask for.
var columnLists = []string{"overview_metrics", "cohort_metrics", "event_metrics", "cost_metrics", "skad_metrics",
	"dimensions", "apps"}

// A listing is what the service lists for one account, by slug. It is nil when the service refused.
type listing map[string]adjust.Filter

// serviceLists asks the service for columnLists, once for each account of the chosen jobs.
func (c *checker) serviceLists(ctx context.Context, chosen []config.Job) map[string]listing {
	lists := map[string]listing{} // by account
	for _, j := range chosen {
		if _, asked := lists[j.Account]; j.AsksService() && !asked && ctx.Err() == nil {
			lists[j.Account] = c.accountLists(ctx, j.Account)
		}
	}
	switch {
	case len(lists) > 0:
	case c.Token != nil:
		lists[""] = c.accountLists(ctx, "")
	default:
		c.step("service", nil, "no job asks for reports or apps, so no API token is needed")
	}
	return lists
}

// accountLists asks the service for an account's lists, which shows that it accepts the token and
// the account.
func (c *checker) accountLists(ctx context.Context, account string) listing {
	name := "service"
	if account != "" {
		name = "account " + account
	}
	if err := c.Credential(ctx, account); err != nil {
		c.step(name, err, "")
		return nil
	}
	asked, _ := c.Account(account) // Credential has just made it, so there is no error
	detail := "the token is good"
	if id := c.Config.ServiceOf(account).AccountID; id != "" {
		detail += ", and so is account " + id
	}
	lists, err := asked.Client.FiltersData(ctx, columnLists)
	var answer *adjust.Error
	if errors.As(err, &answer) && (answer.Status == http.StatusBadRequest || answer.Status == http.StatusNotFound) {
		// The interface document doesn't promise the lists, so an account without them is no fault.
		// The events show instead whether the token is good.
		detail += "; its lists of metrics can't be had"
		_, err = asked.Client.Events(ctx, adjust.EventsQuery{})
	}
	if warning := asked.Client.ClockWarning(); warning != "" {
		detail += "; " + warning
	}
	c.step(name, err, detail)
	if err != nil {
		return nil
	}
	if len(lists["apps"]) == 0 {
		fmt.Fprintln(c.out, name+": it doesn't list the apps that the token shows; one that it loses is noticed if "+
			"it has events, or by what is missing")
	}
	slugs := listing{}
	for _, items := range lists {
		for _, item := range items {
			slugs[item.ID] = item
		}
	}
	return slugs
}

// A prober is a sink that can try whether a Put would be allowed, without leaving anything behind.
// For a sink that isn't a prober, check says that it wasn't tried.
type prober interface {
	Probe(ctx context.Context) error
}

// trySinks makes the jobs, and tries each of their sinks and other places once. It returns the jobs
// that could be made, and in good whether each sink has passed, by the sink's name.
func (c *checker) trySinks(ctx context.Context, chosen []config.Job) (list []jobs.Job, good map[string]bool) {
	good = map[string]bool{}
	triedRaw := map[string]bool{} // stores of raw answers, by URL
	tryRaw := func(entry config.Job) {
		store, err := c.Raw(ctx, entry) // the job was made, so that it can be opened
		if store == nil || triedRaw[entry.Report.Raw.URL] || ctx.Err() != nil {
			return
		}
		triedRaw[entry.Report.Raw.URL] = true
		if err == nil {
			err = store.Probe(ctx)
		}
		c.step("raw answers "+sinks.Redact(entry.Report.Raw.URL), err, probeDone)
	}
	try := func(name string, sink sinks.Sink) {
		if _, tried := good[name]; tried || ctx.Err() != nil {
			return
		}
		tried, ok := sink.(prober)
		if !ok {
			good[name] = true
			c.step("sink "+name, nil, "not tried: only a put could tell")
			return
		}
		err := tried.Probe(ctx)
		good[name] = err == nil
		detail := probeDone
		if _, warehouse := sink.(*bqsink.Sink); warehouse {
			detail = "a table was made and deleted, and a query run"
		}
		c.step("sink "+name, err, detail)
	}
	for _, entry := range chosen {
		job, err := c.Job(ctx, entry, wire.Ask{Now: !entry.AsksService()})
		if err != nil {
			c.step(entry.Name, err, "")
			continue
		}
		if k, pushes := job.Kind.(wire.Pusher); pushes && c.Ledger != nil {
			due, err := k.Due(ctx, time.Now())
			if err == nil {
				err = k.MayPush(ctx, due, time.Now())
			}
			c.step(entry.Name, err, "its source can be listed; "+text.Plural(len(due), "file")+" to push")
		}
		list = append(list, job)
		for _, target := range job.Targets {
			try(target.Name, target.Sink)
		}
		tryRaw(entry)
	}
	for _, place := range []struct{ key, url string }{{"audit", c.Config.Audit}, {"export", c.Config.Export}} {
		if place.url == "" {
			continue
		}
		sink, err := c.OpenSink(ctx, place.url)
		if err != nil {
			c.step(place.key+" "+sinks.Redact(place.url), text.RefusedError(err), "")
			continue
		}
		try(sinks.Redact(place.url), sink)
	}
	return list, good
}

// tryQueries tries whether the service accepts the dimensions, metrics and events of each report
// job.
func (c *checker) tryQueries(ctx context.Context, list []jobs.Job, lists map[string]listing) {
	for _, job := range list {
		kind, ok := job.Kind.(*report.Kind)
		if !ok || lists[job.Account] == nil || ctx.Err() != nil {
			continue
		}
		dimensions, metrics, err := kind.Try(ctx, lists[job.Account])
		c.step(job.Name, err, fmt.Sprintf("the service takes its %s and %s", text.Plural(dimensions, "dimension"),
			text.Plural(metrics, "metric")))
		for _, remark := range kind.FilterRemarks(ctx) {
			fmt.Fprintf(c.out, "%s: %s\n", job.Name, remark)
		}
		if why := kind.Unchecked(); why != "" && err == nil {
			fmt.Fprintf(c.out, "%s: not reconciled with the service's totals: %s\n", job.Name, why)
		}
		if why := kind.WhyNotWatched(); why != "" && err == nil {
			fmt.Fprintf(c.out, "%s: final partitions aren't compared with later totals: %s\n", job.Name, why)
		}
	}
}

// tryReceivers reads the addresses of notify and heartbeat, and sends nothing to them.
func (c *checker) tryReceivers(ctx context.Context) {
	one := func(name, reference string, use func(address string) error) {
		address, err := c.Address(ctx, reference)
		if err != nil {
			return // the address may be known only where the runs are
		}
		if err := use(address); err != nil {
			c.step(name, text.RefusedError(err), "")
			return
		}
		c.unencrypted(name, address)
	}
	for i, n := range c.Config.Notify {
		one(fmt.Sprintf("notify %d", i+1), n.URL, func(address string) error {
			_,
				err := notify.Sender(address)
			return err
		})
	}
	if c.Config.Heartbeat != "" {
		one("heartbeat", c.Config.Heartbeat, func(address string) error {
			_,
				err := notify.NewPoster().Heartbeat(address)
			return err
		})
	}
}

// warnOfPlainHTTP names the places in the config whose URLs allow plain HTTP.
func (c *checker) warnOfPlainHTTP() {
	places := []string{c.Config.Ledger, c.Config.Export}
	for _, j := range c.Config.Jobs {
		places = append(places, j.Sinks...)
		if j.Report != nil {
			places = append(places, j.Report.Raw.URL)
		} else if push := j.Pushing(); push != nil {
			places = append(places, push.Source, push.Rejects)
		}
	}
	slices.Sort(places)
	for _, place := range slices.Compact(places) {
		c.unencrypted(sinks.Redact(place), place)
	}
}

// unencrypted says that a URL allows plain HTTP, if it does.
func (c *checker) unencrypted(name, rawURL string) {
	if address.Insecure(rawURL) {
		fmt.Fprintf(c.out, "%s: insecure=true: whoever is on the way can read and change what goes there\n", name)
	}
}
