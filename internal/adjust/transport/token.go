package transport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"gocloud.dev/runtimevar"
	_ "gocloud.dev/runtimevar/awssecretsmanager" // awssecretsmanager://
	_ "gocloud.dev/runtimevar/constantvar"       // constant://
	_ "gocloud.dev/runtimevar/filevar"           // file://
	_ "gocloud.dev/runtimevar/gcpsecretmanager"  // gcpsecretmanager://

	"github.com/reportferry/reportferry/internal/lazy"
)

// A TokenSource reads the API token from where it is kept.
type TokenSource interface {
	// Token returns the token. After the first reading it comes from memory.
	Token(ctx context.Context) (string, error)
	// Refresh reads the token again.
	Refresh(ctx context.Context) (string, error)
}

var (
	// envSpec and fileSpec match ${ENV} and ${file:/path}.
	envSpec  = lazy.Regexp(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)
	fileSpec = lazy.Regexp(`^\$\{file:(.+)\}$`)
	// bearer is the b64token of RFC 6750, section 2.1. Its characters need no escaping in a header,
	// and little elsewhere.
	bearer = lazy.Regexp(`^[A-Za-z0-9._~+/-]+=*$`)
)

// ParseAddress is ParseToken for an address that is a secret: the value may be any text.
func ParseAddress(spec string, getenv func(string) string) (TokenSource, error) {
	s, err := ParseToken(spec, getenv)
	if err == nil {
		s.(*source).address = true
	}
	return s, err
}

// secretWait bounds one reading of a secret. A secret manager that takes longer counts as down.
const secretWait = 30 * time.Second

// ParseToken turns the config's token into a source. It takes "${ENV}", "${file:/path}", the
// address of a gocloud runtime variable such as
// "gcpsecretmanager://projects/p/secrets/s?decoder=string", or an address with a scheme in
// managers. Nothing is read yet. Errors never repeat spec, because the likeliest mistake is a
// literal token.
func ParseToken(spec string, getenv func(string) string) (TokenSource, error) {
	if m := envSpec().FindStringSubmatch(spec); m != nil {
		return &source{origin: "environment variable " + m[1], read: func(context.Context) (string, error) {
			v := getenv(m[1])
			if v == "" {
				return "", fmt.Errorf("it is not set; `export %s=...` puts the token there", m[1])
			}
			return v, nil
		}}, nil
	}
	if m := fileSpec().FindStringSubmatch(spec); m != nil {
		return &source{origin: "file " + m[1], read: func(context.Context) (string, error) {
			b, err := os.ReadFile(m[1])
			return string(b), err
		}}, nil
	}
	scheme, _, ok := strings.Cut(spec, "://")
	if read := managers[scheme]; ok && read != nil {
		return &source{origin: scheme + ":// variable", read: func(ctx context.Context) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, secretWait)
			defer cancel()
			return read(ctx, spec, getenv)
		}}, nil
	}
	if ok && runtimevar.DefaultURLMux().ValidVariableScheme(scheme) {
		return &source{origin: scheme + ":// variable", read: func(ctx context.Context) (string,
			error) {
			return readVariable(ctx, spec)
		}}, nil
	}
	return nil, errors.New("token: want ${ENV}, ${file:/path} or the address of a secret manager " +
		"(gcpsecretmanager://..., awssecretsmanager://..., azurekeyvault://..., hashivault://..., file://...); a " +
		"token itself doesn't belong here")
}

// A source keeps the token that read returned. It prints as its origin, so that no log shows the
// token.
type source struct {
	origin  string
	read    func(context.Context) (string, error)
	mu      sync.Mutex
	token   string
	address bool // the value is an address, so any text is accepted
}

func (s *source) Token(ctx context.Context) (string, error) {
	s.mu.Lock()
	token := s.token
	s.mu.Unlock()
	if token != "" {
		return token, nil
	}
	return s.Refresh(ctx)
}

func (s *source) Refresh(ctx context.Context) (string, error) {
	token, err := s.read(ctx)
	if err != nil {
		return "", fmt.Errorf("read token from %s: %w", s.origin, err)
	}
	token = strings.TrimSpace(token)
	if !s.address && !bearer().MatchString(token) {
		return "", fmt.Errorf("read token from %s: what is there isn't a bearer token (letters, digits and ._~+/- "+
			"only)", s.origin)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
	return token, nil
}

func (s *source) String() string   { return s.origin }
func (s *source) GoString() string { return s.origin }

// readVariable reads a secret by gocloud. It opens the variable anew each time, because only that
// is certain to show a secret's new version at once.
func readVariable(ctx context.Context, at string) (token string, err error) {
	ctx, cancel := context.WithTimeout(ctx, secretWait)
	defer cancel()
	v, err := runtimevar.OpenVariable(ctx, at)
	if err != nil {
		return "", errors.New("its address isn't understood") // err repeats the address, which may hold the value
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	snap, err := v.Watch(ctx) // unlike Latest, it returns the first error too
	if err != nil {
		return "", err
	}
	switch value := snap.Value.(type) {
	case string:
		return value, nil
	case []byte:
		return string(value), nil
	}
	return "", fmt.Errorf("its decoder makes a %T of it, use decoder=string", snap.Value)
}
