#!/bin/sh
# After a package was installed or upgraded: systemd reads the unit, and a service that runs goes on with the new program. None is started
# that wasn't: it wants a config and a token first.
set -e
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart reportferry.service
fi
