package emulator

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
)

// vaultKey seals what the vault holds, by AES-256 in GCM. With Options.DB the key is in a file beside it that only its
// owner may read, made when something is first sealed; else it is gone with the process.
type vaultKey struct {
	file string // "" keeps nothing

	mu   sync.Mutex
	aead cipher.AEAD
}

// openVault makes sure that what a kept file's vault holds can be read.
func (s *appService) openVault() error {
	if s.vault.file == "" {
		return nil
	}
	return s.store.change(context.Background(), func(tx *sql.Tx) error {
		r, err := firstRecord(tx)
		if err != nil || r == nil {
			return err
		}
		if _, err = os.Stat(s.vault.file); err == nil {
			_, err = s.vault.open(r)
		}
		if err != nil {
			return fmt.Errorf("its vault was sealed with the key in %s, which must stay beside it: %w", s.vault.file, err)
		}
		return nil
	})
}

// cipher returns the cipher, after reading or making the key.
func (k *vaultKey) cipher() (cipher.AEAD, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.aead != nil {
		return k.aead, nil
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	if k.file != "" {
		var err error
		if key, err = keyIn(k.file, key); err != nil {
			return nil, err
		}
	}
	block, err := aes.NewCipher(key)
	if err == nil {
		k.aead, err = cipher.NewGCM(block)
	}
	if err != nil {
		return nil, fmt.Errorf("read the vault's key: %w", err)
	}
	return k.aead, nil
}

// keyIn reads the key from a file, which gets this one if it isn't there.
func keyIn(file string, fresh []byte) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString(base64.StdEncoding.EncodeToString(fresh) + "\n")
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return nil, fmt.Errorf("keep the vault's key: %w", err)
		}
		return fresh, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("keep the vault's key: %w", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the vault's key: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != len(fresh) {
		return nil, fmt.Errorf("read the vault's key: %s holds none", file) // its bytes aren't shown
	}
	return key, nil
}

// about binds what is sealed to its place, so that it can't be moved to another.
func (r *vaultRecord) about() []byte { return fmt.Appendf(nil, "%q %q", r.section, r.store) }

func (k *vaultKey) seal(r *vaultRecord, plain string) error {
	aead, err := k.cipher()
	if err != nil {
		return err
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	r.sealed = aead.Seal(nonce, nonce, []byte(plain), r.about())
	return nil
}

func (k *vaultKey) open(r *vaultRecord) (string, error) {
	aead, err := k.cipher()
	if err != nil {
		return "", err
	}
	if len(r.sealed) < aead.NonceSize() {
		return "", errors.New("the vault's record is too short")
	}
	plain, err := aead.Open(nil, r.sealed[:aead.NonceSize()], r.sealed[aead.NonceSize():], r.about())
	if err != nil {
		return "", errors.New("the vault's record doesn't fit its key")
	}
	return string(plain), nil
}
