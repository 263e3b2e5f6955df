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
  kube apply -k "$MUSTER_ROOT/deploy/kubernetes/crd"
  kube apply -f "$MUSTER_ROOT/deploy/kubernetes/base/namespace.yaml"
  realpath "$MUSTER_KUBECONFIG" >"$STATE/run/kubeconfig"
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

# kubernetes_hints POOL: what to try with a pool that is an object.
kubernetes_hints() {
  cat <<TEXT
  export KUBECONFIG=$(realpath "$MUSTER_KUBECONFIG")
  kubectl get nodepools -w
  kubectl scale nodepool $1 --replicas=5
  kubectl describe nodepool $1
  kubectl get nodes --show-labels
  kubectl get leases --namespace=kube-node-lease
TEXT
}

# let_go OBJECT: deletes it, whoever waits for something.
let_go() {
  kube delete "$1" --wait=false && kube patch "$1" --type=merge --patch='{"metadata": {"finalizers": null}}'
}

# purge_kubernetes: takes the NodePools out of the cluster that the stack was up with, while the adapter is there to end their
# Nodes; what does not go in time, or has no adapter any more, is let go as it is. The CRD stays.
purge_kubernetes() {
  local pool
  [[ -f "$STATE/run/kubeconfig" ]] || return 0
  MUSTER_KUBECONFIG="$(cat "$STATE/run/kubeconfig")"
  if ! kube get crd/nodepools.compute.coreweave.com >/dev/null; then
    say "the NodePools of $MUSTER_KUBECONFIG are left as they are; those that are there wait for their finalizers"
    return
  fi
  if [[ -n "$(pid_of muster-kubernetes)" ]]; then
    say "deleting the NodePools of $MUSTER_KUBECONFIG"
    kube delete nodepools --all --timeout=2m || say "not all of them were gone in time"
  fi
  for pool in $(kube get nodepools --output=name); do
    let_go "$pool" || say "$pool is left as it is"
  done
  kube delete nodes --selector=compute.coreweave.com/node-pool --wait=false || say "its Nodes are left as they are"
}
