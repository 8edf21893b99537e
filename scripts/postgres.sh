#!/bin/sh
# A throwaway PostgreSQL for the ledger's tests.
#
#   scripts/postgres.sh start [FOLDER]   install if absent, start on a free loopback port, print the URL;
#                                        one that died is replaced by a new, empty one
#   scripts/postgres.sh stop  [FOLDER]   stop it and remove the folder
#
#   export ONESIDED_POSTGRES_URL="$(scripts/postgres.sh start)"
#
# The cluster lives in FOLDER (default /tmp/onesided-postgres), keeps fsync on, and trusts
# whoever can reach the loopback port: never put anything real into it.
set -eu

command="${1:-}"
folder="$(realpath -m "${2:-/tmp/onesided-postgres}")"
marker="$folder/onesided-throwaway"

say() { echo "postgres.sh: $*" >&2; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else say "installing needs root or sudo"; exit 1
    fi
}

# initdb refuses root, so root hands over to the postgres user.
as_server() {
    if [ "$(id -u)" != 0 ]; then "$@"
    elif command -v runuser >/dev/null; then runuser -u postgres -- "$@"
    elif command -v setpriv >/dev/null; then
        setpriv --reuid=postgres --regid=postgres --init-groups -- "$@"
    else say "neither runuser nor setpriv found"; exit 1
    fi
}

# The newest server; a version of which only the client is installed has no initdb.
binaries() {
    ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | sort -V | tail -n 1 | sed 's:/initdb$::'
}

install_if_absent() {
    if [ -n "$(binaries)" ]; then return; fi
    if ! command -v apt-get >/dev/null; then
        say "no PostgreSQL server in /usr/lib/postgresql, and no apt-get to install one"
        exit 1
    fi
    say "installing Debian's postgresql"
    # Without this Debian would also start a cluster of its own.
    as_root mkdir -p /etc/postgresql-common
    echo "create_main_cluster = false" \
        | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
    as_root apt-get -o DPkg::Lock::Timeout=300 update -qq >&2
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends postgresql >&2
    if [ -z "$(binaries)" ]; then say "the installation left no initdb"; exit 1; fi
}

free_port() {
    python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# A process number in postmaster.pid may long belong to another program: only an answer counts.
answers() {
    "$bin/pg_isready" -q -h 127.0.0.1 -p "$(cat "$marker")" \
        && as_server "$bin/pg_ctl" -D "$folder/data" status >/dev/null 2>&1
}

url() { echo "postgresql+psycopg://postgres@127.0.0.1:$(cat "$marker")/postgres"; }

start() {
    install_if_absent
    bin="$(binaries)"
    if [ -f "$marker" ]; then
        if answers; then
            url
            return
        fi
        say "the server in $folder has died; starting a new, empty one there"
        rm -rf "$folder"
    fi
    if [ -e "$folder" ]; then say "$folder exists and is not ours"; exit 1; fi
    mkdir -m 0700 "$folder"
    port="$(free_port)"
    echo "$port" >"$marker"
    if [ "$(id -u)" = 0 ]; then chown -R postgres "$folder"; fi
    cd "$folder"
    as_server "$bin/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --no-locale \
        >"$folder/initdb.log" 2>&1 || { cat "$folder/initdb.log" >&2; exit 1; }
    as_server "$bin/pg_ctl" -D "$folder/data" -l "$folder/data/server.log" -w -o \
        "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories=$folder" \
        start >/dev/null || { cat "$folder/data/server.log" >&2; exit 1; }
    url
}

stop() {
    if [ ! -f "$marker" ]; then say "no throwaway cluster in $folder"; exit 1; fi
    cd /
    as_server "$(binaries)/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true
    rm -rf "$folder"
}

case "$command" in
    start) start ;;
    stop) stop ;;
    *) sed -n '2,11p' "$0" >&2; exit 2 ;;
esac
