# shellcheck shell=bash
# Debian's Prometheus beside the local stack: with MUSTER_PROMETHEUS=1 it scrapes musterd and muster-kubernetes every five seconds
# and has the rules of deploy/observability. MUSTER_PROMETHEUS_PORT: 7604. It sends alerts to nobody.
#
# Below run/: prometheus.yml, muster.targets.json and muster-kubernetes.targets.json. Its data is in prometheus/.

MUSTER_PROMETHEUS="${MUSTER_PROMETHEUS:-}"
PROMETHEUS_PORT="${MUSTER_PROMETHEUS_PORT:-7604}"

# wants_prometheus: one that runs goes on, with the ports of now.
wants_prometheus() {
  [[ "$MUSTER_PROMETHEUS" == 1 || -n "$(pid_of prometheus)" ]]
}

check_prometheus() {
  case "$MUSTER_PROMETHEUS" in
    "" | 0) return ;;
    1) ;;
    *) die "MUSTER_PROMETHEUS: 1 or nothing, not $MUSTER_PROMETHEUS" ;;
  esac
  command -v prometheus >/dev/null || die "MUSTER_PROMETHEUS is set, but there is no prometheus: apt-get install prometheus (deploy/install-packages does)"
}

# write_targets JOB PORT: what is scraped as that job; without a port, nothing. Prometheus reads it again by itself.
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

# prometheus_address: where it listens, as it told; nothing: it has not yet.
prometheus_address() {
  sed -n 's/.*msg="Listening on" address=\([0-9.:]*\).*/\1/p' "$STATE/logs/prometheus.log" | tail -n 1
}

# start_prometheus METRICS_PORT ADAPTER_METRICS_PORT
start_prometheus() {
  local tries command
  command=("$(command -v prometheus)" "--config.file=$STATE/run/prometheus.yml" "--storage.tsdb.path=$STATE/prometheus"
    --storage.tsdb.retention.time=7d "--web.listen-address=127.0.0.1:$PROMETHEUS_PORT")
  write_targets muster "$1"
  write_targets muster-kubernetes "$2"
  write_prometheus_config
  if is_current prometheus "${command[@]}"; then
    # Rules may have changed.
    kill -HUP "$(pid_of prometheus)"
    return
  fi
  stop_process prometheus
  if [[ "$PROMETHEUS_PORT" != 0 ]] && ! port_is_free "$PROMETHEUS_PORT"; then
    die "port $PROMETHEUS_PORT is taken by another program; choose one with MUSTER_PROMETHEUS_PORT"
  fi
  : >"$STATE/logs/prometheus.log"
  start_process prometheus "${command[@]}"
  for ((tries = 0; tries < 300; ++tries)); do
    if grep -q 'msg="Server is ready' "$STATE/logs/prometheus.log"; then return; fi
    if [[ -z "$(pid_of prometheus)" && $tries -gt 5 ]]; then break; fi
    sleep 0.1
  done
  tail -n 20 "$STATE/logs/prometheus.log" >&2
  die "Prometheus did not start; its log is $STATE/logs/prometheus.log"
}
