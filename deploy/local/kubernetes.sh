# shellcheck shell=bash
# The Kubernetes side of the local stack: with MUSTER_KUBECONFIG, the kubeconfig of a cluster to try things in, the sample cluster's
# NodePools are that cluster's objects, the fleet's Nodes and Pods are there too, and muster-kubernetes runs between the two, as
# the ServiceAccount that it has in production, under the same policies.
#
# Below run/: kubeconfig (path of the user's own), kubernetes-uid (of that cluster's kube-system), kubernetes-made (what of
# deploy/kubernetes was not in the cluster before), fleetsim.kubeconfig, adapter.kubeconfig and adapter.token (0600; gone when the stack
# is down).

MUSTER_KUBECONFIG="${MUSTER_KUBECONFIG:-}"
MANIFESTS="$MUSTER_ROOT/deploy/kubernetes"
ADAPTER=system:serviceaccount:muster-system:muster-kubernetes

# fleetsim_flags: prints what fleetsim has to know of the cluster, a flag a line.
fleetsim_flags() {
  [[ -z "$MUSTER_KUBECONFIG" ]] || printf -- '--kubeconfig=%s\n--kube_cluster=organizations/acme/clusters/example\n' "$STATE/run/fleetsim.kubeconfig"
}

kube() {
  kubectl --kubeconfig="$MUSTER_KUBECONFIG" "$@"
}

# kubeconfig_part JSONPATH: prints that part of the current context, its files' contents in it, as JSON.
kubeconfig_part() {
  kube config view --raw --minify --flatten --output="jsonpath={$1}"
}

# is_its_cluster: the one that the stack was up with, if it was with any.
is_its_cluster() {
  [[ ! -f "$STATE/run/kubernetes-uid" || "$(kubernetes_uid)" == "$(cat "$STATE/run/kubernetes-uid")" ]]
}

kubernetes_uid() {
  kube get namespace kube-system --output='jsonpath={.metadata.uid}'
}

# check_kubernetes: a stack that is up with a cluster stays with it.
check_kubernetes() {
  if [[ -z "$MUSTER_KUBECONFIG" && -n "$(pid_of muster-kubernetes)" ]]; then MUSTER_KUBECONFIG="$(cat "$STATE/run/kubeconfig")"; fi
  [[ -n "$MUSTER_KUBECONFIG" ]] || return 0
  [[ -r "$MUSTER_KUBECONFIG" ]] || die "MUSTER_KUBECONFIG: $MUSTER_KUBECONFIG cannot be read"
  command -v kubectl >/dev/null || die "MUSTER_KUBECONFIG is set, but there is no kubectl"
  kube get --raw /readyz >/dev/null || die "MUSTER_KUBECONFIG: the API server that it names does not answer"
  is_its_cluster || die "MUSTER_KUBECONFIG: this stack was up with another cluster: down --purge first"
  case "$(kubeconfig_part '.users[0].user')" in
    *'"exec":'* | *'"auth-provider":'* | *'"as":'*)
      die "MUSTER_KUBECONFIG: its user logs in by a program, or acts as another; one with a token or a certificate is needed" ;;
  esac
}

# write_private FILE PROCESS: stdin, for the owner alone; a process that runs by another content is stopped.
write_private() {
  local text
  text="$(cat)"
  if [[ "$(cat "$1" 2>/dev/null)" == "$text" ]]; then return; fi
  stop_process "$2"
  rm -f "$1"
  (umask 077 && printf '%s\n' "$text" >"$1")
}

# write_kubeconfig FILE PROCESS USER: one for the cluster, with a user of that JSON.
write_kubeconfig() {
  write_private "$1" "$2" <<TEXT
apiVersion: v1
kind: Config
current-context: muster
contexts: [{name: muster, context: {cluster: muster, user: muster}}]
clusters: [{name: muster, cluster: $(kubeconfig_part '.clusters[0].cluster')}]
users: [{name: muster, user: $3}]
TEXT
}

# prepare_fleetsim: it acts as kubelets do, whom the policies know by their group; of a node's authorizer it needs more than one
# Node's.
prepare_fleetsim() {
  [[ -n "$MUSTER_KUBECONFIG" ]] || return 0
  local user
  user="$(kubeconfig_part '.users[0].user')"
  write_kubeconfig "$STATE/run/fleetsim.kubeconfig" fleetsim \
    "{\"as\": \"muster-fleetsim\", \"as-groups\": [\"system:masters\", \"system:nodes\"], ${user#\{}"
}

