# shellcheck shell=bash
# What up and down share: where the stack keeps its state, its Postgres, and its processes.
#
# Environment: MUSTER_STATE_DIR (default <tree>/.state), MUSTER_PORT (7600), MUSTER_METRICS_PORT (7601),
# MUSTER_OPERATOR_PORT (7603), MUSTER_POSTGRES_PORT (7602), MUSTER_PROMETHEUS_PORT (7604), MUSTER_PAGE_PORT (7605),
# MUSTER_ALERTMANAGER_PORT (7606). Port 0: a free one, but no TCP at all for Postgres (its unix socket is always there).
# MUSTER_PAGE=0: without the page for people. MUSTER_PRESET: which build runs (release). MUSTER_KUBECONFIG: kubernetes.sh; MUSTER_PROMETHEUS: prometheus.sh;
# MUSTER_TLS: tls.sh.

# shellcheck source=deploy/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

STATE="${MUSTER_STATE_DIR:-$MUSTER_ROOT/.state}"
export PORT="${MUSTER_PORT:-7600}"
export METRICS_PORT="${MUSTER_METRICS_PORT:-7601}"
export OPERATOR_PORT="${MUSTER_OPERATOR_PORT:-7603}"
export PAGE_PORT="${MUSTER_PAGE_PORT:-7605}"
MUSTER_PAGE="${MUSTER_PAGE:-1}"
POSTGRES_PORT="${MUSTER_POSTGRES_PORT:-7602}"
export PRESET="${MUSTER_PRESET:-release}"
export BIN="$MUSTER_ROOT/build/$PRESET/bin"

# prepare_state: makes the state folder and takes its lock, so that two of these scripts do not meet.
prepare_state() {
  mkdir -p "$STATE"/{logs,run}
  STATE="$(cd "$STATE" && pwd -P)"
  exec 9>"$STATE/lock"
  flock --nonblock 9 || die "another up or down is at work in $STATE"
}

# --- Postgres ---

