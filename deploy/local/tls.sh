# shellcheck shell=bash
# MUSTER_TLS=1: every call of the stack by mutual TLS. A certificate authority of its own, in $STATE/tls, and certificates of it
# for musterd, fleetsim, muster-kubernetes and the person at the terminal (admin), good for ten days; `up` renews them when less
# than three are left, and what runs takes the new ones. Who may do what is in $STATE/tls/policy.yaml, which is yours to change.
# A stack that is up with it keeps it, but for MUSTER_TLS=0.

MUSTER_TLS="${MUSTER_TLS:-}"
TLS_DOMAIN=muster.local

wants_tls() { [[ -n "$MUSTER_TLS" && "$MUSTER_TLS" != 0 ]]; }

# check_tls: a stack that is up with TLS keeps it.
check_tls() {
  if [[ -z "$MUSTER_TLS" && -n "$(pid_of musterd)" ]] && grep -qsF -- --tls_cert_file= "$STATE/run/musterd.cmd"; then MUSTER_TLS=1; fi
}

# new_key: what openssl is told to make one.
new_key() { echo "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"; }

# is_fresh FILE DAYS: whether the certificate is there and good for so many days more.
is_fresh() { [[ -s "$1" ]] && openssl x509 -checkend $(($2 * 86400)) -noout -in "$1" >/dev/null; }

make_authority() {
  local ca="$STATE/tls/ca"
  if is_fresh "$ca.crt" 30; then return; fi
  rm -f "$STATE"/tls/*.crt
  # shellcheck disable=SC2046  # several words
  openssl req -x509 $(new_key) -days 365 -subj "/CN=Muster on $(hostname | cut -c1-50)" -keyout "$ca.key" -out "$ca.crt" 2>/dev/null
}

# issue NAME EXTENSIONS: key and certificate, put in place as a whole.
issue() {
  local file="$STATE/tls/$1"
  if is_fresh "$file.crt" 3; then return; fi
  # shellcheck disable=SC2046
  openssl req $(new_key) -subj "/CN=$1" -keyout "$file.key.new" -out "$file.csr" 2>/dev/null
  openssl x509 -req -in "$file.csr" -CA "$STATE/tls/ca.crt" -CAkey "$STATE/tls/ca.key" -CAcreateserial -days 10 \
    -extfile <(printf '%s\n' "$2") -out "$file.crt.new" 2>/dev/null
  # Whoever is stopped here finds no certificate the next time.
  rm -f "$file.crt"
  mv "$file.key.new" "$file.key"
  mv "$file.crt.new" "$file.crt"
  rm -f "$file.csr"
}

# Who may do what: the programs what they are made for, the person at the terminal everything that an operator may.
write_policy() {
  local file="$STATE/tls/policy.yaml" id="spiffe://$TLS_DOMAIN"
  if [[ -s "$file" ]]; then return; fi
  cat >"$file.new" <<EOF
# deploy/security.md says what the roles are. A change counts within seconds; musterd check-policy tells what is wrong with it.
bindings:
- {role: service, principals: ["$id/musterd"], everywhere: true}
- {role: agent, principals: ["$id/fleetsim"], everywhere: true}
# It registers its machines, too.
- {role: operator, principals: ["$id/fleetsim"], everywhere: true}
- {role: adapter, principals: ["$id/muster-kubernetes"], clusters: ["organizations/acme/clusters/example"]}
- {role: operator, principals: ["$id/admin"], everywhere: true}
EOF
  mv "$file.new" "$file"
}

# prepare_tls: the authority, the certificates and the policy.
prepare_tls() {
  wants_tls || return 0
  command -v openssl >/dev/null || die "MUSTER_TLS=1 needs openssl"
  (
    umask 077
    mkdir -p "$STATE/tls"
    make_authority
    issue musterd "subjectAltName=IP:127.0.0.1,DNS:localhost,URI:spiffe://$TLS_DOMAIN/musterd"
    local client
    for client in fleetsim muster-kubernetes admin; do
      issue "$client" "subjectAltName=URI:spiffe://$TLS_DOMAIN/$client
extendedKeyUsage=clientAuth"
    done
    write_policy
  )
}

# tls_flags NAME: what the program NAME is told, a flag a line.
tls_flags() {
  wants_tls || return 0
  printf '%s\n' "--trust_domain=$TLS_DOMAIN" "--tls_cert_file=$STATE/tls/$1.crt" "--tls_key_file=$STATE/tls/$1.key" \
    "--tls_ca_file=$STATE/tls/ca.crt"
  if [[ "$1" == musterd ]]; then echo "--policy_file=$STATE/tls/policy.yaml"; fi
}

# tls_variables: what musterctl is told, a variable a line.
tls_variables() {
  wants_tls || return 0
  printf '%s\n' "MUSTER_CERTIFICATE_AUTHORITY=$STATE/tls/ca.crt" "MUSTER_CLIENT_CERTIFICATE=$STATE/tls/admin.crt" \
    "MUSTER_CLIENT_KEY=$STATE/tls/admin.key"
}
