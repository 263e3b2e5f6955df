# shellcheck shell=bash
# Debian's Prometheus and Alertmanager beside the local stack: with MUSTER_PROMETHEUS=1 the one scrapes musterd and muster-kubernetes
# every five seconds and has the rules of deploy/observability, and sends what fires to the other, which has alertmanager.yml from
# there. MUSTER_PROMETHEUS_PORT: 7604, MUSTER_ALERTMANAGER_PORT: 7606.
#
# Below run/: prometheus.yml, and what it scrapes and sends to as *.targets.json. Their data is in prometheus/ and alertmanager/.

MUSTER_PROMETHEUS="${MUSTER_PROMETHEUS:-}"
PROMETHEUS_PORT="${MUSTER_PROMETHEUS_PORT:-7604}"
ALERTMANAGER_PORT="${MUSTER_ALERTMANAGER_PORT:-7606}"

# wants_prometheus: one that runs goes on, with the ports of now.
wants_prometheus() {
  [[ "$MUSTER_PROMETHEUS" == 1 || -n "$(pid_of prometheus)" ]]
}

check_prometheus() {
  local program
  case "$MUSTER_PROMETHEUS" in
    "" | 0) return ;;
    1) ;;
    *) die "MUSTER_PROMETHEUS: 1 or nothing, not $MUSTER_PROMETHEUS" ;;
  esac
  for program in prometheus prometheus-alertmanager; do
    command -v "$program" >/dev/null || die "MUSTER_PROMETHEUS is set, but there is no $program: apt-get install $program (deploy/install-packages does)"
  done
}

# write_targets JOB PORT: what is scraped as that job, or sent to; without a port, nothing. Prometheus reads it again by itself.
write_targets() {
  local targets="[]"
  if [[ -n "$2" ]]; then targets="[{\"targets\": [\"127.0.0.1:$2\"]}]"; fi
  printf '%s\n' "$targets" >"$STATE/run/$1.targets.json.new"
  mv "$STATE/run/$1.targets.json.new" "$STATE/run/$1.targets.json"
}

# write_prometheus_config: for people to read, too.
write_prometheus_config() {
  local rules="$MUSTER_ROOT/deploy/observability/rules" job
  cat <<TEXT >"$STATE/run/prometheus.yml"
global: {scrape_interval: 5s, evaluation_interval: 5s}
rule_files: ['$rules/recording.yaml', '$rules/alerts.yaml']
alerting:
  alertmanagers:
  - file_sd_configs: [{files: ['$STATE/run/alertmanager.targets.json'], refresh_interval: 5s}]
scrape_configs:
TEXT
  for job in muster muster-kubernetes; do
    cat <<TEXT >>"$STATE/run/prometheus.yml"
- job_name: $job
  honor_labels: true
  file_sd_configs: [{files: ['$STATE/run/$job.targets.json'], refresh_interval: 5s}]
TEXT
  done
}

# address_of NAME: where prometheus or alertmanager listens, as it told; nothing: it has not yet.
address_of() {
  sed -n 's/.*msg="Listening on" address=\([0-9.:]*\).*/\1/p' "$STATE/logs/$1.log" | tail -n 1
}

# await_words NAME WORDS: until its log has them.
await_words() {
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    if grep -qF "$2" "$STATE/logs/$1.log"; then return; fi
    if [[ -z "$(pid_of "$1")" && $tries -gt 5 ]]; then break; fi
    sleep 0.1
  done
  tail -n 20 "$STATE/logs/$1.log" >&2
  die "$1 did not start; its log is $STATE/logs/$1.log"
}

# start_listener NAME PORT WORDS COMMAND...: until its log has these words; one that runs so already reads its configuration again.
start_listener() {
  local name="$1" port="$2" words="$3"
  shift 3
  if is_current "$name" "$@"; then
    kill -HUP "$(pid_of "$name")"
    return
  fi
  stop_process "$name"
  if [[ "$port" != 0 ]] && ! port_is_free "$port"; then
    die "port $port is taken by another program; choose one with MUSTER_${name^^}_PORT"
  fi
  : >"$STATE/logs/$name.log"
  start_process "$name" "$@"
  await_words "$name" "$words"
}

start_alertmanager() {
  # Alone: it looks for no others.
  start_listener alertmanager "$ALERTMANAGER_PORT" 'msg="Listening on"' "$(command -v prometheus-alertmanager)" \
    "--config.file=$MUSTER_ROOT/deploy/observability/alertmanager.yml" "--storage.path=$STATE/alertmanager" \
    "--web.listen-address=127.0.0.1:$ALERTMANAGER_PORT" --cluster.listen-address=
}

# start_prometheus METRICS_PORT ADAPTER_METRICS_PORT: after start_alertmanager.
start_prometheus() {
  write_targets muster "$1"
  write_targets muster-kubernetes "$2"
  write_targets alertmanager "$(address_of alertmanager | sed 's/.*://')"
  write_prometheus_config
  start_listener prometheus "$PROMETHEUS_PORT" 'msg="Server is ready' "$(command -v prometheus)" \
    "--config.file=$STATE/run/prometheus.yml" \
    "--storage.tsdb.path=$STATE/prometheus" --storage.tsdb.retention.time=7d \
    "--web.listen-address=127.0.0.1:$PROMETHEUS_PORT"
}