# serves VERSION KIND: whether the server has that kind (plural) of admission policy in that version.
serves() {
  [[ "$(kube get --raw "/apis/admissionregistration.k8s.io/$1" 2>/dev/null)" == *"\"name\":\"$2\""* ]]
}

# put FLAG PATH: applies a manifest (-f) or a folder (-k) of deploy/kubernetes; notes it when nothing of it was there before.
put() {
  if ! grep -qxF -- "$1 $2" "$STATE/run/kubernetes-made" 2>/dev/null &&
    [[ -z "$(kube get "$1" "$MANIFESTS/$2" --ignore-not-found --output=name)" ]]; then
    printf '%s\n' "$1 $2" >>"$STATE/run/kubernetes-made"
  fi
  kube apply "$1" "$MANIFESTS/$2"
}

apply_policies() {
  if serves v1 validatingadmissionpolicies; then
    put -f base/validating_admission_policies.yaml
  else
    say "the server has no ValidatingAdmissionPolicy in v1 (Kubernetes 1.30 and later): anybody may write reserved keys and control-plane namespaces"
  fi
  if serves v1 mutatingadmissionpolicies; then
    put -k admission-v1
  elif serves v1beta1 mutatingadmissionpolicies; then
    put -k admission-v1beta1
  else
    say "the server has no MutatingAdmissionPolicy (Kubernetes 1.36 and later; in v1beta1 where it is switched on): Pods without a" \
      "GPU do not get the toleration is_cpu_compute. Those that do not bring it stay pending beside CPU Nodes, and a cluster" \
      "autoscaler that scales a CPU pool from zero for them adds Nodes and takes them away again, over and over"
  fi
}

# renew_token: of the adapter's ServiceAccount. The adapter reads it again by itself; a server may give a shorter one.
renew_token() {
  local answer
  answer="$(kube create token muster-kubernetes --namespace=muster-system --duration=720h \
    --output='jsonpath={.status.expirationTimestamp}{"\n"}{.status.token}')"
  (umask 077 && tail -n 1 <<<"$answer" >"$STATE/run/adapter.token.new")
  mv "$STATE/run/adapter.token.new" "$STATE/run/adapter.token"
  TOKEN_END="$(head -n 1 <<<"$answer")"
}

# start_adapter GRPC_PORT
start_adapter() {
  local command=("$BIN/muster-kubernetes" --organization=acme --cluster=example --zone=RNO2A --server="127.0.0.1:$1"
    --kubeconfig="$STATE/run/adapter.kubeconfig" --adopt_cluster --metrics_listen=127.0.0.1:0 --health_listen=127.0.0.1:0
    --port_file="$STATE/run/adapter-ports")
  local flags=()
  mapfile -t flags < <(tls_flags muster-kubernetes)
  command+=("${flags[@]}")
  realpath "$MUSTER_KUBECONFIG" >"$STATE/run/kubeconfig"
  kubernetes_uid >"$STATE/run/kubernetes-uid"
  put -k crd
  put -f base/namespace.yaml
  put -f base/rbac.yaml
  apply_policies
  renew_token
  write_kubeconfig "$STATE/run/adapter.kubeconfig" muster-kubernetes '{tokenFile: adapter.token}'
  if is_current muster-kubernetes "${command[@]}"; then return; fi
  stop_process muster-kubernetes
  rm -f "$STATE/run/adapter-ports"
  start_process muster-kubernetes "${command[@]}"
}

# adapter_metrics_port: once it has told; nothing where it does not run.
adapter_metrics_port() {
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    [[ -n "$(pid_of muster-kubernetes)" ]] || return 0
    if [[ -s "$STATE/run/adapter-ports" ]]; then break; fi
    sleep 0.1
  done
  sed -n 's/^metrics //p' "$STATE/run/adapter-ports"
}

apply_pool_by_kubectl() {
  kube wait --for=condition=Established --timeout=30s crd/nodepools.compute.coreweave.com
  if kube get nodepool "$1" >/dev/null 2>&1; then
    say "$1 is there already and stays as it is"
  else
    kube apply -f "$MANIFESTS/samples/$1.yaml"
  fi
}

