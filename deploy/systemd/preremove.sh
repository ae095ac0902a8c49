#!/bin/sh
# Before a package is removed: the service ends. Debian says "remove" then, and Fedora 0; an upgrade leaves it as it is.
set -e
case $1 in
remove | 0)
	if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
		systemctl disable --now reportferry.service
	fi
	;;
esac
