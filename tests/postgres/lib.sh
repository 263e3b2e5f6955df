# shellcheck shell=bash
# What the scripts share. A private cluster lives in one short folder below /tmp, for a unix socket's path may have 107 bytes: data/,
# log, the socket, and what `backup` makes. The folder given to the scripts holds one file, `socket`, with that path.

# shellcheck source=deploy/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../deploy/lib.sh"

# run_cluster HOME: starts the server of a cluster that is there, and returns when it answers.
run_cluster() {
  as_postgres "$(postgres_bin)/pg_ctl" start --silent --wait --timeout=60 --pgdata="$1/data" --log="$1/log" >/dev/null || {
    cat "$1/log" >&2
    die "Postgres in $1 did not start"
  }
}

# ask_cluster HOME STATEMENT: its answer, as superuser.
ask_cluster() {
  as_postgres "$(postgres_bin)/psql" --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 --command="$2" \
    "host=$1 user=postgres dbname=postgres"
}

# halt_cluster HOME MODE: stops the server; the data stays.
halt_cluster() {
  as_postgres "$(postgres_bin)/pg_ctl" stop --silent --wait --timeout=60 --mode="$2" --pgdata="$1/data" >/dev/null
}

# destroy_cluster HOME: stops the server if it runs and deletes everything.
destroy_cluster() {
  [[ "$1" == /tmp/muster-pg.* ]] || die "'$1' is no private cluster"
  [[ -d "$1" ]] || return 0
  if [[ -e "$1/data/postmaster.pid" ]]; then
    halt_cluster "$1" immediate 2>/dev/null || true
  fi
  rm -rf "$1"
}

# home_of DIR: the cluster's folder, as start left it there.
home_of() {
  [[ -f "$1/socket" ]] || die "no cluster was started in $1"
  cat "$1/socket"
}