# await_object POOL: until the NodePool says so too, which it does not where the API server refuses its Nodes' labels.
await_object() {
  kube wait "nodepool/$1" --for=condition=AtTarget --timeout=60s && return
  die "$1 is not at its target: $(kube get nodepool "$1" --output='jsonpath={.status.conditions[?(@.type=="AtTarget")].message}')"
}

# kubernetes_hints POOL: what to try with a pool that is an object.
kubernetes_hints() {
  cat <<TEXT
  export KUBECONFIG=$(printf %q "$(realpath "$MUSTER_KUBECONFIG")")
  kubectl get nodepools -w
  kubectl scale nodepool $1 --replicas=5
  kubectl describe nodepool $1
  kubectl get nodes --show-labels
  kubectl get leases --namespace=kube-node-lease
muster-kubernetes is $ADAPTER there; its token ends $TOKEN_END: run up again before.
TEXT
}

# let_go OBJECT: deletes it, whoever waits for something.
let_go() {
  kube delete "$1" --wait=false && kube patch "$1" --type=merge --patch='{"metadata": {"finalizers": null}}'
}

# purge_pools: while the adapter is there to end their Nodes; what does not go in time, or has no adapter any more, is let go as it
# is.
purge_pools() {
  local pools
  if [[ -n "$(pid_of muster-kubernetes)" ]]; then
    say "deleting the NodePools of $MUSTER_KUBECONFIG"
    kube delete nodepools --all --timeout=2m || say "not all of them were gone in time"
  fi
  stop_process muster-kubernetes
  mapfile -t pools < <(kube get nodepools --output=name)
  if [[ -z "${pools[*]}" ]]; then return; fi
  stop_process fleetsim
  for pool in "${pools[@]}"; do
    let_go "$pool" || say "$pool is left as it is"
  done
  kube delete nodes --selector=compute.coreweave.com/node-pool --wait=false || say "its Nodes are left as they are"
  kube delete pods --all-namespaces --selector=app.kubernetes.io/managed-by=fleetsim --grace-period=0 --force --wait=false ||
    say "the fleet's Pods are left as they are"
}

# take_back FLAG PATH: deletes what `put` put there. A policy that is gone is obeyed for a second or two more.
take_back() {
  local tries said
  for ((tries = 0; tries < 20; ++tries)); do
    if said="$(kube delete "$1" "$MANIFESTS/$2" --ignore-not-found --wait=false 2>&1)"; then return; fi
    sleep 0.5
  done
  say "$2 is left in the cluster: $said"
}

# purge_manifests: what up put there, and the label that the adapter put on namespaces. What was there before stays, so that another
# Muster's cluster keeps it.
purge_manifests() {
  local flag path
  [[ -f "$STATE/run/kubernetes-made" ]] || return 0
  say "taking out of the cluster what up put there"
  if grep -qxF -- '-f base/rbac.yaml' "$STATE/run/kubernetes-made"; then
    kube label namespaces --all ns.coreweave.cloud/org- --as="$ADAPTER" >/dev/null || say "the labels of namespaces are left as they are"
  fi
  while read -r flag path; do take_back "$flag" "$path"; done < <(tac "$STATE/run/kubernetes-made")
}

# purge_kubernetes: takes the stack out of the cluster that it was up with.
purge_kubernetes() {
  [[ -f "$STATE/run/kubeconfig" ]] || return 0
  MUSTER_KUBECONFIG="$(cat "$STATE/run/kubeconfig")"
  if ! kube get --raw /readyz >/dev/null || ! is_its_cluster; then
    say "what is in the cluster that $MUSTER_KUBECONFIG named is left as it is; NodePools that are there wait for their finalizers"
    return
  fi
  if kube get crd/nodepools.compute.coreweave.com >/dev/null; then purge_pools; fi
  stop_process muster-kubernetes
  purge_manifests
}

# forget_access: nothing that opens the cluster stays.
forget_access() {
  rm -f "$STATE/run/fleetsim.kubeconfig" "$STATE/run/adapter.kubeconfig" "$STATE/run/adapter.token" "$STATE/run/adapter.token.new"
}
