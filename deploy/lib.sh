# shellcheck shell=bash
# Shared by every script of the tree. Source it; it does nothing by itself.

# The top of the tree.
export MUSTER_ROOT
MUSTER_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

# say TEXT...: one progress line.
say() {
  printf '==> %s\n' "$*"
}

# die TEXT...: says why on stderr and ends the script.
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# postgres_bin: the folder of initdb, pg_ctl and postgres (Debian keeps them out of PATH).
postgres_bin() {
  local dir
  for dir in /usr/lib/postgresql/*/bin; do
    if [[ -x "$dir/initdb" ]]; then
      printf '%s\n' "$dir"
      return
    fi
  done
  die "no Postgres server in /usr/lib/postgresql: run deploy/install-packages"
}

# as_postgres COMMAND...: runs it as the user that owns the private clusters: `postgres` when we are root, for Postgres refuses
# to run as root, and ourselves otherwise.
as_postgres() {
  if [[ "$(id -u)" == 0 ]]; then
    (cd / && exec setpriv --reuid=postgres --regid=postgres --init-groups -- env -u XDG_RUNTIME_DIR HOME=/ LC_ALL=C.UTF-8 "$@")
  else
    (cd / && exec env LC_ALL=C.UTF-8 "$@")
  fi
}

# postgres_owner: the name of that user.
postgres_owner() {
  if [[ "$(id -u)" == 0 ]]; then echo postgres; else id -un; fi
}

# new_cluster DATA [INITDB-FLAG...]: makes a cluster whose superuser is `postgres`; who reaches its unix socket is trusted. It is there as
# a whole or not at all.
new_cluster() {
  as_postgres rm -rf "$1.new"
  as_postgres "$(postgres_bin)/initdb" --pgdata="$1.new" --username=postgres --auth-local=trust --auth-host=scram-sha-256 \
    --encoding=UTF8 --locale=C.UTF-8 "${@:2}" >"$1.initdb.log" 2>&1 || {
    cat "$1.initdb.log" >&2
    die "initdb failed"
  }
  rm -f "$1.initdb.log"
  as_postgres mv -T "$1.new" "$1"
}
