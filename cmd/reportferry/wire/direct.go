package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/config/draft"
	"github.com/reportferry/reportferry/internal/lazy"
)

// AddService adds the flags that say which service to ask to a command that needs neither a job nor
// a config, and to the command's subcommands. Such a command uses Asking.
func (p *Program) AddService(cmd *cobra.Command) {
	set := cmd.PersistentFlags()
	set.BoolVar(&p.Embedded, "embedded", false, "ask a made-up account in this process, without a config or a token")
	set.StringVar(&p.BaseURL, "base-url", "", "`address` of the service, if not the config's")
	set.StringVar(&p.TokenEnv, "token-env", "",
		"environment `variable` that holds the API token, if not where the config says")
	// The defaults are for the case without a config, so the help alone has them.
	set.Lookup("base-url").DefValue = config.DefaultBaseURL
	set.Lookup("token-env").DefValue = config.DefaultTokenEnv
}

// AddAsking adds the flags of AddService, and the one that names an account of the config.
func (p *Program) AddAsking(cmd *cobra.Command) {
	p.AddService(cmd)
	cmd.PersistentFlags().StringVar(&p.Account, "account", "",
		"`name` of the config's account to ask, if not the one of service")
}

// ServiceFlags are the names of the flags that AddService adds.
var ServiceFlags = []string{"embedded", "base-url", "token-env"}

// Whom returns the service that the flags of AddService name, for a config that is yet to be
// written.
func (p *Program) Whom() (draft.Service, error) {
	s := config.DefaultService()
	return draft.Service{Embedded: p.Embedded, BaseURL: p.BaseURL, TokenEnv: p.TokenEnv}, p.redirect(&s)
}

// Take makes c the config of the program, in place of the file, and returns an error that says what
// is missing to ask its service.
func (p *Program) Take(c *config.Config) error {
	p.givenConfig = c
	if err := p.checkToken(c, false); err != nil {
		return text.UsageError(err)
	}
	return nil
}

// Taken tells whether the config came from Take, and not from the config file.
func (p *Program) Taken() bool { return p.givenConfig != nil }

// Asking is WithService for commands that need no config. Where there is no config, the flags of
// AddService and their defaults say which service to ask. A config that is named has to exist. In a
// config that exists, the flags replace what they name and nothing else.
func (p *Program) Asking(cmd *cobra.Command, do func(context.Context, *Session) error) error {
	c, none, err := p.serviceConfig(cmd)
	if err != nil {
		return text.UsageError(err)
	}
	if c.Service = c.ServiceOf(p.Account); c.Service.Account != p.Account {
		return text.UsageError(fmt.Errorf("--account %s: there is no such account%s", p.Account,
			c.NoAccount(p.Account)))
	}
	if err := p.redirect(&c.Service); err != nil {
		return text.UsageError(err)
	}
	if err := p.checkToken(c, none); err != nil {
		return text.UsageError(err)
	}
	return p.withConfig(cmd, c, do)
}

// serviceConfig returns the config that says which service to ask. Where there is no config, it
// returns one of defaults, and none is true.
func (p *Program) serviceConfig(cmd *cobra.Command) (c *config.Config, none bool, err error) {
	named := cmd.Flags().Changed("config") || p.getenv("REPORTFERRY_CONFIG") != ""
	c, err = config.Load(p.ConfigFile, p.LookupEnv)
	if (errors.Is(err, fs.ErrNotExist) || p.Embedded) && !named {
		service := config.DefaultService()
		service.Attempts, service.Patience = 3, 30*time.Second // a person waits for the answer
		return &config.Config{Service: service}, true, nil
	}
	return c, false, err
}

// variableName matches what can be the name of an environment variable.
var variableName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// redirect puts what the flags say into the service. Errors don't repeat the flags' values, because
// somebody may have written the token there.
func (p *Program) redirect(s *config.Service) (err error) {
	if p.BaseURL != "" && !p.Embedded {
		if s.BaseURL, err = config.Address(p.BaseURL); err != nil {
			return fmt.Errorf("--base-url: %w", err)
		}
		if s.Embedded {
			s.Embedded, s.Token = false, config.TokenOf(config.DefaultTokenEnv)
		}
	}
	switch {
	case p.Embedded && p.BaseURL+p.TokenEnv != "":
		return errors.New("--embedded asks a made-up account in this process, which has no address and takes no " +
			"token; leave it out, or --base-url and --token-env")
	case p.Embedded:
		s.Embedded, s.BaseURL, s.Token = true, "", ""
	case p.TokenEnv == "":
	case s.Embedded:
		return errors.New("--token-env: the config's service is embedded, which takes no token; add --base-url to " +
			"ask another")
	case !variableName().MatchString(p.TokenEnv):
		return errors.New("--token-env: want the name of an environment variable that holds the token, never the " +
			"token itself")
	default:
		s.Token = config.TokenOf(p.TokenEnv)
	}
	return nil
}

// checkToken returns an error that says what to set when the token or the host is missing. It names
// no environment variable but the usual one, because somebody may have written the token itself
// after --token-env.
func (p *Program) checkToken(c *config.Config, noConfig bool) error {
	s, usual := c.Service, config.DefaultTokenEnv
	var message string
	switch {
	case s.Embedded:
	case s.Token == "" && len(c.Accounts) > 0:
		message = "no API token: the config's service has none of its own; name one of its accounts by --account" +
			c.NoAccount("")
	case s.Token == "":
		message = "no API token: the config names none; put the token into an environment variable, and name it by " +
			"--token-env"
	case s.BaseURL == "":
		message = "no host to ask: the config has no service.base_url; give --base-url"
	case s.Token == config.TokenOf(usual) && p.getenv(usual) == "":
		message = fmt.Sprintf("no API token: the environment variable %[1]s is not set; put the token into %[1]s, "+
			"or name the variable that holds it by --token-env; --embedded asks a made-up account, which needs none",
			usual)
	case p.TokenEnv != "" && p.getenv(p.TokenEnv) == "":
		message = "no API token: the environment variable that --token-env names is not set; put the token into it, " +
			"and never on the command line"
	}
	switch {
	case message == "":
		return nil
	case noConfig:
		message += fmt.Sprintf("; there is no config either, at %s", p.ConfigFile)
	}
	return errors.New(message)
}

// Unasked returns why a command that can do without the service doesn't ask it: there is no token,
// or the config has errors and might name another host. why is empty when Asking would ask. It is
// also empty when a flag says which service to ask: Asking then reports what is missing.
func (p *Program) Unasked(cmd *cobra.Command) (why string, err error) {
	c, _, err := p.serviceConfig(cmd)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", text.UsageError(err)
	case err != nil:
		return p.ConfigFile + " has errors; check says which", nil
	case p.BaseURL+p.TokenEnv+p.Account != "" || p.Embedded:
		return "", nil
	case p.checkToken(c, false) == nil:
		return "", nil
	case c.Service.Token == config.TokenOf(config.DefaultTokenEnv):
		return config.DefaultTokenEnv + " is not set", nil
	}
	return p.ConfigFile + " names no token", nil
}
