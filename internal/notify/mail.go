package notify

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail"

	"github.com/reportferry/reportferry/internal/address"
)

// mailer sends messages by mail. smtp:// wants STARTTLS but on this machine, smtps:// begins with TLS.
func mailer(at *url.URL) (func(context.Context, Message) error, error) {
	from, to := at.Query().Get("from"), at.Query()["to"]
	if from == "" || len(to) == 0 {
		return nil, errors.New("an address of mail wants from and to, as in smtp://user:password@host:587/?from=a@b.example&to=c@d.example")
	}
	auth := mail.SMTPAuthAutoDiscover // without TLS it leaves out what would show the password
	options := []mail.Option{mail.WithTLSPortPolicy(mail.TLSMandatory), mail.WithTimeout(SendTime)}
	if address.Loopback(at.Hostname()) {
		auth = mail.SMTPAuthPlainNoEnc
		options = []mail.Option{mail.WithTLSPortPolicy(mail.TLSOpportunistic), mail.WithTimeout(SendTime)}
	}
	if at.Scheme == "smtps" {
		options = []mail.Option{mail.WithSSLPort(false), mail.WithTimeout(SendTime)}
	}
	if port, err := strconv.Atoi(at.Port()); err == nil {
		options = append(options, mail.WithPort(port))
	}
	if at.User != nil {
		password, _ := at.User.Password()
		options = append(options, mail.WithSMTPAuth(auth), mail.WithUsername(at.User.Username()), mail.WithPassword(password))
	}
	return func(ctx context.Context, m Message) error {
		letter := mail.NewMsg()
		if err := errors.Join(letter.From(from), letter.To(to...)); err != nil {
			return errors.New("from or to isn't an address of mail")
		}
		letter.Subject(strings.Join(strings.Fields(m.Title), " "))
		letter.SetBodyString(mail.TypeTextPlain, m.Text()+"\n")
		client, err := mail.NewClient(at.Hostname(), options...)
		if err != nil {
			return errors.New("its address isn't understood")
		}
		if err := client.DialAndSendWithContext(ctx, letter); err != nil {
			return errors.New(hidden(err.Error(), at)) // a server may repeat who logs in
		}
		return nil
	}, nil
}

// hidden blots out of a text what an address has that is a secret.
func hidden(text string, at *url.URL) string {
	password, _ := at.User.Password()
	for _, secret := range []string{password, at.User.Username()} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	return cut(strings.Join(strings.Fields(text), " "), 300)
}
