# shellcheck shell=bash
# The Kubernetes side of the local stack: with MUSTER_KUBECONFIG, the kubeconfig of a cluster to try things in, the sample cluster's
# NodePools are that cluster's objects, the fleet's Nodes and Pods are there too, and muster-kubernetes runs between the two.

MUSTER_KUBECONFIG="${MUSTER_KUBECONFIG:-}"

# fleetsim_flags: prints what fleetsim has to know of the cluster, a flag a line.
fleetsim_flags() {
  [[ -z "$MUSTER_KUBECONFIG" ]] || printf -- '--kubeconfig=%s\n--kube_cluster=organizations/acme/clusters/example\n' "$MUSTER_KUBECONFIG"
}

kube() {
  kubectl --kubeconfig="$MUSTER_KUBECONFIG" "$@"
}

check_kubernetes() {
  [[ -n "$MUSTER_KUBECONFIG" ]] || return 0
  [[ -r "$MUSTER_KUBECONFIG" ]] || die "MUSTER_KUBECONFIG: $MUSTER_KUBECONFIG cannot be read"
  command -v kubectl >/dev/null || die "MUSTER_KUBECONFIG is set, but there is no kubectl"
  kube get --raw /readyz >/dev/null || die "MUSTER_KUBECONFIG: the API server that it names does not answer"
}

# start_adapter GRPC_PORT
start_adapter() {
  local command=("$BIN/muster-kubernetes" --organization=acme --cluster=example --zone=RNO2A --server="127.0.0.1:$1"
    --kubeconfig="$MUSTER_KUBECONFIG" --adopt_cluster --metrics_listen=127.0.0.1:0 --health_listen=127.0.0.1:0)
  kube apply -f "$MUSTER_ROOT/deploy/kubernetes/base/namespace.yaml" -f "$MUSTER_ROOT/deploy/kubernetes/base/crd.yaml"
  if is_current muster-kubernetes "${command[@]}"; then return; fi
  stop_process muster-kubernetes
  start_process muster-kubernetes "${command[@]}"
}

apply_pool_by_kubectl() {
  kube wait --for=condition=Established --timeout=30s crd/nodepools.compute.coreweave.com
  if kube get nodepool "$1" >/dev/null 2>&1; then
    say "$1 is there already and stays as it is"
  else
    kube apply -f "$MUSTER_ROOT/deploy/kubernetes/samples/$1.yaml"
  fi
}
