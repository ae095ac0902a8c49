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

// mailer returns a function that sends messages by mail. smtp:// requires STARTTLS except on this
// machine, and smtps:// begins with TLS.
func mailer(at *url.URL) (func(context.Context, Message) error, error) {
	from, to := at.Query().Get("from"), at.Query()["to"]
	if from == "" || len(to) == 0 {
		return nil, errors.New("an address of mail wants from and to, as in " +
			"smtp://user:password@host:587/?from=a@b.example&to=c@d.example")
	}
	// Without TLS, auto-discovery leaves out the methods that would show the password.
	auth, tls := mail.SMTPAuthAutoDiscover, mail.WithTLSPortPolicy(mail.TLSMandatory)
	if address.Loopback(at.Hostname()) {
		auth, tls = mail.SMTPAuthPlainNoEnc, mail.WithTLSPortPolicy(mail.TLSOpportunistic)
	}
	if at.Scheme == "smtps" {
		tls = mail.WithSSLPort(false)
	}
	options := []mail.Option{tls, mail.WithTimeout(SendTime)}
	if port, err := strconv.Atoi(at.Port()); err == nil {
		options = append(options, mail.WithPort(port))
	}
	password, _ := at.User.Password()
	if at.User != nil {
		options = append(options, mail.WithSMTPAuth(auth), mail.WithUsername(at.User.Username()),
			mail.WithPassword(password))
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
		if err := client.DialAndSendWithContext(ctx, letter); err != nil { // a server may repeat the login
			text := err.Error()
			for _, secret := range []string{password, at.User.Username()} {
				if secret != "" {
					text = strings.ReplaceAll(text, secret, "[secret]")
				}
			}
			return errors.New(cut(strings.Join(strings.Fields(text), " "), 300))
		}
		return nil
	}, nil
}
