//go:build servers

package icesink

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/sinks/sinktest"
)

// What a catalog refuses is said in one line, with what to do, and isn't tried again when that
// can't help.
func TestCatalogRefuses(t *testing.T) {
	c := theCatalog(t)
	for name, fault := range map[string]sinktest.CatalogFault{
		"unauthorized": {Kind: sinktest.CatalogRefused, Call: sinktest.CatalogConfig, Status: http.StatusUnauthorized,
			Times: 99},
		"forbidden_load": {Kind: sinktest.CatalogRefused, Call: sinktest.CatalogLoad, Status: http.StatusForbidden,
			Times: 99},
		"forbidden":   {Kind: sinktest.CatalogRefused, Status: http.StatusForbidden, Times: 99},
		"bad_request": {Kind: sinktest.CatalogRefused, Status: http.StatusBadRequest, Times: 99},
	} {
		t.Run(name, func(t *testing.T) {
			front := c.NewFront(t)
			namespace := c.Namespace(t)
			mustPut(t, openURL(t, restURL(c.URI, namespace)), testPart(day, "old"))
			front.Break(fault)
			s := openURL(t, restURL(front.URI, namespace)+"&token=secret")
			began := time.Now()
			_, err := s.Put(t.Context(), testPart(day, "new"))
			if err == nil || front.Broke() != 1 || time.Since(began) > 5*time.Second {
				t.Fatalf("after %d requests: %v", front.Broke(), err)
			}
			if strings.HasPrefix(name, "forbidden") != errors.Is(err, fs.ErrPermission) && name != "unauthorized" {
				t.Errorf("%v is fs.ErrPermission: %v", err, errors.Is(err, fs.ErrPermission))
			}
			golden(t, "rest_"+name, strings.NewReplacer(front.Addr, "HOST:PORT", namespace,
				"NAMESPACE").Replace(err.Error()))
			direct := openURL(t, restURL(c.URI, namespace))
			if got := held(t, direct); got != "old" {
				t.Errorf("a reader finds %s", got)
			}
			if n := dataFiles(t, direct); n != 1 {
				t.Errorf("%d data files are left", n)
			}
		})
	}
}

// A catalog that is away is waited for; one that stays away is an error in time.
func TestCatalogIsAway(t *testing.T) {
	c := sinktest.StartCatalog(t)
	s := openURL(t, restURL(c.URI, c.Namespace(t)))
	mustPut(t, s, testPart(day, "first"))
	c.Crash()
	back := time.AfterFunc(3*time.Second, func() { c.Start(t) })
	defer back.Stop()
	began := time.Now()
	mustPut(t, s, testPart(day, "second"))
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("the put took %s", took)
	}
	mustHold(t, s, fmt.Sprint(map[string]int{"second": 1}))
}

// A catalog that lets nobody remove files is probed all the same, and keeps no table and no
// namespace of it.
func TestProbeWithoutPurge(t *testing.T) {
	c := theCatalog(t)
	purges := 0
	addr := c.Behind(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("purgeRequested") == "true" {
				purges++
				w.WriteHeader(http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s := openURL(t, restURL("http://"+addr, sinktest.NewNamespace()))
	if err := s.Probe(t.Context()); err != nil || purges != 1 {
		t.Errorf("after %d attempts to remove files: %v", purges, err)
	}
	of, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if there, err := of.CheckNamespaceExists(t.Context(), s.namespace); err != nil || there {
		t.Errorf("the namespace is there: %v, %v", there, err)
	}
}
