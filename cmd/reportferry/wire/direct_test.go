package wire

import (
	"context"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/config"
)

// Without a config and without flags, the real service is asked as gently as a config would ask it,
// with the token of ADJUST_TOKEN.
func TestAskingWithoutConfig(t *testing.T) {
	t.Chdir(t.TempDir())
	p := &Program{ConfigFile: "reportferry.yml", LogFormat: "text", LogLevel: "info",
		LookupEnv: func(name string) (string, bool) {
			if name == "ADJUST_TOKEN" {
				return "the-token", true
			}
			return "", false
		}}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	p.AddService(cmd)
	asked := false
	err := p.Asking(cmd, func(ctx context.Context, s *Session) error {
		asked = true
		written, err := config.Parse("reportferry.yml",
			[]byte("service: {base_url: https://automate.adjust.com, token: '${ADJUST_TOKEN}'}\n"), p.LookupEnv)
		if err != nil {
			return err
		}
		written.Service.Attempts, written.Service.Patience = 3, 30*time.Second // a person waits
		if s.Config.Service != written.Service {
			t.Errorf("%+v, a config gives %+v", s.Config.Service, written.Service)
		}
		token, err := s.Token.Token(ctx)
		if token != "the-token" {
			t.Errorf("the token is %q", token)
		}
		return err
	})
	if err != nil || !asked {
		t.Errorf("asked: %v, %v", asked, err)
	}
}
