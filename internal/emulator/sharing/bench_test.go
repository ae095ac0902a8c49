package sharing_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/sharing"
)

// BenchmarkSharing posts a device each, with settings and options, over loopback. What it takes is
// the emulator's.
func BenchmarkSharing(b *testing.B) {
	var s *emulator.Server
	said := url.Values{"s2s": {"1"},
		sharing.SettingsName: {`{"all":{"all":false},"facebook":{"session":true,"install":false}}`},
		sharing.OptionsName:  {`{"google_dma":{"eea":"1","ad_personalization":"0","ad_user_data":"1"}}`}}.Encode()
	emutest.BenchmarkPosts(b, "/third_party_sharing", int64(len(`{"status":"OK"}`)),
		func(opened *emulator.Server, _ int) {
			s = opened
		}, func(i int) string {
			return said + "&app_token=" + s.Apps()[i%len(s.Apps())].Token +
				fmt.Sprintf("&gps_adid=00000000-0000-4000-8000-%012d", i)
		}, func() int { return s.Sharing().Statuses[http.StatusOK] })
}