# usable_by_postgres DIR: whether its owner can work there and a socket in it has a path of at most 107 bytes.
usable_by_postgres() {
  local socket
  socket="$1/.s.PGSQL.$(socket_port)"
  # shellcheck disable=SC2016  # $1 is the inner shell's
  [[ ${#socket} -le 107 ]] && as_postgres sh -c 'cd "$1" && test -w .' sh "$1" 2>/dev/null
}

# socket_port: names the socket's file even where no TCP port is opened.
socket_port() {
  if [[ "$POSTGRES_PORT" == 0 ]]; then echo 5432; else echo "$POSTGRES_PORT"; fi
}

# make_for_postgres DIR: makes a folder that only the owner of the cluster enters; false when somebody else's is in the way.
make_for_postgres() {
  if mkdir -m 700 "$1" 2>/dev/null; then
    chown "$(postgres_owner)" "$1"
  else
    [[ -d "$1" && ! -L "$1" && "$(stat -c %U "$1")" == "$(postgres_owner)" ]]
  fi
}

# far_postgres_home: where it is when user `postgres` cannot get into the state folder.
far_postgres_home() {
  printf '/var/tmp/muster-%s' "$(printf '%s' "$STATE" | sha256sum | cut -c1-12)"
}

# last_postgres_home: where it was the last time; nothing when a state folder that was copied or moved tells of another's.
last_postgres_home() {
  local home
  [[ -f "$STATE/run/postgres-home" ]] || return 0
  home="$(cat "$STATE/run/postgres-home")"
  if [[ "$home" == "$STATE/postgres" || "$home" == "$(far_postgres_home)" ]]; then printf '%s' "$home"; fi
}

# find_postgres_home: sets PGHOME: where it was the last time, or in the state folder, or far.
find_postgres_home() {
  PGHOME="$(last_postgres_home)"
  if [[ -n "$PGHOME" ]]; then return; fi
  PGHOME="$STATE/postgres"
  if ! make_for_postgres "$PGHOME" || ! usable_by_postgres "$PGHOME"; then
    rmdir "$PGHOME" 2>/dev/null || true
    PGHOME="$(far_postgres_home)"
    say "user $(postgres_owner) cannot work in $STATE: Postgres lives in $PGHOME"
    make_for_postgres "$PGHOME" || die "$PGHOME belongs to somebody else"
  fi
  printf '%s' "$PGHOME" >"$STATE/run/postgres-home"
}

# postgres_runs: in this very folder; the postmaster.pid of one that was copied names the original's process.
postgres_runs() {
  # shellcheck disable=SC2016  # the inner shell's
  as_postgres "$(postgres_bin)/pg_ctl" status --pgdata="$PGHOME/data" >/dev/null 2>&1 &&
    as_postgres sh -c 'test "/proc/$(head -n 1 "$1/postmaster.pid")/cwd" -ef "$1"' sh "$PGHOME/data"
}

# postgres_listens ADDRESS: whether it runs, at the port of now, and there (nothing: nowhere but in its socket).
postgres_listens() {
  postgres_runs && [[ "$(as_postgres sed -n '4p; 6p' "$PGHOME/data/postmaster.pid")" == "$(printf '%s\n%s' "$(socket_port)" "$1")" ]]
}

# sql ROLE DATABASE COMMAND: prints the bare answer.
sql() {
  "$(postgres_bin)/psql" --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 \
    "host='$PGHOME' port=$(socket_port) user=$1 dbname=$2" --command="$3"
}

start_postgres() {
  find_postgres_home
  if [[ ! -f "$PGHOME/data/PG_VERSION" ]]; then
    say "making a Postgres cluster in $PGHOME"
    new_cluster "$PGHOME/data"
  fi
  local listen='127.0.0.1'
  if [[ "$POSTGRES_PORT" == 0 ]]; then listen=''; fi
  if postgres_listens "$listen"; then return; fi
  stop_postgres
  if [[ -n "$listen" ]]; then
    port_is_free "$POSTGRES_PORT" || die "port $POSTGRES_PORT is taken by another program; choose one with MUSTER_POSTGRES_PORT"
  fi
  as_postgres "$(postgres_bin)/pg_ctl" start --silent --wait --timeout=60 --pgdata="$PGHOME/data" --log="$PGHOME/log" \
    --options="-c listen_addresses='$listen' -c port=$(socket_port) -c unix_socket_directories='$PGHOME'" >/dev/null 9>&- || {
    tail -n 20 "$PGHOME/log" >&2
    die "Postgres did not start; its log is $PGHOME/log"
  }
}

# make_database: where it is not there yet. What was applied before was applied to another.
make_database() {
  local there
  there="$(sql postgres postgres "SELECT 1 FROM pg_database WHERE datname = 'muster'")"
  if [[ -n "$there" ]]; then return; fi
  rm -f "$STATE/run/catalogue"
  sql postgres postgres 'CREATE DATABASE muster'
}

stop_postgres() {
  [[ -f "$STATE/run/postgres-home" ]] || return 0
  PGHOME="$(last_postgres_home)"
  PGHOME="${PGHOME:-$STATE/postgres}"
  if postgres_runs; then
    say "stopping Postgres"
    as_postgres "$(postgres_bin)/pg_ctl" stop --silent --wait --timeout=60 --mode=fast --pgdata="$PGHOME/data" >/dev/null
  fi
}

# --- Our processes ---

# port_is_free PORT: nobody answers there.
port_is_free() {
  ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# pid_of NAME: the process that we started under that name, if it is still that one (a program of a build, whichever preset's, or Debian's
# prometheus and alertmanager); else nothing.
pid_of() {
  local file="$STATE/run/$1.pid" pid exe
  [[ -f "$file" ]] || return 0
  pid="$(cat "$file")"
  exe="$(readlink "/proc/$pid/exe" 2>/dev/null || true)"
  case "$1 ${exe% (deleted)}" in
    *" $(realpath -m "$MUSTER_ROOT/build")/"*/bin/* | prometheus\ */prometheus | alertmanager\ */prometheus-alertmanager) echo "$pid" ;;
  esac
}

# is_current NAME COMMAND...: it runs, with this very command line and the program as it is now on disk.
is_current() {
  local name="$1"
  shift
  [[ -n "$(pid_of "$name")" && "$(cat "$STATE/run/$name.cmd" 2>/dev/null)" == "$*" && ! "$1" -nt "$STATE/run/$name.pid" ]]
}

# start_process NAME COMMAND...: in the background, detached from the terminal; output to logs/NAME.log.
start_process() {
  local name="$1"
  shift
  setsid "$@" </dev/null >>"$STATE/logs/$name.log" 2>&1 9>&- &
  printf '%s' "$!" >"$STATE/run/$name.pid"
  printf '%s' "$*" >"$STATE/run/$name.cmd"
}

# stop_process NAME: asks, waits up to 30 s, and insists.
stop_process() {
  local pid tries
  pid="$(pid_of "$1")"
  if [[ -n "$pid" ]]; then
    say "stopping $1"
    kill -TERM "$pid" 2>/dev/null || true
    for ((tries = 0; tries < 300; ++tries)); do
      [[ -n "$(pid_of "$1")" ]] || break
      sleep 0.1
    done
    if [[ -n "$(pid_of "$1")" ]]; then kill -KILL "$pid" 2>/dev/null || true; fi
  fi
  rm -f "$STATE/run/$1.pid" "$STATE/run/$1.cmd"
}

# port_of KIND: grpc, metrics, operator or page, as musterd told.
port_of() {
  sed -n "s/^$1 //p" "$STATE/run/ports"
}

# ctl ARGUMENT...: musterctl at this stack's musterd. What the caller's environment and contexts say is about servers of his own.
ctl() {
  local theirs=() variables=()
  mapfile -t theirs < <(compgen -e MUSTER_)
  mapfile -t variables < <(tls_variables)
  env "${theirs[@]/#/--unset=}" MUSTER_CONFIG=/dev/null "${variables[@]}" "$BIN/musterctl" --server="127.0.0.1:$(port_of grpc)" "$@"
}

# environment_hints: what to tell a shell, so that its musterctl is this stack's.
environment_hints() {
  local variables=()
  mapfile -t variables < <(tls_variables)
  # shellcheck disable=SC2016  # that shell's
  printf '  export PATH=%q:$PATH MUSTER_SERVER=127.0.0.1:%s MUSTER_OPERATOR_SERVER=127.0.0.1:%s\n' \
    "$BIN" "$(port_of grpc)" "$(port_of operator)"
  if wants_tls; then echo "  export$(printf ' %q' "${variables[@]}")"; fi
}

stop_stack() {
  stop_process prometheus
  stop_process alertmanager
  stop_process muster-kubernetes
  stop_process fleetsim
  stop_process musterd
  stop_postgres
}

# purge_state: deletes everything that the stack ever wrote.
purge_state() {
  local home
  home="$(last_postgres_home)"
  if [[ -n "$home" ]]; then rm -rf "$home"; fi
  rm -rf "$STATE/postgres" "$STATE/prometheus" "$STATE/alertmanager" "$STATE/tls" "$STATE/logs" "$STATE/run" "$STATE/lock"
  rmdir "$STATE" 2>/dev/null || true
}
