package icesink

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A catalog that stays away is tried for a minute and not for one minute in each of eight tries:
// retries are in one layer.
func TestAwayForGood(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := openURL(t, "iceberg://rest/adjust?type=rest&uri=http://"+addr)
		began := time.Now()
		if _, err := s.Put(t.Context(), testPart(day, "a")); err == nil {
			t.Error("no error")
		}
		if took := time.Since(began); took < time.Second || took > time.Minute {
			t.Errorf("it was tried for %s", took)
		}
	})
}
