package apps

import (
	"slices"
	"strconv"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// sdkSecret is a secret that an app's SDK signs with. Source of the fields: an example on the
// service's page about them.
type sdkSecret struct {
	ID        int      `json:"id"`
	Name      string   `json:"name,omitempty"` // versions 1 and 2
	Active    bool     `json:"active"`
	Value     []string `json:"value,omitempty"`    // versions 1 and 2: two texts, two numbers
	Platform  string   `json:"platform,omitempty"` // version 3, as the rest up to internal_version
	Label     string   `json:"label,omitempty"`
	Scope     string   `json:"scope,omitempty"`
	Algorithm string   `json:"algorithm,omitempty"`
	Internal  any      `json:"internal_version"` // a number, or version 3's text
	Version   int      `json:"version"`
	CreatedAt string   `json:"created_at"`
	UpdatedAt string   `json:"updated_at"`
}

// secretsMadeAt is when the secrets of made-up apps were made.
var secretsMadeAt = time.Date(2024, 1, 15, 9, 0, 0, 0, time.UTC)

// newSecret makes a secret of a version; the same app always gets the same one.
func (s *Service) newSecret(a *accountApp, version int) sdkSecret {
	r := s.streamOf("secret", a.Token, strconv.Itoa(version))
	out := sdkSecret{ID: 10_000 + r.Below(1_000_000_000), Active: true, Version: version,
		CreatedAt: stamp(secretsMadeAt), UpdatedAt: stamp(secretsMadeAt)}
	if version < 3 {
		out.Name, out.Internal = "SDK secret "+strconv.Itoa(version), version
		out.Value = []string{r.Token(16), r.Token(16), strconv.Itoa(r.Below(1 << 31)), strconv.Itoa(r.Below(1 << 31))}
		return out
	}
	out.Platform, out.Label, out.Scope, out.Algorithm, out.Internal = a.Platform, "default", "all-traffic", "adj1",
		"3.47.0"
	return out
}

// combinedSecrets returns the app's secrets as answers show them.
func (a *accountApp) combinedSecrets() map[string]any {
	return map[string]any{"enforce_install_signing": a.enforcesSigning(), "secrets": a.Secrets}
}

// revokeOutdated answers POST secrets/revoke_outdated: it revokes the secrets of versions below
// min_active_version.
func (c *call) revokeOutdated() (any, error) {
	least, force := c.body.count("min_active_version", 3), c.body.boolean("force", false)
	if err := c.body.errs.err(); err != nil {
		return nil, err
	}
	a, err := c.app(c.path[0])
	if err != nil {
		return nil, err
	}
	revoked, active := 0, 0
	for i := range a.Secrets {
		s := &a.Secrets[i]
		switch {
		case s.Active && s.Version < least:
			revoked++
			s.Active, s.UpdatedAt = false, stamp(c.now)
		case s.Active:
			active++
		}
	}
	if active == 0 && !force {
		return nil, wire.BadRequest("No active secret would be left: send force to revoke them all the same")
	}
	return map[string]any{"combined_secrets": a.combinedSecrets(), "revoked": revoked}, c.save(a)
}

// secret finds the app and the secret that the path names.
func (c *call) secret() (*accountApp, *sdkSecret, error) {
	id, err := strconv.Atoi(c.path[1])
	if err != nil {
		return nil, nil, invalid("Input should be a valid integer", "path", "secret_id")
	}
	a, err := c.app(c.path[0])
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(a.Secrets, func(s sdkSecret) bool { return s.ID == id })
	if i < 0 {
		return nil, nil, wire.BadRequest("Secret not found")
	}
	return a, &a.Secrets[i], nil
}

// revokeSecret answers POST secrets/{secret_id}/revoke; a secret that is revoked stays so.
func (c *call) revokeSecret() (any, error) {
	a, s, err := c.secret()
	if err != nil {
		return nil, err
	}
	if s.Active {
		s.Active, s.UpdatedAt = false, stamp(c.now)
	}
	return map[string]any{"combined_secrets": a.combinedSecrets()}, c.save(a)
}

// reactivateSecret answers POST secrets/{secret_id}/reactivate, which can change the secret's
// scope.
func (c *call) reactivateSecret() (any, error) {
	scope := c.body.optionalText("scope")
	if err := c.body.errs.err(); err != nil {
		return nil, err
	}
	a, s, err := c.secret()
	if err != nil {
		return nil, err
	}
	if scope != "" && s.Version < 3 {
		return nil, wire.BadRequest("Only secrets of version 3 have a scope")
	}
	if !s.Active || scope != "" && scope != s.Scope {
		s.Active, s.UpdatedAt = true, stamp(c.now)
		if scope != "" {
			s.Scope = scope
		}
	}
	return map[string]any{"combined_secrets": a.combinedSecrets()}, c.save(a)
}
